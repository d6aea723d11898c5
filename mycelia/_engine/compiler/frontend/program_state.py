"""Program state besides parameters: attributes and containers that a program mutates.

`self.count += 1`, `self.cache.append(x)`, and `self.d[k] = x` change objects that existed before
the call. Their values are inputs and outputs of the program: the old values are passed in, and the
new values are written back after each run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.containers import makes_objects, refilling_calls
from mycelia._engine.compiler.frontend.interpreter.formatted_strings import SymbolicString
from mycelia._engine.compiler.frontend.mutation_journal import (
    ContainerLocation,
    Key,
    OuterLocation,
    TensorLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.path_conflict import PathConflict, conflict_error
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.value_structure import (
    MappingStructure,
    MaybeUnbound,
    MaybeUnboundStructure,
    SequenceStructure,
    Structure,
    containers_in,
    entries_of,
    output_structure_of,
)
from mycelia._engine.core.errors import located
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import related, root_of

if TYPE_CHECKING:
    from mycelia._engine.compiler.frontend.tracer import Tracer

MOST_TRACES = 10  # of a function, to find all its state


class StateFound(Exception):  # it asks to trace the function again
    """A function mutates locations or tensors that it used as constants: they must be inputs."""

    def __init__(self, places: Sequence[OuterLocation], tensors: Sequence[Tensor]) -> None:
        super().__init__()
        self.places, self.tensors = tuple(places), tuple(tensors)


@dataclass(eq=False)
class ProgramState:
    """The state known before a function is traced."""

    places: dict[Key, OuterLocation]
    tensors: dict[int, Tensor]  # written in place: inputs, not constants

    @staticmethod
    def empty() -> ProgramState:
        return ProgramState({}, {})

    def known(self) -> frozenset[int]:
        """The ids of containers that are state themselves, and of known tensors."""
        containers = [p.container for p in self.places.values() if isinstance(p, ContainerLocation)]
        return frozenset(map(id, containers)).union(self.tensors)

    def values(self) -> tuple[Any, ...]:
        """The current values of the locations."""
        return tuple([place.read() for place in self.places.values()])

    def add(self, found: StateFound) -> None:
        """Add locations and tensors; they are kept alive because they are identified by id."""
        self.places |= {place.key: place for place in found.places}
        self.tensors |= {id(tensor): tensor for tensor in found.tensors}

    def enter(self, tracer: Tracer, values: Sequence[Any]) -> None:
        """Put stand-ins into the locations before tracing."""
        for tensor in self.tensors.values():
            tracer.bind(tensor)
        for (key, place), value in zip(self.places.items(), values, strict=True):
            tracer.state.add(key)
            if isinstance(place, ContainerLocation):
                place = ContainerLocation(place.container, tracer.store.stale)
            tracer.write_outside(place, value)


def stand_in_for_state(
    tracer: Tracer,
    arguments: Structure,
    state: ProgramState,
    given: list[Tensor],
    firsts: Sequence[int],
) -> None:
    """Use the tensors in the state themselves as stand-ins for the inputs.

    Other objects may refer to them, too, and must see the program's writes.
    """
    if not state.places:
        return
    assert isinstance(arguments, SequenceStructure)
    kept = arguments.forms[-1].leaves(state.values())
    for place, (leaf, _) in enumerate(kept, len(given) - len(kept)):
        if not isinstance(leaf, Tensor):
            continue
        if not firsts or firsts[place] == place:
            tracer.kept_inputs[id(leaf)] = leaf
            tracer.undo_log.note(leaf, "_data", "_shared")
            leaf._data = given[place]._data
        given[place] = leaf


@dataclass(frozen=True, eq=False)
class StateChange:
    """A location that a program changes, and the structure of its new value.

    A container among the arguments of a call is identified by its index instead of a location.
    """

    place: OuterLocation | int
    form: Structure
    origins: tuple[int | None, ...]  # its containers, by index among the arguments

    def calls(self, value: Any, containers: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The calls that write a new value, given the containers among the arguments of a call."""
        calls: list[tuple[Any, ...]] = []
        origins = iter([None if o is None else containers[o] for o in self.origins])
        value = _with_containers(self.form, value, origins, calls)
        place = self.place
        if isinstance(place, int):
            place = ContainerLocation(containers[place], {})
        return [*calls, *place.writing_calls(value)]


def _with_containers(
    form: Structure, value: Any, given: Iterator[Any], calls: list[tuple[Any, ...]]
) -> Any:
    """`value`, with `given` containers where they are not None; `calls` fill them."""
    if isinstance(form, MaybeUnboundStructure):
        return _with_containers(form.form, value, given, calls)
    if not isinstance(form, (SequenceStructure, MappingStructure)):
        return value
    is_tuple = isinstance(form.kind, type) and issubclass(form.kind, tuple)
    container = None if is_tuple else next(given)
    if isinstance(form, SequenceStructure):
        pairs = zip(form.forms, value, strict=True)
        parts: Any = [_with_containers(f, v, given, calls) for f, v in pairs]
        made = form.kind(*parts) if hasattr(form.kind, "_fields") else None
    else:
        held = entries_of(value)
        triples = zip(form.keys, form.forms, held.values(), strict=True)
        parts = {key: _with_containers(f, v, given, calls) for key, f, v in triples}
        made = None
        if makes_objects(form.kind):
            held.update(parts)
            made = value
    if container is not None:
        calls += refilling_calls(container, parts)
        return container
    return form.kind(parts) if made is None else made


