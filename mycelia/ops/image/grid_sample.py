"""Grid sampling: interpolating images at given coordinates, and grids of affine maps."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_string
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype


class _GridSampler(Op, register=False):
    """Base class of grid sampling.

    The last axis of `grid` holds coordinates (x, y[, z]) from -1 to 1.
    """

    rank = 4
    interpolation_mode: str = "bilinear"
    padding_mode: str = "zeros"
    align_corners: bool = False

    def normalize(self) -> dict[str, Any]:
        check_string(
            self.name, "interpolation_mode", self.interpolation_mode, ("bilinear", "nearest")
        )
        check_string(
            self.name, "padding_mode", self.padding_mode, ("zeros", "border", "reflection")
        )
        check_bool(self.name, "align_corners", self.align_corners)
        return {}

    def infer(self, input_x: TensorType, grid: TensorType) -> TensorType:
        if input_x.dtype.kind != "float":
            raise unsupported_dtype(self.name, input_x, "floats")
        if input_x.dtype is not grid.dtype:
            raise problem(
                TypeError,
                f"{self.name}: the grid must have the dtype of the image",
                got=f"{input_x} and {grid}",
            )
        self._check_shapes(input_x, grid)
        return input_x.with_shape((*input_x.shape[:2], *grid.shape[1:-1]))

    def _check_shapes(self, input_x: TensorType, grid: TensorType) -> None:
        rank = self.rank
        ranks_fit = input_x.ndim == rank and grid.ndim == rank
        if not ranks_fit or grid.shape[0] != input_x.shape[0] or grid.shape[-1] != rank - 2:
            raise problem(
                ValueError,
                f"{self.name}: the shape of the grid does not match the image",
                got=f"{input_x} and {grid}",
                expected=f"{rank} dimensions each, equal batch sizes, a grid ending in {rank - 2}",
            )
        if 0 in input_x.shape[2:]:
            raise problem(
                ValueError, f"{self.name}: cannot sample an empty image", got=str(input_x)
            )

    def lower(self, input_x: Array, grid: Array) -> Array:
        spatial = input_x.shape[2:]
        flat = jnp.reshape(input_x, (*input_x.shape[:2], prod(spatial)))
        # the grid's last axis runs from the innermost dimension outwards
        positions = [
            self._position(grid[..., -1 - axis].reshape(grid.shape[0], -1), length)
            for axis, length in enumerate(spatial)
        ]
        if self.interpolation_mode == "nearest":
            result = _read(flat, [lax.round(p, _EVEN) for p in positions], spatial)
        else:
            result = self._mixed(flat, positions, spatial)
        return result.reshape(*input_x.shape[:2], *grid.shape[1:-1])

    def _mixed(self, flat: Array, positions: list[Array], spatial: Shape) -> Array:
        lows = [lax.stop_gradient(jnp.floor(p)) for p in positions]
        total = jnp.zeros((*flat.shape[:2], positions[0].shape[1]), flat.dtype)
        for corner in product((0, 1), repeat=len(spatial)):
            weight = jnp.ones_like(positions[0])
            for position, low, high in zip(positions, lows, corner, strict=True):
                weight = weight * (position - low if high else low + 1 - position)
            near = [low + high for low, high in zip(lows, corner, strict=True)]
            total = total + _read(flat, near, spatial) * weight[:, None]
        return total

    def _position(self, coordinate: Array, length: int) -> Array:
        """Pixel positions of coordinates in -1..1, moved inside unless padded with zeros."""
        if self.align_corners:
            position = (coordinate + 1) * ((length - 1) / 2)
            low, high = 0.0, length - 1.0
        else:
            position = ((coordinate + 1) * length - 1) / 2
            low, high = -0.5, length - 0.5
        if self.padding_mode == "zeros":
            return position
        if self.padding_mode == "reflection":
            position = _reflect(position, low, high)
        return jnp.clip(position, 0, length - 1)


class GridSampler2D(_GridSampler):
    """Samples NCHW images at the coordinates of a grid (N, rows, columns, 2)."""

    examples = (
        case("f32[1,2,3,4]", "f32[1,2,3,2]:unit"),
        case("f32[2,1,3,4]", "f32[2,2,2,2]:spread", padding_mode="border", align_corners=True),
        case("f32[1,1,5,4]", "f32[1,3,2,2]:spread", padding_mode="reflection"),
        case("f32[1,2,3,4]", "f32[1,2,3,2]:unit", interpolation_mode="nearest"),
    )


class GridSampler3D(_GridSampler):
    """Samples NCDHW volumes at the coordinates of a grid (N, depth, rows, columns, 3)."""

    rank = 5
    examples = (
        case("f32[1,2,2,3,4]", "f32[1,2,1,3,3]:unit"),
        case("f32[1,1,2,3,4]", "f32[1,1,2,2,3]:spread", align_corners=True),
    )


class AffineGrid(Op):
    """Sampling grid of the affine maps `theta`, for use with grid sampling."""

    static = ("output_size",)
    align_corners: bool = False
    examples = (
        case("f32[1,2,3]", (1, 2, 3, 4)),
        case("f32[2,3,4]", (2, 1, 2, 1, 3), align_corners=True),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "align_corners", self.align_corners)
        return {}

    def infer(self, theta: TensorType, output_size: Any) -> TensorType:
        size = as_shape(output_size, self.name)
        if theta.dtype.kind != "float":
            raise unsupported_dtype(self.name, theta, "floats")
        if len(size) not in (4, 5) or min(size) < 0:
            raise wrong_value(self.name, "output_size", output_size, "4 or 5 sizes")
        rank = len(size) - 2
        if theta.shape != (size[0], rank, rank + 1):
            raise problem(
                ValueError,
                f"{self.name}: the shape of theta does not match the images",
                got=f"theta {theta} for images {list(size)}",
                expected=f"theta of shape [{size[0]}, {rank}, {rank + 1}]",
            )
        return theta.with_shape((size[0], *size[2:], rank))

    def lower(self, theta: Array, output_size: Any) -> Array:
        spatial = output_size[2:]
        axes = [self._coordinates(n) for n in spatial]
        mesh = np.meshgrid(*axes, indexing="ij")
        points = np.stack([*reversed(mesh), np.ones(spatial)], -1).reshape(-1, len(spatial) + 1)
        grid = jnp.einsum(
            "pk,nok->npo",
            points.astype(theta.dtype),
            theta,
            precision=lax.Precision.HIGHEST,
        )
        return grid.reshape(output_size[0], *spatial, len(spatial))

    def _coordinates(self, count: int) -> np.ndarray:
        if count == 1:
            return np.zeros(1)
        ends = np.linspace(-1.0, 1.0, count)
        return ends if self.align_corners else ends * (1 - 1 / max(count, 1))


_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


def _read(flat: Array, positions: list[Array], spatial: Shape) -> Array:
    """Values at integer positions, 0 outside: (N, C, pixels) and (N, points) to (N, C, points)."""
    inside = jnp.ones(positions[0].shape, bool)
    index = jnp.zeros(positions[0].shape, jnp.int32)
    for position, length in zip(positions, spatial, strict=True):
        inside = inside & (position >= 0) & (position <= length - 1)
        index = index * length + jnp.clip(position, 0, length - 1).astype(jnp.int32)
    values = jax.vmap(lambda image, where: jnp.take(image, where, axis=1, mode="clip"))(flat, index)
    return jnp.where(inside[:, None], values, jnp.zeros((), flat.dtype))


def _reflect(position: Array, low: float, high: float) -> Array:
    """Reflects positions at both borders until they lie between `low` and `high`."""
    span = high - low
    if span <= 0:
        return jnp.zeros_like(position)
    away = jnp.abs(position - low)
    turns = lax.stop_gradient(jnp.floor(away / span))
    rest = away - turns * span
    return jnp.where(turns % 2 == 0, low + rest, high - rest)


def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Samples images or volumes at the coordinates (x, y[, z]) in `grid`, from -1 to 1."""
    sampler = GridSampler3D if len(input.shape) == 5 else GridSampler2D
    return sampler.of(mode, padding_mode, bool(align_corners))(input, grid)


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    """Sampling grid of the affine maps `theta` for images of shape `size`."""
    return AffineGrid(align_corners)(theta, size)
