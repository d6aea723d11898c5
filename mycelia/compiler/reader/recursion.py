"""Functions that call themselves under a run-time branch: one graph, called by its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mycelia.compiler.building import Builder, constant
from mycelia.compiler.conflict import Conflict
from mycelia.compiler.forms import (
    Form,
    Known,
    extend,
    form_of,
    leaf_data,
    leaf_type,
    widest_form_of,
)
from mycelia.compiler.reader.base import Reader
from mycelia.compiler.reader.branches import Unreachable
from mycelia.compiler.reader.function import Function, capture
from mycelia.compiler.recursion import call_by_loop
from mycelia.compiler.store import MISSING
from mycelia.compiler.symbolic import ValueNeeded
from mycelia.core.source import Span
from mycelia.ir.control import CALL
from mycelia.ir.node import Node

MOST_ROUNDS = 8
WIDENS_AFTER = 16


@dataclass(eq=False)
class Activation:
    """A call being read."""

    fn: Function
    span: Span | None


@dataclass(eq=False)
class Recursive:
    """A function being made into a graph that calls itself."""

    fn: Function
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    captured: list[Node] = field(default_factory=list)
    result: Form | None = None
    builder: Builder | None = None


class CallsItself(Exception):  # it asks the outer call to start again
    """A call came back to one that is still being read, with arguments of the same forms."""

    def __init__(self, call: Any, forms: tuple[Form, ...]) -> None:
        super().__init__()
        self.call = call
        self.forms = forms


@dataclass(eq=False)
class Pending:
    """A call on the stack, with the forms of its arguments."""

    fn: Function
    forms: tuple[tuple[str, Form], ...]
    held: tuple[tuple[str, Form], ...]
    depth: int


class Recursion(Reader):
    """Finds recursion and closes it."""

    pending: list[Pending]
    recursive: list[Recursive]

    def depth_of(self, fn: Function) -> int:
        """How many calls of the same function are being read."""
        return sum(1 for a in self.active if a.fn.definition is fn.definition)

    def guarded_call(self, fn: Function, variables: dict[str, Any]) -> Any:
        """Read a call; where it comes back to itself, make it a graph of its own."""
        running = self._running(fn, variables)
        if running is not None:
            return self._call_running(running, fn, variables)
        if self.depth_of(fn) and self.tracer.depth:
            self._look_for_itself(fn, variables)
        forms = _forms(variables)
        call = Pending(fn, forms, _forms(capture(fn)), self.tracer.depth)
        self.pending.append(call)
        try:
            return self.read_body(fn, dict(variables))
        except CallsItself as found:
            if found.call is not call:
                raise
            settled = found.forms
        finally:
            self.pending.pop()
        return self._close(fn, variables, settled)

    def _look_for_itself(self, fn: Function, variables: dict[str, Any]) -> None:
        """Raise CallsItself for an outer call of the same forms, a run-time branch in between.

        After some calls whose known arguments always differ, those count as unknown.
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
                raise CallsItself(call, tuple(form for _, form in forms))
        if len(outer) >= WIDENS_AFTER:
            widened = _widened(outer[0].forms, variables)
            if widened is not None:
                raise CallsItself(outer[0], widened)

    # ---- making the graph -------------------------------------------------------------------

    def _close(self, fn: Function, variables: dict[str, Any], forms: tuple[Form, ...]) -> Any:
        names = tuple(variables)
        made = Recursive(fn, names, forms)
        self.recursive.append(made)
        try:
            for _ in range(MOST_ROUNDS):
                if self._round(made):
                    break
            else:
                raise ValueNeeded(None, f"the types of {fn.definition.name} do not settle")
        finally:
            self.recursive.pop()
        return self._run_as_loop(made, [variables[n] for n in names])

    def _round(self, made: Recursive) -> bool:
        """Read the function once under what is assumed of its result; True if that held."""
        tracer = self.tracer
        builder = made.builder = Builder(made.fn.definition.name, tracer.builder, tracer.span)
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
                    raise ValueNeeded(None, f"{made.fn.definition.name} changes state and recurs")
                form = (
                    widest_form_of(result) if made.result is None else extend(made.result, result)
                )
                leaves = [leaf_data(v, t) for v, t in form.leaves(result)]
                builder.finish(builder.tuple(tuple(leaves)))
        except Unreachable:
            raise ValueNeeded(None, f"{made.fn.definition.name} never returns") from None
        finally:
            tracer.depth -= 1
        captured = list(builder.captured)
        settled = form == made.result and captured == made.captured and len(wanted) == len(captured)
        made.result, made.captured = form, captured
        return settled

    def _running(self, fn: Function, variables: dict[str, Any]) -> Recursive | None:
        for made in reversed(self.recursive):
            same = made.fn.definition is fn.definition and _fits(made, variables)
            if same and _forms(capture(made.fn)) == _forms(capture(fn)):
                return made
        return None

    def _call_running(self, made: Recursive, fn: Function, variables: dict[str, Any]) -> Any:
        if made.result is None:
            raise Unreachable
        return self._emit_call(made, [variables[n] for n in made.names])

    def _run_as_loop(self, made: Recursive, values: list[Any]) -> Any:
        """The first call of a finished recursive graph: a loop runs it and all calls inside."""
        tracer = self.tracer
        assert made.builder is not None and made.result is not None
        pairs = zip(made.forms, values, strict=True)
        data = [leaf_data(v, t) for form, value in pairs for v, t in form.leaves(value)]
        nodes = [n if isinstance(n, Node) else constant(n) for n in data]
        arguments = [*nodes, *(tracer.builder.local(c) for c in made.captured)]
        found = call_by_loop(tracer, made.builder.graph, arguments, len(nodes))
        count = len(made.result.leaves(MISSING))
        items = iter([tracer.builder.item(found, i) for i in range(count)])
        return made.result.build(items)

    def _emit_call(self, made: Recursive, values: list[Any]) -> Any:
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

    def read_body(self, fn: Function, variables: dict[str, Any]) -> Any:
        raise NotImplementedError


def _leaves(made: Recursive, arguments: dict[str, Any]) -> list[tuple[Any, Any]]:
    pairs = zip(made.names, made.forms, strict=True)
    return [leaf for name, form in pairs for leaf in form.leaves(arguments[name])]


def _forms(variables: dict[str, Any]) -> tuple[tuple[str, Form], ...]:
    return tuple((name, form_of(value)) for name, value in variables.items())


def _fits(made: Recursive, variables: dict[str, Any]) -> bool:
    """Whether arguments have the forms a recursive graph takes."""
    if tuple(variables) != made.names:
        return False
    pairs = zip(made.forms, variables.values(), strict=True)
    return all(extend(form, value) == form for form, value in pairs)


def _widened(forms: tuple[tuple[str, Form], ...], variables: dict[str, Any]) -> Any:
    """Forms that hold the arguments of both calls, or None where there are none."""
    pairs = zip(forms, variables.values(), strict=True)
    found = tuple(extend(form, value) for (_, form), value in pairs)
    if any(isinstance(f, Known) and isinstance(f.value, Conflict) for f in found):
        return None
    return found
