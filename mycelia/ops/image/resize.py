"""MindSpore's resize operators, one for each interpolation and rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_string
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.image.resampling_weights import (
    Resize,
    Taps,
    area_taps,
    check_corner_flags,
    check_image,
    check_size,
    coordinate_rule,
    cubic_taps,
    line_taps,
    linear_taps,
    nearest_taps,
)


class ResizeNearestNeighbor(Resize):
    """Nearest-neighbor resize of NCHW images to the attribute `size` (height, width)."""

    size: Any
    align_corners: bool = False
    half_pixel_centers: bool = False
    examples = (
        case("f32[1,2,3,3]", size=(4, 4)),
        case("f32[2,1,2,3]", size=(4, 6)),
        case("f32[1,1,5,4]", size=(3, 7), align_corners=True),
        case("f32[1,1,5,4]", size=(2, 9), half_pixel_centers=True),
    )

    def normalize(self) -> dict[str, Any]:
        check_corner_flags(self.name, self.align_corners, self.half_pixel_centers)
        return {"size": check_size(self.name, self.size, 2)}

    def infer(self, input_x: TensorType) -> TensorType:
        check_image(self.name, input_x, 4, (2, 3), fractions=False)
        return input_x.with_shape((*input_x.shape[:2], *self.size))

    def plan(self, shape: Shape) -> dict[int, Taps]:
        rule = coordinate_rule(self.align_corners, self.half_pixel_centers)
        return {axis: nearest_taps(shape[axis], self.size[axis - 2], rule) for axis in (2, 3)}

    def lower(self, input_x: Array) -> Array:
        return super().lower(input_x)


class _ResizeTo(Resize, register=False):
    """Base class of resizes of NCHW images to a (height, width) that is a call argument."""

    static = ("size",)
    fractions = True
    align_corners: bool = False
    half_pixel_centers: bool = False

    def normalize(self) -> dict[str, Any]:
        check_corner_flags(self.name, self.align_corners, self.half_pixel_centers)
        return {}

    def infer(self, image: TensorType, size: Any) -> TensorType:
        check_image(self.name, image, 4, (2, 3), fractions=self.fractions)
        return image.with_shape((*image.shape[:2], *check_size(self.name, size, 2)))

    def plan(self, shape: Shape, size: Any) -> dict[int, Taps]:
        rule = coordinate_rule(self.align_corners, self.half_pixel_centers)
        return {axis: self.taps(shape[axis], size[axis - 2], rule) for axis in (2, 3)}

    def taps(self, length: int, count: int, rule: str) -> Taps:
        return linear_taps(length, count, rule)

    def lower(self, image: Array, size: Any) -> Array:
        return super().lower(image, size)


class ResizeNearestNeighborV2(_ResizeTo):
    """Nearest-neighbor resize of NCHW images to the argument `size` (height, width)."""

    fractions = False
    examples = (
        case("f32[1,2,3,3]", (4, 4)),
        case("f32[1,1,5,4]", (3, 7), align_corners=True),
    )

    def taps(self, length: int, count: int, rule: str) -> Taps:
        return nearest_taps(length, count, rule)


class ResizeBilinearV2(_ResizeTo):
    """Bilinear resize of NCHW images to the argument `size` (height, width)."""

    examples = (
        case("f32[1,2,3,3]", (4, 5)),
        case("f32[2,1,5,4]", (3, 7), align_corners=True),
        case("f32[1,1,2,4]", (1, 9), half_pixel_centers=True),
    )


class ResizeBicubic(_ResizeTo):
    """Bicubic resize of NCHW images to the argument `size` (height, width)."""

    examples = (
        case("f32[1,2,3,3]", (4, 5)),
        case("f32[2,1,5,4]", (3, 7), align_corners=True),
        case("f32[1,1,2,4]", (1, 9), half_pixel_centers=True),
    )

    def taps(self, length: int, count: int, rule: str) -> Taps:
        return cubic_taps(length, count, rule)


class ResizeLinear1D(Resize):
    """Linear resize of signals (N, C, W) to the argument `size` (width)."""

    static = ("size",)
    coordinate_transformation_mode: str = "align_corners"
    examples = (
        case("f32[1,2,5]", (3,)),
        case("f32[2,1,3]", (7,), coordinate_transformation_mode="half_pixel"),
    )

    def normalize(self) -> dict[str, Any]:
        mode = self.coordinate_transformation_mode
        check_string(
            self.name, "coordinate_transformation_mode", mode, ("align_corners", "half_pixel")
        )
        return {}

    def infer(self, x: TensorType, size: Any) -> TensorType:
        check_image(self.name, x, 3, (2,), fractions=True)
        return x.with_shape((*x.shape[:2], *check_size(self.name, size, 1)))

    def plan(self, shape: Shape, size: Any) -> dict[int, Taps]:
        return {2: line_taps(shape[2], size[0], self.coordinate_transformation_mode)}

    def lower(self, x: Array, size: Any) -> Array:
        return super().lower(x, size)


class ResizeArea(Op):
    """Area resize of NHWC images to (height, width): each pixel averages the area it covers.

    The result is float32.
    """

    static = ("size",)
    align_corners: bool = False
    examples = (
        case("f32[1,5,4,2]", (3, 2), tolerance=2e-2),  # the result is float32 for any input
        case("f32[1,2,3,1]", (4, 1), align_corners=True, tolerance=2e-2),
        case("i32[1,4,4,1]", (2, 2)),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "align_corners", self.align_corners)
        return {}

    def infer(self, images: TensorType, size: Any) -> TensorType:
        check_image(self.name, images, 4, (1, 2), fractions=False)
        if images.dtype.kind not in ("int", "uint", "float"):
            raise unsupported_dtype(self.name, images, "an image of numbers")
        height, width = check_size(self.name, size, 2)
        n, _, _, channels = images.shape
        return TensorType(float32, (n, height, width, channels))

    def lower(self, images: Array, size: Any) -> Array:
        result = jnp.asarray(images).astype(jnp.float32)
        for axis in (1, 2):
            result = self._taps(images.shape[axis], size[axis - 1]).apply(result, axis)
        return result

    def _taps(self, length: int, count: int) -> Taps:
        aligned = self.align_corners and count > 1
        step = (length - 1) / (count - 1) if aligned and length > 1 else length / count
        steps = np.arange(count)
        return area_taps(length, steps * step, (steps + 1) * step)


class _Upsample3D(Resize, register=False):
    """Base class of resizes of NCDHW volumes to `output_size` or by three `scales`."""

    static = ("output_size", "scales")
    fractions = True

    def infer(self, x: TensorType, output_size: Any = None, scales: Any = None) -> TensorType:
        check_image(self.name, x, 5, (2, 3, 4), fractions=self.fractions)
        self._check_one(output_size, scales)
        if scales is None:
            return x.with_shape((*x.shape[:2], *check_size(self.name, output_size, 3)))
        if not isinstance(scales, tuple) or not all(isinstance(s, float) for s in scales):
            raise wrong_type(self.name, "scales", scales, "a tuple of 3 floats")
        if len(scales) != 3 or min(scales) <= 0 or min(self._size(x.shape, None, scales)) < 1:
            raise wrong_value(self.name, "scales", scales, "3 floats that leave some pixels")
        return x.with_shape((*x.shape[:2], *self._size(x.shape, None, scales)))

    def _check_one(self, output_size: Any, scales: Any) -> None:
        if (output_size is None) == (scales is None):
            raise problem(
                ValueError,
                f"{self.name}: pass either 'output_size' or 'scales'",
                got="neither" if scales is None else "both",
            )

    def _size(self, shape: Shape, output_size: Any, scales: Any) -> Shape:
        if scales is None:
            return tuple(output_size)
        return tuple(int(n * s) for n, s in zip(shape[2:], scales, strict=True))

    def plan(self, shape: Shape, output_size: Any = None, scales: Any = None) -> dict[int, Taps]:
        size = self._size(shape, output_size, scales)
        ratios = [None] * 3 if scales is None else [1 / s for s in scales]
        return {i + 2: self.taps(shape[i + 2], size[i], ratios[i]) for i in range(3)}

    def taps(self, length: int, count: int, ratio: float | None) -> Taps:
        return linear_taps(length, count, "half_pixel", ratio)

    def lower(self, x: Array, output_size: Any = None, scales: Any = None) -> Array:
        return super().lower(x, output_size, scales)


class UpsampleNearest3D(_Upsample3D):
    """Nearest-neighbor resize of NCDHW volumes."""

    fractions = False
    examples = (
        case("f32[1,1,2,2,3]", (4, 3, 5), None),
        case("f32[1,2,1,2,2]", None, (2.0, 1.5, 2.3)),
    )

    def taps(self, length: int, count: int, ratio: float | None) -> Taps:
        return nearest_taps(length, count, "asymmetric", ratio)


class UpsampleTrilinear3D(_Upsample3D):
    """Trilinear resize of NCDHW volumes."""

    align_corners: bool = False
    examples = (
        case("f32[1,1,2,2,3]", (4, 3, 5), None),
        case("f32[1,1,2,2,3]", (4, 1, 5), None, align_corners=True),
        case("f32[1,2,1,2,2]", None, (2.0, 1.5, 2.3)),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "align_corners", self.align_corners)
        return {}

    def taps(self, length: int, count: int, ratio: float | None) -> Taps:
        if self.align_corners:
            return linear_taps(length, count, "align_corners")
        return super().taps(length, count, ratio)
