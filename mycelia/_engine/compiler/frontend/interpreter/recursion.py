"""Recursive functions under run-time branches: one graph that calls itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder, constant
from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.branches import UnreachablePath
from mycelia._engine.compiler.frontend.interpreter.user_function import UserFunction, capture
from mycelia._engine.compiler.frontend.mutation_journal import MISSING
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    Structure,
    extend_structure,
    leaf_data,
    leaf_type,
    structure_of,
    widest_structure_of,
)
from mycelia._engine.compiler.passes.recursion_to_loop import recursion_to_loop
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.control_flow import CALL
from mycelia._engine.ir.node import GraphNode

MOST_ROUNDS = 8
WIDENS_AFTER = 16


@dataclass(eq=False)
class ActiveCall:
    """A call being traced."""

    fn: UserFunction
    span: Span | None


@dataclass(eq=False)
class RecursiveGraph:
    """A function being traced to a graph that calls itself."""

    fn: UserFunction
    names: tuple[str, ...]
    forms: tuple[Structure, ...]
    captured: list[GraphNode] = field(default_factory=list)
    result: Structure | None = None
    builder: GraphBuilder | None = None


class RecursionDetected(Exception):  # the outer call restarts
    """A function was called again during its tracing, with arguments of the same structures."""

    def __init__(self, call: Any, forms: tuple[Structure, ...]) -> None:
        super().__init__()
        self.call = call
        self.forms = forms


@dataclass(eq=False)
class PendingCall:
    """A call on the stack, with the structures of its arguments."""

    fn: UserFunction
    forms: tuple[tuple[str, Structure], ...]
    held: tuple[tuple[str, Structure], ...]
    depth: int


class RecursionInterpreter(InterpreterBase):
    """Detects recursion and traces it to a recursive graph."""

    pending: list[PendingCall]
    recursive: list[RecursiveGraph]

    def depth_of(self, fn: UserFunction) -> int:
        """The number of active calls of the same function."""
        return sum(1 for a in self.active if a.fn.definition is fn.definition)

    def guarded_call(self, fn: UserFunction, variables: dict[str, Any]) -> Any:
        """Trace a call; if it recurses, trace it to a separate recursive graph."""
        running = self._running(fn, variables)
        if running is not None:
            return self._call_running(running, fn, variables)
        if self.depth_of(fn) and self.tracer.depth:
            self._look_for_itself(fn, variables)
        forms = _forms(variables)
        call = PendingCall(fn, forms, _forms(capture(fn)), self.tracer.depth)
        self.pending.append(call)
        try:
            return self.read_body(fn, dict(variables))
        except RecursionDetected as found:
            if found.call is not call:
                raise
            converged = found.forms
        finally:
            self.pending.pop()
        return self._close(fn, variables, converged)

    def _look_for_itself(self, fn: UserFunction, variables: dict[str, Any]) -> None:
        """Raise RecursionDetected for an outer call of the same structures, outside this branch.

        After several calls with different constant arguments, these become symbolic.
        """
        forms, held = _forms(variables), _forms(capture(fn))
        outer = [
            call
            for call in self.pending
            if call.fn.definition is fn.definition
            and call.depth < self.tracer.depth
            and call.held == held
        ]
        for call in reversed(outer):
            if call.forms == forms:
                raise RecursionDetected(call, tuple(form for _, form in forms))
        if len(outer) >= WIDENS_AFTER:
            widened = _widened(outer[0].forms, variables)
            if widened is not None:
                raise RecursionDetected(outer[0], widened)

    # ---- building the graph -----------------------------------------------------------------

    def _close(
        self, fn: UserFunction, variables: dict[str, Any], forms: tuple[Structure, ...]
    ) -> Any:
        names = tuple(variables)
        made = RecursiveGraph(fn, names, forms)
        self.recursive.append(made)
        try:
            for _ in range(MOST_ROUNDS):
                if self._round(made):
                    break
            else:
                raise GraphBreak(
                    None, f"the argument types of {fn.definition.name} do not converge"
                )
        finally:
            self.recursive.pop()
        return self._run_as_loop(made, [variables[n] for n in names])

    def _round(self, made: RecursiveGraph) -> bool:
        """Trace the function once with the assumed result structure; True if it was correct."""
        tracer = self.tracer
        builder = made.builder = GraphBuilder(made.fn.definition.name, tracer.builder, tracer.span)
        arguments = {}
        for name, form in zip(made.names, made.forms, strict=True):
            targets = [t for _, t in form.leaves(MISSING)]
            nodes = [builder.parameter(name, leaf_type(t)) for t in targets]
            arguments[name] = form.build(iter(nodes))
        wanted = [builder.local(node) for node in made.captured]
        tracer.depth += 1
        try:
            with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
                journal.outside |= {id(leaf): leaf for leaf, _ in _leaves(made, arguments)}
                try:
                    result = self.read_body(made.fn, arguments)
                finally:
                    changes = journal.take_back()
                if changes:
                    raise GraphBreak(
                        None, f"{made.fn.definition.name} is recursive and changes state"
                    )
                form = (
                    widest_structure_of(result)
                    if made.result is None
                    else extend_structure(made.result, result)
                )
                leaves = [leaf_data(v, t) for v, t in form.leaves(result)]
                builder.finish(builder.tuple(tuple(leaves)))
        except UnreachablePath:
            raise GraphBreak(None, f"{made.fn.definition.name} never returns") from None
        finally:
            tracer.depth -= 1
        captured = list(builder.captured)
        converged = (
            form == made.result and captured == made.captured and len(wanted) == len(captured)
        )
        made.result, made.captured = form, captured
        return converged

    def _running(self, fn: UserFunction, variables: dict[str, Any]) -> RecursiveGraph | None:
        for made in reversed(self.recursive):
            same = made.fn.definition is fn.definition and _fits(made, variables)
            if same and _forms(capture(made.fn)) == _forms(capture(fn)):
                return made
        return None

    def _call_running(
        self, made: RecursiveGraph, fn: UserFunction, variables: dict[str, Any]
    ) -> Any:
        if made.result is None:
            raise UnreachablePath
        return self._emit_call(made, [variables[n] for n in made.names])

    def _run_as_loop(self, made: RecursiveGraph, values: list[Any]) -> Any:
        """The outermost call of a recursive graph: a loop runs it and all its inner calls."""
        tracer = self.tracer
        assert made.builder is not None and made.result is not None
        pairs = zip(made.forms, values, strict=True)
        data = [leaf_data(v, t) for form, value in pairs for v, t in form.leaves(value)]
        nodes = [n if isinstance(n, GraphNode) else constant(n) for n in data]
        arguments = [*nodes, *(tracer.builder.local(c) for c in made.captured)]
        found = recursion_to_loop(tracer, made.builder.graph, arguments, len(nodes))
        count = len(made.result.leaves(MISSING))
        items = iter([tracer.builder.item(found, i) for i in range(count)])
        return made.result.build(items)

    def _emit_call(self, made: RecursiveGraph, values: list[Any]) -> Any:
        tracer = self.tracer
        assert made.builder is not None and made.result is not None
        graph = made.builder.graph
        pairs = zip(made.forms, values, strict=True)
        data = [leaf_data(v, t) for form, value in pairs for v, t in form.leaves(value)]
        targets = [leaf_type(t) for _, t in made.result.leaves(MISSING)]
        node = tracer.builder.apply(
            CALL, (graph, *data, *made.captured), tuple(targets), tracer.span
        )
        items = iter([tracer.builder.item(node, i) for i in range(len(targets))])
        return made.result.build(items)

    def read_body(self, fn: UserFunction, variables: dict[str, Any]) -> Any:
        raise NotImplementedError


def _leaves(made: RecursiveGraph, arguments: dict[str, Any]) -> list[tuple[Any, Any]]:
    pairs = zip(made.names, made.forms, strict=True)
    return [leaf for name, form in pairs for leaf in form.leaves(arguments[name])]


def _forms(variables: dict[str, Any]) -> tuple[tuple[str, Structure], ...]:
    return tuple((name, structure_of(value)) for name, value in variables.items())


def _fits(made: RecursiveGraph, variables: dict[str, Any]) -> bool:
    """Whether arguments fit the structures of a recursive graph."""
    if tuple(variables) != made.names:
        return False
    pairs = zip(made.forms, variables.values(), strict=True)
    return all(extend_structure(form, value) == form for form, value in pairs)


def _widened(forms: tuple[tuple[str, Structure], ...], variables: dict[str, Any]) -> Any:
    """Structures that hold the arguments of both calls, or None if there are none."""
    pairs = zip(forms, variables.values(), strict=True)
    found = tuple(extend_structure(form, value) for (_, form), value in pairs)
    if any(isinstance(f, ConstantStructure) and isinstance(f.value, PathConflict) for f in found):
        return None
    return found
