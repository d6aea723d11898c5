"""Looking inside: what a function or cell is read into, as text and as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelia.compiler.forms import Entries, Form, Items, Known, NumberForm, TensorForm
from mycelia.compiler.reading import Read, read
from mycelia.compiler.symbolic import ValueNeeded
from mycelia.core import settings
from mycelia.core.errors import problem, wrong_type, wrong_value
from mycelia.core.files import write_atomically
from mycelia.ir.draw import dot, svg
from mycelia.ir.graph import Graph
from mycelia.ir.text import show as show_graph
from mycelia.ir.value import type_of
from mycelia.runtime.executor import Executable
from mycelia.tensor.tensor import Tensor

STAGES = ("read", "optimized", "xla")
_NUMBERS = (int, float)
_NO_FILE_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, eq=False)
class Reading:
    """A function read for some arguments, and the form of the pair (args, kwargs) of these."""

    arguments: Form
    read: Read


def read_for(fn: Callable[..., Any], args: tuple[Any, ...]) -> Reading:
    """Read a function or cell, without running it, for arguments of the kinds of `args`.

    Numbers are inputs of the program; if it needs to know them, they are constants of it.
    """
    if not callable(fn):
        raise wrong_type("show", "fn", fn, "a function or a Cell")
    inner = getattr(fn, "__mycelia_compiled__", fn)
    name = getattr(inner, "__name__", type(inner).__name__)
    has_numbers = _has_numbers(args)
    try:
        return _read(inner, name, args, known=not has_numbers)
    except (ValueNeeded, TypeError, ValueError, IndexError, AttributeError):
        if not has_numbers:
            raise
    return _read(inner, name, args, known=True)


def show(fn: Callable[..., Any], *args: Any, lines: bool = True, stage: str = "optimized") -> str:
    """What `fn` is compiled to for these arguments, as text; it is read, not run.

    The stage `"read"` is the graph as it was read, `"optimized"` the one handed to the runtime,
    both with the user's `lines` beside them; `"xla"` is what XLA is given.
    """
    if stage not in STAGES:
        raise wrong_value("show", "stage", stage, f"one of {', '.join(STAGES)}")
    try:
        found = read_for(fn, args)
    except ValueNeeded as needed:
        raise in_pieces("show", needed) from None
    if stage == "xla":
        leaves = [value for value, _ in found.arguments.leaves((args, {}))]
        return Executable(found.read.program).text(leaves)
    program = found.read.plain if stage == "read" else found.read.program
    return show_graph(program.graph, lines=lines)


def in_pieces(owner: str, needed: ValueNeeded) -> RuntimeError:
    """The error for a function that does not become one program."""
    return problem(
        RuntimeError,
        f"{owner}: this function is no single program: {needed.why}",
        expected="shapes and Python decisions that do not depend on the numbers of tensors",
        fix="leave that part out; it runs piece by piece when it is called",
    )


def write_stages(name: str, number: int, stages: Sequence[tuple[str, Graph]]) -> None:
    """Write the graphs of one compilation, as `set_context(save_graphs=...)` asks for.

    Level 1 writes the last stage only, 2 all of them, 3 all with pictures; the last stage always
    has a picture. Stages are copies (`ir/snapshot.py`): later passes change graphs in place.
    """
    level = settings.current().save_graphs
    if level == 0:
        return
    folder = Path(settings.current().save_graphs_path) / "graphs"
    last = len(stages) - 1
    for order, (stage, graph) in enumerate(stages):
        if order < last and level < 2:
            continue
        stem = _NO_FILE_NAME.sub("_", f"{name}_{number}_{order}_{stage}")
        _write(folder / f"{stem}.ir", show_graph(graph, lines=True) + "\n")
        _write(folder / f"{stem}.dot", dot(graph))
        if order == last or level == 3:
            _write(folder / f"{stem}.svg", svg(graph))


def _write(path: Path, text: str) -> None:
    write_atomically(path, [text.encode()])


def _read(fn: Callable[..., Any], name: str, args: tuple[Any, ...], known: bool) -> Reading:
    arguments = Items(tuple, (_form(args, known), Entries(dict, (), ())))
    return Reading(arguments, read(fn, name, arguments))


def _form(value: Any, known: bool) -> Form:
    """The form of an argument, as `jit` sees it."""
    kind = type(value)
    if kind is Tensor:
        return TensorForm(type_of(value))
    if kind in _NUMBERS:
        return Known(value) if known else NumberForm(kind)
    if isinstance(value, (tuple, list)):
        return Items(kind, tuple(_form(v, known) for v in value))
    if kind is dict:
        return Entries(dict, tuple(value), tuple(_form(v, known) for v in value.values()))
    return Known(value)


def _has_numbers(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_numbers, value))
    if type(value) is dict:
        return any(map(_has_numbers, value.values()))
    return type(value) in _NUMBERS
