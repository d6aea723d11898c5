"""Comparison of whole arrays, and membership tests."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import bool_
from mycelia.numpy.array_conversion import to_tensor, together
from mycelia.tensor.tensor import Tensor


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether elements are equal within `atol + rtol * |b|`."""
    x, y = together(a, b)
    return ops.isclose(x, y, rtol, atol, equal_nan)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and equal elements."""
    x, y = together(a1, a2)
    return _all_alike(x, y, equal_nan) if x.shape == y.shape else Tensor(False)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays are equal after broadcasting one to the shape of the other."""
    x, y = together(a1, a2)
    sizes = zip(reversed(x.shape), reversed(y.shape))
    fits = all(m == n or 1 in (m, n) for m, n in sizes)
    return _all_alike(x, y, equal_nan=False) if fits else Tensor(False)


def _all_alike(x: Any, y: Any, equal_nan: bool) -> Any:
    alike = ops.equal(x, y)
    if equal_nan and x.dtype.is_float:
        alike = ops.logical_or(alike, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return ops.all(alike)


def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """Whether each element is in `test_elements`."""
    x, wanted = together(element, test_elements)
    found = ops.any(ops.equal(ops.expand_dims(x, -1), wanted.ravel()), -1)
    return ops.logical_not(found) if invert else found


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Any:
    """The flattened result of `isin`."""
    return isin(to_tensor(ar1).ravel(), ar2, invert)


def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element over the axes is nonzero."""
    return ops.any(ops.cast(to_tensor(a), bool_), axis, bool(keepdims))
