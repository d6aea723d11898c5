"""Gather and scatter functions: reading and writing elements at index tensors."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.tensor_protocol import TensorProtocol


def gather(input: Any, dim: int, index: Any) -> Any:
    """Gather elements along `dim`: out[i][j] = input[index[i][j]][j] for dim 0."""
    return ops.gather_elements(input, dim, index)


def index_select(input: Any, dim: int, index: Any) -> Any:
    """Select the slices at `index` along `dim`."""
    return ops.index_select(input, dim, index)


def scatter(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Write `src` (a tensor or a number) into a copy of `input`, at `index` along `dim`."""
    return ops.scatter(input, dim, index, _first(src, index))


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Add the elements of `src` to a copy of `input`, at `index` along `dim`."""
    return ops.tensor_scatter_elements(input, index, _first(src, index), dim, "add")


def _first(src: Any, index: Any) -> Any:
    """Trim `src` to the shape of the index."""
    if not isinstance(src, TensorProtocol) or src.shape == index.shape:
        return src
    return ops.slice(src, (0,) * len(src.shape), index.shape)


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Add the slices of alpha * `source` to the slices of `input` at `index` along `dim`."""
    axis = normalize_axis(dim, len(input.shape), "index_add")
    if len(index.shape) != 1 or index.shape[0] != source.shape[axis]:
        raise problem(
            ValueError,
            "index_add: there must be one index for each slice of the source",
            got=f"index of shape {list(index.shape)}, source of shape {list(source.shape)}",
        )
    along = [1] * len(source.shape)
    along[axis] = index.shape[0]
    places = ops.broadcast_to(ops.reshape(index, tuple(along)), source.shape)
    amounts = source if alpha == 1 else ops.mul(source, alpha)
    return ops.tensor_scatter_elements(input, places, amounts, axis, "add")
