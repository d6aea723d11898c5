"""Gradient clipping by norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import REALS, check_kinds, check_one_number
from mycelia.ops.elementwise.arithmetic import add, div, minimum, mul
from mycelia.ops.linalg.norms import vector_norm
from mycelia.ops.shapes.concat import stack


class ClipByGlobalNorm(Op):
    """Scales all tensors by one factor so that their global norm is at most `clip_norm`."""

    promotes = ("clip_norm",)
    examples = (
        case(("f32[2,3]", "f32[4]"), "f32[]:unit"),
        case(("f32[2]",), "f64[]:positive"),
        case(("f16[0]", "i32[2]"), "f32[]:unit"),
    )

    def infer(self, x: tuple[TensorType, ...], clip_norm: TensorType) -> tuple[TensorType, ...]:
        for one in x:
            if one.dtype.kind not in ("int", "uint", "float"):
                raise unsupported_dtype("clip_by_global_norm", one, "real numbers")
        check_one_number("clip_by_global_norm", "clip_norm", clip_norm)
        check_kinds("clip_by_global_norm", REALS, clip_norm=clip_norm)
        return x

    def lower(self, x: tuple[Array, ...], clip_norm: Array) -> tuple[Array, ...]:
        wide = [jnp.asarray(one).astype(_at_least_single(one.dtype)) for one in x]
        squares = [summed(one * one) for one in wide]
        length = jnp.sqrt(jnp.maximum(sum(squares[1:], squares[0]), _TINY))
        limit = jnp.reshape(clip_norm, ()).astype(length.dtype)
        factor = limit / jnp.maximum(length, limit)
        return tuple((w * factor).astype(one.dtype) for w, one in zip(wide, x, strict=True))


_TINY = 1e-30  # keeps the gradient of the root finite if all elements are 0


def clip_by_global_norm(x: Any, clip_norm: Any = 1.0, use_norm: Any = None) -> Any:
    """Scales the tensors of x together so that their global norm is at most `clip_norm`."""
    if use_norm is not None:
        raise problem(ValueError, "clip_by_global_norm: use_norm must be None", got=str(use_norm))
    if not isinstance(clip_norm, (int, float, TensorProtocol)):
        raise wrong_type("clip_by_global_norm", "clip_norm", clip_norm, "a number or Tensor")
    if not isinstance(clip_norm, TensorProtocol) and clip_norm <= 0:
        raise problem(ValueError, "clip_by_global_norm: clip_norm must be > 0", got=f"{clip_norm}")
    if isinstance(x, TensorProtocol):
        return ClipByGlobalNorm.of()((x,), clip_norm)[0]
    return ClipByGlobalNorm.of()(tuple(x), clip_norm)


def clip_by_norm(
    x: Any, max_norm: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Scales a tensor, or several together, so that the norm is at most `max_norm`."""
    check_bool("clip_by_norm", "error_if_nonfinite", error_if_nonfinite)
    if isinstance(max_norm, str) or isinstance(norm_type, str):
        raise wrong_type("clip_by_norm", "max_norm and norm_type", (max_norm, norm_type), "numbers")
    several = (x,) if isinstance(x, TensorProtocol) else x
    if not isinstance(several, (tuple, list)):
        raise wrong_type("clip_by_norm", "x", x, "a Tensor, or a tuple or list of Tensors")
    total = vector_norm(stack([vector_norm(one, norm_type) for one in several]), norm_type)
    if error_if_nonfinite and not np.isfinite(np.asarray(total)):
        raise problem(RuntimeError, f"clip_by_norm: the norm of order {norm_type} is not finite")
    factor = minimum(div(max_norm, add(total, 1e-6)), 1.0)
    clipped = [mul(one, factor) for one in several]
    return clipped[0] if isinstance(x, TensorProtocol) else type(x)(clipped)


def _at_least_single(dtype: Any) -> Any:
    return np.float64 if dtype == np.float64 else np.float32
