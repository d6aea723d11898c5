"""Resizing by nearest, linear, cubic, and area interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_positive_int, check_string, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array
from mycelia.ops.image.resampling_weights import (
    Resize,
    Taps,
    area_taps,
    check_image,
    cubic_taps,
    line_taps,
    linear_taps,
    nearest_taps,
)

RANKS = {
    "nearest": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "area": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "trilinear": (5,),
}
WITH_CORNERS = ("linear", "bilinear", "bicubic", "trilinear")
_SHARPNESS = -0.75  # the free parameter of Keys' kernel (1981)


class Interpolate(Resize):
    """Resizes a batch of signals, images, or volumes to `size` by a mode of `interpolate`.

    `ratios` are the distances between output pixels in input pixels, where `size` does not
    determine them.
    """

    size: Shape
    mode: str = "nearest"
    align_corners: bool = False
    ratios: tuple[float, ...] | None = None
    examples = (
        case("f32[1,2,3]", size=(5,)),
        case("f32[1,2,3,4]", size=(6, 8), mode="bilinear"),
        case("f32[1,1,5,3]", size=(2, 4), mode="bicubic", align_corners=True),
        case("f32[1,1,2,3,2]", size=(3, 5, 2), mode="trilinear", ratios=(0.6, 0.7, 1.0)),
        case("f32[1,1,7,4]", size=(3, 2), mode="area"),
    )

    def infer(self, input: TensorType) -> TensorType:
        fractions = not self.mode.startswith("nearest")
        axes = range(2, input.ndim)
        check_image("interpolate", input, 2 + len(self.size), axes, fractions=fractions)
        return input.with_shape((*input.shape[:2], *self.size))

    def plan(self, shape: Shape) -> dict[int, Taps]:
        ratios = self.ratios or (None,) * len(self.size)
        sizes = zip(shape[2:], self.size, ratios, strict=True)
        return {axis: self._taps(*numbers) for axis, numbers in enumerate(sizes, 2)}

    def _taps(self, length: int, count: int, ratio: float | None) -> Taps:
        rule = "align_corners" if self.align_corners else "half_pixel"
        match self.mode:
            case "nearest":
                return nearest_taps(length, count, "asymmetric", ratio)
            case "nearest-exact":
                return nearest_taps(length, count, "half_pixel", ratio)
            case "area":
                return _bins(length, count)
        step = None if self.align_corners else ratio
        match self.mode:
            case "bicubic":
                return cubic_taps(length, count, rule, step)
            case "linear":
                return line_taps(length, count, rule, step)
        return linear_taps(length, count, rule, step)

    def lower(self, input: Array) -> Array:
        return super().lower(input)


class CubicInterpolate(Interpolate):
    """Resizes a batch of images to `size` by cubic convolution with exact weights.

    Unlike in `Interpolate`, the border repeats in every mode and weights are not rounded to a
    table.
    """

    mode: str = "bicubic"
    examples = (
        case("f32[1,2,3,4]", size=(5, 6)),
        case("f32[1,1,5,3]", size=(2, 4), align_corners=True),
        case("f32[1,1,4,4]", size=(6, 6), ratios=(0.6, 0.7)),
        case("f32[1,1,1,2]", size=(1, 3), align_corners=True),
        case("f16[0,1,2,2]", size=(3, 3)),
    )

    def _taps(self, length: int, count: int, ratio: float | None) -> Taps:
        steps = np.arange(count)
        if self.align_corners:
            positions = steps * ((length - 1) / (count - 1) if count > 1 else 0.0)
        else:
            positions = (steps + 0.5) * (length / max(count, 1) if ratio is None else ratio) - 0.5
        low = np.floor(positions)
        offsets = np.arange(-1, 3)[:, None]
        distances = np.abs(positions - low - offsets)
        indices = np.clip(low + offsets, 0, length - 1).astype(np.int32)
        return Taps(length, indices, _keys_weights(distances))


def _bins(length: int, count: int) -> Taps:
    """Taps that average over `count` overlapping bins of whole pixels, as in adaptive pooling."""
    steps = np.arange(count)
    return area_taps(length, steps * length // count, -((-steps - 1) * length // count))


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Resizes `input` (N, C, and up to three axes) to `size` or by `scale_factor`.

    With `scale_factor`, output pixels lie exactly 1/scale_factor apart; with
    `recompute_scale_factor`, they are spaced evenly over the rounded size instead.
    """
    _check_mode(input, mode)
    if (size is None) == (scale_factor is None):
        raise problem(
            ValueError,
            "interpolate: pass either 'size' or 'scale_factor'",
            got="neither" if size is None else "both",
        )
    spatial = tuple(input.shape[2:])
    ratios = None
    if size is not None:
        if recompute_scale_factor:
            raise problem(
                ValueError,
                "interpolate: 'recompute_scale_factor' needs a 'scale_factor'",
                got="a size",
            )
        counts = _sizes(size, len(spatial))
    else:
        factors = _factors(scale_factor, len(spatial))
        counts = tuple(int(n * f) for n, f in zip(spatial, factors, strict=True))
        if min(counts) < 1:
            raise wrong_value(
                "interpolate", "scale_factor", scale_factor, "large enough to leave pixels"
            )
        ratios = None if recompute_scale_factor else tuple(1 / f for f in factors)
    _check_corners(mode, align_corners)
    return Interpolate.of(counts, mode, bool(align_corners), ratios)(input)


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Resizes `input`; an alias of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def _check_mode(input: Any, mode: Any) -> None:
    if not isinstance(input, TensorProtocol):
        raise wrong_type("interpolate", "input", input, "a Tensor")
    check_string("interpolate", "mode", mode, tuple(RANKS))
    if len(input.shape) not in RANKS[mode]:
        raise problem(
            ValueError,
            f"interpolate: mode {mode!r} does not support inputs of this rank",
            got=f"shape {list(input.shape)}",
            expected=f"{' or '.join(map(str, RANKS[mode]))} dimensions",
        )


def _check_corners(mode: str, align_corners: Any) -> None:
    if align_corners is None:
        return
    check_bool("interpolate", "align_corners", align_corners)
    if mode not in WITH_CORNERS:
        raise problem(
            ValueError,
            f"interpolate: 'align_corners' has no effect in mode {mode!r}",
            fix=f"leave it out, or use one of {', '.join(WITH_CORNERS)}",
        )


def _sizes(size: Any, rank: int) -> Shape:
    given = freeze(size)
    if is_int(given):
        given = (given,) * rank
    if not isinstance(given, tuple):
        raise wrong_type("interpolate", "size", size, "int or tuple of ints")
    if len(given) != rank:
        raise wrong_value("interpolate", "size", size, f"one int for each of {rank} dimensions")
    return tuple(check_positive_int("interpolate", "size", n) for n in given)


def _factors(scale_factor: Any, rank: int) -> tuple[float, ...]:
    given = freeze(scale_factor)
    given = given if isinstance(given, tuple) else (given,) * rank
    if len(given) != rank:
        raise wrong_value(
            "interpolate", "scale_factor", scale_factor, f"one float for each of {rank} dimensions"
        )
    for factor in given:
        if not isinstance(factor, float):
            raise wrong_type("interpolate", "scale_factor", factor, "float")
        if factor <= 0:
            raise wrong_value("interpolate", "scale_factor", factor, "greater than 0")
    return given


def _keys_weights(distance: np.ndarray) -> np.ndarray:
    """Keys' cubic kernel: one polynomial within distance 1, another from 1 to 2."""
    a = _SHARPNESS
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)
