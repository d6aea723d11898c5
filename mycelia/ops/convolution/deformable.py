"""Deformable convolution (Zhu et al., Deformable ConvNets v2, 2019).

Each point of a window is sampled between pixels, moved by an offset and scaled by a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_positive_int, check_string
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import FLOATS, check_kinds
from mycelia.ops.convolution.convolution import Conv2D
from mycelia.ops.linalg.matmul import bias_add


class DeformableOffsets(Op):
    """Unfolds every window of x (N, C, H, W), with its points moved by the offsets."""

    strides: Shape
    pads: Shape
    ksize: Shape
    dilations: Shape = (1, 1, 1, 1)
    data_format: str = "NCHW"
    deformable_groups: int = 1
    modulated: bool = True
    examples = (
        case(
            "f32[1,2,4,4]", "f32[1,12,3,3]:unit",
            strides=(1, 1, 1, 1), pads=(0, 0, 0, 0), ksize=(2, 2),
        ),
        case(
            "f32[1,2,4,4]", "f32[1,6,4,4]:unit",
            strides=(1, 1, 1, 1), pads=(0, 0, 0, 0), ksize=(1, 1), deformable_groups=2,
        ),
    )  # fmt: skip

    def normalize(self) -> dict[str, Any]:
        for name, count in (("strides", 4), ("pads", 4), ("ksize", 2), ("dilations", 4)):
            _check_ints(name, getattr(self, name), count)
        check_string("DeformableOffsets", "data_format", self.data_format, ("NCHW",))
        check_positive_int("DeformableOffsets", "deformable_groups", self.deformable_groups)
        check_bool("DeformableOffsets", "modulated", self.modulated)
        if not self.modulated:
            raise problem(
                ValueError, "DeformableOffsets: modulated must be True", got="modulated=False"
            )
        return {}

    def infer(self, x: TensorType, offsets: TensorType) -> TensorType:
        rows, columns = self._output(x.shape)
        points = self.ksize[0] * self.ksize[1]
        wanted = (x.shape[0], 3 * self.deformable_groups * points, rows, columns)
        if offsets.shape != wanted or x.shape[1] % self.deformable_groups:
            raise problem(
                ValueError,
                "deformable_conv2d: the shape of the offsets does not match the images",
                got=f"x {x}, offsets {offsets}",
                expected=f"offsets of shape {list(wanted)}",
            )
        check_kinds("deformable_conv2d", FLOATS, x=x, offsets=offsets)
        return x.with_shape((*x.shape[:2], rows * self.ksize[0], columns * self.ksize[1]))

    def lower(self, x: Array, offsets: Array) -> Array:
        batch, channels, *_ = x.shape
        rows, columns = self._output(x.shape)
        high, wide = self.ksize
        groups = self.deformable_groups
        moved = jnp.reshape(offsets, (batch, 3, groups, high, wide, rows, columns))
        base_y, base_x = self._places(rows, columns)
        place_x, place_y = moved[:, 0] + base_x, moved[:, 1] + base_y
        images = jnp.reshape(x, (batch, groups, channels // groups, *x.shape[2:]))
        read = jax.vmap(jax.vmap(_between))(images, place_y, place_x)
        read = read * moved[:, 2][:, :, None]
        read = jnp.moveaxis(read, (5, 3, 6, 4), (3, 4, 5, 6))
        return jnp.reshape(read, (batch, channels, rows * high, columns * wide)).astype(x.dtype)

    def _output(self, shape: Shape) -> tuple[int, int]:
        if len(shape) != 4:
            raise problem(
                ValueError, "deformable_conv2d: images must have 4 dimensions", got=f"{shape}"
            )
        sizes = []
        for axis in range(2):
            reach = (self.ksize[axis] - 1) * self.dilations[axis + 2] + 1
            room = shape[axis + 2] + self.pads[2 * axis] + self.pads[2 * axis + 1] - reach
            sizes.append(room // self.strides[axis + 2] + 1)
        return sizes[0], sizes[1]

    def _places(self, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """The position of each window point without an offset: (point row, column, row, ...)."""
        y = np.arange(rows) * self.strides[2] - self.pads[0]
        x = np.arange(columns) * self.strides[3] - self.pads[2]
        dy = np.arange(self.ksize[0]) * self.dilations[2]
        dx = np.arange(self.ksize[1]) * self.dilations[3]
        place_y = dy[:, None, None, None] + y[None, None, :, None]
        place_x = dx[None, :, None, None] + x[None, None, None, :]
        return place_y.astype(np.float32), place_x.astype(np.float32)


def deformable_conv2d(
    x: Any,
    weight: Any,
    offsets: Any,
    kernel_size: Any,
    strides: Any,
    padding: Any,
    bias: Any = None,
    dilations: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Any:
    """Deformable 2-D convolution: window points are moved by offsets and scaled by a mask."""
    unfolded = DeformableOffsets(
        strides, padding, kernel_size, dilations, "NCHW", deformable_groups, modulated
    )(x, offsets)
    convolve = Conv2D(
        weight.shape[0], tuple(kernel_size), 1, "valid", 0, tuple(kernel_size), group=groups
    )
    result = convolve(unfolded, weight)
    return result if bias is None else bias_add(result, bias)


def _between(image: Array, y: Array, x: Array) -> Array:
    """Bilinear samples of an image (C, H, W) at fractional positions; 0 outside."""
    top, left = jnp.floor(y), jnp.floor(x)
    total = jnp.zeros((), image.dtype)
    for row in (0, 1):
        for column in (0, 1):
            at_y, at_x = top + row, left + column
            inside = (at_y >= 0) & (at_y < image.shape[1]) & (at_x >= 0) & (at_x < image.shape[2])
            share = (1 - jnp.abs(y - at_y)) * (1 - jnp.abs(x - at_x))
            rows = jnp.clip(at_y, 0, image.shape[1] - 1).astype(jnp.int32)
            columns = jnp.clip(at_x, 0, image.shape[2] - 1).astype(jnp.int32)
            total = total + image[:, rows, columns] * jnp.where(inside, share, 0)
    return total


def _check_ints(name: str, value: Any, count: int) -> None:
    if not isinstance(value, tuple) or not all(isinstance(v, int) for v in value):
        raise wrong_type("deformable_conv2d", name, value, f"tuple of {count} ints")
    if len(value) != count:
        raise problem(
            ValueError, f"deformable_conv2d: '{name}' must have {count} elements", got=f"{value}"
        )
    if name in ("strides", "dilations") and value[:2] != (1, 1):
        raise problem(
            ValueError, f"deformable_conv2d: '{name}' must begin with (1, 1)", got=f"{value}"
        )
