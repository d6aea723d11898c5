"""Segment reductions: sum, product, minimum, maximum, and mean of rows with the same segment id.

Sorted segments have as many results as the last id determines, so their ids must be compile-time
constants.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import Case, case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_arguments import check_indices
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import NUMBERS, check_kinds
from mycelia.ops.elementwise.arithmetic import div, mul
from mycelia.ops.indexing.gather import gather

_VERBS = {"sum": "add", "prod": "multiply", "min": "min", "max": "max"}


class UnsortedSegment(Op, register=False):
    """Base class of reductions of `input_x` by `segment_ids`; negative ids are ignored."""

    verb: ClassVar[str] = "sum"
    static = ("num_segments",)
    examples: ClassVar[tuple[Case, ...]] = (
        case("f32[4,2]", "i32[4]:<3", 3),
        case("f32[2,3]", "i64[2,3]:<4", 5),
        case("i32[3]", "i32[3]:<2", 2),
    )

    def infer(self, input_x: TensorType, segment_ids: TensorType, num_segments: Any) -> TensorType:
        check_indices(self.name, segment_ids)
        check_kinds(self.name, NUMBERS, input_x=input_x)
        check_positive_int(self.name, "num_segments", num_segments)
        depth = segment_ids.ndim
        if not depth or input_x.shape[:depth] != segment_ids.shape:
            raise problem(
                ValueError,
                f"{self.name}: the shape of segment_ids does not match the tensor",
                got=f"input {input_x}, segment_ids {segment_ids}",
                expected="segment_ids with the shape of the leading axes of the input",
            )
        return input_x.with_shape((num_segments, *input_x.shape[depth:]))

    def bounds(self, input_x: Any, segment_ids: Any, num_segments: Any) -> tuple[IndexBound, ...]:
        return (IndexBound(1, None, num_segments),)

    def lower(self, input_x: Array, segment_ids: Array, num_segments: Any) -> Array:
        ids = jnp.ravel(segment_ids)
        rest = input_x.shape[jnp.ndim(segment_ids) :]
        rows = jnp.reshape(input_x, (ids.size, *rest))
        start = jnp.full((num_segments, *rest), start_of(self.verb, rows.dtype), rows.dtype)
        targets = jnp.where(ids < 0, num_segments, ids)
        return getattr(start.at[targets], _VERBS[self.verb])(rows, mode="drop")


class UnsortedSegmentSum(UnsortedSegment):
    """Sum of each segment; 0 for empty segments."""

    def grad(self, input_x: Any, segment_ids: Any, num_segments: Any, out: Any, dout: Any) -> Any:
        return SegmentRead.of()(dout, segment_ids), None


class UnsortedSegmentProd(UnsortedSegment):
    """Product of each segment; 1 for empty segments."""

    verb = "prod"
    examples = (
        case("f32[4,2]:positive", "i32[4]:<3", 3, differentiate=False),
        case("i32[3]", "i32[3]:<2", 2),
    )

    def grad(self, input_x: Any, segment_ids: Any, num_segments: Any, out: Any, dout: Any) -> Any:
        whole = SegmentRead.of()(mul(dout, out), segment_ids)
        return div(whole, input_x), None


class UnsortedSegmentMin(UnsortedSegment):
    """Minimum of each segment; the largest value of the dtype for empty segments."""

    verb = "min"
    examples = (
        case("f32[4,2]:distinct", "i32[4]:<2", 2),
        case("i32[3]", "i32[3]:<2", 4),
    )


class UnsortedSegmentMax(UnsortedSegment):
    """Maximum of each segment; the smallest value of the dtype for empty segments."""

    verb = "max"
    examples = (
        case("f32[4,2]:distinct", "i32[4]:<2", 2),
        case("i32[3]", "i32[3]:<2", 4),
    )


class SegmentRead(Op):
    """The row of each segment id; zeros for negative ids."""

    examples = (case("f32[3,2]", "i32[4]:<3"), case("f32[3]", "i64[2,2]:<3"))

    def bounds(self, x: Any, segment_ids: Any) -> tuple[IndexBound, ...]:
        bound = IndexBound(1, None, x.shape[0])
        return (bound.gradient("UnsortedSegment", "segment_ids"),)

    def lower(self, x: Array, segment_ids: Array) -> Array:
        ids = jnp.asarray(segment_ids)
        read = jnp.take(jnp.asarray(x), jnp.maximum(ids, 0), axis=0)
        inside = jnp.reshape(ids >= 0, (*ids.shape, *(1 for _ in x.shape[1:])))
        return jnp.where(inside, read, 0)


class SortedSegment(Op, register=False):
    """Base class of reductions by sorted segment ids, which must be compile-time constants."""

    verb: ClassVar[str] = "sum"
    static = ("segment_ids",)
    examples: ClassVar[tuple[Case, ...]] = (
        case("f32[4,2]:distinct", (0, 0, 2, 2)),
        case("f64[3]:distinct", (1, 1, 1)),
        case("i32[3]", (0, 1, 1)),
    )

    def infer(self, input_x: TensorType, segment_ids: Any) -> TensorType:
        check_kinds(self.name, NUMBERS, input_x=input_x)
        ids = _sorted_ids(self.name, segment_ids, input_x)
        return input_x.with_shape((ids[-1] + 1, *input_x.shape[1:]))

    def lower(self, input_x: Array, segment_ids: Any) -> Array:
        ids = np.asarray(segment_ids)
        count = int(ids[-1]) + 1
        members = np.bincount(ids, minlength=count).reshape(-1, *(1 for _ in input_x.shape[1:]))
        verb = "sum" if self.verb == "mean" else self.verb
        start = jnp.full((count, *input_x.shape[1:]), start_of(verb, input_x.dtype), input_x.dtype)
        reduced = getattr(start.at[ids], _VERBS[verb])(jnp.asarray(input_x))
        if self.verb == "mean":
            reduced = reduced / np.maximum(members, 1).astype(input_x.dtype)
        blank = 1 if self.verb == "prod" else 0
        return jnp.where(members == 0, blank, reduced).astype(input_x.dtype)


class SegmentSum(SortedSegment):
    """Sum of the rows of each sorted segment."""


class SegmentMean(SortedSegment):
    """Mean of the rows of each sorted segment."""

    verb = "mean"
    examples = (case("f32[4,2]", (0, 0, 2, 2)), case("f64[3]", (1, 1, 1)))


class SegmentProd(SortedSegment):
    """Product of the rows of each sorted segment."""

    verb = "prod"
    examples = (
        case("f32[4,2]:positive", (0, 0, 2, 3), differentiate=False),
        case("i32[3]", (0, 1, 1)),
    )


class SegmentMin(SortedSegment):
    """Minimum of the rows of each sorted segment."""

    verb = "min"


class SegmentMax(SortedSegment):
    """Maximum of the rows of each sorted segment."""

    verb = "max"


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Sum of the elements of each segment."""
    return UnsortedSegmentSum.of()(input_x, segment_ids, _count(num_segments))


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Product of the elements of each segment."""
    return UnsortedSegmentProd.of()(x, segment_ids, _count(num_segments))


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Minimum of the elements of each segment."""
    return UnsortedSegmentMin.of()(x, segment_ids, _count(num_segments))


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Maximum of the elements of each segment."""
    return UnsortedSegmentMax.of()(x, segment_ids, _count(num_segments))


def sparse_segment_mean(x: Any, indices: Any, segment_ids: Any) -> Any:
    """Mean of the rows `indices` of `x` within each segment, for sorted segment ids."""
    return SegmentMean.of()(gather(x, indices, 0), segment_ids)


def start_of(verb: str, dtype: Any) -> Any:
    """The initial value of a segment reduction, which is the result of an empty segment."""
    if verb in ("sum", "prod"):
        return 0 if verb == "sum" else 1
    limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else jnp.finfo(dtype)
    return limits.max if verb == "min" else limits.min


def _count(num_segments: Any) -> Any:
    return freeze(num_segments) if isinstance(num_segments, TensorProtocol) else num_segments


def _sorted_ids(owner: str, segment_ids: Any, input_x: TensorType) -> Any:
    ids = np.asarray(segment_ids)
    fits = ids.ndim == 1 and input_x.ndim and ids.size == input_x.shape[0]
    if not fits or not ids.size or ids[0] < 0 or bool((np.diff(ids) < 0).any()):
        raise problem(
            ValueError,
            f"{owner}: segment_ids must be sorted, with one id per row",
            got=f"segment_ids {segment_ids} for {input_x}",
            expected="ids from 0 in ascending order",
        )
    return ids.tolist()
