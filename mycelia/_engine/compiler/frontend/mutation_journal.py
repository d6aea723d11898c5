"""What a program being traced may change, and the journal of its changes.

A branch or a loop body is traced by really changing things, then taking the changes back. The
journal keeps both states, so that the program can choose between them when it runs. Values are read
in the state in which they were left: `Changes.applied` brings it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CellType
from typing import Any
from weakref import ref

from mycelia._engine.compiler.frontend.aliases import Aliases
from mycelia._engine.compiler.frontend.containers import (
    CONTAINERS,
    contents_of,
    refill,
    refilling_calls,
)
from mycelia._engine.compiler.frontend.graph_builder import StaleNode, type_of_array
from mycelia._engine.compiler.frontend.path_conflict import PathConflict, conflict_error
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import GraphNode, owner
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import related, root_of


class _MissingValue:
    """Stands for a variable that has no value."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _MissingValue()
MAYBE_WRITTEN = PathConflict("which object was written depends on a number")
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class VariableLocation:
    """One name in a dict: a variable of a frame, or a part of the world."""

    holder: dict[str, Any]
    name: str

    @property
    def key(self) -> Key:
        return ("entry", id(self.holder), self.name)

    @property
    def home(self) -> Any:
        return self.holder

    def read(self) -> Any:
        return self.holder.get(self.name, MISSING)

    def write(self, value: Any) -> None:
        if value is MISSING:
            self.holder.pop(self.name, None)
        else:
            self.holder[self.name] = value

    def writing_calls(self, value: Any) -> list[tuple[Any, ...]]:
        """The calls of C functions that `write` comes to."""
        if value is MISSING:
            return [(dict.pop, self.holder, self.name, None)]
        return [(dict.__setitem__, self.holder, self.name, value)]


@dataclass(frozen=True, eq=False)
class ClosureCellLocation:
    """A variable of a Python function around the program, by the cell that closures share."""

    cell: CellType
    name: str

    @property
    def key(self) -> Key:
        return ("cell", id(self.cell))

    @property
    def home(self) -> Any:
        return self.cell

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def write(self, value: Any) -> None:
        if value is MISSING:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value

    def writing_calls(self, value: Any) -> list[tuple[Any, ...]]:
        """The calls of C functions that `write` comes to."""
        if value is MISSING:
            return [(delattr, self.cell, "cell_contents")]
        return [(setattr, self.cell, "cell_contents", value)]


@dataclass(frozen=True, eq=False)
class TensorLocation:
    """The array of a tensor, which subscripts and parameter writes replace.

    Reading returns a version: a separate tensor that keeps this array.
    """

    tensor: Tensor

    @property
    def key(self) -> Key:
        return ("tensor", id(self.tensor))

    @property
    def home(self) -> Any:
        return self.tensor

    def read(self) -> Any:
        data = self.tensor._data
        return data.conflict if type(data) is StaleNode else Tensor._wrap(data)

    def write(self, value: Any) -> None:
        if isinstance(value, PathConflict):
            self.tensor._data = StaleNode(value, type=type_of_array(self.tensor._data))
        else:
            self.tensor._data = value._data


@dataclass(frozen=True, eq=False)
class ContainerLocation:
    """The elements of a list, dict, set or other container made by the program."""

    container: Any
    stale: dict[int, tuple[Any, PathConflict]]  # containers that cannot be used, and why

    @property
    def key(self) -> Key:
        return ("contents", id(self.container))

    @property
    def home(self) -> Any:
        return self.container

    def read(self) -> Any:
        _, conflict = self.stale.get(id(self.container), (None, None))
        return contents_of(self.container) if conflict is None else conflict

    def write(self, value: Any) -> None:
        if isinstance(value, PathConflict):
            self.stale[id(self.container)] = self.container, value
        else:
            self.stale.pop(id(self.container), None)
            refill(self.container, value)

    def writing_calls(self, value: Any) -> list[tuple[Any, ...]]:
        """The calls of C functions that `write` comes to."""
        return refilling_calls(self.container, value)


OuterLocation = VariableLocation | ClosureCellLocation | ContainerLocation
Location = OuterLocation | TensorLocation


class Mutations(dict[Key, tuple[Location, Any]]):
    """Places with what they held at the end of a branch or loop body."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The places hold these values inside the block."""
        before = [(place, place.read()) for place, _ in self.values()]
        for place, value in self.values():
            place.write(value)
        try:
            yield
        finally:
            for place, value in before:
                place.write(value)


@dataclass(eq=False)
class Watch:
    """Whether a piece of a program changes anything that it did not make itself."""

    changed: bool = False
    made: set[int] = field(default_factory=set)


