"""Slicing: slice, strided_slice, narrow."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int, check_range
from mycelia._engine.core.errors import ShapeError, problem
from mycelia._engine.core.shape import Shape, as_shape, normalize_axis, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.indexing.subscript import with_box
from mycelia.ops.shapes.reshape import copied, reshape


class Slice(Op):
    """Slice of `size` elements per axis that starts at `begin`; a size of -1 extends to the end."""

    static = ("begin", "size")
    examples = (
        case("f32[3,4]", (1, 0), (2, 2)),
        case("f32[3,4]", (1, 1), (-1, 0)),
        case("i32[3]", (0,), (3,)),
    )

    def infer(self, input_x: TensorType, begin: Any, size: Any) -> TensorType:
        starts, stops = self._box(input_x.shape, begin, size)
        return input_x.with_shape(tuple(b - a for a, b in zip(starts, stops, strict=True)))

    def lower(self, input_x: Array, begin: Any, size: Any) -> Array:
        return lax.slice(jnp.asarray(input_x), *self._box(input_x.shape, begin, size))

    def host(self, input_x: Any, begin: Any, size: Any) -> Any:
        return copied(self.view(input_x, begin, size))

    def view(self, input_x: Any, begin: Any, size: Any) -> Any:
        return input_x[(*self.box(input_x.shape, begin, size), ...)]

    def put_back(self, input_x: Any, begin: Any, size: Any, value: Any) -> Any:
        return with_box(input_x, self.box(input_x.shape, begin, size), value)

    def grad(self, input_x: Any, begin: Any, size: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        starts, _ = self._box(input_x.shape, begin, size)
        return (StridedSliceGrad.of(input_x.shape, starts, (1,) * len(starts))(dout),)

    def box(self, shape: Shape, begin: Any, size: Any) -> tuple[builtins.slice, ...]:
        """The range that is read along each axis."""
        return tuple(map(builtins.slice, *self._box(shape, begin, size)))

    def _box(self, shape: Shape, begin: Any, size: Any) -> tuple[Shape, Shape]:
        starts, sizes = as_shape(begin, self.name), as_shape(size, self.name)
        if len(starts) == len(sizes) == len(shape):
            stops = tuple(
                n if length == -1 else start + length
                for n, start, length in zip(shape, starts, sizes, strict=True)
            )
            if all(0 <= a <= b <= n for a, b, n in zip(starts, stops, shape, strict=True)):
                return starts, stops
        raise problem(
            ValueError,
            "Slice: the slice exceeds the tensor",
            got=f"begin {begin}, size {size} for a tensor of shape {list(shape)}",
            expected="one begin and one size for each axis, within its bounds",
        )


class StridedSlice(Op):
    """Strided slice from `begin` to `end` along each axis.

    Bit i of a mask applies to entry i: `begin_mask` and `end_mask` ignore that bound;
    `ellipsis_mask` expands the entry to all remaining axes; `new_axis_mask` inserts an axis of size
    1; `shrink_axis_mask` treats the entry as one index and removes its axis.
    """

    static = ("begin", "end", "strides")
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0
    examples = (
        case("f32[3,4]", (0, 0), (2, 4), (1, 2)),
        case("f32[3,4]", (2, -1), (0, 0), (-1, -2), end_mask=2),
        case("f32[3,4]", (1, 0), (2, 4), (1, 2), shrink_axis_mask=1, begin_mask=2),
        case("f32[2,3,4]", (0, 1), (0, 2), (1, 1), ellipsis_mask=1),
        case("f32[3,4]", (0, 1), (0, 2), (1, 1), new_axis_mask=1),
    )

    def normalize(self) -> dict[str, Any]:
        if self.ellipsis_mask.bit_count() > 1:
            raise problem(
                ValueError, "StridedSlice: more than one ellipsis", got=bin(self.ellipsis_mask)
            )
        return {}

    def infer(self, input_x: TensorType, begin: Any, end: Any, strides: Any) -> TensorType:
        return input_x.with_shape(self._boxes(input_x.shape, begin, end, strides)[1])

    def lower(self, input_x: Array, begin: Any, end: Any, strides: Any) -> Array:
        boxes, shape = self._boxes(input_x.shape, begin, end, strides)
        return jnp.asarray(input_x)[boxes].reshape(shape)

    def host(self, input_x: Any, begin: Any, end: Any, strides: Any) -> Any:
        return copied(self.view(input_x, begin, end, strides))

    def view(self, input_x: Any, begin: Any, end: Any, strides: Any) -> Any:
        boxes, shape = self._boxes(input_x.shape, begin, end, strides)
        return np.reshape(input_x[(*boxes, ...)], shape, copy=False)

    def put_back(self, input_x: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
        boxes, _ = self._boxes(input_x.shape, begin, end, strides)
        return with_box(input_x, boxes, reshape(value, self._kept(boxes)))

    def grad(
        self, input_x: Any, begin: Any, end: Any, strides: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        boxes = self.box(input_x.shape, begin, end, strides)
        starts = tuple(box.start for box in boxes)
        steps = tuple(box.step for box in boxes)
        return (StridedSliceGrad.of(input_x.shape, starts, steps, self._kept(boxes))(dout),)

    def box(self, shape: Shape, begin: Any, end: Any, strides: Any) -> tuple[builtins.slice, ...]:
        """The range that is read along each axis."""
        return self._boxes(shape, begin, end, strides)[0]

    @staticmethod
    def _kept(boxes: tuple[Any, ...]) -> Shape:
        return tuple(_length(box) for box in boxes)

    def _boxes(
        self, shape: Shape, begin: Any, end: Any, strides: Any
    ) -> tuple[tuple[builtins.slice, ...], Shape]:
        """One slice for each axis of the input, and the shape of the result."""
        entries = self._entries(shape, begin, end, strides)
        boxes: list[builtins.slice] = []
        result: list[int] = []
        for entry in entries:
            if entry is None:
                result.append(1)
                continue
            box = _resolved(entry, shape[len(boxes)])
            if isinstance(entry, builtins.slice):
                result.append(_length(box))
            boxes.append(box)
        return tuple(boxes), tuple(result)

    def _entries(self, shape: Shape, begin: Any, end: Any, strides: Any) -> list[Any]:
        """The request as a NumPy index: a slice, an int, or None for each entry."""
        first, last, step = (as_shape(v, self.name) for v in (begin, end, strides))
        if not len(first) == len(last) == len(step) or 0 in step:
            raise problem(
                ValueError,
                "StridedSlice: begin, end and strides must have equal lengths and nonzero strides",
                got=f"begin {first}, end {last}, strides {step}",
            )
        entries: list[Any] = []
        for i in range(len(first)):
            bit = 1 << i
            if self.ellipsis_mask & bit:
                entries.append(Ellipsis)
            elif self.new_axis_mask & bit:
                entries.append(None)
            elif self.shrink_axis_mask & bit:
                entries.append(first[i])
            else:
                start = None if self.begin_mask & bit else first[i]
                stop = None if self.end_mask & bit else last[i]
                entries.append(builtins.slice(start, stop, step[i]))
        named = sum(e is not None and e is not Ellipsis for e in entries)
        if named > len(shape):
            raise problem(
                ValueError,
                "StridedSlice: more entries than axes",
                got=f"{named} entries for a tensor of shape {list(shape)}",
            )
        position = entries.index(Ellipsis) if Ellipsis in entries else len(entries)
        whole = [builtins.slice(None)] * (len(shape) - named)
        return [*entries[:position], *whole, *entries[position + 1 :]]


class StridedSliceGrad(Op):
    """The gradient of a slice: zeros of `shape` with the slice written back at its position."""

    shape: tuple[int, ...]
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    kept: tuple[int, ...] | None = None
    examples = (
        case("f32[2,2]", shape=(3, 4), starts=(1, 0), steps=(1, 2)),
        case("f32[2]", shape=(4,), starts=(3,), steps=(-2,), kept=(2,)),
    )

    def infer(self, dout: TensorType) -> TensorType:
        counts = dout.shape if self.kept is None else self.kept
        _check_box(self.name, self.shape, (self.starts, self.steps, counts), dout.shape)
        return dout.with_shape(self.shape)

    def lower(self, dout: Array) -> Array:
        sizes = dout.shape if self.kept is None else self.kept
        box = jnp.reshape(dout, sizes)
        backwards = tuple(i for i, step in enumerate(self.steps) if step < 0)
        config = []
        for n, start, step, count in zip(self.shape, self.starts, self.steps, sizes, strict=True):
            low = start if step > 0 else start + step * (count - 1)
            used = (count - 1) * abs(step) + 1 if count else 0
            low = low if count else 0
            config.append((low, n - low - used, abs(step) - 1))
        return lax.pad(lax.rev(box, backwards), jnp.zeros((), dout.dtype), config)

    def grad(self, dout: Any, out: Any, dout_: Any) -> tuple[Any, ...]:
        counts = dout.shape if self.kept is None else self.kept
        return (StridedBox.of(self.starts, self.steps, tuple(counts), dout.shape)(dout_),)


class StridedBox(Op):
    """`counts` elements per axis from `starts` with strides `steps`, reshaped to `shape`."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    shape: tuple[int, ...]
    examples = (
        case("f32[3,4]", starts=(1, 3), steps=(1, -2), counts=(2, 2), shape=(4,)),
        case("f32[3]", starts=(0,), steps=(1,), counts=(0,), shape=(0,)),
    )

    def infer(self, x: TensorType) -> TensorType:
        _check_box(self.name, x.shape, (self.starts, self.steps, self.counts), self.shape)
        return x.with_shape(self.shape)

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)[self.box(x.shape)].reshape(self.shape)

    def box(self, shape: Shape) -> tuple[builtins.slice, ...]:
        """The range that is read along each axis."""
        return tuple(map(_counted, self.starts, self.steps, self.counts))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (StridedSliceGrad.of(x.shape, self.starts, self.steps, self.counts)(dout),)


