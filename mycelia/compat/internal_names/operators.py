"""Internal and former names of `mindspore.ops`: operator caching, resizing, kernel formats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.layer.attention import MultiheadAttention
from mycelia.ops import ResizeBilinearV2
from mycelia.ops.activation.softmax import softmax
from mycelia.ops.linalg.matmul import BatchMatMul, dense
from mycelia.ops.random.dropout import dropout


class ResizeBilinear:
    """Former version of ResizeBilinearV2, with the size as an attribute."""

    def __init__(
        self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> None:
        self.size = tuple(size)
        self._resize = ResizeBilinearV2(align_corners, half_pixel_centers)

    def __call__(self, x: Any) -> Any:
        return self._resize(x, self.size)


def _get_cache_prim(cls: type[Primitive]) -> Callable[..., Primitive]:
    """Return the class: equal operators share programs, so they need no cache."""
    return cls


def _run_op(obj: Primitive, op_name: str, args: Any) -> Any:
    """Call an operator."""
    return obj(*args)


def _primexpr(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator with no effect: the compiler evaluates functions of constants anyway."""
    return fn if fn is not None else lambda function: function


class _Formats(type):
    """Combinations of a dtype and a layout by name, as used to register Ascend kernels."""

    def __getattr__(cls, name: str) -> tuple[str, ...]:
        short, _, layout = name.partition("_")
        parts = layout.split("_")
        extra = [parts.pop().lower()] if parts[-1] in ("List", "Tuple") else []
        if short not in _DTYPES or not layout:
            raise AttributeError(f"DataType.{name}: no such dtype or layout")
        layout = "_".join(parts)
        return (_DTYPES[short], _LAYOUTS.get(layout, layout), *extra)


_DTYPES = {
    **{f"I{bits}": f"int{bits}" for bits in (4, 8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"C{bits}": f"complex{bits}" for bits in (64, 128)},
    "BF16": "bfloat16",
    "BOOL": "bool",
    "None": "",
}
_LAYOUTS = {
    "Default": "DefaultFormat",
    "None": "",
    "5HD": "NC1HWC0",
    "FracNZ": "FRACTAL_NZ",
    "FracZ": "FRACTAL_Z",
    "FracZNLSTM": "FRACTAL_ZN_LSTM",
    "FracZNRNN": "FRACTAL_ZN_RNN",
}


class DataType(metaclass=_Formats):
    """`DataType.F16_Default` is `("float16", "DefaultFormat")`."""


class _FunctionalAttention:
    """MultiheadAttention whose weights are arguments."""

    construct: Any = MultiheadAttention.construct
    _with_batch = MultiheadAttention._with_batch
    _project = MultiheadAttention._project
    _weights = MultiheadAttention._weights
    _biases = MultiheadAttention._biases
    _split_heads = MultiheadAttention._split_heads
    _join_heads = MultiheadAttention._join_heads
    _with_extra_keys = MultiheadAttention._with_extra_keys
    _append = MultiheadAttention._append
    _mask = MultiheadAttention._mask
    _check_inputs = MultiheadAttention._check_inputs
    batch_first = False
    embed_dim: int
    num_heads: int
    dropout: float
    training: bool
    out_proj_weight: Any
    out_proj_bias: Any

    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)
        self.head_dim = self.embed_dim // self.num_heads
        self._mix = BatchMatMul()

    def out_proj(self, x: Any) -> Any:
        return dense(x, self.out_proj_weight, self.out_proj_bias)

    def _attend(self, q: Any, k: Any, mask: Any) -> Any:
        scores = BatchMatMul(transpose_b=True)(q * (1.0 / math.sqrt(self.head_dim)), k)
        weights = softmax(scores if mask is None else scores + mask, -1)
        is_random = self.dropout > 0.0 and self.training
        return dropout(weights, self.dropout, True) if is_random else weights


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    **hints: Any,
) -> tuple[Any, Any]:
    """Multi-head attention with all weights given; the output, and the weights of attention."""
    if static_k is not None or static_v is not None:
        raise problem(
            NotImplementedError, "multi_head_attention_forward: static_k and static_v must be None"
        )
    layer = _FunctionalAttention(
        embed_dim=embed_dim_to_check,
        num_heads=num_heads,
        in_proj_weight=in_proj_weight,
        in_proj_bias=in_proj_bias,
        bias_k=bias_k,
        bias_v=bias_v,
        add_zero_attn=add_zero_attn,
        dropout=dropout_p,
        out_proj_weight=out_proj_weight,
        out_proj_bias=out_proj_bias,
        training=training,
        _same_dims=not use_separate_proj_weight,
        q_proj_weight=q_proj_weight,
        k_proj_weight=k_proj_weight,
        v_proj_weight=v_proj_weight,
    )
    output, weights = layer.construct(
        query, key, value, key_padding_mask, True, attn_mask, average_attn_weights
    )
    return output, weights