class MutationJournal:
    """The places changed since it was opened, with what they held before.

    What was made since then is of no concern: nobody outside has it.
    """

    def __init__(self, graph: Graph | None = None) -> None:
        self.before: dict[Key, tuple[Location, Any]] = {}
        self.graph = graph  # where new nodes go while the journal is open
        self.made: dict[int, Any] = {}
        self.outside: dict[int, Any] = {}  # stand-ins for tensors that others have
        self.aliases = Aliases()
        self.views: list[ref[Tensor]] = []  # made since the journal was opened
        self.roots: dict[int, tuple[Tensor, Tensor]] = {}  # of these views, when it is closed
        self.is_open = True

    def note(self, place: Location) -> None:
        """Remember a place that is about to change."""
        if place.key not in self.before and not self.is_new(place.home):
            self.before[place.key] = (place, place.read())

    def close(self) -> None:
        """No more changes. Views that were made no longer follow writes: others stand for them."""
        self.is_open = False
        for view in self.views:
            tensor = view()
            if tensor is not None:
                self.roots[id(tensor)] = tensor, root_of(tensor)
        for tensor, _ in self.roots.values():
            tensor._relation = None

    def root_of(self, thing: Any) -> Any:
        """The tensor whose elements a tensor shows, or showed when the journal was closed."""
        if not isinstance(thing, Tensor):
            return thing
        return self.roots[id(thing)][1] if id(thing) in self.roots else root_of(thing)

    def is_new(self, thing: Any) -> bool:
        """Whether something was made since the journal was opened."""
        if id(thing) in self.made:
            return True
        if not isinstance(thing, Tensor) or id(thing) in self.outside:
            return False
        if ("tensor", id(thing)) in self.before:
            return False
        data = thing._data
        return isinstance(data, GraphNode) and owner(data) is self.graph is not None

    def take_back(self) -> Mutations:
        """Undo all changes; gives what the places held at the end."""
        found = Mutations({key: (place, place.read()) for key, (place, _) in self.before.items()})
        for place, value in self.before.values():
            place.write(value)
        return found


class JournaledStore:
    """Writes through journals: the innermost open one hears of each."""

    def __init__(self, before_change: Callable[[Tensor], None]) -> None:
        self.before_change = before_change  # called with tensors whose data is about to change
        self.journals: list[MutationJournal] = [MutationJournal()]
        self.own: dict[int, Any] = {}  # containers made by the program
        self.stale: dict[int, tuple[Any, PathConflict]] = {}
        self.read: set[Key] = set()  # places whose old values the program needs
        self.writes = 0  # how many tensors and containers were written
        self._held: dict[int, Any] = {}  # iterators that variables and containers hold
        self._scratch: dict[int, Any] = {}  # the variables of comprehensions
        self._watches: list[Watch] = []

    @contextmanager
    def journal(self, graph: Graph) -> Iterator[MutationJournal]:
        """A journal of what happens in the block, whose nodes are those of `graph`."""
        journal = MutationJournal(graph)
        self.journals.append(journal)
        try:
            yield journal
        finally:
            self.journals.pop()
            journal.close()
            self.journals[-1].made.update(journal.made)

    def note(self, place: Location) -> None:
        self.journals[-1].note(place)
        for watch in self._watches:
            is_scratch = id(place.home) in watch.made or id(place.home) in self._scratch
            watch.changed = watch.changed or not is_scratch

    def is_new(self, thing: Any) -> bool:
        """Whether the program made something."""
        return any(journal.is_new(thing) for journal in self.journals)

    def write(self, place: Location, value: Any) -> None:
        self.note(place)
        place.write(value)

    def note_tensor(self, tensor: Tensor) -> None:
        """A tensor is about to change: nobody knows what those hold that may be the same one."""
        self.note(TensorLocation(tensor))
        self.writes += 1
        for other in self.aliases_of(tensor):
            for shown in related(other):
                if type(shown._data) is not StaleNode and shown is not tensor:
                    self.before_change(shown)
                    self.write(TensorLocation(shown), MAYBE_WRITTEN)

    def needs(self, key: Key) -> None:
        """The program depends on what a place holds: what it held before, unless it was written."""
        if not any(key in journal.before for journal in self.journals):
            self.read.add(key)

    def note_container(self, container: Any) -> None:
        """A container is about to change; those that may be the same one cannot be used then."""
        self.note(ContainerLocation(container, self.stale))
        self.writes += 1
        for other in self.aliases_of(container):
            self.write(ContainerLocation(other, self.stale), MAYBE_WRITTEN)

    def refuse_stale(self, value: Any) -> None:
        """Raise if a container holds nobody knows what."""
        container = value if isinstance(value, CONTAINERS) else getattr(value, "__dict__", None)
        _, conflict = self.stale.get(id(container), (None, None))
        if conflict is not None:
            raise conflict_error(conflict)

    def aliases_of(self, thing: Any) -> list[Any]:
        """What may be the same object as `thing`, depending on the run."""
        return [other for journal in self.journals for other in journal.aliases.of(thing)]

    def may_be(self, thing: Any, other: Any) -> None:
        """Say that the run decides whether these are one object."""
        self.journals[-1].aliases.add(thing, other)

    def adopt(self, container: Any) -> Any:
        """Count a container as made by the program."""
        self.own[id(container)] = container
        return self.made(container)

    def made(self, thing: Any) -> Any:
        """Say that a container or the variables of a frame are new."""
        self.journals[-1].made[id(thing)] = thing
        for watch in self._watches:
            watch.made.add(id(thing))
        return thing

    def made_views(self, tensors: Iterable[Tensor]) -> None:
        """Say that views are new; they need not stay alive, as a write would change them, too."""
        journal = self.journals[-1]
        for tensor in tensors:
            journal.made[id(tensor)] = None
            if len(self.journals) > 1:
                journal.views.append(ref(tensor))

    def hold(self, value: Any) -> None:
        """Say that a variable or container holds a value; matters for iterators."""
        if isinstance(value, Iterator):
            self._held[id(value)] = value

    def is_held(self, iterator: Any) -> bool:
        """Whether someone else may still take elements from an iterator."""
        return id(iterator) in self._held

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        """Says whether the block changes anything that was there before."""
        watch = Watch()
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def scratch(self) -> dict[str, Any]:
        """The variables of a comprehension; nobody sees them afterwards."""
        found: dict[str, Any] = self.made({})
        self._scratch[id(found)] = found
        return found

    def owns(self, container: Any) -> bool:
        return self.own.get(id(container)) is container
