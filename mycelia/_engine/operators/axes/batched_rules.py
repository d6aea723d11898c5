"""Which dimensions go together in algorithms on matrices, transforms and random streams."""

from __future__ import annotations

from collections.abc import Callable

from mycelia._engine.operators.axes.dimension_symbols import block_all, unite_all
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep
from mycelia._engine.operators.axes.shape_rules import pass_along


def _batches(last: int) -> Callable[[PrimitiveStep], None]:
    """A rule for an algorithm on the last dimensions; all before them are batches."""

    def rule(step: PrimitiveStep) -> None:
        values = (*step.inputs, *step.outputs)
        count = step.inputs[0].ndim - last
        for place in range(count):
            unite_all(value.dims[place] for value in values)
        for value in values:
            block_all(value.dims[count:])

    return rule


def _triangular_solve(step: PrimitiveStep) -> None:
    """Each right side is solved apart."""
    (matrix, right), (made,) = step.inputs, step.outputs
    count = matrix.ndim - 2
    for place in range(count):
        matrix.dims[place].unite(right.dims[place])
    block_all(matrix.dims[count:])
    apart = right.ndim - (1 if step.params["left_side"] else 2)
    pass_along(right, made, [*range(count), apart])


def _fourier(step: PrimitiveStep) -> None:
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, range(value.ndim - len(step.params["fft_lengths"])))


def _keys(step: PrimitiveStep) -> None:
    """Dimensions of the keys come first; what is drawn for each key can be drawn in parts."""
    keys, made = step.inputs[0], step.outputs[0]
    for one, other in zip(keys.dims, made.dims, strict=False):
        one.unite(other)


def _key_data(step: PrimitiveStep) -> None:
    """The numbers of a key stay together."""
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, range(min(value.ndim, made.ndim)))


BATCHED_RULES: dict[str, Callable[[PrimitiveStep], None]] = {
    "cholesky": _batches(2),
    "eig": _batches(2),
    "eigh": _batches(2),
    "geqrf": _batches(2),
    "householder_product": _batches(2),
    "lu": _batches(2),
    "lu_pivots_to_permutation": _batches(1),
    "qr": _batches(2),
    "schur": _batches(2),
    "svd": _batches(2),
    "triangular_solve": _triangular_solve,
    "fft": _fourier,
    "random_bits": _keys,
    "random_split": _keys,
    "random_seed": _keys,
    "random_wrap": _key_data,
    "random_unwrap": _key_data,
}
