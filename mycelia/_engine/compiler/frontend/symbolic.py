"""Symbolic values: tensors and numbers that hold a graph node instead of data."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.ir.node import GraphNode
from mycelia.ops.elementwise.arithmetic import Add, Div, Mul, Neg, Sub
from mycelia.ops.elementwise.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    NotEqual,
)
from mycelia.ops.elementwise.power import Pow
from mycelia.ops.elementwise.remainder import FloorMod
from mycelia.ops.elementwise.rounding import FloorDiv
from mycelia.ops.shapes.reshape import Cast
from mycelia.tensor.tensor import Tensor

_CAST = Cast.of()
_RANK: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
DTYPE_OF: dict[type, DType] = {
    bool: dtypes.bool_,
    int: dtypes.int64,
    float: dtypes.float64,
    complex: dtypes.complex128,
}


class GraphBreak(Exception):  # it requests the fallback; it is not the user's error
    """Python needs a value that is known only when the program runs."""

    def __init__(self, node: GraphNode | None, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.why = why


def is_symbolic(value: Any) -> bool:
    """Whether `value` is a tensor or number that is known only when the program runs."""
    return isinstance(value, Tensor) and isinstance(value._data, GraphNode)


class SymbolicNumber(Tensor):
    """A Python number that is known only when the program runs; it stays weakly typed."""

    __slots__ = ("kind",)
    kind: type

    @staticmethod
    def of(node: Any, kind: type) -> SymbolicNumber:
        number = SymbolicNumber.__new__(SymbolicNumber)
        number._data, number._mark, number._shared, number.kind = node, None, False, kind
        number._relation = None
        return number

    @property
    def strong(self) -> Tensor:
        """The same value as a strongly typed tensor of Python's precision."""
        return Tensor._wrap(self._data)


def as_number(value: Any) -> SymbolicNumber:
    """A constant or symbolic Python number as a symbolic number."""
    if isinstance(value, SymbolicNumber):
        return value
    kind = type(value) if type(value) in _RANK else _kind_of(value)
    return SymbolicNumber.of(np.asarray(value, DTYPE_OF[kind].numpy), kind)


def convert(value: Any, kind: type) -> SymbolicNumber:
    """`kind(value)` for a number or a tensor with one element."""
    source = value.strong if isinstance(value, SymbolicNumber) else value
    if not isinstance(source, Tensor):
        return as_number(kind(source))
    if source.shape:
        source = source.reshape(())
    if kind is bool:
        source = source != 0 if not source.dtype.is_bool else source
    dtype = DTYPE_OF[kind]
    return SymbolicNumber.of(
        (source if source.dtype is dtype else _CAST(source, dtype))._data, kind
    )


def is_number(value: Any) -> bool:
    """Whether `value` is a constant or symbolic Python number."""
    return isinstance(value, SymbolicNumber) or type(value) in _RANK


def kind_of(value: Any) -> type:
    """bool, int, float or complex."""
    return value.kind if isinstance(value, SymbolicNumber) else _kind_of(value)


def _kind_of(value: Any) -> type:
    return next(k for k in (bool, int, float, complex) if isinstance(value, k))


def wider(first: type, second: type) -> type:
    """The kind to which both promote."""
    return max(first, second, key=_RANK.__getitem__)


def _binary(op: Any, plain: Callable[..., Any], result: type | None) -> Callable[..., Any]:
    """A method of SymbolicNumber for a Python operator; tensors use their own."""

    def method(self: SymbolicNumber, other: Any) -> Any:
        if not is_number(other):
            return plain(self, other) if isinstance(other, Tensor) else NotImplemented
        kind = wider(wider(self.kind, kind_of(other)), int)
        if op is _DIV or (op is _POW and _may_be_fraction(other)):
            kind = wider(kind, float)
        found = op(convert(self, kind).strong, convert(other, kind).strong)
        return SymbolicNumber.of(found._data, result or kind)

    return method


def _may_be_fraction(exponent: Any) -> bool:
    return not isinstance(exponent, int) or exponent < 0


def _reflected(op: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
    forward = _binary(op, plain, None)

    def method(self: SymbolicNumber, other: Any) -> Any:
        return forward(as_number(other), self) if is_number(other) else NotImplemented

    return method


_DIV, _POW = Div.of(), Pow.of()
for _name, _op in {
    "add": Add.of(),
    "sub": Sub.of(),
    "mul": Mul.of(),
    "truediv": _DIV,
    "floordiv": FloorDiv.of(),
    "mod": FloorMod.of(),
    "pow": _POW,
}.items():
    _plain = getattr(Tensor, f"__{_name}__")
    setattr(SymbolicNumber, f"__{_name}__", _binary(_op, _plain, None))
    setattr(SymbolicNumber, f"__r{_name}__", _reflected(_op, _plain))
for _name, _op in {
    "eq": Equal.of(),
    "ne": NotEqual.of(),
    "lt": Less.of(),
    "le": LessEqual.of(),
    "gt": Greater.of(),
    "ge": GreaterEqual.of(),
}.items():
    setattr(SymbolicNumber, f"__{_name}__", _binary(_op, getattr(Tensor, f"__{_name}__"), bool))


def both(first: SymbolicNumber, second: SymbolicNumber) -> SymbolicNumber:
    """`first and second` of two symbolic bools."""
    return SymbolicNumber.of(LogicalAnd.of()(first.strong, second.strong)._data, bool)


def either(first: SymbolicNumber, second: SymbolicNumber) -> SymbolicNumber:
    """`first or second` of two symbolic bools."""
    return SymbolicNumber.of(LogicalOr.of()(first.strong, second.strong)._data, bool)


def opposite(truth: SymbolicNumber) -> SymbolicNumber:
    """`not truth` of a symbolic bool."""
    return SymbolicNumber.of(LogicalNot.of()(truth.strong)._data, bool)


def _negative(self: SymbolicNumber) -> SymbolicNumber:
    kind = wider(self.kind, int)
    return SymbolicNumber.of(Neg.of()(convert(self, kind).strong)._data, kind)


def _absolute(self: SymbolicNumber) -> SymbolicNumber:
    kind = wider(self.kind, int)
    return SymbolicNumber.of(abs(convert(self, kind).strong)._data, kind)


setattr(SymbolicNumber, "__neg__", _negative)  # noqa: B010  # like the methods set above
setattr(SymbolicNumber, "__abs__", _absolute)  # noqa: B010
setattr(SymbolicNumber, "__hash__", Tensor.__hash__)  # noqa: B010

BINARY = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "MatMult": operator.matmul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}
