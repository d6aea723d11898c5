"""`DatasetNode`: one immutable step of a pipeline, and what is known about its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from mycelia.dataset.ir.cache import CacheOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class DatasetNode:
    """A source, or an operation on the rows of its children.

    Nodes hold no state of a run, so any number of runs can share one tree.
    """

    op_type: ClassVar[str]
    children: tuple[DatasetNode, ...] = ()
    num_parallel_workers: int | None = None
    cache: CacheOptions | None = field(default=None, metadata={"json": False})
    number: int = field(default=0, metadata={"json": False})  # keys the step's random numbers
    first_step: int = field(default=0, metadata={"json": False})  # start of a run's first epoch

    @property
    def child(self) -> DatasetNode:
        return self.children[0]

    def size(self) -> int | None:
        """How many rows an epoch has; None if only a run can determine it."""
        return self.child.size()

    def batch_size(self) -> int:
        """How many samples a row holds; -1 if that varies."""
        return self.children[-1].batch_size() if self.children else 1

    def repeat_count(self) -> int:
        """How many times the child's rows are repeated per epoch; -1 for endlessly."""
        return self.children[-1].repeat_count() if self.children else 1

    def columns(self) -> tuple[str, ...]:
        """The names of the output columns."""
        return self.child.columns()

    def class_indexing(self) -> dict[str, Any]:
        """Map from class names to labels, if the source has class names."""
        return self.child.class_indexing() if self.children else {}

    def num_classes(self) -> int | None:
        """The number of classes, if the source knows it."""
        return self.child.num_classes() if self.children else None

    def init_step(self) -> int:
        """The step at which a run starts, as set on this node or a child."""
        return self.first_step or (self.child.init_step() if self.children else 0)

    def source(self) -> DatasetNode:
        """The leftmost node without children."""
        return self.child.source() if self.children else self

    def over(self, *children: DatasetNode) -> Self:
        """This step with other children."""
        return replace(self, children=children)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the node that JSON stores, except the children."""
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
