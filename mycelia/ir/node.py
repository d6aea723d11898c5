"""Nodes: the values of a graph. A parameter, a constant, or the application of a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelia.core.errors import problem
from mycelia.core.shape import Shape
from mycelia.core.source import Span
from mycelia.ir.slot import slot

if TYPE_CHECKING:
    from mycelia.ir.graph import Graph


@dataclass(frozen=True, eq=False)
class Node:
    """What all nodes have: the place in user code they came from, and a type once it is known.

    Nodes never change; a rewrite makes new ones. Two nodes are equal only if they are the same one.
    """

    span: Span | None = field(default=None, kw_only=True, repr=False)
    type: Any = field(default=None, kw_only=True, repr=False)

    # A node with a tensor type can stand where an array stands, as the data of a Tensor.

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype.numpy

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return prod(self.type.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if slot.force is None:
            raise problem(
                RuntimeError,
                "a value of a compiled function was used after the function had ended",
                fix="return it from the function instead of keeping it elsewhere",
            )
        return np.array(slot.force(self), dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False)
class Parameter(Node):
    """An input of a graph."""

    name: str
    graph: Graph = field(repr=False)


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """A value known when the graph is built: a number, an operator, a graph, ..."""

    value: Any


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """A function applied to arguments, computed in `graph`. The function is a node, too."""

    fn: Node
    args: tuple[Node, ...]
    graph: Graph = field(repr=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The function and the arguments."""
        return (self.fn, *self.args)


def owner(node: Node) -> Graph | None:
    """The graph a node is computed in; a constant belongs to none."""
    return node.graph if isinstance(node, (Parameter, Apply)) else None
