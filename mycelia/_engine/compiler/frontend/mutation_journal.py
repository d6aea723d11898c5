"""The mutation journal: what a traced branch or loop body changes, and how to undo it.

Tracing a branch or loop body really mutates variables, tensors, and containers, then undoes the
changes. The journal stores both states, so that the program can choose between them at run time.
`Mutations.applied` restores the state at the end of a branch, in which its values must be read.
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
    """The marker of a variable that has no value."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _MissingValue()
MAYBE_WRITTEN = PathConflict("which object was written depends on a runtime value")
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class VariableLocation:
    """One name in a dict: a variable of a frame, or an effect of the program."""

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
        """The C function calls that are equivalent to `write`."""
        if value is MISSING:
            return [(dict.pop, self.holder, self.name, None)]
        return [(dict.__setitem__, self.holder, self.name, value)]


@dataclass(frozen=True, eq=False)
class ClosureCellLocation:
    """A variable of a Python function that encloses the program: the cell that closures share."""

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
        """The C function calls that are equivalent to `write`."""
        if value is MISSING:
            return [(delattr, self.cell, "cell_contents")]
        return [(setattr, self.cell, "cell_contents", value)]


@dataclass(frozen=True, eq=False)
class TensorLocation:
    """The array of a tensor, which subscript and parameter assignments replace.

    `read` returns a version: a separate tensor with the current array.
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
    """The elements of a list, dict, set, or other container created by the program."""

    container: Any
    stale: dict[int, tuple[Any, PathConflict]]  # unusable containers, and why

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
        """The C function calls that are equivalent to `write`."""
        return refilling_calls(self.container, value)


OuterLocation = VariableLocation | ClosureCellLocation | ContainerLocation
Location = OuterLocation | TensorLocation


class Mutations(dict[Key, tuple[Location, Any]]):
    """Locations and their values at the end of a branch or loop body."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Set the locations to these values inside the block."""
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
    """Whether a section of a program changes anything that it did not create."""

    changed: bool = False
    made: set[int] = field(default_factory=set)


class MutationJournal:
    """The locations changed since the journal was opened, with their previous values.

    Objects created since then are not recorded: nothing outside refers to them.
    """

    def __init__(self, graph: Graph | None = None) -> None:
        self.before: dict[Key, tuple[Location, Any]] = {}
        self.graph = graph  # the graph of new nodes while the journal is open
        self.made: dict[int, Any] = {}
        self.outside: dict[int, Any] = {}  # stand-ins for tensors from outside
        self.aliases = Aliases()
        self.views: list[ref[Tensor]] = []  # created since the journal was opened
        self.roots: dict[int, tuple[Tensor, Tensor]] = {}  # of these views, at closing
        self.is_open = True

    def note(self, place: Location) -> None:
        """Record a location that is about to change."""
        if place.key not in self.before and not self.is_new(place.home):
            self.before[place.key] = (place, place.read())

    def close(self) -> None:
        """Stop recording; views created so far no longer follow writes to their base tensors."""
        self.is_open = False
        for view in self.views:
            tensor = view()
            if tensor is not None:
                self.roots[id(tensor)] = tensor, root_of(tensor)
        for tensor, _ in self.roots.values():
            tensor._relation = None

    def root_of(self, thing: Any) -> Any:
        """The base tensor of a view, now or when the journal was closed."""
        if not isinstance(thing, Tensor):
            return thing
        return self.roots[id(thing)][1] if id(thing) in self.roots else root_of(thing)

    def is_new(self, thing: Any) -> bool:
        """Whether an object was created since the journal was opened."""
        if id(thing) in self.made:
            return True
        if not isinstance(thing, Tensor) or id(thing) in self.outside:
            return False
        if ("tensor", id(thing)) in self.before:
            return False
        data = thing._data
        return isinstance(data, GraphNode) and owner(data) is self.graph is not None

    def take_back(self) -> Mutations:
        """Undo all changes; returns the values at the end."""
        found = Mutations({key: (place, place.read()) for key, (place, _) in self.before.items()})
        for place, value in self.before.values():
            place.write(value)
        return found


