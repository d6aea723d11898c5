"""The primitives every program may hold besides operators: tuples, branches, loops, calls, effects.

They take whole graphs as constant arguments. A graph given to one of them is closed: all it needs
comes in through its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.primitive import Primitive


class Named(Primitive):
    """A primitive printed in small letters, to tell it from the operators."""

    @property
    def name(self) -> str:
        return type(self).__name__.lower()


class Tuple(Named):
    """tuple(a, b, ...): several values as one."""


class Item(Named):
    """item[i](t): one value out of several."""

    def __init__(self, index: int) -> None:
        self.__dict__["index"] = index

    @property
    def attributes(self) -> dict[str, Any]:
        return {"index": self.__dict__["index"]}

    @property
    def index(self) -> int:
        return self.__dict__["index"]


class Switch(Named):
    """switch(i, @g0, @g1, ..., *operands): what graph number i gives for the operands.

    The index is an int32 that is in range, or a bool with two graphs: false, true.
    """


class While(Named):
    """while(@goes_on, @step, *carry, *fixed): `carry = step(carry, fixed)` while `goes_on` says so.

    `step` gives a tuple, as long as the carry.
    """


class Vmap(Named):
    """vmap[axes](@g, *operands): the graph over one axis of some operands, all at once.

    `in_axes` has one axis (or None) for each operand, `out_axes` one for each result; `size` is
    how long the mapped axis is.
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
    """recompute(@g, *operands): what the graph gives; its backward runs the graph again.

    So nothing inside the graph is kept between the forward and the backward pass.
    """


class Block(Named):
    """block(@g, *operands): what the graph gives, while a program is read.

    Blocks that are alike and follow each other become a scan; what is left of them is inlined.
    """


class Part(Block):
    """part(@g, *operands): a block that takes one part of the data.

    Parts that are alike become a scan even if none hands anything on to the next.
    """


class Scan(Named):
    """scan[...](@step, *carry, *mapped, *fixed): `step` for each place of the mapped operands.

    `step` takes the carry, what is at its place in each of the mapped operands (along their first
    axis), and the fixed operands; it gives a tuple of the new carry and of further results, which
    are stacked. `reverse` goes from the last place to the first.
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
    """call(@g, *arguments): what the graph gives. Kept only where a graph calls itself."""


class Effect(Named):
    """effect(token, *values): hand the values to a Python function, in the order of the tokens."""

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
    """custom(*inputs, value): the value, whose gradients for the inputs a Python function gives.

    The value itself counts as a constant: no gradient flows into how it was made. The function
    takes the gradient of the value, and for which inputs a gradient is needed.
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
    """The primitive an application applies, or None."""
    if isinstance(node, Apply) and isinstance(node.fn, GraphConstant):
        return node.fn.value
    return None


def tuple_elements(node: GraphNode) -> tuple[GraphNode, ...]:
    """The parts of a tuple that is made in the graph; any other node has none."""
    return node.args if isinstance(node, Apply) and primitive_of(node) is TUPLE else ()


def graphs_of(node: Apply) -> list[Graph]:
    """The graphs a control primitive was given, in order."""
    return [
        a.value for a in node.args if isinstance(a, GraphConstant) and isinstance(a.value, Graph)
    ]


def operands_of(node: Apply) -> tuple[GraphNode, ...]:
    """The arguments of a control primitive that its graphs receive."""
    rest = [
        a for a in node.args if not (isinstance(a, GraphConstant) and isinstance(a.value, Graph))
    ]
    return tuple(rest[1:] if primitive_of(node) == SWITCH else rest)
