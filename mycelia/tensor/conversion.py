"""Conversion of Python values, NumPy arrays, and other arrays to the array of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import RaggedListError, problem
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.ir.tensor_protocol import TensorProtocol

_PYTHON_DEFAULTS = {np.dtype(np.float64): np.dtype(np.float32)}


def array_from(data: Any, dtype: DType | None) -> Any:
    """A new array with the values of `data`, in `dtype` or in the dtype that MindSpore chooses."""
    if isinstance(data, TensorProtocol):
        array = data._data  # type: ignore[attr-defined]
        return array if dtype is None else np.asarray(array).astype(dtype.numpy)
    if isinstance(data, np.ndarray | np.generic):
        return _from_numpy(np.asarray(data), dtype)
    if data is None:
        raise problem(TypeError, "Tensor: input_data is None", expected="data, or shape and init")
    if isinstance(data, (bool, int, float, complex, list, tuple)):
        return _from_python(data, dtype)
    if hasattr(data, "__array__"):
        return _from_numpy(np.asarray(data), dtype)
    raise problem(
        TypeError,
        "Tensor: input_data cannot be converted to a tensor",
        got=f"{type(data).__name__}",
        expected="a Tensor, number, list, tuple or numpy array",
    )


def _from_numpy(array: np.ndarray, dtype: DType | None) -> np.ndarray:
    if array.dtype.kind == "U":
        return np.array(array)
    if array.dtype.kind in "OSMmV" and array.dtype not in _known():
        raise problem(
            TypeError,
            "Tensor: the NumPy array has an unsupported dtype",
            got=f"dtype {array.dtype}",
            expected="numbers or bools",
        )
    wanted = array.dtype if dtype is None else dtype.numpy
    dtypes.from_numpy(wanted)
    return np.array(array, dtype=wanted, order="C", copy=True)


def _known() -> set[Any]:
    return {d.numpy for d in dtypes.ALL}


def _from_python(data: Any, dtype: DType | None) -> np.ndarray:
    if isinstance(data, (list, tuple)):
        data = _plain(data)
    try:
        array = np.array(data)
    except ValueError as error:
        raise problem(
            RaggedListError,
            "Tensor: the nested lists have different lengths",
            got=str(error).splitlines()[0],
            expected="rows of equal length",
        ) from None
    if array.dtype.kind == "U":
        raise problem(TypeError, "Tensor: the list holds strings", fix="Tensor(np.array(strings))")
    if dtype is not None:
        return array.astype(dtype.numpy)
    array = array.astype(_PYTHON_DEFAULTS.get(array.dtype, array.dtype), copy=False)
    return _from_numpy(array, None)


def _plain(data: Any) -> Any:
    """Replace the tensors inside nested lists by arrays."""
    if isinstance(data, (list, tuple)):
        return [_plain(d) for d in data]
    return np.asarray(data) if isinstance(data, TensorProtocol) else data


def check_shape_and_init(
    data: Any, dtype: DType | None, shape: Any, init: Any
) -> tuple[Shape, DType]:
    """Check the arguments of `Tensor(shape=..., dtype=..., init=...)`."""
    if data is not None:
        raise problem(ValueError, "Tensor: pass either input_data or shape and init, not both")
    if init is None and dtype is None:
        raise problem(TypeError, "Tensor: shape needs dtype or init", fix="add dtype=")
    if shape is None or dtype is None:
        raise problem(ValueError, "Tensor: init needs shape and dtype", fix="add shape=, dtype=")
    return as_shape(shape, "Tensor"), dtype
