"""Scaled dot-product attention as one operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_positive_int, check_range, check_string
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape, broadcast, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.kernels.dot import (
    are_many_and_small,
    check_same_dtype,
    contract_each,
    wide_dtype,
)
from mycelia._engine.kernels.max_min import largest
from mycelia._engine.kernels.sums import last_sum
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.activation.softmax import powers
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.shapes.reshape import cast, reshape, transpose

_Later = Callable[[Array], Array | None]
ROWS = 256  # queries per block in long sequences
MOST_SCORES = 1 << 24  # scores that may be in memory together
_LAYOUTS = ("BSH", "SBH", "BNSD", "BSND")


class Attention(Op):
    """Scaled dot-product attention: softmax(scale * (query @ key^T + bias)) * keep @ value.

    Queries are (..., T, D), keys (..., S, D), values (..., S, E); their leading axes broadcast, and
    `mask`, `bias` and `keep` broadcast to (..., T, S). Keys where `mask` is True are ignored; a
    query without keys returns zeros. `causal` hides later keys: 'left' aligns both sequences at
    their first positions, 'right' at their last. Half precision is accumulated in float32.
    """

    scale: float | None = None
    causal: str = ""
    examples = (
        case("f32[2,3,4]", "f32[2,5,4]", "f32[2,5,3]", None, None, None),
        case("f32[2,2,3,4]", "f32[2,1,3,4]", "f32[2,1,3,2]", "bool[3,3]", None, None, scale=0.5),
        case("f32[2,3]", "f32[4,3]", "f32[4,3]", None, "f32[4]", "f32[2,4]:unit", causal="right"),
        case("f32[1,0,4]", "f32[1,3,4]", "f32[1,3,2]", None, None, None, causal="left"),
        case("bf16[2,3]", "bf16[4,3]", "bf16[4,3]", None, None, None, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        return {"causal": check_string(self.name, "causal", self.causal, ("", "left", "right"))}

    def infer(
        self, query: TensorType, key: TensorType, value: TensorType, mask: Any, bias: Any, keep: Any
    ) -> TensorType:
        check_same_dtype(self.name, query, key)
        check_same_dtype(self.name, query, value)
        if not query.dtype.is_float:
            raise unsupported_dtype(self.name, query, "float tensors")
        _check_shapes(self.name, query, key, value)
        if mask is not None and not mask.dtype.is_bool:
            raise unsupported_dtype(self.name, mask, "a bool mask (True masks a key)")
        batch = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2], op=self.name)
        scores = (*batch, query.shape[-2], key.shape[-2])
        for extra in (mask, bias, keep):
            if extra is not None and broadcast(extra.shape, scores, op=self.name) != scores:
                raise problem(
                    ValueError,
                    f"{self.name}: a mask, bias or keep has more axes than the scores",
                    got=f"{extra} for scores of shape {list(scores)}",
                )
        return query.with_shape((*batch, query.shape[-2], value.shape[-1]))

    def has_small_products(self, query: TensorType, key: TensorType, *others: Any) -> bool:
        scores = query.with_shape((*query.shape[:-1], key.shape[-2]))
        return query.dtype is float32 and are_many_and_small(scores, key)

    def lower(
        self,
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        bias: Array | None = None,
        keep: Array | None = None,
    ) -> Array:
        batch = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2], op=self.name)
        length = query.shape[-2]
        later = self._later(length, key.shape[-2])
        if length <= ROWS or size((*batch, length, key.shape[-2])) <= MOST_SCORES:
            return self._rows(query, key, value, later(np.arange(length)), mask, bias, keep)
        return self._by_blocks(query, key, value, later, mask, bias, keep)

    def _by_blocks(
        self, query: Array, key: Array, value: Array, later: _Later, *extras: Array | None
    ) -> Array:
        """Attention in blocks of queries, so that the scores are never in memory all together.

        Gradients recompute the scores of each block.
        """
        length = query.shape[-2]
        inputs = (query, *extras)
        by_row = [a is not None and a.ndim > 1 and a.shape[-2] == length for a in inputs]
        blocks = [_in_blocks(a) for a, is_split in zip(inputs, by_row, strict=True) if is_split]
        row_numbers = jnp.arange(-(-length // ROWS) * ROWS).reshape(-1, ROWS)

        @jax.checkpoint
        def block(rows: Array, chunks: list[Array]) -> Array:
            rest = iter(chunks)
            block_inputs = [
                next(rest) if is_split else a for a, is_split in zip(inputs, by_row, strict=True)
            ]
            return self._rows(block_inputs[0], key, value, later(rows), *block_inputs[1:])

        _, outputs = lax.scan(lambda _, chunk: (None, block(*chunk)), None, (row_numbers, blocks))
        joined = jnp.moveaxis(outputs, 0, -3)
        return joined.reshape(*joined.shape[:-3], -1, joined.shape[-1])[..., :length, :]

    def _rows(
        self,
        query: Array,
        key: Array,
        value: Array,
        later: Array | None,
        mask: Array | None,
        bias: Array | None,
        keep: Array | None,
    ) -> Array:
        """Attention for some of the queries; `later` is masked in addition to `mask`."""
        wide = wide_dtype(query.dtype)
        scores = _products(query, key, key.ndim - 1)
        if bias is not None:
            scores = scores + jnp.asarray(bias, wide)
        scores = scores * np.asarray(self._scale(query.shape), wide)
        hidden = mask if later is None else later if mask is None else mask | later
        shares = _softmax(scores, hidden)
        if keep is not None:
            shares = shares * jnp.asarray(keep, wide)
        product = _products(shares.astype(value.dtype), value, value.ndim - 2)
        return product.astype(query.dtype)

    def _scale(self, shape: Shape) -> float:
        return max(shape[-1], 1) ** -0.5 if self.scale is None else self.scale

    def _later(self, length: int, columns: int) -> _Later:
        """A function from query indices to the mask of later keys, or to None."""
        shift = columns - length if self.causal == "right" else 0
        if not self.causal:
            return lambda rows: None
        return lambda rows: np.arange(columns) > rows[:, None] + shift


def _in_blocks(x: Array) -> Array:
    """(..., T, S) as (blocks, ..., rows, S), padded with zero rows."""
    missing = -x.shape[-2] % ROWS
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, missing), (0, 0)])
    return jnp.moveaxis(padded.reshape(*x.shape[:-2], -1, ROWS, x.shape[-1]), -3, 0)


def _products(x: Array, y: Array, inner: int) -> Array:
    """Product summed over the last axis of x and axis `inner` of y, in wide precision."""
    if x.dtype == np.float32 and x.shape[:-2] == y.shape[:-2]:
        return contract_each(x, y, x.ndim - 1, inner)
    right = y if inner == y.ndim - 2 else jnp.swapaxes(y, -1, -2)
    return jnp.matmul(x, right, preferred_element_type=wide_dtype(x.dtype))


def _softmax(scores: Array, hidden: Array | None) -> Array:
    """Softmax over the last axis, with zeros where `hidden`."""
    if hidden is None:
        exponentials, total, _ = powers(scores)
        return exponentials / total
    lowest = float(jnp.finfo(scores.dtype).min)
    seen = jnp.where(hidden, lowest, scores)
    peak = largest(seen, (seen.ndim - 1,), True, lowest)
    exponentials = jnp.where(hidden, 0, jnp.exp(seen - lax.stop_gradient(peak)))
    total = last_sum(exponentials)
    return exponentials / jnp.where(total == 0, 1, total)


def _check_shapes(name: str, query: TensorType, key: TensorType, value: TensorType) -> None:
    enough = min(query.ndim, key.ndim, value.ndim) >= 2
    if not enough or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise problem(
            ValueError,
            f"{name}: the shapes of query, key and value do not match",
            got=f"query {query}, key {key}, value {value}",
            expected="query (..., T, D), key (..., S, D), value (..., S, E)",
        )


def attention(
    query: Any, key: Any, value: Any, mask: Any = None, scale: float | None = None
) -> Any:
    """Scaled dot-product attention. `mask` is bool (True masks a key) or is added to the scores."""
    if mask is None or mask.dtype.is_bool:
        return Attention.of(scale)(query, key, value, mask, None, None)
    factor = max(query.shape[-1], 1) ** -0.5 if scale is None else scale
    bias = mul(mask, 1.0 / factor)  # the operator scales the bias with the scores
    return Attention.of(scale)(query, key, value, None, bias, None)


def flash_attention_score(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    real_shift: Any = None,
    drop_mask: Any = None,
    padding_mask: Any = None,
    attn_mask: Any = None,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    keep_prob: float = 1.0,
    scalar_value: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    inner_precise: int = 0,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> Any:
    """Multi-head attention with `head_num` heads in the layout BSH, SBH, BNSD, or BSND.

    Keys where `attn_mask` is nonzero are masked. `sparse_mode` 2 and 3 are causal, aligned to the
    first or the last positions. Keys and values may have fewer heads, which groups of query heads
    share.
    """
    name = "flash_attention_score"
    layout = check_string(name, "input_layout", input_layout, _LAYOUTS)
    heads = check_positive_int(name, "head_num", head_num)
    check_range(name, "keep_prob", keep_prob, 0.0, 1.0, closed="right")
    if sparse_mode not in (0, 1, 2, 3):
        raise wrong_value(name, "sparse_mode", sparse_mode, "0, 1, 2 or 3")
    if any(
        extra is not None for extra in (padding_mask, prefix, actual_seq_qlen, actual_seq_kvlen)
    ):
        raise problem(
            ValueError,
            f"{name}: padding_mask, prefix and actual sequence lengths must be None",
            fix="mask padding with attn_mask",
        )
    queries = _by_head(query, layout, heads)
    shared = heads if layout in ("BNSD", "BSND") else _shared_heads(query, key, heads)
    keys, values = (_by_head(x, layout, shared) for x in (key, value))
    grouped = _grouped(queries, keys.shape[1])
    keys, values = (reshape(x, (*x.shape[:2], 1, *x.shape[2:])) for x in (keys, values))
    scores = (*grouped.shape[:-1], keys.shape[-2])
    causal = {2: "left", 3: "right"}.get(sparse_mode, "")
    hidden = None if attn_mask is None or causal else _per_group(cast(attn_mask, "bool"), scores)
    bias = None if real_shift is None else _per_group(real_shift, scores)
    keep = None if drop_mask is None else _per_group(cast(drop_mask, query.dtype), scores)
    keep = keep if keep is None or keep_prob == 1.0 else mul(keep, 1.0 / keep_prob)
    op = Attention.of(float(scalar_value), causal)
    return _from_heads(op(grouped, keys, values, hidden, bias, keep), layout, heads)


def _shared_heads(query: Any, key: Any, heads: int) -> int:
    """The number of key heads, if heads are concatenated along the last axis."""
    width = query.shape[-1] // heads
    return key.shape[-1] // width if width else heads


def _by_head(x: Any, layout: str, heads: int) -> Any:
    """A tensor of `layout` as (batch, heads, length, width)."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return transpose(x, (0, 2, 1, 3))
    if len(x.shape) != 3 or x.shape[2] % heads:
        raise problem(
            ValueError,
            f"flash_attention_score: the last axis is not divisible by {heads} heads",
            got=f"shape {list(x.shape)} in the layout {layout}",
        )
    parts = reshape(x, (*x.shape[:2], heads, x.shape[2] // heads))
    return transpose(parts, (0, 2, 1, 3) if layout == "BSH" else (1, 2, 0, 3))


def _grouped(queries: Any, shared: int) -> Any:
    """(batch, heads, length, width) as (batch, shared, heads / shared, length, width)."""
    batch, heads, length, width = queries.shape
    if shared == 0 or heads % shared:
        raise problem(
            ValueError,
            "flash_attention_score: the query heads are not divisible by the key heads",
            got=f"{heads} query heads and {shared} key heads",
        )
    return reshape(queries, (batch, shared, heads // shared, length, width))


def _per_group(extra: Any, scores: Shape) -> Any:
    """A mask or bias (batch or 1, heads or 1, T, S), or (T, S), in the shape of grouped scores."""
    if len(extra.shape) != 4:
        return extra
    batch, heads, rows, columns = extra.shape
    split = (1, 1) if heads == 1 else scores[1:3]
    return reshape(extra, (batch, *split, rows, columns))


def _from_heads(x: Any, layout: str, heads: int) -> Any:
    """Grouped heads in the layout `layout`."""
    batch, _, _, length, width = x.shape
    parts = reshape(x, (batch, heads, length, width))
    if layout == "BNSD":
        return parts
    if layout == "BSND":
        return transpose(parts, (0, 2, 1, 3))
    if layout == "BSH":
        return reshape(transpose(parts, (0, 2, 1, 3)), (batch, length, heads * width))
    return reshape(transpose(parts, (2, 0, 1, 3)), (length, batch, heads * width))