class JournaledStore:
    """Writes to locations, each recorded in the innermost open journal."""

    def __init__(self, before_change: Callable[[Tensor], None]) -> None:
        self.before_change = before_change  # called before the data of a tensor changes
        self.journals: list[MutationJournal] = [MutationJournal()]
        self.own: dict[int, Any] = {}  # containers created by the program
        self.stale: dict[int, tuple[Any, PathConflict]] = {}
        self.read: set[Key] = set()  # locations whose old values the program needs
        self.writes = 0  # number of writes to tensors and containers
        self._held: dict[int, Any] = {}  # iterators that variables and containers hold
        self._scratch: dict[int, Any] = {}  # the variables of comprehensions
        self._watches: list[Watch] = []

    @contextmanager
    def journal(self, graph: Graph) -> Iterator[MutationJournal]:
        """Record the changes inside the block, whose nodes belong to `graph`."""
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
        """Whether the program created an object."""
        return any(journal.is_new(thing) for journal in self.journals)

    def write(self, place: Location, value: Any) -> None:
        self.note(place)
        place.write(value)

    def note_tensor(self, tensor: Tensor) -> None:
        """Record that a tensor is about to change; tensors that may alias it become stale."""
        self.note(TensorLocation(tensor))
        self.writes += 1
        for other in self.aliases_of(tensor):
            for shown in related(other):
                if type(shown._data) is not StaleNode and shown is not tensor:
                    self.before_change(shown)
                    self.write(TensorLocation(shown), MAYBE_WRITTEN)

    def needs(self, key: Key) -> None:
        """Record that the program reads a location: its old value, unless it was written."""
        if not any(key in journal.before for journal in self.journals):
            self.read.add(key)

    def note_container(self, container: Any) -> None:
        """Record that a container is about to change; containers that may alias it become stale."""
        self.note(ContainerLocation(container, self.stale))
        self.writes += 1
        for other in self.aliases_of(container):
            self.write(ContainerLocation(other, self.stale), MAYBE_WRITTEN)

    def refuse_stale(self, value: Any) -> None:
        """Raise if a container is stale, that is, may have been written through an alias."""
        container = value if isinstance(value, CONTAINERS) else getattr(value, "__dict__", None)
        _, conflict = self.stale.get(id(container), (None, None))
        if conflict is not None:
            raise conflict_error(conflict)

    def aliases_of(self, thing: Any) -> list[Any]:
        """The objects that may be identical to `thing` at run time."""
        return [other for journal in self.journals for other in journal.aliases.of(thing)]

    def may_be(self, thing: Any, other: Any) -> None:
        """Record that two objects may be identical at run time."""
        self.journals[-1].aliases.add(thing, other)

    def adopt(self, container: Any) -> Any:
        """Treat a container as created by the program."""
        self.own[id(container)] = container
        return self.made(container)

    def made(self, thing: Any) -> Any:
        """Record that a container or the variables of a frame are new."""
        self.journals[-1].made[id(thing)] = thing
        for watch in self._watches:
            watch.made.add(id(thing))
        return thing

    def made_views(self, tensors: Iterable[Tensor]) -> None:
        """Record new views; weak references suffice, since writes to the base update live views."""
        journal = self.journals[-1]
        for tensor in tensors:
            journal.made[id(tensor)] = None
            if len(self.journals) > 1:
                journal.views.append(ref(tensor))

    def hold(self, value: Any) -> None:
        """Record that a variable or container holds a value; only iterators matter."""
        if isinstance(value, Iterator):
            self._held[id(value)] = value

    def is_held(self, iterator: Any) -> bool:
        """Whether other code may still advance an iterator."""
        return id(iterator) in self._held

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        """Observe whether the block changes anything that existed before."""
        watch = Watch()
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def scratch(self) -> dict[str, Any]:
        """The variables of a comprehension, which are not visible afterwards."""
        found: dict[str, Any] = self.made({})
        self._scratch[id(found)] = found
        return found

    def owns(self, container: Any) -> bool:
        return self.own.get(id(container)) is container
