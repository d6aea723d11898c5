"""Embedding lookup with the options of an embedding layer."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_int
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_arguments import check_indices
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_readable
from mycelia.ops.elementwise.where import where
from mycelia.ops.in_place_functions import put_into
from mycelia.ops.reduction.differences import renorm
from mycelia.ops.shapes.creation import ones


class Embedding(Op):
    """Embedding lookup: the row of `weight` for each index.

    The gradient can skip the padding row or scale rows by frequency.
    """

    rows_of = 1
    padding_idx: int | None = None
    scale_grad_by_freq: bool = False
    examples = (
        case("i32[2,2]:<4", "f32[4,3]"),
        case("i64[3]:<4", "f32[4,2]", padding_idx=0, differentiate=False),
        case("i32[4]:<2", "f32[3,2]", scale_grad_by_freq=True, differentiate=False),
    )

    def infer(self, input: TensorType, weight: TensorType) -> TensorType:
        check_indices("embedding", input)
        if weight.ndim != 2:
            raise problem(ValueError, "embedding: the weight must be a matrix", got=str(weight))
        gathered = weight.with_shape((*input.shape, weight.shape[1]))
        check_readable("embedding", weight, gathered.shape)
        return gathered

    def bounds(self, input: Any, weight: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(0, weight.shape[0]),)

    def lower(self, input: Array, weight: Array) -> Array:
        if not weight.size:
            return jnp.zeros((*input.shape, weight.shape[1]), weight.dtype)
        return jnp.take(jnp.asarray(weight), jnp.asarray(input), axis=0, mode="clip")

    def grad(self, input: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = EmbeddingGrad.of(weight.shape[0], self.padding_idx, self.scale_grad_by_freq)
        return None, back(input, dout)


class EmbeddingGrad(Op):
    """The gradient of an embedding lookup: adds output gradients to the rows of the table."""

    rows: int
    padding_idx: int | None = None
    scale_grad_by_freq: bool = False
    examples = (
        case("i32[4]:<3", "f32[4,2]", rows=3),
        case("i32[2,2]:<3", "f32[2,2,2]", rows=3, padding_idx=1, scale_grad_by_freq=True),
    )

    def bounds(self, input: Any, dout: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(0, self.rows).gradient("Embedding", "input"),)

    def lower(self, input: Array, dout: Array) -> Array:
        index = jnp.ravel(input)
        rows = jnp.reshape(dout, (index.size, dout.shape[-1]))
        if self.scale_grad_by_freq:
            counts = jnp.zeros(self.rows, dout.dtype).at[index].add(1, mode="drop")
            rows = rows / counts[index][:, None]
        if self.padding_idx is not None:
            rows = jnp.where((index == self.padding_idx)[:, None], 0, rows)
        return jnp.zeros((self.rows, dout.shape[-1]), dout.dtype).at[index].add(rows, mode="drop")


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Any:
    """Embedding lookup: the row of `weight` for each index.

    With `max_norm`, longer rows of `weight` are first rescaled in place.
    """
    rows = weight.shape[0]
    if padding_idx is not None:
        check_int("embedding", "padding_idx", padding_idx)
        if not -rows <= padding_idx < rows:
            raise problem(
                ValueError,
                "embedding: padding_idx is out of range",
                got=f"padding_idx={padding_idx} for {rows} rows",
            )
        padding_idx %= rows
    check_bool("embedding", "scale_grad_by_freq", scale_grad_by_freq)
    if max_norm is not None:
        used = EmbeddingGrad.of(rows)(input, ones((*input.shape, 1), weight.dtype))
        put_into(weight, where(used > 0, renorm(weight, norm_type, 0, max_norm), weight))
    return Embedding.of(padding_idx, scale_grad_by_freq)(input, weight)
