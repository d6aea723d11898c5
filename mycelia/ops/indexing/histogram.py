"""Bin counts, histograms, and confusion matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_non_negative_int, check_positive_int, check_string
from mycelia._engine.core.dtype import as_dtype, float32, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axes
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import INTEGERS, check_kinds, check_spreads_to
from mycelia.ops.shapes.creation import zeros


class Bincount(Op):
    """Sums the weights of each value from 0 to `size` - 1; without weights, counts the values."""

    static = ("size",)
    examples = (
        case("i32[4]:<3", 3, "f32[4]"),
        case("i32[4]:<5", 3, "i64[0]"),
        case("i64[2,2]:<3", 4, "f64[2,2]"),
    )

    def infer(self, array: TensorType, size: Any, weights: TensorType) -> TensorType:
        if not array.dtype.is_integer:
            raise unsupported_dtype(self.name, array, "an integer tensor")
        count = check_non_negative_int(self.name, "size", _one(size))
        if 0 not in weights.shape and weights.shape != array.shape:
            raise problem(
                ValueError,
                f"{self.name}: there must be one weight for each value",
                got=f"array {array}, weights {weights}",
            )
        return TensorType(weights.dtype, (count,))

    def bounds(self, array: Any, size: Any, weights: Any) -> tuple[IndexBound, ...]:
        return (IndexBound(0, 0, None),)

    def lower(self, array: Array, size: Any, weights: Array) -> Array:
        values = jnp.ravel(array)
        amounts = jnp.ravel(weights) if weights.size else jnp.ones(values.shape, weights.dtype)
        bin_indices = jnp.where(values < 0, _one(size), values)
        return jnp.zeros((_one(size),), weights.dtype).at[bin_indices].add(amounts, mode="drop")


class HistogramFixedWidth(Op):
    """Histogram with `nbins` equal bins; elements outside the range count in the end bins."""

    nbins: int
    dtype: str = "int32"
    differentiable = False
    examples = (case("f32[6]", "f32[2]:distinct", nbins=3), case("i32[4]", "i32[2]", nbins=2))

    def normalize(self) -> dict[str, Any]:
        check_positive_int("HistogramFixedWidth", "nbins", self.nbins)
        check_string("HistogramFixedWidth", "dtype", self.dtype, ("int32", "int64"))
        return {}

    def infer(self, x: TensorType, range: TensorType) -> TensorType:
        if range.shape != (2,) or range.dtype is not x.dtype:
            raise problem(
                ValueError if range.dtype is x.dtype else TypeError,
                "HistogramFixedWidth: range must be two values of the dtype of x",
                got=f"x {x}, range {range}",
            )
        return TensorType(as_dtype(self.dtype), (self.nbins,))

    def lower(self, x: Array, range: Array) -> Array:
        values = jnp.ravel(x).astype(jnp.float64)
        low, high = jnp.asarray(range).astype(jnp.float64)
        bin_indices = jnp.floor((values - low) / (high - low) * self.nbins)
        bin_indices = jnp.clip(bin_indices, 0, self.nbins - 1).astype(jnp.int32)
        return jnp.zeros((self.nbins,), as_dtype(self.dtype).numpy).at[bin_indices].add(1)


class CountNonZero(Op):
    """Number of nonzero elements over the axes `dims`, or over all axes."""

    dims: Any = None
    differentiable = False
    examples = (case("f32[2,3]"), case("i32[2,3]:<2", dims=(1,)), case("bool[2,0]", dims=0))

    def normalize(self) -> dict[str, Any]:
        return {"dims": freeze(self.dims)}

    def infer(self, x: TensorType) -> TensorType:
        axes = normalize_axes(self.dims, x.ndim, self.name)
        return TensorType(int64, tuple(n for i, n in enumerate(x.shape) if i not in axes))

    def lower(self, x: Array) -> Array:
        axes = normalize_axes(self.dims, x.ndim, self.name)
        return jnp.sum(jnp.asarray(x) != 0, axis=axes, dtype=jnp.int64)


class ConfusionMatrix(Op):
    """Confusion matrix: how often each label (row) is predicted as each class (column)."""

    num_classes: int
    dtype: str = "int32"
    differentiable = False
    examples = (
        case("i32[5]:<3", "i32[5]:<3", None, num_classes=3),
        case("i64[4]:<2", "i64[4]:<2", "f32[4]", num_classes=2, dtype="float32"),
    )

    def normalize(self) -> dict[str, Any]:
        check_positive_int("ConfusionMatrix", "num_classes", self.num_classes)
        if not isinstance(self.dtype, str):
            raise wrong_type("ConfusionMatrix", "dtype", self.dtype, "str")
        return {}

    def infer(
        self, labels: TensorType, predictions: TensorType, weights: TensorType | None = None
    ) -> TensorType:
        if labels.ndim != 1 or labels.shape != predictions.shape:
            raise problem(
                ValueError,
                "ConfusionMatrix: labels and predictions must be 1-D and of equal length",
                got=f"labels {labels}, predictions {predictions}",
            )
        check_kinds(self.name, INTEGERS, labels=labels, predictions=predictions)
        if weights is not None:
            check_spreads_to(self.name, "weights", weights, labels.shape)
        return TensorType(as_dtype(self.dtype), (self.num_classes, self.num_classes))

    def bounds(self, labels: Any, predictions: Any, weights: Any = None) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(0, self.num_classes), IndexBound.labels(1, self.num_classes))

    def lower(self, labels: Array, predictions: Array, weights: Array | None = None) -> Array:
        kind = as_dtype(self.dtype).numpy
        blank = jnp.zeros((self.num_classes, self.num_classes), kind)
        amounts = 1 if weights is None else jnp.asarray(weights).astype(kind)
        return blank.at[jnp.asarray(labels), jnp.asarray(predictions)].add(amounts, mode="drop")


class EqualCount(Op):
    """Number of equal elements of two tensors, in their dtype."""

    differentiable = False
    examples = (case("i32[4]:<2", "i32[4]:<2"), case("f32[2,2]", "f32[2,2]"))

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        if x != y:
            raise problem(
                ValueError if x.dtype is y.dtype else TypeError,
                "EqualCount: the tensors must have the same shape and dtype",
                got=f"x {x}, y {y}",
            )
        return x.with_shape((1,))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.sum(jnp.asarray(x) == y).astype(x.dtype).reshape(1)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Counts the occurrences of each value, or sums its weights.

    The result has max(input) + 1 elements, but at least `minlength`.
    """
    for name, value in (("input", input), ("weights", weights)):
        if not isinstance(value, TensorProtocol) and (name == "input" or value is not None):
            raise wrong_type("bincount", name, value, "Tensor")
    least = check_non_negative_int("bincount", "minlength", minlength)
    if len(input.shape) != 1:
        raise problem(ValueError, "bincount: the input must be 1-D", got=f"{input.shape}")
    values = np.asarray(input)
    if values.size and values.min() < 0:
        raise problem(ValueError, "bincount: a value is negative", got=str(values.min()))
    count = max(least, int(values.max()) + 1 if values.size else 0)
    return Bincount.of()(input, count, zeros((0,), float32) if weights is None else weights)


def _one(size: Any) -> Any:
    return size[0] if isinstance(size, tuple) and len(size) == 1 else size
