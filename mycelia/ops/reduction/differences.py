"""Differences, integrals, and related functions: diff, trapz, vander, cross, cov, renorm."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_non_negative_int, check_positive_int
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import broadcast, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.elementwise.arithmetic import add, div, mul, sub
from mycelia.ops.elementwise.comparison import not_equal
from mycelia.ops.elementwise.complex_numbers import conj
from mycelia.ops.elementwise.power import pow as power
from mycelia.ops.indexing.slice import narrow
from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.linalg.norms import power_norm, sizes_of
from mycelia.ops.reduction.reduction import sum as total
from mycelia.ops.shapes.concat import concat
from mycelia.ops.shapes.ranges import arange
from mycelia.ops.shapes.reshape import broadcast_to, cast, expand_dims, reshape, squeeze, transpose

_NO_AXIS = -65530  # MindSpore's value for "the first axis of size 3"


class Cross(Op):
    """Cross product along an axis of size 3."""

    promotes = ("input", "other")
    dim: int = _NO_AXIS
    examples = (
        case("f32[2,3]", "f32[2,3]"),
        case("f32[3,2]", "f32[3,1]", dim=0),
        case("i32[3]", "i32[3]"),
    )

    def infer(self, input: TensorType, other: TensorType) -> TensorType:
        shape = broadcast(input.shape, other.shape, op="cross")
        self._axis(shape)
        return TensorType(input.dtype, shape)

    def lower(self, input: Array, other: Array) -> Array:
        a, b = jnp.broadcast_arrays(input, other)
        axis = self._axis(a.shape)
        return jnp.cross(a, b, axisa=axis, axisb=axis, axisc=axis)

    def _axis(self, shape: tuple[int, ...]) -> int:
        if self.dim == _NO_AXIS:
            found = [i for i, n in enumerate(shape) if n == 3]
        else:
            position = normalize_axis(self.dim, len(shape), "cross")
            found = [position] if shape[position] == 3 else []
        if not found:
            raise problem(
                ValueError,
                "cross: there is no axis of size 3",
                got=f"shape {list(shape)}" + ("" if self.dim == _NO_AXIS else f", dim={self.dim}"),
            )
        return found[0]


class Renorm(Op):
    """Scales slices along `dim` down to the norm `maxnorm` where theirs is larger."""

    p: float
    dim: int
    maxnorm: float
    examples = (
        case("f32[3,4]", p=2, dim=0, maxnorm=1.0),
        case("f32[2,3,2]", p=1, dim=1, maxnorm=2.0),
        case("f16[2,2]", p=2, dim=-1, maxnorm=0.5, differentiate=False),
    )

    def infer(self, input_x: TensorType) -> TensorType:
        if not input_x.dtype.is_inexact:
            raise unsupported_dtype("renorm", input_x, "a float or complex tensor")
        normalize_axis(self.dim, input_x.ndim, "renorm")
        return input_x

    def lower(self, input_x: Array) -> Array:
        position = normalize_axis(self.dim, input_x.ndim, "renorm")
        axes = tuple(a for a in range(input_x.ndim) if a != position)
        wide = jnp.asarray(input_x) if jnp.iscomplexobj(input_x) else widened(input_x)
        length = power_norm(sizes_of(wide), float(self.p), axes, True)
        longer = length > self.maxnorm
        factor = jnp.where(longer, self.maxnorm / jnp.where(longer, length, 1), 1)
        return (wide * factor).astype(input_x.dtype)


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """Cross product along `dim`, by default the first axis of size 3."""
    return Cross.of(_NO_AXIS if dim is None else dim)(input, other)


def renorm(input: Any, p: Any, axis: int, maxnorm: float) -> Any:
    """Scales slices along `axis` down to the p-norm `maxnorm` where theirs is larger."""
    if not isinstance(p, (int, float)) or p <= 0:
        raise problem(ValueError, "renorm: p must be positive", got=f"p={p!r}")
    return Renorm.of(p, axis, float(maxnorm))(input)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th discrete difference along `axis`."""
    if not isinstance(x, TensorProtocol):
        raise wrong_type("diff", "x", x, "Tensor")
    if not x.shape:
        raise problem(ValueError, "diff: the tensor has no axis", got="a tensor of 0 dimensions")
    check_non_negative_int("diff", "n", n)
    position = normalize_axis(axis, len(x.shape), "diff")
    parts = [part for part in (prepend, x, append) if part is not None]
    found = concat(tuple(parts), position) if len(parts) > 1 else x
    for _ in range(n):
        count = max(found.shape[position] - 1, 0)
        later = narrow(found, position, found.shape[position] - count, count)
        earlier = narrow(found, position, 0, count)
        found = not_equal(later, earlier) if found.dtype.is_bool else sub(later, earlier)
    return found


