"""Sorting, top-k, and binary search."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int, check_string, is_int
from mycelia._engine.core.dtype import DType, as_dtype, int32, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import INTEGERS, check_kinds, check_shape

_ORDERED = ("int", "uint", "float")


class Sort(Op):
    """Stable sort along `axis`. Returns the sorted elements and their indices in x."""

    axis: int = -1
    descending: bool = False
    examples = (
        case("f32[2,3]:distinct"),
        case("f32[3,2]:distinct", axis=0, descending=True),
        case("i32[5]"),
        case("f16[0,3]"),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "descending", self.descending)
        return {"axis": check_int(self.name, "axis", self.axis)}

    def infer(self, x: TensorType) -> tuple[TensorType, TensorType]:
        _check_sortable(self.name, x, self.axis)
        return x, x.with_dtype(int32)

    def lower(self, x: Array) -> tuple[Array, Array]:
        order = jnp.argsort(x, axis=self.axis, stable=True, descending=self.descending)
        return jnp.take_along_axis(x, order, axis=self.axis), order.astype(np.int32)


class TopK(Op):
    """The `k` largest elements of each row, and their indices."""

    sorted: bool = True
    static = ("k",)
    examples = (
        case("f32[2,4]:distinct", 2),
        case("f32[5]:distinct", 3, sorted=False),
        case("i32[2,3]", 1),
        case("bf16[0,3]", 2),
    )

    def normalize(self) -> dict[str, Any]:
        return {"sorted": check_bool(self.name, "sorted", self.sorted)}

    def infer(self, input_x: TensorType, k: Any) -> tuple[TensorType, TensorType]:
        if input_x.ndim == 0:
            raise problem(RuntimeError, "TopK: a scalar has no rows", got=str(input_x))
        _check_sortable(self.name, input_x, -1)
        _check_count(k, input_x.shape[-1])
        result = input_x.with_shape((*input_x.shape[:-1], k))
        return result, result.with_dtype(int32)

    def lower(self, input_x: Array, k: int) -> tuple[Array, Array]:
        values, positions = lax.top_k(jnp.asarray(input_x), k)
        return values, positions.astype(np.int32)


class TopKAlong(Op):
    """The `k` largest or smallest elements along `dim`, and their indices."""

    dim: int = -1
    largest: bool = True
    static = ("k",)
    examples = (
        case("f32[4,2]:distinct", 2, dim=0),
        case("f32[5]:distinct", 3, largest=False),
        case("u8[2,3]", 1, largest=False),
    )

    def infer(self, input: TensorType, k: Any) -> tuple[TensorType, TensorType]:
        _check_sortable("topk", input, self.dim)
        axis = normalize_axis(self.dim, input.ndim, "topk")
        _check_count(k, input.shape[axis])
        result = input.with_shape((*input.shape[:axis], k, *input.shape[axis + 1 :]))
        return result, result.with_dtype(int32)

    def lower(self, input: Array, k: int) -> tuple[Array, Array]:
        axis = normalize_axis(self.dim, input.ndim, "topk")
        order = jnp.argsort(input, axis=axis, stable=True, descending=self.largest)
        chosen = lax.slice_in_dim(order, 0, k, axis=axis)
        return jnp.take_along_axis(input, chosen, axis=axis), chosen.astype(np.int32)


class SearchSorted(Op):
    """Binary search: the insertion index of each value in the last axis of a sorted tensor."""

    dtype: DType = int64
    right: bool = False
    promotes = ("sorted_sequence", "values")
    differentiable = False
    examples = (
        case("f32[4]", "f32[2,3]"),
        case("f32[2,4]", "f32[2,3]", dtype=int32, right=True),
        case("i32[4]", "i32[]"),
        case("f32[3]", "f32[2]", "i64[3]:<3"),
    )

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype), "right": check_bool(self.name, "right", self.right)}

    def infer(
        self, sorted_sequence: TensorType, values: TensorType, sorter: TensorType | None = None
    ) -> TensorType:
        same_rows = sorted_sequence.shape[:-1] == values.shape[:-1]
        if sorted_sequence.ndim == 0 or not (sorted_sequence.ndim == 1 or same_rows):
            raise problem(
                ValueError,
                "SearchSorted: the shapes of the sorted sequence and the values do not match",
                got=f"{sorted_sequence} and {values}",
                expected="one sorted row, or as many rows as the values have",
            )
        if sorter is not None:
            check_shape(self.name, "sorter", sorter, sorted_sequence.shape)
            check_kinds(self.name, INTEGERS, sorter=sorter)
        return values.with_dtype(self.dtype)

    def bounds(
        self, sorted_sequence: Any, values: Any, sorter: Any = None
    ) -> tuple[IndexBound, ...]:
        return () if sorter is None else (IndexBound.indices(2, sorted_sequence.shape[-1]),)

    def lower(self, sorted_sequence: Array, values: Array, sorter: Array | None = None) -> Array:
        rows = jnp.asarray(sorted_sequence)
        if sorter is not None:
            rows = jnp.take_along_axis(rows, jnp.asarray(sorter), axis=-1)
        side = "right" if self.right else "left"

        def search(row: Array, wanted: Array) -> Array:
            return jnp.searchsorted(row, wanted, side=side)

        for _ in range(rows.ndim - 1):
            search = jax.vmap(search)
        return search(rows, jnp.asarray(values)).astype(self.dtype.numpy)


class Bucketize(Op):
    """Index of the bucket between `boundaries` that contains each element."""

    boundaries: tuple[float, ...]
    differentiable = False
    examples = (case("f32[2,3]", boundaries=(-1.0, 0.0, 1.0)), case("i32[]", boundaries=(0.5,)))

    def normalize(self) -> dict[str, Any]:
        return {"boundaries": tuple(float(b) for b in self.boundaries)}

    def infer(self, input: TensorType) -> TensorType:
        if input.dtype.kind not in _ORDERED:
            raise unsupported_dtype(self.name, input, "a tensor of integers or floats")
        return input.with_dtype(int32)

    def lower(self, input: Array) -> Array:
        edges = jnp.asarray(self.boundaries, np.float64)
        buckets = jnp.searchsorted(edges, jnp.asarray(input).astype(np.float64), side=self.side())
        return buckets.astype(np.int32)

    def side(self) -> str:
        """The side of `searchsorted` that decides where elements equal to a boundary go."""
        return "right"


class _BucketizeLeft(Bucketize, register=False):
    """Buckets that include their upper boundary."""

    def side(self) -> str:
        return "left"


def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Any, Any]:
    """Sorts along `axis`. Returns the sorted elements and their indices."""
    return Sort.of(axis, descending)(input_x)


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Any:
    """Indices that sort `input` along `axis`."""
    return Sort.of(axis, descending)(input)[1]


def msort(input: Any) -> Any:
    """Sorts `input` along its first axis."""
    return Sort.of(0)(input)[0]


def topk(
    input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Any, Any]:
    """The `k` largest (or smallest) elements along `dim`, and their indices."""
    check_tensors("topk", input=input)
    rank = len(input.shape)
    if rank == 0 or (largest and (dim is None or dim in (-1, rank - 1))):
        return TopK.of(sorted)(input, k)
    return TopKAlong.of(-1 if dim is None else dim, largest)(input, k)


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Any, Any]:
    """The `k` largest elements of each row, and their indices."""
    return TopK.of(sorted)(input_x, k)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Binary search: the insertion index of each value in the last axis of `sorted_sequence`."""
    if side is not None:
        check_string("searchsorted", "side", side, ("left", "right"))
        if side == "left" and right:
            raise problem(ValueError, "searchsorted: side='left' contradicts right=True")
    to_right = right or side == "right"
    return SearchSorted.of(int32 if out_int32 else int64, to_right)(sorted_sequence, values, sorter)


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Any:
    """Index of the bucket that contains each element.

    With `right`, buckets include their lower boundary.
    """
    edges = np.asarray(boundaries).tolist()
    return (Bucketize if right else _BucketizeLeft).of(tuple(edges))(input)


def _check_sortable(owner: str, x: TensorType, axis: int) -> None:
    if x.dtype.kind not in _ORDERED:
        raise unsupported_dtype(owner, x, "a tensor of integers or floats")
    if x.ndim == 0:
        raise problem(ValueError, f"{owner}: a scalar has no axis", got=str(x))
    normalize_axis(axis, x.ndim, owner)


def _check_count(k: Any, size: int) -> None:
    if not is_int(k):
        raise wrong_type("TopK", "k", k, "int")
    if not 0 < k <= size:
        raise problem(ValueError, "TopK: k is out of range", got=f"k={k}", expected=f"1 to {size}")
