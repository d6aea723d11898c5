"""Dropout of elements or whole channels."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance, check_range
from mycelia._engine.core.dtype import bool_
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol, type_of
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.random_streams import check_seed, coins, stream
from mycelia.ops.shapes.reshape import expand_dims, squeeze


class Dropout(Op):
    """Dropout: keeps elements with probability `keep_prob`, scaled by its inverse; and the mask."""

    draws = True
    keep_prob: float = 0.5
    Seed0: int = 0
    Seed1: int = 0
    examples = (
        case("f32[4,3]"),
        case("f32[2,3]", keep_prob=0.9, Seed0=3, Seed1=5),
        case("f32[0]"),
        case("f16[]", keep_prob=1.0, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        if not isinstance(self.keep_prob, float):
            raise wrong_type("Dropout", "keep_prob", self.keep_prob, "float")
        return {}

    def infer(self, x: TensorType, key: Any = None) -> tuple[TensorType, TensorType]:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        if not 0 < self.keep_prob <= 1:
            raise problem(
                RuntimeError,
                "Dropout: keep_prob is out of range",
                got=f"keep_prob={self.keep_prob}",
                expected="a number above 0 and at most 1",
            )
        return x, x

    def lower(self, x: Array, key: Array) -> tuple[Array, Array]:
        kept = coins(stream(key, self.Seed0, self.Seed1), self.keep_prob, x.shape)
        return jnp.where(kept, x / self.keep_prob, 0), kept.astype(x.dtype)

    def grad(self, x: Any, key: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return Masked.of(self.keep_prob)(dout[0], out[1]), None


class Masked(Op, register=False):
    """Applies a dropout mask: x / keep_prob where the mask is not 0, and 0 elsewhere."""

    keep_prob: float

    def lower(self, x: Array, mask: Array) -> Array:
        return jnp.where(mask != 0, x / self.keep_prob, 0)

    def grad(self, x: Any, mask: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return Masked.of(self.keep_prob)(dout, mask), None


class ChannelDropout(Op, register=False):
    """Dropout of whole channels (axes 0 and 1 together); returns the mask too."""

    draws = True
    rank = 0
    keep_prob: float = 0.5

    def normalize(self) -> dict[str, Any]:
        return {"keep_prob": check_range(self.name, "keep_prob", self.keep_prob, 0.0, 1.0)}

    def infer(self, x: TensorType, key: Any = None) -> tuple[TensorType, TensorType]:
        if x.ndim != self.rank:
            raise problem(
                ValueError,
                f"{self.name}: the input must have {self.rank} dimensions",
                got=str(x),
            )
        return x, x.with_dtype(bool_)

    def lower(self, x: Array, key: Array) -> tuple[Array, Array]:
        per_channel: Shape = (*x.shape[:2], *(1 for _ in x.shape[2:]))
        kept = jnp.broadcast_to(coins(stream(key), self.keep_prob, per_channel), x.shape)
        scaled = x / self.keep_prob if self.keep_prob else x
        return jnp.where(kept, scaled, 0).astype(x.dtype), kept

    def grad(self, x: Any, key: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return Masked.of(self.keep_prob or 1.0)(dout[0], out[1]), None


class Dropout2D(ChannelDropout):
    """Dropout of whole channels of images (N, C, H, W), and the mask."""

    rank = 4
    examples = (
        case("f32[2,3,2,2]"),
        case("f32[2,3,2,2]", keep_prob=0.0),
        case("i32[2,3,1,0]", keep_prob=0.9),
    )


class Dropout3D(ChannelDropout):
    """Dropout of whole channels of volumes (N, C, D, H, W), and the mask."""

    rank = 5
    examples = (
        case("f32[2,3,2,2,1]"),
        case("f32[2,3,1,0,2]", keep_prob=1.0),
    )


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Any:
    """Dropout: in training, zeroes elements with probability p, scales the rest by 1 / (1 - p)."""
    check_bool("dropout", "training", training)
    if not training:
        return input
    return Dropout.of(1.0 - p, check_seed("dropout", seed))(input)[0]


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of sequences (N, C, L) or (C, L)."""
    check_instance("dropout1d", "input", input, TensorProtocol)
    if not training:
        return input
    if len(input.shape) not in (2, 3):
        raise problem(
            ValueError,
            "dropout1d: the input must have 2 or 3 dimensions",
            got=str(type_of(input)),
        )
    images = expand_dims(input, -1)
    if len(input.shape) == 2:
        return squeeze(dropout2d(expand_dims(images, 0), p), (0, -1))
    return squeeze(dropout2d(images, p), -1)


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of images (N, C, H, W)."""
    return Dropout2D.of(1.0 - p)(input)[0] if training else input


def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of volumes (N, C, D, H, W)."""
    return Dropout3D.of(1.0 - p)(input)[0] if training else input
