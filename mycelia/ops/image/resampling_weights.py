"""Taps of image resizing: the input pixels that each output pixel depends on, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.primitive import Primitive, freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype

FEW_TAPS = 4  # up to here a sum of gathers is faster than a product with the weight matrix
CUBIC_STEPS = 1024  # steps per pixel of MindSpore's table of cubic weights


@dataclass(frozen=True)
class Taps:
    """The input pixels and weights of every output pixel along one axis, both [taps, output].

    Without weights there is one tap, which is copied.
    """

    length: int
    indices: np.ndarray
    weights: np.ndarray | None = None

    def apply(self, x: Array, axis: int) -> Array:
        """Resizes one axis of `x`."""
        if self.weights is None:
            return self._copied(x, axis)
        if len(self.indices) > FEW_TAPS:
            return _product(x, axis, self.matrix(x.dtype))
        shape = _along(axis, x.ndim, self.indices.shape[1])
        terms = [
            jnp.take(x, index, axis=axis, mode="clip") * weight.reshape(shape).astype(x.dtype)
            for index, weight in zip(self.indices, self.weights, strict=True)
        ]
        return sum(terms[1:], start=terms[0])

    def transpose(self, dout: Array, axis: int) -> Array:
        """The transpose of `apply`, for gradients.

        It multiplies by the weight matrix, because scattering is far slower.
        """
        factor = self._factor() if self.weights is None else 0
        if factor:
            blocks = (*dout.shape[:axis], self.length, factor, *dout.shape[axis + 1 :])
            return jnp.sum(jnp.reshape(dout, blocks), axis=axis + 1, dtype=dout.dtype)
        return _product(dout, axis, self.matrix(dout.dtype).T)

    def matrix(self, dtype: Any) -> np.ndarray:
        """The weights as a matrix [output, input]."""
        count = self.indices.shape[1]
        full = np.zeros((count, self.length))
        weights = np.ones(self.indices.shape) if self.weights is None else self.weights
        np.add.at(full, (np.arange(count), self.indices), weights)
        return full.astype(dtype)

    def _copied(self, x: Array, axis: int) -> Array:
        factor = self._factor()
        if not factor:
            return jnp.take(x, self.indices[0], axis=axis, mode="clip")
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        wide = jnp.broadcast_to(
            jnp.expand_dims(x, axis + 1), (*before, self.length, factor, *after)
        )
        return jnp.reshape(wide, (*before, self.length * factor, *after))

    def _factor(self) -> int:
        """The repeat count of each pixel if all are repeated equally often and in order, else 0."""
        factor, rest = divmod(self.indices.shape[1], self.length)
        regular = not rest and np.array_equal(
            self.indices[0], np.repeat(np.arange(self.length), factor)
        )
        return factor if regular else 0


class Resize(Op, register=False):
    """Base class of operators that resize axes, each with separate taps.

    The result is linear in `x`.
    """

    def plan(self, shape: Shape, *static: Any) -> dict[int, Taps]:
        """The taps of each axis that changes, from the shape and the static arguments."""
        raise problem(RuntimeError, f"{self.name} does not define 'plan'")

    def lower(self, x: Array, *static: Any) -> Array:
        plan = self.plan(x.shape, *static)
        copies = all(t.weights is None for t in plan.values())
        result = jnp.asarray(x) if copies else _working(x)
        for axis, taps in plan.items():
            result = taps.apply(result, axis)
        return result.astype(x.dtype)

    def grad(self, x: Any, *rest: Any) -> tuple[Any, ...]:
        *static, _, dout = rest
        return (ResizeBack.of(self, tuple(x.shape), freeze(tuple(static)))(dout),)


class ResizeBack(Op, register=False):
    """The gradient of a resize: output gradients flow back to the input pixels of their taps."""

    op: Primitive
    shape: Shape
    static_values: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return f"Back({self.op.name})"

    def infer(self, dout: TensorType) -> TensorType:
        return dout.with_shape(self.shape)

    def lower(self, dout: Array) -> Array:
        result = _working(dout)
        for axis, taps in self.op.plan(self.shape, *self.static_values).items():  # type: ignore[attr-defined]
            result = taps.transpose(result, axis)
        return result.astype(dout.dtype)

    def grad(self, dout: Any, out: Any, dback: Any) -> tuple[Any, ...]:
        return (self.op(dback, *self.static_values),)


def nearest_taps(length: int, count: int, rule: str, ratio: float | None = None) -> Taps:
    """Nearest-neighbor taps.

    `rule` is asymmetric, half_pixel, or align_corners. Coordinates are float32, because its
    rounding decides which of two pixels is nearer.
    """
    scale = np.float32(_ratio(length, count, rule) if ratio is None else ratio)
    positions = np.arange(count).astype(np.float32)
    match rule:
        case "half_pixel":
            nearest = np.floor((positions + np.float32(0.5)) * scale)
        case "align_corners":
            nearest = np.floor(positions * scale + np.float32(0.5))
        case _:
            nearest = np.floor(positions * scale)
    return Taps(length, np.clip(nearest, 0, length - 1).astype(np.int32)[None])


def linear_taps(length: int, count: int, rule: str, ratio: float | None = None) -> Taps:
    """Linear interpolation taps: the two pixels around each coordinate."""
    positions = np.clip(_positions(length, count, rule, ratio), 0, length - 1)
    low = np.floor(positions).astype(np.int32)
    high = np.minimum(low + 1, length - 1)
    share = positions - low
    return Taps(length, np.stack([low, high]), np.stack([1 - share, share]))


def line_taps(length: int, count: int, rule: str, ratio: float | None = None) -> Taps:
    """Linear taps for 1-D signals.

    Unlike in images, a single output value is the first input value.
    """
    if count == 1:
        return nearest_taps(length, count, "asymmetric", ratio)
    return linear_taps(length, count, rule, ratio)


def cubic_taps(length: int, count: int, rule: str, ratio: float | None = None) -> Taps:
    """Cubic convolution taps: the four pixels around each coordinate (Keys 1981).

    With half pixels the kernel is softer, and pixels beyond the border are dropped while the other
    weights are rescaled; otherwise the border repeats.
    """
    soft = rule == "half_pixel"
    positions = _positions(length, count, rule, ratio)
    low = np.floor(positions)
    offsets = np.arange(-1, 3)[:, None]
    shares = np.rint((positions - low) * CUBIC_STEPS) / CUBIC_STEPS
    weights = _keys(np.abs(shares - offsets), -0.5 if soft else -0.75)
    indices = (low + offsets).astype(np.int32)
    if soft:
        weights = np.where((indices >= 0) & (indices < length), weights, 0.0)
        weights = weights / weights.sum(0)
    return Taps(length, np.clip(indices, 0, length - 1), weights)


def area_taps(length: int, starts: np.ndarray, stops: np.ndarray) -> Taps:
    """Taps that average the interval from `starts` to `stops`, weighting partly covered pixels."""
    first = np.floor(starts).astype(np.int64)
    widest = int((np.ceil(stops) - first).max())
    indices = first + np.arange(widest)[:, None]
    covered = np.minimum(indices + 1, stops) - np.maximum(indices, starts)
    weights = np.maximum(covered, 0.0)
    return Taps(length, np.clip(indices, 0, length - 1), weights / weights.sum(0))


def _keys(distance: np.ndarray, a: float) -> np.ndarray:
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _positions(length: int, count: int, rule: str, ratio: float | None) -> np.ndarray:
    scale = _ratio(length, count, rule) if ratio is None else ratio
    positions = np.arange(count)
    return (positions + 0.5) * scale - 0.5 if rule == "half_pixel" else positions * scale


def _ratio(length: int, count: int, rule: str) -> float:
    if rule == "align_corners":
        return (length - 1) / (count - 1) if count > 1 else 0.0
    return length / max(count, 1)


def coordinate_rule(align_corners: bool, half_pixel_centers: bool) -> str:
    """The name of the coordinate rule that MindSpore's two flags select."""
    if align_corners:
        return "align_corners"
    return "half_pixel" if half_pixel_centers else "asymmetric"


