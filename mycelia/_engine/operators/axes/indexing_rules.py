"""Which dimensions go together where elements are looked up by number, or put there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mycelia._engine.jax_setup import jax, jnp
from mycelia._engine.operators.axes.dimension_symbols import DimensionSymbol, block_all
from mycelia._engine.operators.axes.partial_sums import SCATTERED
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep, StepValue


def _gather(step: PrimitiveStep) -> None:
    """Rows taken from a table: those of a part of the table only, elsewhere 0, add up to all."""
    (table, index, *_), (made,) = step.inputs, step.outputs
    names, sizes = step.params["dimension_numbers"], step.params["slice_sizes"]
    looked_up = [i for i in range(made.ndim) if i not in names.offset_dims]
    _lookups(index, made, looked_up)
    batches = _batches(table, index, names.operand_batching_dims, names.start_indices_batching_dims)
    batches |= _numbered(table, index, names.start_index_map, names.collapsed_slice_dims)
    windows = [
        i
        for i in range(table.ndim)
        if i not in (*names.collapsed_slice_dims, *names.operand_batching_dims)
    ]
    for place, there in zip(windows, names.offset_dims, strict=True):
        whole = sizes[place] == table.shape[place]
        _window(table.dims[place], made.dims[there], whole and place not in names.start_index_map)
    for place in names.collapsed_slice_dims:
        if place not in batches:
            _ends_by_sum(step, table, place)


def _ends_by_sum(step: PrimitiveStep, table: StepValue, place: int) -> None:
    dtype = step.outputs[0].dtype
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        table.dims[place].block()
    else:
        step.ends.append((table.dims[place], "any" if jnp.issubdtype(dtype, jnp.bool_) else "sum"))


def _scatter(step: PrimitiveStep) -> None:
    """Updates put into a table: a part of the table takes those that belong to it."""
    table, index, updates = step.inputs
    (made,) = step.outputs
    names = step.params["dimension_numbers"]
    for one, other in zip(table.dims, made.dims, strict=True):
        one.unite(other)
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
    for place, there in zip(windows, names.update_window_dims, strict=True):
        whole = updates.shape[there] == table.shape[place]
        apart = place not in names.scatter_dims_to_operand_dims
        _window(table.dims[place], updates.dims[there], whole and apart)
    kind = SCATTERED.get(step.name)
    for number, place in enumerate(put):
        if number in batches.values():
            continue
        if kind is None:  # the last of several updates of one place wins, or they are multiplied
            updates.dims[place].block()
        else:
            step.ends.append((updates.dims[place], kind))


def _lookups(index: StepValue, other: StepValue, places: Sequence[int]) -> None:
    """The dimensions of the index, but for its last, are those `places` of the other side."""
    index.dims[-1].block()
    for symbol, place in zip(index.dims[:-1], places, strict=True):
        symbol.unite(other.dims[place])


def _batches(
    table: StepValue, index: StepValue, in_table: Sequence[int], in_index: Sequence[int]
) -> dict[int, int]:
    """Dimensions of table and index that go together, by those of the table."""
    for one, other in zip(in_table, in_index, strict=True):
        table.dims[one].unite(index.dims[other])
    return dict(zip(in_table, in_index, strict=True))


def _numbered(
    table: StepValue, index: StepValue, mapped: Sequence[int], single: Sequence[int]
) -> dict[int, int]:
    """Dimensions of the table that are looked up in order: at place i, row i."""
    found: dict[int, int] = {}
    if len(index.columns) != len(mapped):
        return found
    for place, along in zip(mapped, index.columns, strict=True):
        if along is None or place not in single or along == index.ndim - 1:
            continue
        if index.shape[along] == table.shape[place] and along not in found.values():
            table.dims[place].unite(index.dims[along])
            found[int(place)] = along
    return found


def _window(one: DimensionSymbol, other: DimensionSymbol, whole: bool) -> None:
    if whole:
        one.unite(other)
    else:
        block_all((one, other))


INDEXING_RULES: dict[str, Callable[[PrimitiveStep], None]] = {
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
    "scatter-sub": _scatter,
    "scatter-mul": _scatter,
    "scatter-max": _scatter,
    "scatter-min": _scatter,
}
