"""Joining paths: one object for each group of objects that the paths hold.

Each path has a value for every changed location. A tensor that all paths share stays the same
object; otherwise the paths' tensors become a new tensor. Two locations that hold the same tensor on
every path hold the same tensor afterwards; if only on some paths, they may alias (`Aliases`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import StaleNode
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    JournaledStore,
    MutationJournal,
)
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber
from mycelia._engine.compiler.frontend.value_structure import Target
from mycelia._engine.ir.types import TensorType
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True, eq=False)
class JoinedLeaf:
    """A leaf on all paths: the objects, and their data at the end of each path."""

    values: tuple[Any, ...]
    target: Target
    data: tuple[Any, ...]
    is_version: bool  # versions of a known tensor, which nothing else refers to

    @property
    def is_tensor(self) -> bool:
        """Whether the leaf is a tensor that other objects may refer to."""
        held = [v for v in self.values if v is not MISSING]
        return isinstance(self.target, TensorType) and all(map(_is_object, held))

    @property
    def stale(self) -> StaleNode | None:
        """The stale data of a path, if there is any."""
        return next((d for d in self.data if type(d) is StaleNode), None)


def _is_object(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, SymbolicNumber)


@dataclass
class PathJoin:
    """The joined objects of several paths."""

    store: JournaledStore
    paths: Sequence[MutationJournal]
    tensors: dict[tuple[int, ...], Tensor] = field(default_factory=dict)
    families: list[dict[int, list[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.families = [{} for _ in self.paths]

    def needed(self, columns: Sequence[JoinedLeaf]) -> list[bool]:
        """For each column, whether the program must select its data."""
        seen: set[tuple[int, ...]] = set()
        found = []
        for column in columns:
            key = self._key(column)
            found.append(column.stale is None and self._common(column) is None and key not in seen)
            if key is not None:
                seen.add(key)
        return found

    def tensors_for(
        self, columns: Sequence[JoinedLeaf], needed: Iterable[bool], items: Iterator[Any]
    ) -> list[Any]:
        """For each column, its tensor, or the node of a number."""
        return [self._joined(c, items if n else None) for c, n in zip(columns, needed, strict=True)]

    def _joined(self, column: JoinedLeaf, items: Iterator[Any] | None) -> Any:
        common = self._common(column)
        if common is not None:
            return common
        key = self._key(column)
        found = self.tensors.get(key) if key is not None else None
        if found is not None:
            return found
        data = column.stale if items is None else next(items)
        if not isinstance(column.target, TensorType):
            return data
        tensor = Tensor._wrap(data)
        if key is not None:
            self.tensors[key] = self.store.made(tensor)
            self.relate(tensor, column.values)
        return tensor

    def relate(self, new: Any, values: Sequence[Any]) -> None:
        """Record the objects that `new` may be identical to, by path."""
        for path, family, value in zip(self.paths, self.families, values, strict=True):
            if value is MISSING:
                continue
            value = path.root_of(value)
            family.setdefault(id(value), []).append(new)
            outer = path.aliases.of(value) if path.is_new(value) else [value]
            for other in outer:
                if not path.is_new(other):
                    self.store.may_be(new, other)

    def close(self) -> None:
        """Record which new objects may be identical, after all are created."""
        for family in self.families:
            for members in family.values():
                for one, other in combinations({id(m): m for m in members}.values(), 2):
                    self.store.may_be(one, other)

    def _common(self, column: JoinedLeaf) -> Any:
        """The tensor from before that all paths share, if there is one."""
        if not column.is_tensor or column.is_version:
            return None
        held = {id(v): v for v in column.values if v is not MISSING}
        if len(held) != 1:
            return None
        value = next(iter(held.values()))
        return None if any(path.is_new(value) for path in self.paths) else value

    @staticmethod
    def _key(column: JoinedLeaf) -> tuple[int, ...] | None:
        """The identity of a joined tensor: its objects on all paths."""
        if column.is_version or not column.is_tensor:
            return None
        return tuple(map(id, column.values))