@dataclass(frozen=True)
class ResultAliases:
    """Which results of a program are tensors among its arguments, or the same tensor."""

    arguments: dict[int, int]  # result index to argument index
    results: dict[int, int]  # result index to the first result that is the same tensor

    @staticmethod
    def of(results: Sequence[Any], arguments: Sequence[Tensor]) -> ResultAliases:
        """Find the aliases among traced values."""
        places = {id(tensor): i for i, tensor in enumerate(arguments)}
        firsts: dict[int, int] = {}
        found = ResultAliases({}, {})
        for number, leaf in enumerate(results):
            if type(leaf) is not Tensor:
                continue
            if id(leaf) in places:
                found.arguments[number] = places[id(leaf)]
            elif firsts.setdefault(id(leaf), number) != number:
                found.results[number] = firsts[id(leaf)]
        return found

    def restored(self, found: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The results of a run, with aliases replaced by the actual tensors."""
        leaves = list(found)
        for number in set(self.results.values()):
            if not isinstance(leaves[number], Tensor):
                leaves[number] = Tensor._wrap(leaves[number])
        for number, first in self.results.items():
            leaves[number] = leaves[first]
        for number, argument in self.arguments.items():
            leaves[number] = arguments[argument]
        return leaves


def changes_of(tracer: Tracer) -> tuple[list[StateChange], list[tuple[Any, Any]]]:
    """The outside locations that a traced program changes, and the leaves of the new values.

    Raises StateFound if the program used a changed location or tensor as a constant.
    """
    changes, leaves, places, tensors = [], [], [], []
    for key, (place, before) in tracer.store.journals[0].before.items():
        if isinstance(place, TensorLocation):
            is_known = id(place.tensor) in tracer.inputs or isinstance(before, PathConflict)
            if not is_known and not tracer.is_traced(before):
                tensors.append(place.tensor)
        elif place.home is not tracer.world:
            given = tracer.given.get(id(place.home))
            if given is None and key not in tracer.state and tracer.has_read(place):
                places.append(place)
            value = place.read()
            if isinstance(value, PathConflict):
                raise conflict_error(value)
            refuse_unfinished(value)
            if isinstance(place, ContainerLocation):
                tracer.store.adopt(value)  # a copy
            form = output_structure_of(value, tracer.is_outer, partial(_is_stored_leaf, tracer))
            origins = tuple(tracer.given.get(id(c)) for c in containers_in(form, value))
            changes.append(StateChange(place if given is None else given, form, origins))
            leaves += form.leaves(value)
    if places or tensors:
        raise StateFound(places, tensors)
    if keeps_a_view(tracer, [leaf for leaf, _ in leaves if isinstance(leaf, Tensor)]):
        raise GraphBreak(None, "it stores a tensor that shares elements with another one")
    return changes, leaves


def _is_stored_leaf(tracer: Tracer, tensor: Tensor) -> bool:
    return tracer.is_new_leaf(tensor) and id(tensor) not in tracer.inputs


def refuse_unfinished(value: Any) -> None:
    """Raise if an output of the program is not complete: a symbolic string, an iterator, ..."""
    if isinstance(value, (MaybeUnbound, SymbolicString, Iterator)):
        what = {
            MaybeUnbound: "a variable that only some paths assign",
            SymbolicString: "a string with runtime values",
        }
        raise GraphBreak(None, f"{what.get(type(value), 'an iterator')} leaves the program")
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (tuple, list, deque)):
        for part in value:
            refuse_unfinished(part)


def keeps_a_view(tracer: Tracer, kept: Sequence[Tensor]) -> bool:
    """Whether a write to a tensor that the program stores would show in another live tensor.

    Tensors that may be identical at run time count only if both are stored.
    """
    inputs = {id(tensor) for tensor in tracer.arguments} | set(tracer.inputs)
    roots: dict[int, Tensor] = {}
    for tensor in kept:
        root = root_of(tensor)
        if roots.setdefault(id(root), tensor) is not tensor:
            return True
        if root is not tensor and id(root) in inputs:
            return True
    kept_roots = set(roots) | set(tracer.inputs)
    return any(
        id(other) in kept_roots
        for tensor in kept
        for other in tracer.store.aliases_of(root_of(tensor))
    )


def shares_elements(values: Sequence[Any]) -> bool:
    """Whether a tensor among the values is a view, or has views."""
    return any(len(related(tensor)) > 1 for tensor in tensors_of(values))


def changes_anything(tracer: Tracer) -> bool:
    """Whether the program being traced has changed anything visible outside."""
    noted = [pair for journal in tracer.store.journals for pair in journal.before.values()]
    places = [place for place, _ in noted if place.home is not tracer.world]
    return bool(places) or "<token>" in tracer.world


def trace_with_state(state: ProgramState, trace: Callable[[], Any]) -> Any:
    """Call `trace` repeatedly until all state is known."""
    for _ in range(MOST_TRACES):
        try:
            return trace()
        except StateFound as found:
            state.add(found)
    raise GraphBreak(None, "each trace changes different objects")


def refuse_state(found: StateFound) -> Exception:
    """The error for a function that changes attributes where they cannot be written back."""
    names = [str(p.name) for p in found.places if isinstance(p, VariableLocation)]
    kinds = [type(p.container).__name__ for p in found.places if isinstance(p, ContainerLocation)]
    what = ", ".join([*names, *kinds]) or "a tensor created outside"
    return located(
        RuntimeError,
        f"the program changes {what}, which cannot be written back here",
        expected="a function that changes only Parameters",
        fix="keep the state in a Parameter, or return the new value",
        span=None,
    )
