"""Type promotion of operator arguments to a common dtype."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.primitive import Primitive
from mycelia.ops.shapes.reshape import Cast
from mycelia.tensor.tensor import Tensor

_NUMBERS = (bool, int, float, complex)
_CAST = Cast.of()


def have_same_dtype(args: tuple[Any, ...]) -> bool:
    """Whether all arguments are tensors of the same dtype, so that no promotion is needed."""
    first = None
    for arg in args:
        if not isinstance(arg, Tensor):
            return False
        dtype = arg._data.dtype
        if first is None:
            first = dtype
        elif dtype is not first:
            return False
    return True


def promote(op: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Promote the arguments listed in `promotes` to a common dtype.

    Python numbers and NumPy scalars are weakly typed: only their kind counts.
    """
    if len(args) == 2 and len(op.promotes) == 2:
        tensor, number = args
        if isinstance(tensor, Tensor) and type(number) in _NUMBERS:
            common = dtypes.promote_number(tensor.dtype, number.__class__)
            return to_dtype(tensor, common), to_dtype(number, common)
        if op.scalars_follow and isinstance(tensor, Tensor) and isinstance(number, Tensor):
            common = _beside_scalar(tensor, number)
            return to_dtype(tensor, common), to_dtype(number, common)
    names = op.arguments.data_names
    leaves: list[Any] = []
    for name, value in zip(names, args, strict=False):
        if name in op.promotes:
            is_sequence = isinstance(value, (tuple, list)) and op.takes_sequences
            leaves += value if is_sequence else (value,)
    common = _common_dtype(op, leaves)
    return tuple(
        [to_dtype(a, common) if n in op.promotes else a for n, a in zip(names, args, strict=False)]
    )


def to_dtype(value: Any, dtype: DType) -> Any:
    """Cast a tensor, a number, or a sequence of those to `dtype`; None stays None."""
    if isinstance(value, Tensor):
        return value if value.dtype is dtype else _CAST(value, dtype)
    if isinstance(value, (tuple, list)):
        return tuple([to_dtype(v, dtype) for v in value])
    if value is None:
        return None
    if not value:  # -0.0 equals 0.0 as a key, so zeros are not cached
        return _number.__wrapped__(value, None, dtype)
    return _number(value, value.__class__, dtype)


def not_a_tensor(op: Primitive, value: Any) -> TypeError:
    """The error for an argument that should have been a tensor."""
    return problem(
        TypeError,
        f"{op.name}: an argument is not a Tensor",
        got=f"{value!r} of type {type(value).__name__}",
        expected=f"{op.name}()({', '.join(op.arguments.names)}) with Tensors",
        fix="wrap it: Tensor(value)",
    )


def _beside_scalar(a: Tensor, b: Tensor) -> DType:
    """The common dtype of a 0-d tensor and another tensor; the 0-d one adapts."""
    if bool(a.ndim) is bool(b.ndim):
        return dtypes.promote(a.dtype, b.dtype)
    tensor, scalar = (a, b) if a.ndim else (b, a)
    return dtypes.promote_scalar(tensor.dtype, scalar.dtype)


def _common_dtype(op: Primitive, leaves: list[Any]) -> DType:
    common: DType | None = None
    numbers: list[type] = []
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            common = leaf.dtype if common is None else dtypes.promote(common, leaf.dtype)
        elif isinstance(leaf, _NUMBERS):
            numbers.append(type(leaf))
        elif isinstance(leaf, np.generic) and leaf.dtype.kind not in "OSUMm":
            numbers.append(dtypes.dtype_to_pytype(dtypes.from_numpy(leaf.dtype)))
        elif leaf is not None:
            raise not_a_tensor(op, leaf)
    for number in numbers:
        if common is None:
            common = dtypes.as_dtype(number)
        else:
            common = dtypes.promote_number(common, number)
    return common if common is not None else dtypes.float32


@lru_cache(maxsize=4096)
def _number(value: Any, kind: Any, dtype: DType) -> Tensor:
    """A Python number as a tensor; cached, because programs use the same few again and again."""
    try:
        return Tensor._wrap(np.asarray(value, dtype.numpy))
    except OverflowError:
        return Tensor._wrap(np.asarray(value).astype(dtype.numpy))
