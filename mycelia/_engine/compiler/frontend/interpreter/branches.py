"""Branches on symbolic values: all sides are traced, and the program selects one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.path_joins import JoinedLeaf, PathJoin
from mycelia._engine.compiler.frontend.interpreter.user_function import UserFunction
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    ContainerLocation,
    Location,
    MutationJournal,
    Mutations,
    TensorLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber
from mycelia._engine.compiler.frontend.value_structure import (
    ChoiceMember,
    ChoiceStructure,
    ConstantStructure,
    MaybeUnbound,
    Structure,
    SymbolicChoice,
    containers_in,
    extend_structure,
    leaf_data,
    may_be_chosen,
    persistent_structure_of,
    structure_of,
    version_structure,
)
from mycelia._engine.core.dtype import int32
from mycelia._engine.ir.control_flow import Block
from mycelia._engine.ir.node import GraphNode
from mycelia.ops.shapes.reshape import Cast

_CAST = Cast.of()


class UnreachablePath(Exception):  # it ends a path, nothing is wrong
    """This path cannot produce a result: it calls a function whose result is not known yet."""


@dataclass
class TracedBranch:
    """One side of a branch, traced and undone."""

    builder: GraphBuilder
    changes: Mutations
    result: Any
    journal: MutationJournal  # closed: the objects created on this side, and their aliases


class BranchInterpreter(InterpreterBase):
    """Traces the sides of branches and joins their effects."""

    def branches(self, index: SymbolicNumber, thunks: Sequence[Callable[[], Any]]) -> Any:
        """The result of the thunk that the symbolic bool or int `index` selects; all are traced."""
        node = self._index_node(index)
        builder, span = self.tracer.builder, self.tracer.span
        return self._joined(thunks, lambda sides: builder.switch(node, sides, span))

    def when(self, condition: Any, part: Callable[[], None]) -> None:
        """Run `part` if the condition holds."""
        truth = self.truth(condition)
        if isinstance(truth, SymbolicNumber):
            self.branches(truth, (lambda: None, part))
        elif truth:
            part()

    def enclosed(self, primitive: Any, thunk: Callable[[], Any]) -> Any:
        """The result of `thunk`, as a graph that `primitive` runs; inner blocks are inlined."""
        builder, span = self.tracer.builder, self.tracer.span
        if isinstance(primitive, Block) and builder is not self.tracer.root:
            return thunk()
        return self._joined([thunk], lambda sides: builder.enclose(primitive, sides[0], span))

    def _joined(
        self, thunks: Sequence[Callable[[], Any]], emit: Callable[[list[GraphBuilder]], GraphNode]
    ) -> Any:
        """Trace all thunks, let `emit` create a node from their graphs, and apply their changes."""
        tracer = self.tracer
        attempts = [self.attempt(f"branch_{i}", thunk) for i, thunk in enumerate(thunks)]
        sides = [a for a in attempts if a is not None]  # fewer only while results are unknown
        if not sides:
            raise UnreachablePath
        places = {key: place for side in sides for key, (place, _) in side.changes.items()}
        values = [[self._left_at(place, side) for side in sides] for place in places.values()]
        joined = [
            joined_at(place, [unassigned(place, v) for v in given], sides, self.tracer.is_outer)
            for place, given in zip(places.values(), values, strict=True)
        ]
        joined.append(join_all([side.result for side in sides], sides, self.tracer.is_outer))
        meeting = PathJoin(tracer.store, [side.journal for side in sides])
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

    def _left_at(self, place: Location, side: TracedBranch) -> Any:
        """The value of a location at the end of a side, or its old value if it did not change."""
        if place.key in side.changes:
            return side.changes[place.key][1]
        self.tracer.store.needs(place.key)
        return place.read()

    def _relate_containers(
        self, meeting: PathJoin, form: Structure, value: Any, given: Sequence[Any], first: int
    ) -> None:
        """Record which containers of the sides the containers of a joined value may be."""
        by_side = [containers_in(form, one)[first:] for one in given]
        for made, *ones in zip(containers_in(form, value)[first:], *by_side, strict=True):
            if made is not MISSING:
                meeting.relate(made, ones)

    def _columns(
        self,
        sides: list[TracedBranch],
        places: list[Location],
        joined: list[tuple[Structure, list[Any]]],
    ) -> list[JoinedLeaf]:
        """The leaves of all joined values, with their data at the end of each side."""
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
        kept = [isinstance(place, TensorLocation) for place in places] + [False]
        is_version = [
            kept[number]
            for number, (form, values) in enumerate(joined)
            for _ in form.leaves(values[0])
        ]
        columns = []
        for known, *leaves in zip(is_version, *of_sides, strict=True):
            objects, targets, data = zip(*leaves, strict=True)
            columns.append(JoinedLeaf(objects, targets[0], data, known))
        return columns

    def rewrite_place(self, place: Location, form: Structure, value: Any) -> None:
        """Write a joined value; a container keeps its identity and gets new contents."""
        self.adopt_built(form, value)
        self.tracer.store.write(place, value)

    def adopt_built(self, form: Structure, value: Any) -> None:
        """Record that the containers that a structure built belong to the program."""
        for container in containers_in(form, value):
            if container is not MISSING:
                self.tracer.store.adopt(container)

    def _index_node(self, index: SymbolicNumber) -> Any:
        if index.kind is bool:
            return index._data
        return _CAST(index.strong, int32)._data

    def attempt(self, name: str, thunk: Callable[[], Any]) -> TracedBranch | None:
        """Trace one side into a separate graph, and undo its changes."""
        tracer = self.tracer
        builder = GraphBuilder(name, tracer.builder, tracer.span)
        span = tracer.span
        tracer.depth += 1
        try:
            with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
                try:
                    result = thunk()
                except UnreachablePath:
                    journal.take_back()
                    return None
                except BaseException:
                    journal.take_back()
                    raise
                changes = journal.take_back()
                return TracedBranch(builder, changes, result, journal)
        finally:
            tracer.depth -= 1
            tracer.span = span

    def call_choice(
        self, choice: SymbolicChoice, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function that is chosen at run time."""
        thunks = [lambda f=f: self.call(f, args, kwargs) for f in choice.options]
        return self.branches(choice.index, thunks)


