"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_bool, check_float, check_non_negative_int, is_int
from mycelia._engine.core.dtype import as_dtype, at_least_float
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import as_shape, normalize_axes
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.max_min import largest, smallest
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.families import reduced_shape
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import check_axes
from mycelia.ops.elementwise.arithmetic import DivNoNan, mul
from mycelia.ops.reduction.family import OverAxes
from mycelia.ops.shapes.reshape import cast, reshape

_MATRIX_ORDERS = (2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc")


class VectorNorm(Op):
    """Vector norm of order `ord` over `axis` (all axes when empty), in the dtype of x."""

    ord: float = 2.0
    axis: tuple[int, ...] = ()
    keep_dims: bool = False
    examples = (
        case("f32[2,3]"),
        case("f32[2,3]:spread", ord=3.0, axis=(1,), keep_dims=True),
        case("f32[4]:distinct", ord=math.inf),
        case("f32[4]:spread", ord=1.0),
        case("f32[4]", ord=0.0, differentiate=False),
        case("c64[2]"),
        case("f32[]:spread"),
    )

    def infer(self, x: TensorType) -> TensorType:
        if not x.dtype.is_inexact:
            raise unsupported_dtype("norm", x, "a floating-point or complex tensor")
        axes = self._axes(x)
        if math.isinf(self.ord) and math.prod(x.shape[i] for i in axes) == 0:
            raise problem(ValueError, "norm: the reduced axes are empty", got=str(x))
        return x.with_shape(reduced_shape(x.shape, axes, self.keep_dims))

    def lower(self, x: Array) -> Array:
        value = power_norm(sizes_of(x), self.ord, self._axes(x), self.keep_dims)
        return value.astype(x.dtype)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        if self.ord != 2 or x.dtype.is_complex:
            return super().grad(x, out, dout)
        kept = reduced_shape(x.shape, self._axes(x), keep_dims=True)
        return (mul(x, DivNoNan.of()(reshape(dout, kept), reshape(out, kept))),)

    def _axes(self, x: Any) -> tuple[int, ...]:
        return normalize_axes(self.axis, len(x.shape), "norm") if x.shape else ()


def sizes_of(x: Array) -> Array:
    """|x| in working precision; its gradient is 0 where x is 0."""
    return widened(jnp.where(x == 0, 0, jnp.abs(x)))


def power_norm(sizes: Array, order: float, axes: tuple[int, ...], keep_dims: bool) -> Array:
    """Norm of absolute values; where it is 0, its gradient is 0 instead of infinite."""
    if order == math.inf:
        return largest(sizes, axes, keep_dims)
    if order == -math.inf:
        return smallest(sizes, axes, keep_dims)
    if order == 0:
        return summed((sizes != 0).astype(sizes.dtype), axes, keep_dims)
    if order == 1:
        return summed(sizes, axes, keep_dims)
    powers = sizes * sizes if order == 2 else jnp.power(sizes, order)
    total = summed(powers, axes, keep_dims)
    zero = total == 0
    safe = jnp.where(zero, jnp.ones_like(total), total)
    root = jnp.sqrt(safe) if order == 2 else jnp.power(safe, 1.0 / order)
    return jnp.where(zero, jnp.zeros_like(root), root)


class MatrixNorm(Op):
    """Matrix norm of order `ord` over the two axes `axis`."""

    ord: Any = "fro"
    axis: tuple[int, int] = (-2, -1)
    keep_dims: bool = False
    examples = (
        case("f32[2,3]"),
        case("f32[2,3]", ord=2),
        case("f32[4,2,3]", ord="nuc", keep_dims=True),
        case("f32[2,3,4]:distinct", ord=math.inf, axis=(0, 2)),
        case("f32[2,3]:distinct", ord=-1),
    )

    def infer(self, x: TensorType) -> TensorType:
        if not x.dtype.is_inexact:
            raise unsupported_dtype("matrix_norm", x, "a floating-point or complex tensor")
        if x.ndim < 2:
            raise problem(
                ValueError, "matrix_norm: the input must have at least 2 dimensions", got=str(x)
            )
        axes = normalize_axes(self.axis, x.ndim, "matrix_norm")
        if self.ord not in ("fro", "nuc") and not all(x.shape[a] for a in axes):
            raise problem(
                ValueError,
                "matrix_norm: this norm of an empty matrix is undefined",
                got=f"{x}, ord={self.ord}",
            )
        return x.with_shape(reduced_shape(x.shape, axes, self.keep_dims))

    def lower(self, x: Array) -> Array:
        wide = x if jnp.issubdtype(x.dtype, jnp.complexfloating) else widened(x)
        value = jnp.linalg.norm(wide, ord=self.ord, axis=self.axis, keepdims=self.keep_dims)
        return value.astype(x.dtype)


class L2Normalize(Op):
    """L2 normalization: x / sqrt(max(sum(x * x over axis), epsilon))."""

    axis: int = 0
    epsilon: float = 1e-4
    examples = (case("f32[2,3]"), case("f32[2,3]", axis=-1), case("f32[3,0]"))

    def normalize(self) -> dict[str, Any]:
        axes = self.axis if isinstance(self.axis, (tuple, list)) else (self.axis,)
        if len(axes) != 1 or not is_int(axes[0]):
            raise wrong_type(self.name, "axis", self.axis, "one int")
        return {"axis": int(axes[0]), "epsilon": check_float(self.name, "epsilon", self.epsilon)}

    def infer(self, input_x: TensorType) -> TensorType:
        if not input_x.dtype.is_float:
            raise unsupported_dtype(self.name, input_x, "a float tensor")
        normalize_axes(self.axis, input_x.ndim, self.name)
        return input_x

    def lower(self, input_x: Array) -> Array:
        wide = widened(input_x)
        total = jnp.sum(wide * wide, axis=self.axis, keepdims=True, dtype=wide.dtype)
        return (wide * lax.rsqrt(jnp.maximum(total, self.epsilon))).astype(input_x.dtype)


class LpNorm(Op):
    """Norm of integer order `p` over `axis`, at least `epsilon`."""

    axis: tuple[int, ...]
    p: int = 2
    keep_dims: bool = False
    epsilon: float = 1e-12
    examples = (
        case("f32[2,3]", axis=1),
        case("f32[2,3]:spread", axis=(0, -1), p=3, keep_dims=True),
        case("f32[3]:zeros", axis=0, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "keep_dims", self.keep_dims)
        return {
            "axis": as_shape(self.axis, self.name),
            "p": check_non_negative_int(self.name, "p", self.p),
            "epsilon": check_float(self.name, "epsilon", self.epsilon),
        }

    def infer(self, input: TensorType) -> TensorType:
        if not input.dtype.is_float:
            raise unsupported_dtype(self.name, input, "a float tensor")
        check_axes(self.name, "input", input)
        axes = normalize_axes(self.axis, input.ndim, self.name)
        return input.with_shape(reduced_shape(input.shape, axes, self.keep_dims))

    def lower(self, input: Array) -> Array:
        axes = normalize_axes(self.axis, input.ndim, self.name)
        value = power_norm(sizes_of(input), self.p, axes, self.keep_dims)
        return jnp.maximum(value, self.epsilon).astype(input.dtype)


class EuclideanNorm(OverAxes):
    """Euclidean norm over `axes`, in the dtype of x."""

    static = ("axes",)
    kinds = ("int", "uint", "float", "complex")
    examples = (case("f32[2,3]", (1,)), case("f32[2,3]", ()), case("i32[3]", 0))

    def lower(self, x: Array, axes: Any) -> Array:
        sizes = sizes_of(x)
        value = power_norm(sizes, 2, self.axes(x, axes), self.keep_dims)
        return value.astype(x.dtype)

    def grad(self, x: Any, axes: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        kept = self.kept(x, axes)
        return (mul(x, DivNoNan.of()(reshape(dout, kept), reshape(out, kept))),)


class L2Loss(Op):
    """L2 loss: half the sum of squares of all elements."""

    examples = (case("f32[2,3]"), case("f32[]"), case("f16[4]", differentiate=False))

    def infer(self, input_x: TensorType) -> TensorType:
        if not input_x.dtype.is_float:
            raise unsupported_dtype(self.name, input_x, "a float tensor")
        return input_x.with_shape(())

    def lower(self, input_x: Array) -> Array:
        wide = widened(input_x)
        return (0.5 * summed(wide * wide)).astype(input_x.dtype)

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, input_x),)


class SquareSumAll(Op):
    """Sums of squares of two tensors."""

    examples = (case("f32[2,3]", "f32[2,3]"), case("f32[4]", "f32[4]"))

    def lower(self, x1: Array, x2: Array) -> tuple[Array, Array]:
        return summed(x1 * x1), summed(x2 * x2)


def vector_norm(
    x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None
) -> Any:
    """Vector norm of order `ord` over `axis` (all axes when None)."""
    check_tensors("vector_norm", x=x)
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise problem(ValueError, "vector_norm: the order must be a number", got=f"ord={ord!r}")
    axes = () if axis is None else as_shape(axis, "vector_norm")
    return VectorNorm.of(float(ord), axes, keepdims)(_measured(x, dtype))


def matrix_norm(
    A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None
) -> Any:
    """Matrix norm of order `ord` over the two axes `axis`."""
    check_tensors("matrix_norm", A=A)
    if ord not in _MATRIX_ORDERS:
        raise problem(
            ValueError,
            "matrix_norm: unknown order for matrices",
            got=f"ord={ord!r}",
            expected=", ".join(map(repr, _MATRIX_ORDERS)),
        )
    axes = as_shape(axis, "matrix_norm")
    if len(axes) != 2:
        raise problem(ValueError, "matrix_norm: axis must name two axes", got=f"axis={axis}")
    return MatrixNorm.of(ord, axes, keepdims)(_measured(A, dtype))


def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Norm of vectors (one axis in `dim`), of matrices (two), or of all elements.

    Without `ord` it is the square root of the sum of squares. With `ord` and without `dim` the
    tensor itself must be a vector or a matrix.
    """
    check_tensors("norm", A=A)
    if dim is not None and not is_int(dim) and not isinstance(dim, (tuple, list)):
        raise wrong_type("norm", "dim", dim, "int or tuple of int")
    axes = () if dim is None else as_shape(dim, "norm")
    rank = len(axes) if axes else len(A.shape)
    if rank > 2 and (axes or ord is not None):
        raise problem(
            ValueError,
            "norm: the input must be a vector or a matrix",
            got=f"{rank} axes",
            fix="pass one or two axes as dim",
        )
    if ord is None:
        return vector_norm(A, 2, axes, keepdim, dtype=dtype)
    if rank == 2:
        return matrix_norm(A, ord, axes or (0, 1), keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise problem(TypeError, "norm: this order is not defined for vectors", got=f"ord={ord!r}")
    return vector_norm(A, ord, axes, keepdim, dtype=dtype)


def _measured(x: Any, dtype: Any) -> Any:
    return cast(x, at_least_float(x.dtype) if dtype is None else as_dtype(dtype))
