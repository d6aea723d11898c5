"""Primitives for control flow and effects: tuples, branches, loops, calls, Python callbacks.

They take whole graphs as constant arguments. These graphs are closed: they receive all values
that they use as parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.primitive import Primitive


class Named(Primitive):
    """A primitive whose printed name is lowercase, unlike an operator's."""

    @property
    def name(self) -> str:
        return type(self).__name__.lower()


class Tuple(Named):
    """tuple(a, b, ...): packs several values into one."""


class Item(Named):
    """item[i](t): element i of a tuple."""

    def __init__(self, index: int) -> None:
        self.__dict__["index"] = index

    @property
    def attributes(self) -> dict[str, Any]:
        return {"index": self.__dict__["index"]}

    @property
    def index(self) -> int:
        return self.__dict__["index"]


class Switch(Named):
    """switch(i, @g0, @g1, ..., *operands): the result of graph number i for the operands.

    The index is an int32 that is in range, or a bool with two graphs: false, true.
    """


class While(Named):
    """while(@condition, @step, *carry, *fixed): `carry = step(carry, fixed)` while it holds.

    `step` returns a tuple with the length of the carry.
    """


class Vmap(Named):
    """vmap[axes](@g, *operands): the graph vectorized over one axis of some operands.

    `in_axes` has an axis (or None) for each operand, `out_axes` one for each result; `size` is the
    length of the mapped axis.
    """

    def __init__(
        self, in_axes: tuple[int | None, ...], out_axes: tuple[int, ...], size: int
    ) -> None:
        self.__dict__.update(in_axes=in_axes, out_axes=out_axes, size=size)

    in_axes: tuple[int | None, ...]
    out_axes: tuple[int, ...]
    size: int

    @property
    def attributes(self) -> dict[str, Any]:
        return {"in_axes": self.in_axes, "out_axes": self.out_axes, "size": self.size}


class Recompute(Named):
    """recompute(@g, *operands): the result of the graph; its backward pass runs the graph again.

    So no residual inside the graph is stored between the forward and the backward pass.
    """


class Block(Named):
    """block(@g, *operands): the result of the graph; exists only during compilation.

    Identical blocks that follow each other become a scan; the others are inlined.
    """


class Part(Block):
    """part(@g, *operands): a block that processes one part of the data.

    Identical parts become a scan even if none passes anything on to the next.
    """


class Scan(Named):
    """scan[...](@step, *carry, *mapped, *fixed): `step` for each index of the mapped operands.

    `step` receives the carry, the slices of the mapped operands at its index (along their first
    axis), and the fixed operands. It returns a tuple of the new carry and of further results, which
    are stacked. `reverse` iterates from the last index to the first.
    """

    def __init__(self, carry: int, mapped: int, length: int, reverse: bool = False) -> None:
        self.__dict__.update(carry=carry, mapped=mapped, length=length, reverse=reverse)

    carry: int
    mapped: int
    length: int
    reverse: bool

    @property
    def attributes(self) -> dict[str, Any]:
        names = ("carry", "mapped", "length", "reverse")
        return {name: self.__dict__[name] for name in names}


class Call(Named):
    """call(@g, *arguments): the result of the graph. Remains only where a graph calls itself."""


class Effect(Named):
    """effect(token, *values): pass the values to a Python function, in the order of the tokens."""

    calls_python: ClassVar[bool] = True

    def __init__(self, run: Callable[..., None], title: str) -> None:
        self.__dict__.update(run=run, title=title)

    @property
    def attributes(self) -> dict[str, Any]:
        return {"run": self.__dict__["run"], "title": self.__dict__["title"]}

    @property
    def run(self) -> Callable[..., None]:
        return self.__dict__["run"]


class Custom(Named):
    """custom(*inputs, value): the value; a Python function computes the gradients of the inputs.

    The value itself counts as a constant: no gradient flows into its computation. The function
    receives the gradient of the value, and which inputs need a gradient.
    """

    def __init__(self, backward: Callable[..., Any], title: str) -> None:
        self.__dict__.update(backward=backward, title=title)

    @property
    def attributes(self) -> dict[str, Any]:
        return {"title": self.__dict__["title"], "backward": id(self.backward)}

    @property
    def backward(self) -> Callable[..., Any]:
        return self.__dict__["backward"]


TUPLE, SWITCH, WHILE, CALL = Tuple(), Switch(), While(), Call()
RECOMPUTE, BLOCK, PART = Recompute(), Block(), Part()


def primitive_of(node: GraphNode) -> Any:
    """The primitive that an application applies, or None."""
    if isinstance(node, Apply) and isinstance(node.fn, GraphConstant):
        return node.fn.value
    return None


def tuple_elements(node: GraphNode) -> tuple[GraphNode, ...]:
    """The elements of a tuple that is built in the graph; any other node has none."""
    return node.args if isinstance(node, Apply) and primitive_of(node) is TUPLE else ()


def graphs_of(node: Apply) -> list[Graph]:
    """The graph arguments of a control primitive, in order."""
    return [
        a.value for a in node.args if isinstance(a, GraphConstant) and isinstance(a.value, Graph)
    ]


def operands_of(node: Apply) -> tuple[GraphNode, ...]:
    """The arguments of a control primitive that are passed on to its graphs."""
    rest = [
        a for a in node.args if not (isinstance(a, GraphConstant) and isinstance(a.value, Graph))
    ]
    return tuple(rest[1:] if primitive_of(node) == SWITCH else rest)