def held_by(place: Location | None, form: Structure) -> int:
    """How many containers of a structure only represent the location itself."""
    return int(isinstance(place, ContainerLocation) and not isinstance(form, ConstantStructure))


def unassigned(place: Location, value: Any) -> Any:
    """The value of a location; using a user variable without a value raises an error."""
    if value is MISSING and isinstance(place, VariableLocation) and not place.name.startswith("<"):
        return MaybeUnbound(place.name, MISSING, False)
    return value


def joined_at(
    place: Location, values: list[Any], sides: list[TracedBranch], is_outer: Callable[[Any], bool]
) -> tuple[Structure, list[Any]]:
    """`join_all` for the values of a location; versions of a tensor are compared by data."""
    form, given = join_all(values, sides, is_outer)
    if isinstance(place, TensorLocation):
        form = version_structure(form, [place.read(), *values])
    return form, given


def join_all(
    values: list[Any], sides: list[TracedBranch], is_outer: Callable[[Any], bool]
) -> tuple[Structure, list[Any]]:
    """The structure that holds all values, and the values converted to it."""
    form: Structure = (
        ConstantStructure(values[0]) if len(values) > 1 else structure_of(values[0], is_outer)
    )
    for value in values[1:]:
        form = extend_structure(form, value)
    if (
        isinstance(form, ConstantStructure)
        and isinstance(form.value, PathConflict)
        and _choosable(values)
    ):
        return _choice(values, sides)
    return form, values


def _choice(values: list[Any], sides: list[TracedBranch]) -> tuple[Structure, list[Any]]:
    """A choice between all different values; nested choices are flattened."""
    options: list[Any] = []
    forms: list[Structure] = []
    placed: dict[int, ChoiceMember] = {}
    for value, side in zip(values, sides, strict=True):
        if id(value) in placed:
            continue
        start = len(options)
        if isinstance(value, SymbolicChoice):
            options += value.options
            held = dict(enumerate(value.options, start))
            placed[id(value)] = ChoiceMember(value.index, held, start)
        else:
            options.append(value)
            placed[id(value)] = ChoiceMember(start, {start: value})
        forms += [_option_form(option, side) for option in options[start:]]
    return ChoiceStructure(tuple(forms)), [placed[id(v)] for v in values]


def _option_form(option: Any, side: TracedBranch) -> Structure:
    """The structure of an option; a function from before the branch is a constant."""
    frame = option.frame if isinstance(option, UserFunction) else None
    while frame is not None:
        if side.journal.is_new(frame.variables):
            return structure_of(option)
        frame = frame.outer
    return (
        persistent_structure_of(option)
        if isinstance(option, UserFunction)
        else structure_of(option)
    )


def _choosable(values: list[Any]) -> bool:
    return all(may_be_chosen(v) for v in values)
