"""The encoder and decoder layers of a transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.layer.attention import MultiheadAttention
from mycelia.nn.layer.basic import Dense, Dropout
from mycelia.nn.layer.normalization import LayerNorm
from mycelia.ops.activation.piecewise import relu
from mycelia.ops.activation.smooth import gelu

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": relu, "gelu": gelu}


class TransformerEncoderLayer(Cell):
    """Self-attention and a feed-forward network, each with dropout, a residual, and a norm.

    With `norm_first`, norms come before attention and network (pre-norm), else after the
    residuals (post-norm).
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Cell | Callable[[Any], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype
        )
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1 = Dropout(p=dropout)
        self.dropout2 = Dropout(p=dropout)
        self.activation = activation_of(activation)

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        _check_key_padding(src_key_padding_mask)
        x = src
        if self.norm_first:
            x = x + self._self_attention(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(x + self._self_attention(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self._feed_forward(x))

    def _self_attention(self, x: Any, attn_mask: Any, key_padding_mask: Any) -> Any:
        (x,) = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False
        )
        return self.dropout1(x)

    def _feed_forward(self, x: Any) -> Any:
        return self.dropout2(self.dense2(self.dropout(self.activation(self.dense1(x)))))


class TransformerDecoderLayer(Cell):
    """Self-attention, attention to the encoder's output, and a feed-forward network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Cell | Callable[[Any], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype
        )
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm3 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1 = Dropout(p=dropout)
        self.dropout2 = Dropout(p=dropout)
        self.dropout3 = Dropout(p=dropout)
        self.activation = activation_of(activation)

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        x = tgt
        if self.norm_first:
            x = x + self._self_attention(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self._cross_attention(
                self.norm2(x), memory, memory_mask, memory_key_padding_mask
            )
            return x + self._feed_forward(self.norm3(x))
        x = self.norm1(x + self._self_attention(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self._cross_attention(x, memory, memory_mask, memory_key_padding_mask))
        return self.norm3(x + self._feed_forward(x))

    def _self_attention(self, x: Any, attn_mask: Any, key_padding_mask: Any) -> Any:
        (x,) = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False
        )
        return self.dropout1(x)

    def _cross_attention(self, x: Any, memory: Any, attn_mask: Any, key_padding_mask: Any) -> Any:
        (x,) = self.multihead_attn(
            x,
            memory,
            memory,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
        )
        return self.dropout2(x)

    def _feed_forward(self, x: Any) -> Any:
        return self.dropout3(self.dense2(self.dropout(self.activation(self.dense1(x)))))


def activation_of(activation: Any) -> Callable[[Any], Any]:
    """The function for a layer's `activation` argument, a name or a function."""
    if isinstance(activation, str):
        if activation not in _ACTIVATIONS:
            raise problem(
                ValueError,
                "The activation must be relu/gelu",
                got=repr(activation),
                fix="pass a function or a Cell for any other activation",
            )
        return _ACTIVATIONS[activation]
    if not callable(activation):
        raise problem(
            ValueError,
            "The argument 'activation' must be a str, a function or a Cell",
            got=repr(activation),
        )
    return activation


def _check_key_padding(mask: Any) -> None:
    if mask is not None and not (mask.dtype.is_float or mask.dtype.is_bool):
        raise problem(
            AssertionError,
            "only bool and floating types of key_padding_mask are supported",
            got=str(mask.dtype),
        )
