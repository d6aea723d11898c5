"""Repeating and combining tensors: tile, repeat_interleave, meshgrid, block_diag."""

from __future__ import annotations

from itertools import chain, combinations_with_replacement
from itertools import combinations as choose
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int, check_positive_int, check_string
from mycelia._engine.core.dtype import int64
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, as_shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.concat import check_alike, stack
from mycelia.ops.shapes.reshape import (
    broadcast_to,
    copied,
    expand_dims,
    identity,
    reshape,
    sum_to,
)


class Tile(Op):
    """Tiles a tensor `multiples` times along each axis; missing axes are added in front."""

    static = ("multiples",)
    examples = (case("f32[2]", (3,)), case("f32[2,3]", (2,)), case("f32[2,1]", (2, 1, 3)))

    def infer(self, input_x: TensorType, multiples: Any) -> TensorType:
        pairs = self._pairs(input_x.shape, multiples)
        return input_x.with_shape(tuple(times * n for times, n in pairs))

    def lower(self, input_x: Array, multiples: Any) -> Array:
        return jnp.tile(input_x, multiples)

    def host(self, input_x: Any, multiples: Any) -> Any:
        self._pairs(input_x.shape, multiples)
        return np.tile(input_x, multiples)

    def grad(self, input_x: Any, multiples: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        pairs = self._pairs(input_x.shape, multiples)
        apart = reshape(dout, tuple(chain.from_iterable(pairs)))
        summed = sum_to(apart, tuple(chain.from_iterable((1, n) for _, n in pairs)))
        return (reshape(summed, input_x.shape),)

    def _pairs(self, shape: Shape, multiples: Any) -> list[tuple[int, int]]:
        """For each axis of the result: its repetitions and its size in the input."""
        if not isinstance(multiples, tuple):
            raise problem(TypeError, "Tile: multiples must be a tuple", got=repr(multiples))
        times = as_shape(multiples, self.name)
        if any(n < 0 for n in times):
            raise problem(ValueError, "Tile: the multiples must not be negative", got=str(times))
        rank = max(len(times), len(shape))
        times = (1,) * (rank - len(times)) + times
        return list(zip(times, (1,) * (rank - len(shape)) + tuple(shape), strict=True))


class RepeatInterleave(Op):
    """Repeats each slice along `axis` by its count in `repeats`."""

    static = ("repeats", "axis")
    examples = (case("f32[3,2]", (1, 0, 2), 0), case("f32[2,2]", (2, 1), -1))

    def infer(self, x: TensorType, repeats: Any, axis: int) -> TensorType:
        place = normalize_axis(axis, x.ndim, self.name)
        if len(repeats) != x.shape[place] or any(n < 0 for n in repeats):
            raise problem(
                ValueError,
                "repeat_interleave: the repeats do not match the axis",
                got=f"repeats {repeats} for axis {place} of {x}",
                expected=f"{x.shape[place]} non-negative numbers",
            )
        return x.with_shape((*x.shape[:place], sum(repeats), *x.shape[place + 1 :]))

    def lower(self, x: Array, repeats: Any, axis: int) -> Array:
        return jnp.take(jnp.asarray(x), self._rows(repeats), axis=axis)

    def host(self, x: Any, repeats: Any, axis: int) -> Any:
        return np.repeat(x, repeats, axis)

    @staticmethod
    def _rows(repeats: Any) -> np.ndarray:
        return np.repeat(np.arange(len(repeats)), repeats)


class Meshgrid(Op):
    """Coordinate grids: each vector broadcast over the grid that the vectors span."""

    indexing: str = "xy"
    examples = (
        case(("f32[2]", "f32[3]")),
        case(("f32[2]", "f32[3]", "f32[4]"), indexing="ij"),
        case(("f32[2]",)),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("Meshgrid", "indexing", self.indexing, ("xy", "ij"))
        return {}

    def infer(self, inputs: Any) -> tuple[TensorType, ...]:
        first = check_alike(self.name, inputs)
        if any(x.ndim > 1 for x in inputs):
            raise problem(
                ValueError,
                "Meshgrid: the inputs must be vectors",
                got=", ".join(str(x) for x in inputs),
            )
        sizes = [x.shape[0] if x.ndim else 1 for x in inputs]
        if self.indexing == "xy" and len(sizes) > 1:
            sizes[:2] = sizes[1], sizes[0]
        return (first.with_shape(tuple(sizes)),) * len(inputs)

    def lower(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(jnp.meshgrid(*map(jnp.ravel, inputs), indexing=self.indexing))

    def host(self, inputs: Any) -> Any:
        if not isinstance(inputs, tuple) or len({x.dtype for x in inputs}) > 1:
            raise TypeError("not a tuple of one dtype")
        if any(x.ndim > 1 for x in inputs):
            raise ValueError("not vectors")
        grids = np.meshgrid(*inputs, indexing=self.indexing)  # type: ignore[call-overload]
        return tuple(copied(g) for g in grids)


class BlockDiag(Op):
    """Block diagonal matrix of the given matrices; vectors count as rows."""

    examples = (case(("f32[2,2]", "f32[3]", "f32[]")), case(("i32[1,2]", "i32[2,0]")))

    def infer(self, inputs: Any) -> TensorType:
        first = check_alike("block_diag", inputs)
        if any(x.ndim > 2 for x in inputs):
            raise problem(
                ValueError,
                "block_diag: an input has more than two dimensions",
                got=", ".join(str(x) for x in inputs),
            )
        rows, columns = zip(*(self._size(x.shape) for x in inputs), strict=True)
        return first.with_shape((sum(rows), sum(columns)))

    def lower(self, inputs: tuple[Array, ...]) -> Array:
        blocks = [jnp.reshape(x, self._size(x.shape)) for x in inputs]
        height, width = (sum(b.shape[i] for b in blocks) for i in (0, 1))
        result = jnp.zeros((height, width), blocks[0].dtype)
        row = column = 0
        for block in blocks:
            below, right = row + block.shape[0], column + block.shape[1]
            result = result.at[row:below, column:right].set(block)
            row, column = below, right
        return result

    @staticmethod
    def _size(shape: Shape) -> Shape:
        return (1,) * (2 - len(shape)) + tuple(shape)


def tile(input: Any, dims: Any) -> Any:
    """Tiles `input` `dims` times along each axis."""
    return Tile.of()(input, dims)


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Any:
    """Repeats each slice of `x` along `axis` `rep` times in a row."""
    check_tensors("repeat_elements", x=x)
    count = check_positive_int("repeat_elements", "rep", rep)
    place = normalize_axis(axis, len(x.shape), "repeat_elements")
    before, after = x.shape[: place + 1], x.shape[place + 1 :]
    spread = broadcast_to(expand_dims(x, place + 1), (*before, count, *after))
    return identity(reshape(spread, (*before[:-1], before[-1] * count, *after)))


def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeats each slice along `axis` (each element for None) by one or several counts."""
    if axis is None:
        input, axis = reshape(input, (-1,)), 0
    place = normalize_axis(axis, len(input.shape), "repeat_interleave")
    listed = freeze(repeats)
    counts = listed if isinstance(listed, tuple) else (listed,)
    for count in counts:
        check_int("repeat_interleave", "repeats", count)
    if len(counts) == 1 and counts[0] != 0:
        return repeat_elements(input, counts[0], place)
    if len(counts) == 1:
        counts = counts * input.shape[place]
    return RepeatInterleave.of()(input, counts, place)


def meshgrid(*inputs: Any, indexing: str = "xy") -> Any:
    """Coordinate grids: each vector broadcast over the grid that the vectors span."""
    return Meshgrid.of(indexing)(inputs)


def block_diag(*inputs: Any) -> Any:
    """Block diagonal matrix of the given matrices; vectors count as rows."""
    return BlockDiag.of()(inputs)


def cartesian_prod(*inputs: Any) -> Any:
    """Cartesian product of vectors, as the rows of a matrix."""
    grids = meshgrid(*inputs, indexing="ij")
    return stack(tuple(reshape(g, (-1,)) for g in grids), -1)


class Combinations(Op):
    """Combinations of `r` elements of a vector, as the rows of a matrix."""

    r: int = 2
    with_replacement: bool = False
    examples = (case("f32[4]"), case("f32[3]", with_replacement=True), case("f32[2]", r=3))

    def infer(self, x: TensorType) -> TensorType:
        if x.ndim != 1:
            raise problem(ValueError, "combinations: the input must be a vector", got=str(x))
        return x.with_shape(self._rows(x.shape[0]).shape)

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)[self._rows(x.shape[0])]

    def host(self, x: Any) -> Any:
        return x[self._rows(x.shape[0])]

    def _rows(self, count: int) -> np.ndarray:
        choices = combinations_with_replacement if self.with_replacement else choose
        rows = list(choices(range(count), self.r))
        return np.array(rows, int64.numpy) if rows else np.zeros((0,), int64.numpy)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Combinations of `r` elements of a vector, as the rows of a matrix."""
    return Combinations.of(r, with_replacement)(input)
