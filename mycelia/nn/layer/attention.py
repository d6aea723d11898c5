"""The multi-head attention layer."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Dense
from mycelia.ops.activation.softmax import softmax
from mycelia.ops.elementwise.where import masked_fill
from mycelia.ops.linalg.matmul import BatchMatMul, dense
from mycelia.ops.random.dropout import dropout
from mycelia.ops.reduction.reduction import mean
from mycelia.ops.shapes.concat import concat, split
from mycelia.ops.shapes.creation import zeros
from mycelia.ops.shapes.reshape import broadcast_to, cast, expand_dims, reshape, squeeze, transpose
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter

_INFINITY = float("inf")


class MultiheadAttention(Cell):
    """Multi-head attention ("Attention Is All You Need").

    Sequences are (length, batch, features), or (batch, length, features) with `batch_first`, or
    (length, features) without a batch axis. The result is `(output, weights)`, or `(output,)` if
    `need_weights` is False.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.dtype = dtypes.as_dtype(dtype)
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise problem(
                ValueError,
                "The init argument 'embed_dim' must be divisible by 'num_heads'.",
                got=f"embed_dim={embed_dim}, num_heads={num_heads}",
            )
        self._same_dims = self.kdim == embed_dim and self.vdim == embed_dim
        self._make_projections(has_bias, add_bias_kv)
        self._scores = BatchMatMul(transpose_b=True)
        self._mix = BatchMatMul()

    def _make_projections(self, has_bias: bool, add_bias_kv: bool) -> None:
        size = self.embed_dim
        if self._same_dims:
            self.in_proj_weight = self._weight("xavier_uniform", (3 * size, size))
        else:
            self.q_proj_weight = self._weight("xavier_uniform", (size, size))
            self.k_proj_weight = self._weight("xavier_uniform", (size, self.kdim))
            self.v_proj_weight = self._weight("xavier_uniform", (size, self.vdim))
        self.in_proj_bias = self._weight("zeros", (3 * size,)) if has_bias else None
        self.out_proj = Dense(size, size, has_bias=has_bias, dtype=self.dtype)
        self.bias_k = self._weight("xavier_normal", (1, 1, size)) if add_bias_kv else None
        self.bias_v = self._weight("xavier_normal", (1, 1, size)) if add_bias_kv else None

    def _weight(self, init: str, shape: tuple[int, ...]) -> Parameter:
        return Parameter(initializer(init, shape, self.dtype))

    def construct(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> tuple[Any, ...]:
        self._check_inputs(query, key, value)
        batched = query.ndim == 3
        if not batched:
            query, key, value = self._with_batch(query, key, value)
            if key_padding_mask is not None:
                key_padding_mask = expand_dims(key_padding_mask, 0)
        q, k, v = self._project(query, key, value)
        mask = self._mask(q, k, key_padding_mask, attn_mask)
        k, v, mask = self._with_extra_keys(k, v, mask)
        weights = self._attend(q, k, mask)
        output = self._join_heads(self._mix(weights, v))
        if not batched:
            output = squeeze(output, 0 if self.batch_first else 1)
        if not need_weights:
            return (output,)
        if average_attn_weights:
            weights = mean(weights, 1)
        return output, (weights if batched else squeeze(weights, 0))

    def _with_batch(self, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        axis = 0 if self.batch_first else 1
        return expand_dims(query, axis), expand_dims(key, axis), expand_dims(value, axis)

    def _project(self, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        """Queries, keys and values of each head: (batch, heads, length, head_dim)."""
        if self._same_dims and query is key and key is value:
            joint = dense(query, self.in_proj_weight, self.in_proj_bias)
            q, k, v = split(joint, self.embed_dim, -1)
        else:
            weight_q, weight_k, weight_v = self._weights()
            bias_q, bias_k, bias_v = self._biases()
            q = dense(query, weight_q, bias_q)
            k = dense(key, weight_k, bias_k)
            v = dense(value, weight_v, bias_v)
        return self._split_heads(q), self._split_heads(k), self._split_heads(v)

    def _weights(self) -> tuple[Any, Any, Any]:
        if self._same_dims:
            return split(self.in_proj_weight, self.embed_dim, 0)
        return self.q_proj_weight, self.k_proj_weight, self.v_proj_weight

    def _biases(self) -> tuple[Any, Any, Any]:
        if self.in_proj_bias is None:
            return None, None, None
        return split(self.in_proj_bias, self.embed_dim, 0)

    def _split_heads(self, x: Any) -> Any:
        x = reshape(x, (*x.shape[:2], self.num_heads, self.head_dim))
        return transpose(x, (0, 2, 1, 3) if self.batch_first else (1, 2, 0, 3))

    def _join_heads(self, x: Any) -> Any:
        x = transpose(x, (0, 2, 1, 3) if self.batch_first else (2, 0, 1, 3))
        return self.out_proj(reshape(x, (*x.shape[:2], self.embed_dim)))

    def _attend(self, q: Any, k: Any, mask: Any) -> Any:
        scores = self._scores(q * (1.0 / math.sqrt(self.head_dim)), k)
        if mask is not None:
            scores = scores + mask
        weights = softmax(scores, -1)
        if self.dropout > 0.0 and self.training:
            weights = dropout(weights, self.dropout, True)
        return weights

    def _with_extra_keys(self, k: Any, v: Any, mask: Any) -> tuple[Any, Any, Any]:
        """Append the learned key and value, then the zero ones; masks do not cover them."""
        extra = 0
        if self.bias_k is not None:
            k, v = self._append(k, self.bias_k), self._append(v, self.bias_v)
            extra = extra + 1
        if self.add_zero_attn:
            zero = zeros((*k.shape[:2], 1, self.head_dim), k.dtype)
            k, v = concat((k, zero), 2), concat((v, zero), 2)
            extra = extra + 1
        if mask is not None and extra > 0:
            mask = concat((mask, zeros((*mask.shape[:3], extra), mask.dtype)), 3)
        return k, v, mask

    def _append(self, x: Any, bias: Any) -> Any:
        bias = reshape(bias, (1, self.num_heads, 1, self.head_dim))
        return concat((x, broadcast_to(bias, (x.shape[0], self.num_heads, 1, self.head_dim))), 2)

    def _mask(self, q: Any, k: Any, key_padding_mask: Any, attn_mask: Any) -> Any:
        """The mask added to the scores, -inf where attention is forbidden; None without masks."""
        batch, heads, length, _ = q.shape
        source = k.shape[2]
        mask = None
        if attn_mask is not None:
            _check_attention_mask(attn_mask, batch * heads, length, source)
            sizes = (1, 1) if attn_mask.ndim == 2 else (batch, heads)
            mask = reshape(additive(attn_mask, q.dtype), (*sizes, length, source))
        if key_padding_mask is not None:
            _check_padding_mask(key_padding_mask, batch, source)
            padding = reshape(additive(key_padding_mask, q.dtype), (batch, 1, 1, source))
            mask = padding if mask is None else mask + padding
        return mask

    def _check_inputs(self, query: Any, key: Any, value: Any) -> None:
        rank = query.ndim
        if rank not in (2, 3):
            raise problem(
                ValueError,
                "The `query` should be unbatched 2D or batched 3D tensor",
                got=f"`query` of shape {query.shape}",
            )
        if key.ndim != rank or value.ndim != rank:
            raise problem(
                ValueError,
                f"For a {rank}D `query`, the `key` and `value` must be {rank}D tensors",
                got=f"`key` of shape {key.shape}, `value` of shape {value.shape}",
            )
        if query.shape[-1] != self.embed_dim:
            raise problem(
                ValueError, f"The `embed_dim` should be {self.embed_dim}", got=f"{query.shape[-1]}"
            )
        if key.shape[:-1] != value.shape[:-1] or (self._same_dims and key.shape != value.shape):
            raise problem(
                ValueError,
                "The shape of `key` does not match `value`.",
                got=f"`key` {key.shape} and `value` {value.shape}",
            )
        batch_axis = 0 if self.batch_first else 1
        if rank == 3 and query.shape[batch_axis] != key.shape[batch_axis]:
            raise problem(
                ValueError,
                "The `query` and the `key` have different batch sizes.",
                got=f"`query` {query.shape} and `key` {key.shape}",
            )


def additive(mask: Any, dtype: Any) -> Any:
    """Convert a bool mask (True: forbidden) or numeric mask to one that is added to scores."""
    if mask.dtype.is_float:
        return cast(mask, dtype)
    return masked_fill(zeros(mask.shape, dtype), cast(mask, dtypes.bool_), -_INFINITY)


def _check_attention_mask(mask: Any, heads: int, length: int, source: int) -> None:
    if not (mask.dtype.is_float or mask.dtype in (dtypes.bool_, dtypes.uint8)):
        raise problem(
            ValueError,
            "`attn_mask` only supports float, byte and bool types",
            got=str(mask.dtype),
        )
    expected = {2: (length, source), 3: (heads, length, source)}.get(mask.ndim)
    if expected is None:
        raise problem(
            ValueError, "the `attn_mask` must be `None`, 2-D or 3-D", got=f"shape {mask.shape}"
        )
    if mask.shape != expected:
        raise problem(
            ValueError,
            f"The shape of the `attn_mask` should be {expected}",
            got=f"{mask.shape}",
        )


def _check_padding_mask(mask: Any, batch: int, source: int) -> None:
    if not (mask.dtype.is_float or mask.dtype is dtypes.bool_):
        raise problem(
            ValueError,
            "only bool and floating types of key_padding_mask are supported",
            got=str(mask.dtype),
        )
    if mask.shape != (batch, source):
        raise problem(
            ValueError,
            f"The shape of `key_padding_mask` should be {(batch, source)}",
            got=f"{mask.shape}",
        )
