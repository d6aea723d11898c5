"""`show`: the graph of a function or cell, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.program_state import StateFound, refuse_state
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.trace_function import TracedProgram, trace
from mycelia._engine.compiler.frontend.value_structure import Structure
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.printer import show as show_graph
from mycelia._engine.runtime.executor import Executable
from mycelia.transforms.argument_signature import call_structure, numbers_in

STAGES = ("read", "optimized", "xla")


@dataclass(frozen=True, eq=False)
class TracedCall:
    """A function traced for some arguments, and the structure of their pair (args, kwargs)."""

    arguments: Structure
    read: TracedProgram


def trace_for(fn: Callable[..., Any], args: tuple[Any, ...]) -> TracedCall:
    """Trace a function or cell, without running it, for arguments with the types of `args`.

    Python numbers become inputs of the program, or constants if it needs their values.
    """
    if not callable(fn):
        raise wrong_type("show", "fn", fn, "a function or a Cell")
    inner = getattr(fn, "__mycelia_compiled__", fn)
    name = getattr(inner, "__name__", type(inner).__name__)
    has_numbers = bool(numbers_in(args))
    try:
        return _read(inner, name, args, known=not has_numbers)
    except (GraphBreak, TypeError, ValueError, IndexError, AttributeError):
        if not has_numbers:
            raise
    return _read(inner, name, args, known=True)


def show(fn: Callable[..., Any], *args: Any, lines: bool = True, stage: str = "optimized") -> str:
    """Return the program of `fn` for these arguments as text; `fn` is traced, not run.

    The stage `"read"` is the traced graph, and `"optimized"` the one that the runtime lowers; both
    show the user's source `lines`. `"xla"` is the input of XLA.
    """
    if stage not in STAGES:
        raise wrong_value("show", "stage", stage, f"one of {', '.join(STAGES)}")
    try:
        found = trace_for(fn, args)
    except GraphBreak as needed:
        raise graph_break_error("show", needed) from None
    if stage == "xla":
        leaves = [value for value, _ in found.arguments.leaves((args, {}))]
        return Executable(found.read.program).text(leaves)
    program = found.read.plain if stage == "read" else found.read.program
    return show_graph(program.graph, lines=lines)


def graph_break_error(owner: str, needed: GraphBreak) -> RuntimeError:
    """The error for a function that does not compile to a single program."""
    return problem(
        RuntimeError,
        f"{owner}: this function does not compile to a single program: {needed.why}",
        expected="shapes and Python control flow that do not depend on values of tensors",
        fix="leave that part out; an ordinary call runs it in the fallback interpreter",
    )


def _read(fn: Callable[..., Any], name: str, args: tuple[Any, ...], known: bool) -> TracedCall:
    arguments = call_structure(args, {}, known)
    try:
        return TracedCall(arguments, trace(fn, name, arguments))
    except StateFound as found:
        raise refuse_state(found) from None
