"""Dropout in two steps: generating a bit mask (eight bits per byte) and applying it."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import uint8
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import as_shape, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.random_streams import stream
from mycelia.ops.argument_types import REALS, check_kinds, check_one_number

_ALIGNED = 128  # bits per block; masks consist of whole blocks


class DropoutGenMask(Op):
    """Dropout bit mask for a tensor of `shape`; each bit is 1 with probability `keep_prob`."""

    draws = True
    differentiable = False
    static = ("shape",)
    promotes = ("keep_prob",)
    Seed0: int = 0
    Seed1: int = 0
    examples = (case((2, 3), "f32[]:unit"), case((130,), "f16[]:unit", Seed0=2))

    def infer(self, shape: Any, keep_prob: TensorType, key: Any = None) -> TensorType:
        check_one_number(self.name, "keep_prob", keep_prob)
        check_kinds(self.name, REALS, keep_prob=keep_prob)
        return TensorType(uint8, (_mask_bytes(as_shape(shape, self.name)),))

    def lower(self, shape: Any, keep_prob: Array, key: Array) -> Array:
        count = 8 * _mask_bytes(as_shape(shape, self.name))
        drawn = jax.random.uniform(stream(key, self.Seed0, self.Seed1), (count,), jnp.float32)
        limit = jnp.reshape(keep_prob, ()).astype(jnp.float32)
        return jnp.packbits(drawn < limit, bitorder="little")


class DropoutDoMask(Op):
    """Applies a dropout bit mask: x / keep_prob where the bit is 1, and 0 elsewhere."""

    promotes = ("keep_prob",)
    examples = (
        case("f32[2,3]", "u8[16]", "f32[]:unit", constants=(2,)),
        case("f16[130]", "u8[32]", "f16[]:unit", differentiate=False),
    )

    def infer(self, x: TensorType, mask: TensorType, keep_prob: TensorType) -> TensorType:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        if mask.dtype is not uint8 or mask.shape != (_mask_bytes(x.shape),):
            raise problem(
                ValueError,
                "DropoutDoMask: the mask has the wrong size",
                got=f"x {x}, mask {mask}",
                expected=f"{_mask_bytes(x.shape)} bytes from DropoutGenMask",
            )
        check_one_number(self.name, "keep_prob", keep_prob)
        check_kinds(self.name, REALS, keep_prob=keep_prob)
        return x

    def lower(self, x: Array, mask: Array, keep_prob: Array) -> Array:
        bits = jnp.unpackbits(jnp.asarray(mask), bitorder="little", count=size(x.shape))
        scale = jax.lax.stop_gradient(jnp.reshape(keep_prob, ())).astype(x.dtype)
        return jnp.where(jnp.reshape(bits, x.shape) != 0, x / scale, 0).astype(x.dtype)


def _mask_bytes(shape: tuple[int, ...]) -> int:
    return -(-size(shape) // _ALIGNED) * (_ALIGNED // 8)
