"""State that a program keeps besides parameters: attributes and containers that it changes.

`self.count += 1`, `self.cache.append(x)`, and `self.d[k] = x` change objects that were there before
the call. The values are arguments and results of the program: it takes what the places hold, and
what it leaves there is written back after each run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
    retained_structure_of,
)
from mycelia._engine.core.errors import located
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import related, root_of

if TYPE_CHECKING:
    from mycelia._engine.compiler.frontend.tracer import Tracer

MOST_TRACES = 10  # of a function, until all state is known


class StateFound(Exception):  # it asks to trace the function again
    """A function changes what it took for constant: places and tensors that must be inputs."""

    def __init__(self, places: Sequence[OuterLocation], tensors: Sequence[Tensor]) -> None:
        super().__init__()
        self.places, self.tensors = tuple(places), tuple(tensors)


@dataclass(eq=False)
class ProgramState:
    """What is known to be state, when a function is traced."""

    places: dict[Key, OuterLocation]
    tensors: dict[int, Tensor]  # written in place: inputs, not constants

    @staticmethod
    def empty() -> ProgramState:
        return ProgramState({}, {})

    def known(self) -> frozenset[int]:
        """The identities of containers that are state themselves, and of known tensors."""
        containers = [p.container for p in self.places.values() if isinstance(p, ContainerLocation)]
        return frozenset(map(id, containers)).union(self.tensors)

    def values(self) -> tuple[Any, ...]:
        """What the places hold now."""
        return tuple([place.read() for place in self.places.values()])

    def add(self, found: StateFound) -> None:
        """Know more places and tensors; they are kept alive, as they are named by identity."""
        self.places |= {place.key: place for place in found.places}
        self.tensors |= {id(tensor): tensor for tensor in found.tensors}

    def enter(self, tracer: Tracer, values: Sequence[Any]) -> None:
        """Let a program that is about to be traced have stand-ins in the places."""
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
    """Let the tensors that the state holds stand for the inputs themselves.

    Others may hold them, too, and then see what the program does with them.
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
    """A place that a program changes, and the form of what it leaves there.

    Instead of a place there is a number for a container among the arguments of a call.
    """

    place: OuterLocation | int
    form: Structure
    origins: tuple[int | None, ...]  # of its containers: those among the arguments that they are

    def calls(self, value: Any, containers: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Calls that write a new value, given the containers among the arguments of a call."""
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
    """Which of the results of a program are tensors among its arguments, or one tensor."""

    arguments: dict[int, int]  # of results, by their numbers: the number of the argument
    results: dict[int, int]  # the first result that is the same tensor

    @staticmethod
    def of(results: Sequence[Any], arguments: Sequence[Tensor]) -> ResultAliases:
        """The identities of traced values."""
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
        """The results of a run, as the tensors that they are."""
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
    """What a traced program changes outside, and the leaves of the new values.

    Raises StateFound if it took a place or tensor for constant that it changes.
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
            form = retained_structure_of(value, tracer.is_outer, lambda t: id(t) in tracer.inputs)
            origins = tuple(tracer.given.get(id(c)) for c in containers_in(form, value))
            changes.append(StateChange(place if given is None else given, form, origins))
            leaves += form.leaves(value)
    if places or tensors:
        raise StateFound(places, tensors)
    if keeps_a_view(tracer, [leaf for leaf, _ in leaves if isinstance(leaf, Tensor)]):
        raise GraphBreak(None, "it keeps a tensor that shares elements with another one")
    return changes, leaves


def refuse_unfinished(value: Any) -> None:
    """Raise if a value that leaves a program is none yet: text with holes, an iterator, ..."""
    if isinstance(value, (MaybeUnbound, SymbolicString, Iterator)):
        what = {
            MaybeUnbound: "a variable of some paths",
            SymbolicString: "a text with numbers of tensors",
        }
        raise GraphBreak(None, f"{what.get(type(value), 'an iterator')} leaves the program")
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (tuple, list, deque)):
        for part in value:
            refuse_unfinished(part)


def keeps_a_view(tracer: Tracer, kept: Sequence[Tensor]) -> bool:
    """Whether a write to a tensor that a program keeps would show in another one that is left.

    Tensors that may be the same, depending on the run, count only if both are kept.
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
    """Whether a program that is being traced has changed anything that is seen outside."""
    noted = [pair for journal in tracer.store.journals for pair in journal.before.values()]
    places = [place for place, _ in noted if place.home is not tracer.world]
    return bool(places) or "<token>" in tracer.world


def trace_with_state(state: ProgramState, trace: Callable[[], Any]) -> Any:
    """The result of `trace`, repeated until all state is known."""
    for _ in range(MOST_TRACES):
        try:
            return trace()
        except StateFound as found:
            state.add(found)
    raise GraphBreak(None, "each trace of it changes other objects")


def refuse_state(found: StateFound) -> Exception:
    """The error for a function that changes attributes where nothing can be written back."""
    names = [str(p.name) for p in found.places if isinstance(p, VariableLocation)]
    kinds = [type(p.container).__name__ for p in found.places if isinstance(p, ContainerLocation)]
    what = ", ".join([*names, *kinds]) or "a tensor that was made outside"
    return located(
        RuntimeError,
        f"the program changes {what}, which it has to write back after each call",
        expected="a function that changes Parameters only",
        fix="keep the state in a Parameter, or return the new value",
        span=None,
    )