def _check_box(owner: str, shape: Shape, box: tuple[Shape, Shape, Shape], result: Shape) -> None:
    """Checks that a box (starts, steps, counts) lies inside the tensor and fits the result."""
    starts, steps, counts = box
    is_inside = len(counts) == len(shape)
    for length, start, step, count in zip(shape, starts, steps, counts, strict=False):
        is_inside &= count == 0 or 0 <= start + step * (count - 1) < length > start
    if not is_inside or size(counts) != size(result):
        raise problem(
            ShapeError,
            f"{owner}: the box exceeds the tensor or does not match the result shape",
            got=f"{list(counts)} elements of shape {list(shape)}, "
            f"from {list(starts)} in steps of {list(steps)}",
            expected=f"elements of the tensor, as many as the shape {list(result)} has",
        )


def _resolved(entry: Any, size: int) -> builtins.slice:
    """A slice or an index of an axis as a slice without None or negative bounds."""
    if not isinstance(entry, builtins.slice):
        start = entry + size if entry < 0 else entry
        if not 0 <= start < size:
            raise problem(
                ValueError,
                "StridedSlice: an index is out of range",
                got=f"index {entry} for an axis of size {size}",
            )
        return builtins.slice(start, start + 1, 1)
    start, stop, step = entry.indices(size)
    return _counted(start, step, len(range(start, stop, step)))


