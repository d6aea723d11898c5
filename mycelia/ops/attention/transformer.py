"""Fused transformer operators: rotary position embedding, add and norm, mixture of experts."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import REALS, check_kinds, check_spreads_to
from mycelia.ops.elementwise.arithmetic import add, mul
from mycelia.ops.indexing.gather import gather
from mycelia.ops.indexing.slice import narrow
from mycelia.ops.indexing.sort import argsort
from mycelia.ops.normalization.batch_and_layer import LayerNorm
from mycelia.ops.normalization.group import rms_norm
from mycelia.ops.reduction.reduction import sum as total
from mycelia.ops.shapes.reshape import cast, expand_dims, reshape


class RotaryPositionEmbedding(Op):
    """Rotary position embedding (Su et al., 2021).

    Mode 0 pairs the halves of the features, mode 1 adjacent features.
    """

    mode: int = 0
    examples = (
        case("f32[1,2,2,4]", "f32[1,2,1,4]", "f32[1,2,1,4]"),
        case("f32[1,2,2,4]", "f32[1,2,1,4]", "f32[1,2,1,4]", mode=1),
    )

    def infer(self, x: TensorType, cos: TensorType, sin: TensorType) -> TensorType:
        if self.mode not in (0, 1):
            raise problem(
                ValueError,
                "rotary_position_embedding: mode must be 0 or 1",
                got=f"mode={self.mode}",
            )
        if x.ndim != 4 or x.shape[-1] % 2 or cos.shape != sin.shape:
            raise problem(
                ValueError,
                "rotary_position_embedding: the shapes of x, cos and sin do not match",
                got=f"x {x}, cos {cos}, sin {sin}",
                expected="x with four axes and an even number of features, equal cos and sin",
            )
        for name, angles in (("cos", cos), ("sin", sin)):
            check_spreads_to("rotary_position_embedding", name, angles, x.shape)
        check_kinds("rotary_position_embedding", REALS, x=x, cos=cos, sin=sin)
        return x

    def lower(self, x: Array, cos: Array, sin: Array) -> Array:
        values = jnp.asarray(x)
        if self.mode == 0:
            first, second = jnp.split(values, 2, axis=-1)
            turned = jnp.concatenate([-second, first], axis=-1)
        else:
            turned = jnp.stack([-values[..., 1::2], values[..., ::2]], axis=-1)
            turned = jnp.reshape(turned, values.shape)
        return (values * cos + turned * sin).astype(x.dtype)


def rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: int = 0) -> Any:
    """Rotary position embedding: rotates pairs of features by position-dependent angles."""
    return RotaryPositionEmbedding.of(check_int("rotary_position_embedding", "mode", mode))(
        x, cos, sin
    )


def add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any, Any]:
    """RMSNorm of x1 + x2. Returns the norm, the inverse root mean square, and the sum."""
    both = add(x1, x2)
    normed, inverse = rms_norm(both, gamma, epsilon)
    return normed, inverse, both


def add_layer_norm(
    x1: Any,
    x2: Any,
    gamma: Any,
    beta: Any,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Any, ...]:
    """LayerNorm of a sum over its last axis.

    Returns the norm, mean, inverse deviation, and the sum.
    """
    both = add(x1, x2)
    normed, mean, variance = LayerNorm.of(-1, -1, float(epsilon))(both, gamma, beta)
    return normed, mean, (variance + epsilon) ** -0.5, both


def moe_token_permute(
    tokens: Any, indices: Any, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Any, Any]:
    """Sorts tokens by expert for a mixture of experts.

    Also returns the new index of each copy of a token.
    """
    _no_padding("moe_token_permute", padded_mode)
    choices = indices.shape[1] if len(indices.shape) == 2 else 1
    order = argsort(reshape(indices, (-1,)))
    new_indices = cast(argsort(order), int32)
    used = order if num_out_tokens is None else narrow(order, 0, 0, num_out_tokens)
    return gather(tokens, used // choices, 0), new_indices


def moe_token_unpermute(
    permuted_tokens: Any,
    sorted_indices: Any,
    probs: Any = None,
    padded_mode: bool = False,
    restore_shape: Any = None,
) -> Any:
    """Restores the token order after the experts.

    The copies of a token are weighted by `probs` and summed.
    """
    _no_padding("moe_token_unpermute", padded_mode)
    back = gather(permuted_tokens, sorted_indices, 0)
    if probs is None:
        return back
    copies = reshape(back, (*probs.shape, back.shape[-1]))
    return cast(total(mul(copies, expand_dims(probs, -1)), 1), permuted_tokens.dtype)


def _no_padding(owner: str, padded_mode: bool) -> None:
    if padded_mode:
        raise problem(ValueError, f"{owner}: padded_mode must be False", got="padded_mode=True")
