"""Deriving an operator's axes from its `lower`: trace, flatten, unite dimensions, split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mycelia._engine.core.dtype import uint32
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import jax
from mycelia._engine.operators.axes.axis import Axis, OperatorAxes
from mycelia._engine.operators.axes.dimension_symbols import DimensionSymbol
from mycelia._engine.operators.axes.primitive_steps import FlatProgram, PrimitiveStep, StepValue
from mycelia._engine.operators.axes.rules import apply_rule
from mycelia._engine.operators.axes.split import SymbolSplit, SymbolUses
from mycelia._engine.operators.axes.value_facts import learn
from mycelia._engine.operators.device import reference_implementations

_KEY = TensorType(uint32, (2,))


def derive(op: Primitive, args: tuple[Any, ...]) -> OperatorAxes:
    """The axes of an operator for arguments of these types."""
    if op.host_only:
        return OperatorAxes((), 0.0)  # it has no XLA program, and runs unsharded
    flat = FlatProgram(_traced(op, with_key(op, args)))
    for step in flat.steps:
        learn(step)
        apply_rule(step)
    if op.draws:
        for symbol in flat.inputs[-1].dims:
            symbol.block()
    values = [*flat.inputs, *flat.outputs, *(v for s in flat.steps for v in s.outputs)]
    for value in values:
        _block_repeated(value)
    work = sum(step.flops * step.repeats for step in flat.steps)
    unused = _unused(flat)
    axes = _found_axes(flat, _numbered(op, flat))
    axes_found = [a for a in axes if a.outputs or {leaf for leaf, _ in a.inputs} - unused]
    return OperatorAxes(tuple(axes_found), float(work), tuple(sorted(unused)))


def with_key(op: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with the random key that the runtime appends if it is missing."""
    names = op.arguments.names
    if not op.draws or len(args) > len(names):
        return args
    missing = (op.arguments.defaults[i] for i in range(len(args), len(names)))
    return (*args, *missing, _KEY)


def _traced(op: Primitive, args: tuple[Any, ...]) -> Any:
    """The jaxpr of `lower`, traced with the reference implementations."""
    leaves, tree = jax.tree.flatten(args, is_leaf=_is_type)
    positions = [position for position, leaf in enumerate(leaves) if _is_type(leaf)]

    def on_data(*data: Any) -> Any:
        full = list(leaves)
        for position, value in zip(positions, data, strict=True):
            full[position] = value
        return op.lower(*jax.tree.unflatten(tree, full))

    types = [leaves[position] for position in positions]
    specs = [jax.ShapeDtypeStruct(type_.shape, type_.dtype.numpy) for type_ in types]
    with reference_implementations():
        return jax.make_jaxpr(on_data)(*specs)


def _is_type(value: Any) -> bool:
    return isinstance(value, TensorType)


def _unused(flat: FlatProgram) -> set[int]:
    """The inputs that nothing reads."""
    read = {id(value) for step in flat.steps for value in step.inputs}
    read |= {id(value) for value in flat.outputs}
    return {i for i, value in enumerate(flat.inputs) if id(value) not in read}


def _block_repeated(value: StepValue) -> None:
    """An axis that occurs twice in one array cannot be split in both dimensions."""
    roots = [symbol.root for symbol in value.dims if symbol.size > 1]
    if len(set(roots)) < len(roots):
        for root in roots:
            if roots.count(root) > 1:
                root.block()


def _found_axes(flat: FlatProgram, numbered: set[DimensionSymbol]) -> Iterator[Axis]:
    """The axes of the inputs, then those of the outputs alone."""
    uses, inputs, outputs = (
        SymbolUses(flat),
        _positions_of(flat.inputs),
        _positions_of(flat.outputs),
    )
    for symbol in dict.fromkeys((*inputs, *outputs)):
        if not symbol.can_be_cut:
            continue
        split = SymbolSplit(symbol, uses)
        if split.is_possible:
            yield Axis(
                symbol.size,
                symbol.divides,
                tuple(inputs.get(symbol, ())),
                tuple(outputs.get(symbol, ())),
                split.unfinished(flat.outputs),
                split.flops,
                split.inner,
                symbol not in numbered and _is_even(symbol, flat),
            )


def _is_even(symbol: DimensionSymbol, flat: FlatProgram) -> bool:
    """Whether an axis has the same size in all inputs and outputs."""
    ends = (*flat.inputs, *flat.outputs)
    sizes = {n for v in ends for n, dim in zip(v.shape, v.dims, strict=True) if dim.root is symbol}
    return sizes <= {symbol.divides}


def _numbered(op: Primitive, flat: FlatProgram) -> set[DimensionSymbol]:
    """The symbols along which results depend on positions: iota, lookups, constant tables."""
    if op.counts_rows:
        return {dim.root for value in (*flat.inputs, *flat.outputs) for dim in value.dims}
    computed = {id(value) for step in flat.steps for value in step.outputs}
    available = computed | {id(value) for value in flat.inputs}
    read = [*flat.outputs, *(value for step in flat.steps for value in step.inputs)]
    tables = [value for value in read if id(value) not in available and not value.is_zero]
    numbered = [dim for value in tables for dim in value.dims]
    for step in flat.steps:
        numbered += _positions(step)
    return {symbol.root for symbol in numbered}


def _positions(step: PrimitiveStep) -> list[DimensionSymbol]:
    """The dimensions whose positions are values in this step."""
    if step.name == "iota":
        return [step.outputs[0].dims[step.params["dimension"]]]
    numbers = step.params.get("dimension_numbers")
    dims = getattr(numbers, "start_index_map", ()) or getattr(
        numbers, "scatter_dims_to_operand_dims", ()
    )
    return [step.inputs[0].dims[dim] for dim in dims]


def _positions_of(values: Iterable[StepValue]) -> dict[DimensionSymbol, list[tuple[int, int]]]:
    """The occurrences of each symbol: leaf and dimension."""
    occurrences: dict[DimensionSymbol, list[tuple[int, int]]] = {}
    for leaf, value in enumerate(values):
        for dim, symbol in enumerate(value.dims):
            occurrences.setdefault(symbol.root, []).append((leaf, dim))
    return occurrences
