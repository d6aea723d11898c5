"""What a program being read may change, and the journal of its changes.

A branch or a loop body is read by really changing things, then taking the changes back: the journal
says what they were, so that the program can choose between them when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mycelia.tensor.tensor import Tensor


class _Missing:
    """Stands for a variable that has no value."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Entry:
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


@dataclass(frozen=True, eq=False)
class Numbers:
    """The array of a tensor, which subscripts and parameter writes replace."""

    tensor: Tensor

    @property
    def key(self) -> Key:
        return ("tensor", id(self.tensor))

    @property
    def home(self) -> Any:
        return self.tensor

    def read(self) -> Any:
        return Tensor._wrap(self.tensor._data)

    def write(self, value: Any) -> None:
        self.tensor._data = value._data


@dataclass(frozen=True, eq=False)
class Contents:
    """The elements of a list, dict or set made by the program."""

    container: Any

    @property
    def key(self) -> Key:
        return ("contents", id(self.container))

    @property
    def home(self) -> Any:
        return self.container

    def read(self) -> Any:
        return type(self.container)(self.container)

    def write(self, value: Any) -> None:
        if isinstance(self.container, list):
            self.container[:] = value
        else:
            self.container.clear()
            self.container.update(value)


Place = Entry | Numbers | Contents


class Journal:
    """The places changed since it was opened, with what they held before.

    What was made since then is of no concern: nobody outside has it.
    """

    def __init__(self) -> None:
        self.before: dict[Key, tuple[Place, Any]] = {}
        self.made: dict[int, Any] = {}
        self.is_open = True

    def note(self, place: Place) -> None:
        """Remember a place that is about to change."""
        if id(place.home) not in self.made and place.key not in self.before:
            self.before[place.key] = (place, place.read())

    def take_back(self) -> dict[Key, tuple[Place, Any]]:
        """Undo all changes; gives what the places held at the end."""
        found = {key: (place, place.read()) for key, (place, _) in self.before.items()}
        for place, value in self.before.values():
            place.write(value)
        return found


class Store:
    """Writes through journals: the innermost open one hears of each."""

    def __init__(self) -> None:
        self.journals: list[Journal] = [Journal()]
        self.own: dict[int, Any] = {}  # containers made by the program

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        journal = Journal()
        self.journals.append(journal)
        try:
            yield journal
        finally:
            self.journals.pop()
            journal.is_open = False
            self.journals[-1].made.update(journal.made)

    def note(self, place: Place) -> None:
        self.journals[-1].note(place)

    def write(self, place: Place, value: Any) -> None:
        self.note(place)
        place.write(value)

    def note_tensor(self, tensor: Tensor) -> None:
        self.note(Numbers(tensor))

    def adopt(self, container: Any) -> Any:
        """Count a container as made by the program."""
        self.own[id(container)] = container
        return self.made(container)

    def made(self, thing: Any) -> Any:
        """Say that a container or the variables of a frame are new."""
        self.journals[-1].made[id(thing)] = thing
        return thing

    def made_views(self, tensors: Iterable[Tensor]) -> None:
        """Say that views are new; they need not stay alive, as a write would change them, too."""
        self.journals[-1].made.update((id(tensor), None) for tensor in tensors)

    def owns(self, container: Any) -> bool:
        return self.own.get(id(container)) is container