def _counted(start: int, step: int, count: int) -> builtins.slice:
    """The slice of `count` elements that begins at `start`."""
    stop = start + step * count
    return builtins.slice(start, stop if stop >= 0 else None, step)


def _length(box: builtins.slice) -> int:
    stop = -1 if box.stop is None else box.stop
    return len(range(box.start, stop, box.step))


def slice(input_x: Any, begin: Any, size: Any) -> Any:
    """Slice of `size` elements per axis that starts at `begin`."""
    return Slice.of()(input_x, begin, size)


def tensor_slice(input: Any, begin: Any, size: Any) -> Any:
    """Slice of `size` elements per axis that starts at `begin`."""
    return Slice.of()(input, begin, size)


def strided_slice(
    input_x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """Strided slice from `begin` to `end`; `StridedSlice` describes the masks."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return StridedSlice.of(*masks)(input_x, begin, end, strides)


def narrow(input: Any, axis: int, start: int, length: int) -> Any:
    """Slice of `length` elements of `input` along `axis`, from `start`."""
    normalized = normalize_axis(axis, len(input.shape), "narrow")
    size = input.shape[normalized]
    check_int("narrow", "start", start)
    check_int("narrow", "length", length)
    check_range("narrow", "start", start, 0, size, closed="left")
    check_range("narrow", "length", length, 1, size - start)
    begin = tuple(start if i == normalized else 0 for i in range(len(input.shape)))
    sizes = tuple(length if i == normalized else n for i, n in enumerate(input.shape))
    return Slice.of()(input, begin, sizes)