def check_corner_flags(owner: str, align_corners: Any, half_pixel_centers: Any) -> None:
    check_bool(owner, "align_corners", align_corners)
    check_bool(owner, "half_pixel_centers", half_pixel_centers)
    if align_corners and half_pixel_centers:
        raise problem(
            ValueError,
            f"{owner}: 'align_corners' and 'half_pixel_centers' are mutually exclusive",
            got="both True",
            fix="set one of them to False",
        )


def check_size(owner: str, size: Any, count: int) -> Shape:
    """Checks that `size` is `count` positive ints and returns them."""
    given = freeze(size)
    if not isinstance(given, tuple):
        raise wrong_type(owner, "size", size, f"a tuple or list of {count} ints")
    numbers = tuple(check_int(owner, "size", n) for n in given)
    if len(numbers) != count or min(numbers) < 1:
        raise wrong_value(owner, "size", size, f"{count} ints greater than 0")
    return numbers


def check_image(
    owner: str, x: TensorType, rank: int, axes: Sequence[int], *, fractions: bool
) -> None:
    """Checks the rank of an image and that it has pixels.

    With `fractions`, integer images are rejected.
    """
    if x.ndim != rank:
        raise problem(
            ValueError,
            f"{owner}: the image must have {rank} dimensions",
            got=str(x),
            fix="add the missing dimensions with expand_dims",
        )
    if any(x.shape[axis] == 0 for axis in axes):
        raise problem(ValueError, f"{owner}: cannot resize an empty image", got=str(x))
    if fractions and x.dtype.kind != "float":
        raise unsupported_dtype(owner, x, "an image of floats")


def _working(x: Array) -> Array:
    """`x` in the dtype in which weights are applied: at least float32."""
    x = jnp.asarray(x)
    return x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)


def _product(x: Array, axis: int, matrix: np.ndarray) -> Array:
    result = jnp.tensordot(x, matrix, ((axis,), (1,)), precision=lax.Precision.HIGHEST)
    return jnp.moveaxis(result, -1, axis)


def _along(axis: int, rank: int, count: int) -> Shape:
    return tuple(count if i == axis else 1 for i in range(rank))
