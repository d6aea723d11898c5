"""Branches on values only known at run time: all sides are read, the program chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia.compiler.building import Builder
from mycelia.compiler.conflict import Conflict
from mycelia.compiler.forms import (
    Choice,
    ChoiceForm,
    Form,
    Known,
    Maybe,
    Placed,
    containers_in,
    extend,
    form_of,
    lasting_form_of,
    leaf_data,
    may_be_chosen,
    versions,
)
from mycelia.compiler.reader.base import Reader
from mycelia.compiler.reader.function import Function
from mycelia.compiler.reader.joins import Column, Meeting
from mycelia.compiler.store import MISSING, Changes, Contents, Entry, Journal, Numbers, Place
from mycelia.compiler.symbolic import Number
from mycelia.core.dtype import int32
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
    changes: Changes
    result: Any
    journal: Journal  # closed: what was made on this side, and what may be the same


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
        values = [[self._left_at(place, side) for side in sides] for place in places.values()]
        joined = [
            joined_at(place, [unassigned(place, v) for v in given], sides, self.tracer.is_outer)
            for place, given in zip(places.values(), values, strict=True)
        ]
        joined.append(join_all([side.result for side in sides], sides, self.tracer.is_outer))
        meeting = Meeting(tracer.store, [side.journal for side in sides])
        columns = self._columns(sides, list(places.values()), joined)
        needed = meeting.needed(columns)
        chosen = [c.data for c, is_needed in zip(columns, needed, strict=True) if is_needed]
        items: Iterator[Any] = iter(())
        if chosen:
            for number, side in enumerate(sides):
                parts = tuple([data[number] for data in chosen])
                side.builder.finish(side.builder.tuple(parts))
            found = emit([s.builder for s in sides])
            items = iter([tracer.builder.item(found, i) for i in range(len(chosen))])
        tensors = iter(meeting.tensors_for(columns, needed, items))
        built = [form.build(tensors) for form, _ in joined]
        for place, value, (form, given) in zip(
            (*places.values(), None), built, joined, strict=True
        ):
            self._relate_containers(meeting, form, value, given, held_by(place, form))
        meeting.close()
        for place, value, (form, _) in zip(places.values(), built, joined, strict=False):
            self.rewrite_place(place, form, value)
        self.adopt_built(joined[-1][0], built[-1])
        return built[-1]

    def _left_at(self, place: Place, side: Attempt) -> Any:
        """What a place holds at the end of a side; if the side leaves it alone, what it held."""
        if place.key in side.changes:
            return side.changes[place.key][1]
        self.tracer.store.needs(place.key)
        return place.read()

    def _relate_containers(
        self, meeting: Meeting, form: Form, value: Any, given: Sequence[Any], first: int
    ) -> None:
        """Say which containers of the sides the containers of a joined value may be."""
        by_side = [containers_in(form, one)[first:] for one in given]
        for made, *ones in zip(containers_in(form, value)[first:], *by_side, strict=True):
            if made is not MISSING:
                meeting.relate(made, ones)

    def _columns(
        self, sides: list[Attempt], places: list[Place], joined: list[tuple[Form, list[Any]]]
    ) -> list[Column]:
        """The leaves of all joined values, with the data they have at the end of each side."""
        of_sides = []
        for number, side in enumerate(sides):
            with self.tracer.building(side.builder), side.changes.applied():
                for form, values in joined:
                    for container in containers_in(form, values[number]):
                        self.tracer.store.refuse_stale(container)
                of_sides.append(
                    [
                        (value, target, leaf_data(value, target))
                        for form, values in joined
                        for value, target in form.leaves(values[number])
                    ]
                )
        kept = [isinstance(place, Numbers) for place in places] + [False]
        is_version = [
            kept[number]
            for number, (form, values) in enumerate(joined)
            for _ in form.leaves(values[0])
        ]
        columns = []
        for known, *leaves in zip(is_version, *of_sides, strict=True):
            objects, targets, data = zip(*leaves, strict=True)
            columns.append(Column(objects, targets[0], data, known))
        return columns

    def rewrite_place(self, place: Place, form: Form, value: Any) -> None:
        """Write a joined value; a container keeps its identity, only its contents change."""
        self.adopt_built(form, value)
        self.tracer.store.write(place, value)

    def adopt_built(self, form: Form, value: Any) -> None:
        """The containers that a form built are the program's own."""
        for container in containers_in(form, value):
            if container is not MISSING:
                self.tracer.store.adopt(container)

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
            with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
                try:
                    result = thunk()
                except Unreachable:
                    journal.take_back()
                    return None
                except BaseException:
                    journal.take_back()
                    raise
                changes = journal.take_back()
                return Attempt(builder, changes, result, journal)
        finally:
            tracer.depth -= 1
            tracer.span = span

    def call_choice(self, choice: Choice, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call one of several functions."""
        thunks = [lambda f=f: self.call(f, args, kwargs) for f in choice.options]
        return self.branches(choice.index, thunks)


def held_by(place: Place | None, form: Form) -> int:
    """How many containers of a form are only copies of what the place is about."""
    return int(isinstance(place, Contents) and not isinstance(form, Known))


def unassigned(place: Place, value: Any) -> Any:
    """The value of a place; a variable of the user's without one says so when it is used."""
    if value is MISSING and isinstance(place, Entry) and not place.name.startswith("<"):
        return Maybe(place.name, MISSING, False)
    return value


def joined_at(
    place: Place, values: list[Any], sides: list[Attempt], is_outer: Callable[[Any], bool]
) -> tuple[Form, list[Any]]:
    """`join_all` for what a place holds; versions of a tensor are compared by their data."""
    form, given = join_all(values, sides, is_outer)
    if isinstance(place, Numbers):
        form = versions(form, [place.read(), *values])
    return form, given


def join_all(
    values: list[Any], sides: list[Attempt], is_outer: Callable[[Any], bool]
) -> tuple[Form, list[Any]]:
    """The form that holds all values, and the values as that form takes them."""
    form: Form = Known(values[0]) if len(values) > 1 else form_of(values[0], is_outer)
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
        if side.journal.is_new(frame.variables):
            return form_of(option)
        frame = frame.outer
    return lasting_form_of(option) if isinstance(option, Function) else form_of(option)


def _choosable(values: list[Any]) -> bool:
    return all(may_be_chosen(v) for v in values)
