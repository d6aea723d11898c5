"""Dimension rules for gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mycelia._engine.jax_setup import jax, jnp
from mycelia._engine.operators.axes.dimension_symbols import DimensionSymbol, block_all
from mycelia._engine.operators.axes.partial_sums import SCATTERED
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep, StepValue


def _gather(step: PrimitiveStep) -> None:
    """Rows from a table: shards look up the rows that they hold, else 0, and add the results."""
    (table, index, *_), (result,) = step.inputs, step.outputs
    names, sizes = step.params["dimension_numbers"], step.params["slice_sizes"]
    looked_up = [i for i in range(result.ndim) if i not in names.offset_dims]
    _lookups(index, result, looked_up)
    batches = _batches(table, index, names.operand_batching_dims, names.start_indices_batching_dims)
    batches |= _numbered(table, index, names.start_index_map, names.collapsed_slice_dims)
    windows = [
        i
        for i in range(table.ndim)
        if i not in (*names.collapsed_slice_dims, *names.operand_batching_dims)
    ]
    for dim, offset_dim in zip(windows, names.offset_dims, strict=True):
        whole = sizes[dim] == table.shape[dim]
        _window(
            table.dims[dim], result.dims[offset_dim], whole and dim not in names.start_index_map
        )
    for dim in names.collapsed_slice_dims:
        if dim not in batches:
            _ends_by_sum(step, table, dim)


def _ends_by_sum(step: PrimitiveStep, table: StepValue, dim: int) -> None:
    dtype = step.outputs[0].dtype
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        table.dims[dim].block()
    else:
        step.ends.append((table.dims[dim], "any" if jnp.issubdtype(dtype, jnp.bool_) else "sum"))


def _scatter(step: PrimitiveStep) -> None:
    """Updates written to a table: each shard of the table applies the updates that belong to it."""
    table, index, updates = step.inputs
    (result,) = step.outputs
    names = step.params["dimension_numbers"]
    for table_dim, result_dim in zip(table.dims, result.dims, strict=True):
        table_dim.unite(result_dim)
    put = [i for i in range(updates.ndim) if i not in names.update_window_dims]
    _lookups(index, updates, put)
    batches = _batches(
        table, index, names.operand_batching_dims, names.scatter_indices_batching_dims
    )
    batches |= _numbered(
        table, index, names.scatter_dims_to_operand_dims, names.inserted_window_dims
    )
    windows = [
        i
        for i in range(table.ndim)
        if i not in (*names.inserted_window_dims, *names.operand_batching_dims)
    ]
    for dim, update_dim in zip(windows, names.update_window_dims, strict=True):
        whole = updates.shape[update_dim] == table.shape[dim]
        not_indexed = dim not in names.scatter_dims_to_operand_dims
        _window(table.dims[dim], updates.dims[update_dim], whole and not_indexed)
    kind = SCATTERED.get(step.name)
    for number, dim in enumerate(put):
        if number in batches.values():
            continue
        if kind is None:  # of several updates of one element the last wins, or they are multiplied
            updates.dims[dim].block()
        else:
            step.ends.append((updates.dims[dim], kind))


def _lookups(index: StepValue, other: StepValue, dims: Sequence[int]) -> None:
    """Unite the dimensions of the index, except its last, with `dims` of the other value."""
    index.dims[-1].block()
    for symbol, dim in zip(index.dims[:-1], dims, strict=True):
        symbol.unite(other.dims[dim])


def _batches(
    table: StepValue, index: StepValue, in_table: Sequence[int], in_index: Sequence[int]
) -> dict[int, int]:
    """Unite the batch dimensions of table and index; returns pairs table dim -> index dim."""
    for table_dim, index_dim in zip(in_table, in_index, strict=True):
        table.dims[table_dim].unite(index.dims[index_dim])
    return dict(zip(in_table, in_index, strict=True))


def _numbered(
    table: StepValue, index: StepValue, mapped: Sequence[int], single: Sequence[int]
) -> dict[int, int]:
    """Dimensions of the table that are looked up in order: row i for position i."""
    ordered: dict[int, int] = {}
    if len(index.columns) != len(mapped):
        return ordered
    for dim, along in zip(mapped, index.columns, strict=True):
        if along is None or dim not in single or along == index.ndim - 1:
            continue
        if index.shape[along] == table.shape[dim] and along not in ordered.values():
            table.dims[dim].unite(index.dims[along])
            ordered[int(dim)] = along
    return ordered


def _window(first: DimensionSymbol, second: DimensionSymbol, whole: bool) -> None:
    if whole:
        first.unite(second)
    else:
        block_all((first, second))


INDEXING_RULES: dict[str, Callable[[PrimitiveStep], None]] = {
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
    "scatter-sub": _scatter,
    "scatter-mul": _scatter,
    "scatter-max": _scatter,
    "scatter-min": _scatter,
}