def diff_ext(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th discrete difference along `dim`."""
    return diff(input, n, dim, prepend, append)


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """Integral of `y` by the trapezoidal rule, sampled at `x` or `dx` apart."""
    check_tensors("trapz", y=y)
    values = y if y.dtype.is_inexact else cast(y, float32)
    position = normalize_axis(dim, len(y.shape), "trapz")
    count = y.shape[position] - 1
    if count < 0:
        raise problem(
            ValueError, "trapz: y must have at least 1 dimension", got=f"shape {list(y.shape)}"
        )
    heights = add(narrow(values, position, 0, count), narrow(values, position, 1, count))
    return div(total(mul(heights, _widths(x, values, dx, position)), position), 2.0)


def _widths(x: Any, values: Any, dx: float, position: int) -> Any:
    if x is None:
        return dx
    widths = cast(diff(x, 1, -1 if len(x.shape) == 1 else position), values.dtype)
    if len(x.shape) > 1:
        return widths
    return reshape(widths, tuple(-1 if a == position else 1 for a in range(len(values.shape))))


def vander(x: Any, N: int | None = None) -> Any:
    """Vandermonde matrix: the powers of a vector's elements, the highest first."""
    if not isinstance(x, TensorProtocol):
        raise wrong_type("vander", "x", x, "Tensor")
    if len(x.shape) != 1:
        raise problem(ValueError, "vander: x must be a vector", got=f"shape {list(x.shape)}")
    count = x.shape[0] if N is None else check_positive_int("vander", "N", N)
    exponents = arange(count - 1, -1, -1)
    return power(expand_dims(x, 1), exponents)


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariance matrix of the rows, with frequencies and weights of the observations."""
    check_tensors("cov", input=input)
    if len(input.shape) > 2:
        raise problem(
            ValueError, "cov: the input must have at most 2 dimensions", got=f"{input.shape}"
        )
    rows = reshape(input, (1, -1)) if len(input.shape) < 2 else input
    if not rows.dtype.is_inexact or rows.dtype.bits < float32.bits:
        rows = cast(rows, float32)
    weights = _observation_weights(rows, fweights, aweights)
    whole = total(weights)
    mean = div(total(mul(rows, weights), 1, keepdim=True), whole)
    centred = sub(rows, mean)
    if correction == 0 or aweights is None:
        freedom = sub(whole, correction)
    else:
        freedom = sub(whole, div(mul(total(mul(weights, aweights)), correction), whole))
    other = conj(centred) if rows.dtype.is_complex else centred
    found = div(matmul(mul(centred, weights), _transposed(other)), freedom)
    return squeeze(found) if len(input.shape) < 2 else found


def _transposed(x: Any) -> Any:
    return transpose(x, (1, 0))


def _observation_weights(rows: Any, fweights: Any, aweights: Any) -> Any:
    given = [cast(w, rows.dtype) for w in (fweights, aweights) if w is not None]
    if not given:
        return broadcast_to(cast(arange(1, 2), rows.dtype), (rows.shape[1],))
    return given[0] if len(given) == 1 else mul(*given)
