"""Python operators of tensors: arithmetic, comparison, bitwise operators, and indexing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia._engine.core import pending_checks
from mycelia._engine.core.errors import problem
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia.ops.elementwise.arithmetic import Abs, Add, Div, Mul, Neg, Sub
from mycelia.ops.elementwise.bitwise import BitwiseAnd, BitwiseOr, BitwiseXor, Invert
from mycelia.ops.elementwise.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    NotEqual,
)
from mycelia.ops.elementwise.power import Pow
from mycelia.ops.elementwise.remainder import FloorMod
from mycelia.ops.elementwise.rounding import FloorDiv
from mycelia.ops.linalg.matmul import matmul
from mycelia.tensor.conversion import array_from
from mycelia.tensor.subscript import get_item, set_item
from mycelia.tensor.views import part, write

_ADD, _SUB, _MUL, _DIV = Add.of(), Sub.of(), Mul.of(), Div.of()
_FLOOR_DIV, _FLOOR_MOD, _POW = FloorDiv.of(), FloorMod.of(), Pow.of()
_EQUAL, _NOT_EQUAL = Equal.of(), NotEqual.of()
_LESS, _LESS_EQUAL = Less.of(), LessEqual.of()
_GREATER, _GREATER_EQUAL = Greater.of(), GreaterEqual.of()


_SEQUENCES = frozenset((list, tuple, np.ndarray))


class TensorOperators(TensorProtocol):
    """The special (double-underscore) methods of Tensor.

    Lists, tuples, and NumPy arrays are converted to tensors. If the left operand is a NumPy array,
    NumPy handles the operator.
    """

    _data: Any
    _mark: Any
    _shared: bool
    _relation: Any

    def __add__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _ADD(self, other)

    def __radd__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _ADD(other, self)

    def __sub__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _SUB(self, other)

    def __rsub__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _SUB(other, self)

    def __mul__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _MUL(self, other)

    def __rmul__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _MUL(other, self)

    def __truediv__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _DIV(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _DIV(other, self)

    def __floordiv__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _FLOOR_DIV(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _FLOOR_DIV(other, self)

    def __mod__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _FLOOR_MOD(self, other)

    def __rmod__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _FLOOR_MOD(other, self)

    def __pow__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _POW(self, other)

    def __rpow__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _POW(other, self)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, _as_tensor(self, other) if type(other) in _SEQUENCES else other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(_as_tensor(self, other) if type(other) in _SEQUENCES else other, self)

    def __neg__(self) -> Any:
        return Neg.of()(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return Abs.of()(self)

    def __invert__(self) -> Any:
        return LogicalNot.of()(self) if self.dtype.is_bool else Invert.of()(self)

    def __and__(self, other: Any) -> Any:
        return _logical_or_bits(LogicalAnd.of(), BitwiseAnd.of(), self, other)

    def __or__(self, other: Any) -> Any:
        return _logical_or_bits(LogicalOr.of(), BitwiseOr.of(), self, other)

    def __xor__(self, other: Any) -> Any:
        return _logical_or_bits(LogicalXor.of(), BitwiseXor.of(), self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __eq__(self, other: object) -> Any:
        if type(other) is np.ndarray:
            other = _as_tensor(self, other)
        return _EQUAL(self, other) if _is_operand(other) else False

    def __ne__(self, other: object) -> Any:
        if type(other) is np.ndarray:
            other = _as_tensor(self, other)
        return _NOT_EQUAL(self, other) if _is_operand(other) else True

    def __lt__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _LESS(self, other)

    def __le__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _LESS_EQUAL(self, other)

    def __gt__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _GREATER(self, other)

    def __ge__(self, other: Any) -> Any:
        if other.__class__ in _SEQUENCES:
            other = _as_tensor(self, other)
        return _GREATER_EQUAL(self, other)

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, index: Any) -> Any:
        try:
            return get_item(self, index)
        except Exception as error:
            shorten(error)
            raise

    def __setitem__(self, index: Any, value: Any) -> None:
        try:
            self._become(set_item(self, index, value))
        except Exception as error:
            shorten(error)
            raise

    def _become(self, other: Any) -> None:
        """Replace this tensor by `other`, including its tape entry; views are updated."""
        pending_checks.wait_for_checks()  # a wrong index must not reach the tensor
        if handlers.before_write is not None:
            handlers.before_write(self)  # also for a write to a view, which writes all of them
        if self._relation is None:
            self._take(other)
        else:
            write(self, other)

    def _take(self, other: Any) -> None:
        """Copy the elements of `other`; memory shared with NumPy stays shared."""
        if not (self._shared and _copied_into(self._data, other._data)):
            self._data, self._shared = other._data, False
        self._mark = other._mark

    def _rebind(self, other: Any) -> None:
        """Replace the array by that of `other`, of any type; views keep their elements."""
        pending_checks.wait_for_checks()
        if handlers.before_write is not None:
            handlers.before_write(self)
        if self._relation is not None:
            part(self)
        self._data, self._mark, self._shared = other._data, other._mark, False

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise problem(TypeError, "iteration over a 0-d tensor", fix="use its value: t.item()")
        return (get_item(self, i) for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        if not _is_operand(value) and not isinstance(value, (list, tuple, np.ndarray, np.generic)):
            return False
        return bool(np.any(np.asarray(_EQUAL(self, value))))


def _copied_into(memory: Any, array: Any) -> bool:
    """Copy an array into NumPy memory, if shape and dtype fit."""
    if type(memory) is not np.ndarray or not memory.flags.writeable or isinstance(array, GraphNode):
        return False
    if memory.shape != array.shape or memory.dtype != array.dtype:
        return False
    np.copyto(memory, array)
    return True


def _as_tensor(tensor: Any, values: Any) -> Any:
    return tensor._wrap(array_from(values, None))


def _logical_or_bits(logical: Any, bits: Any, x: Any, y: Any) -> Any:
    both_bool = all(isinstance(v, bool) or getattr(v, "dtype", None) is x.dtype for v in (x, y))
    return logical(x, y) if x.dtype.is_bool and both_bool else bits(x, y)


def _is_operand(value: Any) -> bool:
    return isinstance(value, (TensorProtocol, bool, int, float, complex))
