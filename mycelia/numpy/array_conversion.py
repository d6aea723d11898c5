"""Conversion of arguments to tensors, with the dtype rules of MindSpore's NumPy API.

Python numbers, lists, and NumPy arrays become int32, float32, or bool tensors and then promote like
any other tensor: `add(int8_tensor, 1)` is int32. Tensors keep their dtype.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, as_shape
from mycelia.tensor.tensor import Tensor

NUMBERS = (bool, int, float, np.generic)
_DEFAULT_WIDTHS = {
    dtypes.int64: dtypes.int32,
    dtypes.float64: dtypes.float32,
    dtypes.complex128: dtypes.complex64,
}
_PYTHON_TYPES: dict[Any, DType] = {
    int: dtypes.int32,
    float: dtypes.float32,
    "int": dtypes.int32,
    "float": dtypes.float32,
    "uint": dtypes.uint32,
}
_CODES = "?bBhHiIlLqQefdFD"  # NumPy's one-letter names


def to_dtype(dtype: Any) -> DType:
    """Resolve a dtype: Mycelia's, NumPy's, a name, or a Python type (int is int32)."""
    if dtype is None:
        raise wrong_type("numpy", "dtype", dtype, "a dtype, its name, or a Python type")
    if isinstance(dtype, str) and (dtype in _CODES or dtype[-1:].isdigit()):
        return _by_code(dtype)
    is_key = isinstance(dtype, (type, str))
    return _PYTHON_TYPES[dtype] if is_key and dtype in _PYTHON_TYPES else dtypes.as_dtype(dtype)


def _by_code(code: str) -> DType:
    """The dtype with a name such as 'f4' or '?'."""
    try:
        return dtypes.from_numpy(np.dtype(code))
    except TypeError:
        return dtypes.as_dtype(code)


def to_tensor(value: Any) -> Tensor:
    """Convert `value` to a tensor: a tensor, a number, a NumPy array, or nested lists."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return ops.stack(together(*value))
    if isinstance(value, (*NUMBERS, complex, list, tuple, np.ndarray)):
        made = Tensor(value)
        return ops.cast(made, _DEFAULT_WIDTHS.get(made.dtype, made.dtype))
    raise problem(
        TypeError,
        "numpy: the argument is not array-like",
        got=type(value).__name__,
        expected="a Tensor, int, float, bool, list, tuple or numpy array",
    )


def _holds_tensors(values: Any) -> bool:
    return any(
        isinstance(v, Tensor) or (isinstance(v, (list, tuple)) and _holds_tensors(v))
        for v in values
    )


def typed(result: Any, dtype: Any) -> Any:
    """Cast `result` to `dtype` if it is not None."""
    return result if dtype is None else ops.cast(result, to_dtype(dtype))


def common_dtype(*tensors: Any) -> DType:
    """The common dtype of tensors."""
    return reduce(dtypes.promote, (t.dtype for t in tensors))


def together(*values: Any) -> tuple[Tensor, ...]:
    """Convert array-likes to tensors of their common dtype."""
    tensors = [to_tensor(v) for v in values]
    dtype = common_dtype(*tensors)
    return tuple(ops.cast(t, dtype) for t in tensors)


def floating(value: Any) -> Tensor:
    """Convert an array-like to a floating-point tensor; integers and bools become float32."""
    tensor = to_tensor(value)
    return tensor if tensor.dtype.is_inexact else ops.cast(tensor, dtypes.float32)


def single(value: Any) -> Tensor:
    """Convert an array-like to a float32 tensor."""
    return ops.cast(to_tensor(value), dtypes.float32)


def at_least_single(value: Any) -> Tensor:
    """Convert an array-like to a floating-point tensor of 32 bits or more."""
    tensor = to_tensor(value)
    return tensor if tensor.dtype is dtypes.float64 else ops.cast(tensor, dtypes.float32)


def listed(arrays: Any) -> list[Tensor]:
    """Convert a sequence of array-likes, or the slices of a tensor, to tensors of one dtype."""
    if isinstance(arrays, (Tensor, np.ndarray)):
        return list(to_tensor(arrays))
    if not isinstance(arrays, (list, tuple)):
        raise wrong_type("numpy", "arrays", arrays, "Tensor, list or tuple of arrays")
    if not arrays:
        raise problem(ValueError, "numpy: an empty list of arrays", expected="at least one array")
    return list(together(*arrays))


def to_shape(owner: str, shape: Any) -> Shape:
    """Convert an int, a list, a tuple, or a tensor to a shape; sizes must not be negative."""
    given = shape.tolist() if isinstance(shape, Tensor) else shape
    if not isinstance(given, (int, list, tuple)):
        raise wrong_type(owner, "shape", shape, "int, tuple, list or Tensor")
    sizes = as_shape(given, owner)
    if any(n < 0 for n in sizes):
        raise problem(ValueError, f"{owner}: a negative size", got=f"shape {list(sizes)}")
    return sizes


def integer(owner: str, argument: str, value: Any) -> int:
    """Convert an argument to an int; floats raise an error."""
    if isinstance(value, bool):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise wrong_type(owner, argument, value, "int") from None


def constant(array: Any, dtype: DType) -> Tensor:
    """A tensor with constant values."""
    return Tensor(np.asarray(array, dtype.numpy))
