"""Nodes: the values of a graph. A parameter, a constant, or the application of a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.handlers import handlers

if TYPE_CHECKING:
    from mycelia._engine.ir.graph import Graph


@dataclass(frozen=True, eq=False)
class GraphNode:
    """Base of all nodes: a location in user code, and a type once it is known.

    Nodes are immutable; a rewrite creates new ones. Two nodes are equal only if they are identical.
    """

    span: Span | None = field(default=None, kw_only=True, repr=False)
    type: Any = field(default=None, kw_only=True, repr=False)

    # A node with a tensor type can replace an array, as the data of a Tensor.

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
        if handlers.force is None:
            raise problem(
                RuntimeError,
                "a value of a compiled function is used after the function ended",
                fix="return it from the function instead of storing it elsewhere",
            )
        return np.array(handlers.force(self), dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False)
class GraphParameter(GraphNode):
    """An input of a graph."""

    name: str
    graph: Graph = field(repr=False)


@dataclass(frozen=True, eq=False)
class GraphConstant(GraphNode):
    """A value that is known when the graph is built: a number, an operator, a graph, ..."""

    value: Any


@dataclass(frozen=True, eq=False)
class Apply(GraphNode):
    """A function applied to arguments, computed in `graph`. The function is a node, too."""

    fn: GraphNode
    args: tuple[GraphNode, ...]
    graph: Graph = field(repr=False)

    @property
    def inputs(self) -> tuple[GraphNode, ...]:
        """The function and the arguments."""
        return (self.fn, *self.args)


def owner(node: GraphNode) -> Graph | None:
    """The graph in which a node is computed; None for a constant."""
    return node.graph if isinstance(node, (GraphParameter, Apply)) else None
