"""Padding and interpolation."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import as_tuple, is_int
from mycelia._engine.core.errors import problem
from mycelia.ops.image.interpolate import CubicInterpolate


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Pad `input`; `pad` lists pairs starting with the last axis, and negative values crop."""
    return ops.pad(input, pad, mode, value)


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Resize `input` (N, C, and up to three spatial axes) to `size`, or by `scale_factor`."""
    factor = _as_floats(scale_factor)
    if mode == "bicubic":
        even = bool(recompute_scale_factor)
        return _cubic(input, size, factor, bool(align_corners), even)
    return ops.interpolate(input, size, factor, mode, align_corners, recompute_scale_factor)


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """Alias of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def _cubic(input: Any, size: Any, factor: Any, align_corners: bool, even: bool) -> Any:
    """Bicubic interpolation; `even` computes the scale from the rounded size."""
    if (size is None) == (factor is None) or len(input.shape) != 4:
        raise problem(
            ValueError,
            "interpolate: bicubic needs images (N, C, H, W) and either 'size' or 'scale_factor'",
            got=f"shape {list(input.shape)}, size={size}, scale_factor={factor}",
        )
    if size is not None:
        counts = as_tuple("interpolate", "size", size, 2)
        return CubicInterpolate.of(counts, align_corners=align_corners)(input)
    factors = factor if isinstance(factor, tuple) else (factor, factor)
    spatial = input.shape[2:]
    counts = tuple(int(n * f) for n, f in zip(spatial, factors, strict=True))
    ratios = None if even else tuple(1 / f for f in factors)
    return CubicInterpolate.of(counts, align_corners=align_corners, ratios=ratios)(input)


def _as_floats(factor: Any) -> Any:
    if isinstance(factor, (tuple, list)):
        return tuple(_as_floats(one) for one in factor)
    return float(factor) if is_int(factor) else factor
