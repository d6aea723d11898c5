"""Cropping boxes out of images and resizing them to one size."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_string
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import check_readable
from mycelia.ops.image.resampling_weights import check_image, check_size


class CropAndResize(Op):
    """Crops boxes out of NHWC images and resizes each to `crop_size`.

    Boxes are (y1, x1, y2, x2) in fractions of the image size. Box k is cropped from image
    `box_indices[k]`. Pixels outside the image are `extrapolation_value`. The result is float32.
    """

    static = ("crop_size",)
    method: str = "bilinear"
    extrapolation_value: float = 0.0
    examples = (
        case("f32[2,4,5,3]", "f32[3,4]:unit", "i32[3]:<2", (3, 2), differentiate=False),
        case(
            "f32[1,4,5,1]", "f32[2,4]", "i32[2]:<1", (1, 4), method="nearest", differentiate=False
        ),
        case(
            "f32[1,4,5,1]",
            "f32[2,4]",
            "i32[2]:<1",
            (2, 2),
            method="bilinear_v2",
            differentiate=False,
        ),
    )

    def normalize(self) -> dict[str, Any]:
        check_string(self.name, "method", self.method, ("bilinear", "nearest", "bilinear_v2"))
        if not isinstance(self.extrapolation_value, float):
            raise wrong_type(self.name, "extrapolation_value", self.extrapolation_value, "float")
        return {}

    def infer(
        self, image: TensorType, boxes: TensorType, box_indices: TensorType, crop_size: Any
    ) -> TensorType:
        check_image(self.name, image, 4, (1, 2), fractions=False)
        if image.dtype.kind not in ("int", "uint", "float"):
            raise unsupported_dtype(self.name, image, "an image of numbers")
        if boxes.dtype.kind != "float" or not box_indices.dtype.is_integer:
            raise problem(
                TypeError,
                f"{self.name}: boxes must be floats and box_indices ints",
                got=f"{boxes} and {box_indices}",
            )
        if boxes.shape != (*box_indices.shape, 4) or box_indices.ndim != 1:
            raise problem(
                ValueError,
                f"{self.name}: the shapes of boxes and box_indices do not match",
                got=f"boxes {boxes} and box_indices {box_indices}",
                expected="shapes [boxes, 4] and [boxes]",
            )
        size = check_size(self.name, crop_size, 2)
        result = TensorType(float32, (boxes.shape[0], *size, image.shape[3]))
        check_readable(self.name, image, result.shape)
        return result

    def bounds(
        self, image: Any, boxes: Any, box_indices: Any, crop_size: Any
    ) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(2, image.shape[0]),)

    def lower(self, image: Array, boxes: Array, box_indices: Array, crop_size: Any) -> Array:
        image = jnp.asarray(image).astype(jnp.float32)
        if not image.size:
            return jnp.zeros((boxes.shape[0], *crop_size, image.shape[3]), jnp.float32)
        boxes = jnp.asarray(boxes).astype(jnp.float32)
        height, width = image.shape[1:3]
        rows = self._positions(boxes[:, 0], boxes[:, 2], height, crop_size[0])
        columns = self._positions(boxes[:, 1], boxes[:, 3], width, crop_size[1])
        read = self._nearest if self.method == "nearest" else self._bilinear
        values = read(image, jnp.asarray(box_indices), rows, columns)
        down = (rows >= 0) & (rows <= height - 1)
        across = (columns >= 0) & (columns <= width - 1)
        inside = down[:, :, None, None] & across[:, None, :, None]
        return jnp.where(inside, values, jnp.float32(self.extrapolation_value))

    def _positions(self, start: Array, stop: Array, length: int, count: int) -> Array:
        """The input coordinates of the pixels of each crop along one axis: [boxes, count]."""
        steps = jnp.arange(count, dtype=jnp.float32)
        start, stop = start[:, None], stop[:, None]
        if self.method == "bilinear_v2":
            return _whole_positions(start, stop, length, steps + 0.5)
        if count == 1:
            return 0.5 * (start + stop) * (length - 1)
        return start * (length - 1) + steps * ((stop - start) * (length - 1) / (count - 1))

    def _nearest(self, image: Array, which: Array, rows: Array, columns: Array) -> Array:
        away = lax.RoundingMethod.AWAY_FROM_ZERO
        return _pixels(image, which, lax.round(rows, away), lax.round(columns, away))

    def _bilinear(self, image: Array, which: Array, rows: Array, columns: Array) -> Array:
        top, left = (lax.stop_gradient(jnp.floor(p)) for p in (rows, columns))
        bottom, right = (lax.stop_gradient(jnp.ceil(p)) for p in (rows, columns))
        first, third = (_pixels(image, which, y, left) for y in (top, bottom))
        second, fourth = (_pixels(image, which, y, right) for y in (top, bottom))
        across = (columns - left)[:, None, :, None]
        above = first + (second - first) * across
        below = third + (fourth - third) * across
        return above + (below - above) * (rows - top)[:, :, None, None]


def _whole_positions(start: Array, stop: Array, length: int, centres: Array) -> Array:
    """Input coordinates of crops of whole pixels, both ends included, clipped to the image."""
    first, last = jnp.trunc(start * length), jnp.trunc(stop * length)
    span = jnp.maximum(last - first + 1, 1)
    positions = first + jnp.clip(centres * (span / centres.shape[0]) - 0.5, 0, span - 1)
    return jnp.clip(positions, 0, length - 1)


def _pixels(image: Array, which: Array, rows: Array, columns: Array) -> Array:
    """Pixels of the images `which` at integer rows and columns, clipped: [boxes, h, w, C]."""
    count, height, width = image.shape[:3]
    number = jnp.clip(which, 0, count - 1).astype(jnp.int32)[:, None, None]
    y = jnp.clip(rows, 0, height - 1).astype(jnp.int32)[:, :, None]
    x = jnp.clip(columns, 0, width - 1).astype(jnp.int32)[:, None, :]
    return image[number, y, x]


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:
    """Crops boxes out of NHWC images and resizes each to `crop_size`."""
    return CropAndResize.of(method, extrapolation_value)(image, boxes, box_indices, crop_size)
