"""Order statistics along an axis: quantiles, n-th element, binary search, top-k membership."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia._engine.core.dtype import DType, as_dtype, bool_, int32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import check_readable
from mycelia.ops.shapes.reshape import scalar_to_tensor


class Quantile(Op):
    """Quantiles `q` along an axis, with linear interpolation."""

    dim: int | None = None
    keep_dims: bool = False
    ignore_nan: bool = False
    examples = (
        case("f32[5]:distinct", "f32[2]:unit", constants=(1,)),
        case("f64[2,4]:distinct", "f64[]:unit", dim=1, keep_dims=True, constants=(1,)),
        case("f32[3,4]:distinct", "f32[3]:unit", dim=0, ignore_nan=True, constants=(1,)),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool("Quantile", "keep_dims", self.keep_dims)
        return {}

    def infer(self, input: TensorType, q: TensorType) -> TensorType:
        if not input.dtype.is_float:
            raise unsupported_dtype("quantile", input, "a float tensor")
        if q.dtype is not input.dtype:
            raise problem(
                TypeError, "quantile: input and q have different dtypes", got=f"{input} and {q}"
            )
        if q.ndim > 1:
            raise problem(ValueError, "quantile: q must be one number or a vector", got=str(q))
        found = (*q.shape, *self._reduced(input.shape))
        check_readable("quantile", input, found)
        return input.with_shape(found)

    def lower(self, input: Array, q: Array) -> Array:
        x, shares = jnp.asarray(input), jax.lax.stop_gradient(jnp.asarray(q))
        if not x.size:
            return jnp.zeros((*q.shape, *self._reduced(input.shape)), input.dtype)
        find = jnp.nanquantile if self.ignore_nan else jnp.quantile
        found = find(x, shares, axis=self.dim, keepdims=self.keep_dims)
        return found.astype(input.dtype)

    def _reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.dim is None:
            return (1,) * len(shape) if self.keep_dims else ()
        position = normalize_axis(self.dim, len(shape), "quantile")
        return (*shape[:position], *((1,) if self.keep_dims else ()), *shape[position + 1 :])


class NthElement(Op):
    """The n-th smallest element along the last axis."""

    static = ("n",)
    reverse: bool = False
    examples = (
        case("f32[2,4]:distinct", 1),
        case("i32[5]", 0, reverse=True),
        case("f32[3]:distinct", 2, reverse=True),
    )

    def infer(self, input: TensorType, n: Any) -> TensorType:
        if not input.ndim or not 0 <= n < input.shape[-1]:
            raise problem(
                ValueError,
                "NthElement: n is out of range",
                got=f"n={n} for {input}",
                expected="a number from 0 to the size of the last axis - 1",
            )
        return input.with_shape(input.shape[:-1])

    def lower(self, input: Array, n: Any) -> Array:
        position = input.shape[-1] - 1 - n if self.reverse else n
        return jnp.sort(jnp.asarray(input), axis=-1)[..., position]


class LowerBound(Op):
    """Insertion indices of values in sorted rows, before equal elements."""

    side = "left"
    differentiable = False
    out_type: DType = int32
    examples = (case("i32[2,4]:<1", "i32[2,3]"), case("f32[1,0]", "f32[1,2]"))

    def normalize(self) -> dict[str, Any]:
        return {"out_type": as_dtype(self.out_type)}

    def infer(self, sorted_x: TensorType, values: TensorType) -> TensorType:
        if sorted_x.ndim != 2 or values.ndim != 2 or sorted_x.shape[0] != values.shape[0]:
            raise problem(
                ValueError,
                f"{self.name}: there must be as many rows of values as sorted rows",
                got=f"sorted_x {sorted_x}, values {values}",
            )
        return TensorType(self.out_type, values.shape)

    def lower(self, sorted_x: Array, values: Array) -> Array:
        find: Any = jax.vmap(lambda row, wanted: jnp.searchsorted(row, wanted, side=self.side))
        return find(jnp.asarray(sorted_x), jnp.asarray(values)).astype(self.out_type.numpy)


class UpperBound(LowerBound):
    """Insertion indices of values in sorted rows, after equal elements."""

    side = "right"


class InTopK(Op):
    """Whether the target class of each row is among its `k` largest scores."""

    k: int
    differentiable = False
    examples = (case("f32[3,4]", "i32[3]:<4", k=2), case("f16[2,3]", "i32[2]:<3", k=5))

    def normalize(self) -> dict[str, Any]:
        return {"k": check_positive_int("InTopK", "k", self.k)}

    def infer(self, x1: TensorType, x2: TensorType) -> TensorType:
        if x1.ndim != 2 or x2.ndim != 1 or x1.shape[0] != x2.shape[0]:
            raise problem(
                ValueError,
                "InTopK: the inputs must be rows of scores and one target per row",
                got=f"x1 {x1}, x2 {x2}",
            )
        if not x1.dtype.is_float or not x2.dtype.is_integer:
            wrong = x2 if x1.dtype.is_float else x1
            raise unsupported_dtype("InTopK", wrong, "float scores and integer targets")
        return TensorType(bool_, x2.shape)

    def lower(self, x1: Array, x2: Array) -> Array:
        scores = jnp.asarray(x1)
        chosen = jnp.take_along_axis(scores, jnp.asarray(x2)[:, None], axis=1, mode="clip")
        inside = (x2 >= 0) & (x2 < scores.shape[1])
        larger = jnp.sum(scores > chosen, axis=1)
        return inside & jnp.isfinite(chosen[:, 0]) & (larger < self.k)


def quantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Quantiles `q` of the elements along `axis`."""
    return Quantile.of(axis, keepdims)(input, _shares("quantile", input, q))


def nanquantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Quantiles `q` of the elements along `axis`, ignoring NaN."""
    return Quantile.of(axis, keepdims, True)(input, _shares("nanquantile", input, q))


def intopk(x1: Any, x2: Any, k: int) -> Any:
    """Whether the target class of each row is among its `k` largest scores."""
    return InTopK.of(k)(x1, x2)


def _shares(owner: str, input: Any, q: Any) -> Any:
    if not isinstance(input, TensorProtocol):
        raise wrong_type(owner, "input", input, "Tensor")
    if isinstance(q, TensorProtocol):
        return q
    if not isinstance(q, float):
        raise wrong_type(owner, "q", q, "float or Tensor")
    if not 0 <= q <= 1:
        raise problem(ValueError, f"{owner}: q must be between 0 and 1", got=f"q={q}")
    return scalar_to_tensor(q, input.dtype)
