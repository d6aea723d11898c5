"""Arithmetic rules that hold bit for bit, including for NaN, infinities, and -0.0."""

from __future__ import annotations

import numpy as np

from mycelia._engine.compiler.passes.patterns import (
    arguments_of,
    array_of,
    is_all,
    is_of,
    kind_of,
    replacement,
)
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.rewrite import on
from mycelia.ops.elementwise.arithmetic import Add, Div, Maximum, Minimum, Mul, Neg, RealDiv, Sub
from mycelia.ops.elementwise.rounding import FloorDiv

_INTEGERS = ("int", "uint")


@on(Mul)
def times_one(node: Apply) -> GraphNode | None:
    """x * 1 = 1 * x = x"""
    x, y = node.args
    if is_all(y, 1) and x.type == node.type:
        return x
    return y if is_all(x, 1) and y.type == node.type else None


@on(Div, RealDiv)
def over_one(node: Apply) -> GraphNode | None:
    """x / 1 = x, if the quotient has the dtype of x"""
    x, y = node.args
    return x if is_all(y, 1) and x.type == node.type else None


@on(FloorDiv)
def integer_over_one(node: Apply) -> GraphNode | None:
    """n // 1 = n, for integers"""
    n, y = node.args
    return n if kind_of(n) in _INTEGERS and is_all(y, 1) and n.type == node.type else None


@on(Add)
def plus_zero(node: Apply) -> GraphNode | None:
    """x + -0.0 = -0.0 + x = x, and n + 0 = n for integers; x + 0.0 would turn -0.0 into 0.0"""
    x, y = node.args
    if _adds_nothing(y) and x.type == node.type:
        return x
    return y if _adds_nothing(x) and y.type == node.type else None


@on(Sub)
def minus_zero(node: Apply) -> GraphNode | None:
    """x - 0 = x"""
    x, y = node.args
    return x if is_all(y, 0) and x.type == node.type else None


@on(Neg)
def minus_minus(node: Apply) -> GraphNode | None:
    """-(-x) = x"""
    (x,) = node.args
    return arguments_of(x)[0] if is_of(x, Neg) else None


@on(Add)
def plus_minus(node: Apply) -> GraphNode | None:
    """x + (-y) = x - y, and (-x) + y = y - x"""
    x, y = node.args
    if is_of(y, Neg):
        return replacement(node, Sub.of(), (x, arguments_of(y)[0]))
    return replacement(node, Sub.of(), (y, arguments_of(x)[0])) if is_of(x, Neg) else None


@on(Sub)
def minus_of_minus(node: Apply) -> GraphNode | None:
    """x - (-y) = x + y"""
    x, y = node.args
    return replacement(node, Add.of(), (x, arguments_of(y)[0])) if is_of(y, Neg) else None


@on(Add)
def plus_plus(node: Apply) -> GraphNode | None:
    """(n + a) + b = n + (a + b), for integers with constants a and b"""
    inner, b = node.args
    if kind_of(node) not in _INTEGERS or not is_of(inner, Add) or array_of(b) is None:
        return None
    n, a = arguments_of(inner)
    first, second = array_of(a), array_of(b)
    if first is None or second is None or n.type != node.type:
        return None
    with np.errstate(over="ignore"):
        return replacement(node, Add.of(), (n, np.add(first, second)))


@on(Maximum, Minimum)
def extreme_of_one(node: Apply) -> GraphNode | None:
    """max(x, x) = min(x, x) = x"""
    x, y = node.args
    return x if x is y else None


def _adds_nothing(node: GraphNode) -> bool:
    value = array_of(node)
    if value is None or not value.size or kind_of(node) == "complex":
        return False
    if kind_of(node) != "float":
        return is_all(node, 0)
    return bool(np.all((value == 0) & np.signbit(value)))


RULES = (
    times_one,
    over_one,
    integer_over_one,
    plus_zero,
    minus_zero,
    minus_minus,
    plus_minus,
    minus_of_minus,
    plus_plus,
    extreme_of_one,
)
