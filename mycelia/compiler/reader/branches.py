"""Branches on values only known at run time: all sides are read, the program chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia.compiler.building import Builder
from mycelia.compiler.forms import (
    Choice,
    ChoiceForm,
    Conflict,
    Form,
    Known,
    Maybe,
    Placed,
    extend,
    form_of,
    lasting_form_of,
    leaf_data,
    may_be_chosen,
)
from mycelia.compiler.reader.base import Reader
from mycelia.compiler.reader.function import Function
from mycelia.compiler.store import MISSING, Contents, Entry, Key, Place
from mycelia.compiler.symbolic import Number
from mycelia.core.dtype import int32
from mycelia.core.source import Span
from mycelia.ir.control import Block
from mycelia.ir.node import Node
from mycelia.ops.shaping import Cast

_CAST = Cast.of()


class Unreachable(Exception):  # it ends a path, nothing is wrong
    """This path cannot give a result: it calls a function whose result is not known yet."""


@dataclass
class Attempt:
    """One side of a branch, read and taken back."""

    builder: Builder
    changes: dict[Key, tuple[Place, Any]]
    result: Any
    span: Span | None
    made: dict[int, Any]  # what was made while reading this side


class Branches(Reader):
    """Reads the sides of branches and joins what they did."""

    def branches(self, index: Number, thunks: Sequence[Callable[[], Any]]) -> Any:
        """The result of the thunk that `index` (a bool or int number) names; all are read."""
        node = self._index_node(index)
        builder, span = self.tracer.builder, self.tracer.span
        return self._joined(thunks, lambda sides: builder.switch(node, sides, span))

    def when(self, condition: Any, part: Callable[[], None]) -> None:
        """What `part` does, if the condition holds."""
        truth = self.truth(condition)
        if isinstance(truth, Number):
            self.branches(truth, (lambda: None, part))
        elif truth:
            part()

    def enclosed(self, primitive: Any, thunk: Callable[[], Any]) -> Any:
        """What `thunk` gives, as a graph that `primitive` runs. Blocks are only kept outermost."""
        builder, span = self.tracer.builder, self.tracer.span
        if isinstance(primitive, Block) and builder is not self.tracer.root:
            return thunk()
        return self._joined([thunk], lambda sides: builder.enclose(primitive, sides[0], span))

    def _joined(
        self, thunks: Sequence[Callable[[], Any]], emit: Callable[[list[Builder]], Node]
    ) -> Any:
        """Read all thunks, let `emit` make a node of their graphs, and write what they changed."""
        tracer = self.tracer
        attempts = [self.attempt(f"branch_{i}", thunk) for i, thunk in enumerate(thunks)]
        sides = [a for a in attempts if a is not None]  # fewer only while results are unknown
        if not sides:
            raise Unreachable
        places = {key: place for side in sides for key, (place, _) in side.changes.items()}
        values = [
            [side.changes[key][1] if key in side.changes else place.read() for side in sides]
            for key, place in places.items()
        ]
        joined = [
            join_all([unassigned(place, value) for value in given], sides)
            for place, given in zip(places.values(), values, strict=True)
        ]
        joined.append(join_all([side.result for side in sides], sides))
        last = max((s.span for s in sides if s.span), key=lambda s: s.line, default=None)
        joined = [(located_form(form, last), given) for form, given in joined]
        data = [self._leaves(side, joined, place) for place, side in enumerate(sides)]
        if data[0]:
            for side, leaves in zip(sides, data, strict=True):
                side.builder.finish(side.builder.tuple(tuple(leaves)))
            found = emit([s.builder for s in sides])
            items = iter([tracer.builder.item(found, i) for i in range(len(data[0]))])
        else:
            items = iter(())
        built = [form.build(items) for form, _ in joined]
        for place, value in zip(places.values(), built, strict=False):
            self.rewrite_place(place, value)
        self.adopt_all(built[-1])
        return built[-1]

    def rewrite_place(self, place: Place, value: Any) -> None:
        """Write a joined value; a container keeps its identity, only its contents change."""
        if isinstance(place, Contents) and isinstance(value, Conflict):
            raise self.conflict_error(value)
        self.adopt_all(value)
        self.tracer.store.write(place, value)

    def adopt_all(self, value: Any) -> None:
        """Lists and dicts inside a joined value are the program's own."""
        if isinstance(value, (list, dict)):
            self.tracer.store.adopt(value)
        if isinstance(value, (list, tuple)):
            for part in value:
                self.adopt_all(part)
        elif isinstance(value, dict):
            for part in value.values():
                self.adopt_all(part)

    def _index_node(self, index: Number) -> Any:
        if index.kind is bool:
            return index._data
        return _CAST(index.strong, int32)._data

    def attempt(self, name: str, thunk: Callable[[], Any]) -> Attempt | None:
        """Read one side into a graph of its own and take its changes back."""
        tracer = self.tracer
        builder = Builder(name, tracer.builder, tracer.span)
        span = tracer.span
        tracer.depth += 1
        try:
            with tracer.building(builder), tracer.store.journal() as journal:
                try:
                    result = thunk()
                except Unreachable:
                    journal.take_back()
                    return None
                except BaseException:
                    journal.take_back()
                    raise
                changes = journal.take_back()
                return Attempt(builder, changes, result, tracer.span, journal.made)
        finally:
            tracer.depth -= 1
            tracer.span = span

    def _leaves(self, side: Attempt, joined: list[tuple[Form, list[Any]]], place: int) -> list[Any]:
        with self.tracer.building(side.builder):
            return [
                leaf_data(value, target)
                for form, values in joined
                for value, target in form.leaves(values[place])
            ]

    def call_choice(self, choice: Choice, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call one of several functions."""
        thunks = [lambda f=f: self.call(f, args, kwargs) for f in choice.options]
        return self.branches(choice.index, thunks)


def unassigned(place: Place, value: Any) -> Any:
    """The value of a place; a variable of the user's without one says so when it is used."""
    if value is MISSING and isinstance(place, Entry) and not place.name.startswith("<"):
        return Maybe(place.name, MISSING, False)
    return value


def located_form(form: Form, span: Span | None) -> Form:
    """A conflict remembers where its second value came from."""
    if isinstance(form, Known) and isinstance(form.value, Conflict) and form.value.span is None:
        return Known(replace(form.value, span=span))
    return form


def join_all(values: list[Any], sides: list[Attempt]) -> tuple[Form, list[Any]]:
    """The form that holds all values, and the values as that form takes them."""
    form: Form = Known(values[0]) if len(values) > 1 else form_of(values[0])
    for value in values[1:]:
        form = extend(form, value)
    if isinstance(form, Known) and isinstance(form.value, Conflict) and _choosable(values):
        return _choice(values, sides)
    return form, values


def _choice(values: list[Any], sides: list[Attempt]) -> tuple[Form, list[Any]]:
    """All different values as options; a choice brings all its own."""
    options: list[Any] = []
    forms: list[Form] = []
    placed: dict[int, Placed] = {}
    for value, side in zip(values, sides, strict=True):
        if id(value) in placed:
            continue
        start = len(options)
        if isinstance(value, Choice):
            options += value.options
            held = dict(enumerate(value.options, start))
            placed[id(value)] = Placed(value.index, held, start)
        else:
            options.append(value)
            placed[id(value)] = Placed(start, {start: value})
        forms += [_option_form(option, side) for option in options[start:]]
    return ChoiceForm(tuple(forms)), [placed[id(v)] for v in values]


def _option_form(option: Any, side: Attempt) -> Form:
    """A function from before the branch is itself: its variables are those of its frame."""
    frame = option.frame if isinstance(option, Function) else None
    while frame is not None:
        if id(frame.variables) in side.made:
            return form_of(option)
        frame = frame.outer
    return lasting_form_of(option) if isinstance(option, Function) else form_of(option)


def _choosable(values: list[Any]) -> bool:
    return all(may_be_chosen(v) for v in values)
