"""Dot products of arrays, and checks of their operands."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mycelia._engine.core.errors import ShapeError, problem
from mycelia._engine.core.shape import size
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.device import joins_products

_SMALL = 1 << 16  # elements of a matrix that one core multiplies alone
_MANY = 1 << 17  # elements of all matrices together that are worth several cores


def wide_dtype(dtype: Any) -> Any:
    """The dtype for sums: float32 for half precision, else `dtype` itself."""
    return np.float32 if dtype in (np.float16, jnp.bfloat16) else dtype


def contract(x: Array, y: Array, dimensions: Any) -> Array:
    """A dot product over `dimensions` (as in lax.dot_general) in the dtype of `x`."""
    product = _product(x, y, dimensions)
    if joins_products():
        product = _alone(product)
    return product.astype(x.dtype)


def matrix_product(x: Array, y: Array) -> Array:
    """The product of two matrices."""
    return contract(x, y, (((1,), (0,)), ((), ())))


def contract_each(x: Array, y: Array, inner_x: int, inner_y: int) -> Array:
    """Batched products of matrices, along all axes before the last two.

    XLA's CPU library multiplies many small matrices one after another, on one core. The exception
    is programs where XLA fuses products with the loops after them (`joins_products`): those loops
    are shared among all cores, and each computes the matrices it needs. A change of sign is such a
    loop, and two of them cancel. The library also wants the contracted axis last on the left side.
    On two cores, 32 products of 128 x 128 with 128 x 64 take 0.48 ms instead of 0.89; a training
    step of a small GPT 0.96 of the time, of a BERT 0.98.
    """
    if joins_products() and x.dtype == jnp.float32 and are_many_and_small(x, y):
        return _shared(x, y, inner_x, inner_y)
    batch = tuple(range(x.ndim - 2))
    return contract(x, y, (((inner_x,), (inner_y,)), (batch, batch)))


def are_many_and_small(x: Array | TensorType, y: Array | TensorType) -> bool:
    """Whether each product is too small to share among cores, but all together are worth it."""
    largest = max(size(x.shape[-2:]), size(y.shape[-2:]))
    many = size(x.shape[:-2]) * largest >= _MANY
    return many and largest <= _SMALL and x.shape[:-2] == y.shape[:-2]


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _shared(x: Array, y: Array, inner_x: int, inner_y: int) -> Array:
    if inner_x != x.ndim - 1:
        x = _swapped(x)
    batch = tuple(range(x.ndim - 2))
    return -_product(x, -y, (((x.ndim - 1,), (inner_y,)), (batch, batch)))


def _shared_forward(x: Array, y: Array, inner_x: int, inner_y: int) -> tuple[Array, Any]:
    return _shared(x, y, inner_x, inner_y), (x, y)


def _shared_backward(inner_x: int, inner_y: int, residuals: Any, d: Array) -> tuple[Array, Array]:
    """Both gradients are batched products, too."""
    x, y = residuals
    rows, columns = x.ndim - 2, x.ndim - 1
    outer_x, outer_y = (columns if inner == rows else rows for inner in (inner_x, inner_y))
    by_x = (d, y, columns, outer_y) if inner_x == columns else (y, d, outer_y, columns)
    by_y = (x, d, outer_x, rows) if inner_y == rows else (d, x, rows, outer_x)
    return contract_each(*by_x), contract_each(*by_y)


_shared.defvjp(_shared_forward, _shared_backward)


def _product(x: Array, y: Array, dimensions: Any) -> Array:
    wide = wide_dtype(x.dtype)
    return lax.dot_general(jnp.asarray(x), jnp.asarray(y), dimensions, preferred_element_type=wide)


def _alone(product: Array) -> Array:
    """`product` in a form that XLA computes without the loops after it.

    Large products are shared among cores already, and are slower when fused with a loop: logits and
    their bias take 30 ms instead of 21. Rounding to the precision that a value already has is a
    loop without work, which the library for products does not support.
    """
    if product.dtype not in (jnp.float32, jnp.float64):
        return product
    about = jnp.finfo(product.dtype)
    return lax.reduce_precision(product, about.nexp, about.nmant)


def _swapped(x: Array) -> Array:
    """Matrices transposed in memory: with three axes that is fast."""
    *batch, rows, columns = x.shape
    swapped = jnp.swapaxes(x.reshape(-1, rows, columns), 1, 2)
    return lax.optimization_barrier(swapped).reshape(*batch, columns, rows)


def check_same_dtype(name: str, x: TensorType, y: TensorType) -> None:
    if x.dtype is not y.dtype:
        raise problem(
            TypeError,
            f"{name}: the inputs have different dtypes",
            got=f"{x} and {y}",
            expected="equal dtypes",
            fix="cast one of them: x.astype(y.dtype)",
        )


def check_inner_sizes(name: str, x: TensorType, y: TensorType, inner: int, other: int) -> None:
    if inner != other:
        raise problem(
            ShapeError,
            f"{name}: the inner sizes of x and y differ",
            got=f"x {x} and y {y}: inner sizes {inner} and {other}",
            expected="equal inner sizes",
            fix="transpose one side (transpose_a, transpose_b) or reshape it",
        )


def check_matrices(name: str, x: TensorType, *, square: bool = False) -> None:
    """Raise unless the last two axes are matrices, square ones if asked."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise problem(
            ValueError,
            f"{name}: the input must be a {'square ' if square else ''}matrix or a batch of them",
            got=str(x),
            expected="at least 2 dimensions" + (", the last two of equal size" if square else ""),
        )
    if not x.dtype.is_inexact:
        raise problem(
            TypeError,
            f"{name}: unsupported dtype {x.dtype}",
            got=str(x),
            expected="a tensor of floats or complex numbers",
        )
