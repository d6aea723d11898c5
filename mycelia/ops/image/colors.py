"""Color conversion of images (..., 3) between RGB and HSV, and adjustment of hue and saturation."""

from __future__ import annotations

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened

_IMAGES = (case("f32[1,2,2,3]:unit"), case("f16[2,2,3]:unit", differentiate=False))


class ColorOperator(Op, register=False):
    """Base class of operators on images whose last axis holds three channels."""

    def check(self, images: TensorType) -> TensorType:
        if not images.dtype.is_float:
            raise unsupported_dtype(self.name, images, "a float tensor")
        if not images.ndim or images.shape[-1] != 3:
            raise problem(
                ValueError,
                f"{self.name}: the last axis must be three channels",
                got=str(images),
            )
        return images


class RGBToHSV(ColorOperator):
    """Converts RGB to hue, saturation, and value, each from 0 to 1."""

    examples = _IMAGES

    def infer(self, images: TensorType) -> TensorType:
        return self.check(images)

    def lower(self, images: Array) -> Array:
        return _to_hsv(widened(images)).astype(images.dtype)


class HSVToRGB(ColorOperator):
    """Converts hue, saturation, and value, each from 0 to 1, to RGB."""

    examples = _IMAGES

    def infer(self, x: TensorType) -> TensorType:
        return self.check(x)

    def lower(self, x: Array) -> Array:
        return _to_rgb(widened(x)).astype(x.dtype)


class AdjustHue(ColorOperator):
    """Adds `delta` to the hue of RGB images."""

    examples = (
        case("f32[2,2,3]:unit", "f32[]:unit", differentiate=False),
        case("f16[1,2,2,3]:unit", "f32[]:unit", differentiate=False),
    )

    def infer(self, image: TensorType, delta: TensorType) -> TensorType:
        return self.check(image)

    def lower(self, image: Array, delta: Array) -> Array:
        hue, *rest = jnp.moveaxis(_to_hsv(widened(image)), -1, 0)
        turned = jnp.mod(hue + jnp.asarray(delta).astype(hue.dtype), 1.0)
        return _to_rgb(jnp.stack([turned, *rest], axis=-1)).astype(image.dtype)


class AdjustSaturation(ColorOperator):
    """Multiplies the saturation of RGB images by `scale`."""

    examples = (
        case("f32[2,2,3]:unit", "f32[]:unit", differentiate=False),
        case("f16[1,2,2,3]:unit", "f32[]:unit", differentiate=False),
    )

    def infer(self, image: TensorType, scale: TensorType) -> TensorType:
        return self.check(image)

    def lower(self, image: Array, scale: Array) -> Array:
        hue, saturation, value = jnp.moveaxis(_to_hsv(widened(image)), -1, 0)
        scaled = jnp.clip(saturation * jnp.asarray(scale).astype(hue.dtype), 0, 1)
        return _to_rgb(jnp.stack([hue, scaled, value], axis=-1)).astype(image.dtype)


def _to_hsv(images: Array) -> Array:
    red, green, blue = jnp.moveaxis(images, -1, 0)
    value = jnp.max(images, axis=-1)
    spread = value - jnp.min(images, axis=-1)
    safe = jnp.where(spread == 0, 1, spread)
    hue = jnp.where(
        value == red,
        (green - blue) / safe,
        jnp.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = jnp.where(spread == 0, 0, jnp.mod(hue / 6, 1.0))
    saturation = jnp.where(value > 0, spread / jnp.where(value > 0, value, 1), 0)
    return jnp.stack([hue, saturation, value], axis=-1)


def _to_rgb(images: Array) -> Array:
    hue, saturation, value = jnp.moveaxis(images, -1, 0)

    def channel(offset: float) -> Array:
        sector = jnp.mod(hue * 6 + offset, 6.0)
        share = jnp.clip(jnp.minimum(sector, 4 - sector), 0, 1)
        return value - value * saturation * share

    return jnp.stack([channel(5), channel(3), channel(1)], axis=-1)
