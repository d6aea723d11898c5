"""Constant folding: rules that evaluate at compile time what does not depend on inputs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.graph_builder import constant, type_of_array
from mycelia._engine.compiler.passes.patterns import arguments_of, array_of, is_of, replacement
from mycelia._engine.ir.analysis import SMALL
from mycelia._engine.ir.control_flow import TUPLE, primitive_of
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.rewrite import on
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.families import Compare
from mycelia._engine.operators.index_bounds import check
from mycelia._engine.operators.operator import Op
from mycelia.ops.elementwise.arithmetic import Add, Maximum, Minimum, Mul, Neg, Sub
from mycelia.ops.elementwise.comparison import LogicalNot
from mycelia.ops.elementwise.where import Select
from mycelia.ops.shapes.creation import Ones, OnesLike, Zeros, ZerosLike
from mycelia.ops.shapes.reshape import Cast

_UNKNOWN = object()
_NO_RESULT = (TypeError, ValueError, IndexError, RuntimeError, ArithmeticError)


@on(Op)
def fold(node: Apply) -> GraphNode | None:
    """op(constants) = its value, if all are small and the operator has a NumPy kernel"""
    values = []
    for argument in node.args:
        value = _known(argument)
        if value is _UNKNOWN:
            return None
        values.append(value)
    return _evaluated(primitive_of(node), values, node)


@on(ZerosLike)
def zeros_like(node: Apply) -> GraphNode | None:
    """zeros_like(x) = zeros(shape of x): the values of x are not needed"""
    return replacement(
        node, Zeros.of(), (GraphConstant(node.type.shape), GraphConstant(node.type.dtype))
    )


@on(OnesLike)
def ones_like(node: Apply) -> GraphNode | None:
    """ones_like(x) = ones(shape of x)"""
    return replacement(
        node, Ones.of(), (GraphConstant(node.type.shape), GraphConstant(node.type.dtype))
    )


@on(Cast, Neg, LogicalNot, Add, Sub, Mul, Maximum, Minimum, Compare)
def of_choice(node: Apply) -> GraphNode | None:
    """f(select(p, a, b), c) = select(p, f(a, c), f(b, c)), for constants a, b, c"""
    choices = [a for a in node.args if is_of(a, Select)]
    if len(choices) != 1 or choices[0].type.shape != node.type.shape:
        return None
    p, *sides = arguments_of(choices[0])
    results = []
    for side in sides:
        values = [_known(side if a is choices[0] else a) for a in node.args]
        if any(v is _UNKNOWN for v in values):
            return None
        results.append(_evaluated(primitive_of(node), values, node))
    return replacement(node, Select.of(), (p, *results)) if None not in results else None


def _known(node: GraphNode) -> Any:
    """The value of an argument: a small array, a static value, or a tuple of these."""
    if type(node) is GraphConstant:
        if node.type is None:
            return node.value
        array = array_of(node)
        return _UNKNOWN if array is None else array
    if primitive_of(node) is TUPLE:
        parts = [_known(a) for a in arguments_of(node)]
        return _UNKNOWN if any(p is _UNKNOWN for p in parts) else tuple(parts)
    return _UNKNOWN


def _evaluated(op: Primitive, values: list[Any], node: Apply) -> GraphNode | None:
    """The result as a constant (or a tuple of constants), if it is small and its type matches."""
    kernel: Any = op.host
    if kernel is None or op.host_only or op.draws or op.writes or _elements(node.type) > SMALL:
        return None
    try:
        if op.bounds is not None:
            check(op, tuple(values))
        with np.errstate(all="ignore"):
            result = kernel(*values)
    except _NO_RESULT:  # the error is left to the program, which raises it in its own form
        return None
    if isinstance(result, tuple):
        parts = [constant(np.asarray(r)) for r in result]
        types = tuple([p.type for p in parts])
        return replacement(node, TUPLE, parts) if types == node.type else None
    array = np.asarray(result)
    return constant(array) if type_of_array(array) == node.type else None


def _elements(type_: Any) -> int:
    if isinstance(type_, TensorType):
        return prod(type_.shape)
    return sum(map(_elements, type_)) if isinstance(type_, tuple) else 0


RULES = (fold, zeros_like, ones_like, of_choice)
