"""Dimension rules for matrix algorithms, Fourier transforms, and random bits."""

from __future__ import annotations

from collections.abc import Callable

from mycelia._engine.operators.axes.dimension_symbols import block_all, unite_all
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep
from mycelia._engine.operators.axes.shape_rules import pass_along


def _batches(last: int) -> Callable[[PrimitiveStep], None]:
    """A rule for an algorithm on the last dimensions; all dimensions before them are batches."""

    def rule(step: PrimitiveStep) -> None:
        values = (*step.inputs, *step.outputs)
        count = step.inputs[0].ndim - last
        for dim in range(count):
            unite_all(value.dims[dim] for value in values)
        for value in values:
            block_all(value.dims[count:])

    return rule


def _triangular_solve(step: PrimitiveStep) -> None:
    """The right-hand sides are independent of each other."""
    (matrix, right), (made,) = step.inputs, step.outputs
    count = matrix.ndim - 2
    for dim in range(count):
        matrix.dims[dim].unite(right.dims[dim])
    block_all(matrix.dims[count:])
    independent = right.ndim - (1 if step.params["left_side"] else 2)
    pass_along(right, made, [*range(count), independent])


def _fourier(step: PrimitiveStep) -> None:
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, range(value.ndim - len(step.params["fft_lengths"])))


def _keys(step: PrimitiveStep) -> None:
    """The dimensions of the keys come first; the draws of each key can be sharded."""
    keys, made = step.inputs[0], step.outputs[0]
    for key_dim, made_dim in zip(keys.dims, made.dims, strict=False):
        key_dim.unite(made_dim)


def _key_data(step: PrimitiveStep) -> None:
    """The two integers of a key stay together."""
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
