"""Properties of arrays and dtypes: size, text, and common dtypes."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia.numpy.array_conversion import NUMBERS, to_dtype, to_tensor
from mycelia.tensor.tensor import Tensor


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, of the whole array or along one axis."""
    tensor = to_tensor(a)
    if axis is None:
        return tensor.size
    return tensor.shape[normalize_axis(axis, tensor.ndim, "size")]


def isscalar(element: Any) -> bool:
    """Whether `element` is a number or a string."""
    return isinstance(element, (*NUMBERS, str))


def array_str(a: Any) -> str:
    """The elements of a tensor as text."""
    if not isinstance(a, Tensor):
        raise wrong_type("array_str", "a", a, "Tensor")
    return np.array_str(np.asarray(a))


def promote_types(type1: Any, type2: Any) -> DType:
    """The common dtype of two dtypes."""
    return dtypes.promote(to_dtype(type1), to_dtype(type2))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The common dtype of tensors, numbers, and dtypes."""
    if not arrays_and_dtypes:
        raise problem(IndexError, "result_type: pass at least one array or dtype")
    return reduce(dtypes.promote, map(_dtype_of, arrays_and_dtypes))


def _dtype_of(value: Any) -> DType:
    if isinstance(value, (Tensor, *NUMBERS)) and not isinstance(value, str):
        return to_tensor(value).dtype
    if isinstance(value, (list, tuple, np.ndarray)):
        raise wrong_type("result_type", "arrays_and_dtypes", value, "Tensor, number or dtype")
    return to_dtype(value)
