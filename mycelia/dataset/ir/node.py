"""The node: one frozen step of a pipeline, and the questions it answers about its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from mycelia.dataset.ir.cache import CacheOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class DatasetNode:
    """A source or an operation over the rows of its children.

    Nodes hold no state of a run: any number of runs can go on over one tree at once.
    """

    op_type: ClassVar[str]
    children: tuple[DatasetNode, ...] = ()
    num_parallel_workers: int | None = None
    cache: CacheOptions | None = field(default=None, metadata={"json": False})
    number: int = field(default=0, metadata={"json": False})  # its key to random numbers
    first_step: int = field(default=0, metadata={"json": False})  # of the first epoch of a run

    @property
    def child(self) -> DatasetNode:
        return self.children[0]

    def size(self) -> int | None:
        """How many rows an epoch has; None if only a run can tell."""
        return self.child.size()

    def batch_size(self) -> int:
        """How many samples a row holds; -1 if that changes."""
        return self.children[-1].batch_size() if self.children else 1

    def repeat_count(self) -> int:
        """How many times the rows below come in one epoch; -1 for without end."""
        return self.children[-1].repeat_count() if self.children else 1

    def columns(self) -> tuple[str, ...]:
        """The names of the columns that come out."""
        return self.child.columns()

    def class_indexing(self) -> dict[str, Any]:
        """The labels of class names, where a source has such names."""
        return self.child.class_indexing() if self.children else {}

    def num_classes(self) -> int | None:
        """How many classes the labels tell apart, where a source knows it."""
        return self.child.num_classes() if self.children else None

    def init_step(self) -> int:
        """The step that a run starts from, as it was set here or below."""
        return self.first_step or (self.child.init_step() if self.children else 0)

    def source(self) -> DatasetNode:
        """The leftmost node without children."""
        return self.child.source() if self.children else self

    def over(self, *children: DatasetNode) -> Self:
        """The same step over other children."""
        return replace(self, children=children)

    def parameters(self) -> dict[str, Any]:
        """What JSON tells of the node apart from its children."""
        return {
            f.metadata.get("name", f.name): getattr(self, f.name)
            for f in fields(self)
            if f.name != "children" and f.metadata.get("json", True)
        }


def walk(root: DatasetNode) -> Iterator[DatasetNode]:
    """Every node of the tree, children before parents."""
    for child in root.children:
        yield from walk(child)
    yield root
