"""Rules that work out while compiling what does not depend on the inputs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mycelia.compiler.building import constant, type_of_array
from mycelia.compiler.passes.matching import arguments_of, array_of, instead, is_of
from mycelia.ir.analysis import SMALL
from mycelia.ir.control import TUPLE, primitive_of
from mycelia.ir.node import Apply, Constant, Node
from mycelia.ir.primitive import Primitive
from mycelia.ir.rewrite import on
from mycelia.ir.types import TensorType
from mycelia.ops.arithmetic import Add, Maximum, Minimum, Mul, Neg, Sub
from mycelia.ops.bounds import check
from mycelia.ops.compare import LogicalNot
from mycelia.ops.creation import Ones, OnesLike, Zeros, ZerosLike
from mycelia.ops.family import Compare
from mycelia.ops.op import Op
from mycelia.ops.selecting import Select
from mycelia.ops.shaping import Cast

_UNKNOWN = object()
_NO_RESULT = (TypeError, ValueError, IndexError, RuntimeError, ArithmeticError)


@on(Op)
def fold(node: Apply) -> Node | None:
    """op(constants) = its value, where all are small and the operator has a numpy kernel"""
    values = []
    for argument in node.args:
        value = _known(argument)
        if value is _UNKNOWN:
            return None
        values.append(value)
    return _worked_out(primitive_of(node), values, node)


@on(ZerosLike)
def zeros_like(node: Apply) -> Node | None:
    """zeros_like(x) = zeros(shape of x): the numbers of x are not needed"""
    return instead(node, Zeros.of(), (Constant(node.type.shape), Constant(node.type.dtype)))


@on(OnesLike)
def ones_like(node: Apply) -> Node | None:
    """ones_like(x) = ones(shape of x)"""
    return instead(node, Ones.of(), (Constant(node.type.shape), Constant(node.type.dtype)))


@on(Cast, Neg, LogicalNot, Add, Sub, Mul, Maximum, Minimum, Compare)
def of_choice(node: Apply) -> Node | None:
    """f(select(p, a, b), c) = select(p, f(a, c), f(b, c)), for constants a, b, c"""
    choices = [a for a in node.args if is_of(a, Select)]
    if len(choices) != 1 or choices[0].type.shape != node.type.shape:
        return None
    p, *sides = arguments_of(choices[0])
    found = []
    for side in sides:
        values = [_known(side if a is choices[0] else a) for a in node.args]
        if any(v is _UNKNOWN for v in values):
            return None
        found.append(_worked_out(primitive_of(node), values, node))
    return instead(node, Select.of(), (p, *found)) if None not in found else None


def _known(node: Node) -> Any:
    """The value of an argument: a small array, a static value, or a tuple of these."""
    if type(node) is Constant:
        if node.type is None:
            return node.value
        array = array_of(node)
        return _UNKNOWN if array is None else array
    if primitive_of(node) is TUPLE:
        parts = [_known(a) for a in arguments_of(node)]
        return _UNKNOWN if any(p is _UNKNOWN for p in parts) else tuple(parts)
    return _UNKNOWN


def _worked_out(op: Primitive, values: list[Any], node: Apply) -> Node | None:
    """The result as a constant (or a tuple of them), if it is small and of the node's type."""
    kernel: Any = op.host
    if kernel is None or op.host_only or op.draws or op.writes or _elements(node.type) > SMALL:
        return None
    try:
        if op.bounds is not None:
            check(op, tuple(values))
        with np.errstate(all="ignore"):
            result = kernel(*values)
    except _NO_RESULT:  # the kernel refuses what the program answers in its own way
        return None
    if isinstance(result, tuple):
        parts = [constant(np.asarray(r)) for r in result]
        types = tuple([p.type for p in parts])
        return instead(node, TUPLE, parts) if types == node.type else None
    found = np.asarray(result)
    return constant(found) if type_of_array(found) == node.type else None


def _elements(type_: Any) -> int:
    if isinstance(type_, TensorType):
        return prod(type_.shape)
    return sum(map(_elements, type_)) if isinstance(type_, tuple) else 0


RULES = (fold, zeros_like, ones_like, of_choice)
