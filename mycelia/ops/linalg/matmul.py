"""Matrix products, the fused linear layer, and bias addition."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, broadcast, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.batch_last import prefers_batch_last
from mycelia._engine.kernels.channel_sums import along_channels, channel_axis, channel_sum
from mycelia._engine.kernels.dot import (
    are_many_and_small,
    check_inner_sizes,
    check_same_dtype,
    contract,
    contract_each,
    matrix_product,
    wide_dtype,
)
from mycelia._engine.kernels.tiled_convolution import TILE, to_tiles
from mycelia._engine.operators.device import on_cpu
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_axes, check_same_dtypes
from mycelia.ops.elementwise.arithmetic import add
from mycelia.ops.shapes.reshape import broadcast_to, reshape, sum_to

_SMALL = 1 << 14  # elements of a matrix that is not worth a copy


class MatMul(Op):
    """Matrix product; either matrix may be transposed first."""

    transpose_a: bool = False
    transpose_b: bool = False
    host_limit = 256
    examples = (
        case("f32[2,3]", "f32[3,4]"),
        case("f32[3,2]", "f32[4,3]", transpose_a=True, transpose_b=True),
        case("f32[0,3]", "f32[4,3]", transpose_b=True),
        case("f32[2,0]", "f32[0,3]"),
        case("i32[2,3]", "i32[3,2]"),
        case("f16[2,3]", "f16[3,2]", differentiate=False),
    )

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        check_same_dtype(self.name, x, y)
        if x.ndim != 2 or y.ndim != 2:
            raise problem(
                ValueError,
                "MatMul: both inputs must be matrices",
                got=f"x {x} and y {y}",
                expected="two 2-d tensors",
                fix="ops.matmul and ops.BatchMatMul take more dimensions",
            )
        rows, inner = x.shape[::-1] if self.transpose_a else x.shape
        other, columns = y.shape[::-1] if self.transpose_b else y.shape
        check_inner_sizes(self.name, x, y, inner, other)
        return x.with_shape((rows, columns))

    def kept_orders(self, x: TensorType, y: TensorType) -> dict[int, Shape]:
        """A weight (out, in) whose gradient is computed as (in, out) is best stored that way."""
        fits = self.transpose_b and not self.transpose_a and on_cpu()
        return {1: (1, 0)} if fits and _turns_result(x.shape[0], *y.shape) else {}

    def lower(self, x: Array, y: Array) -> Array:
        inner = 1 if self.transpose_b else 0
        if self.transpose_a and not on_cpu():
            return contract(x, y, (((0,), (inner,)), ((), ())))
        if self.transpose_a and not self.transpose_b:
            return over_rows(x, y)
        left = lax.optimization_barrier(jnp.transpose(x)) if self.transpose_a else x
        return contract(left, y, (((1,), (inner,)), ((), ())))

    def host(self, x: Any, y: Any) -> Any:
        if x.ndim != 2 or y.ndim != 2 or x.dtype is not y.dtype:
            raise ValueError("not two matrices of one dtype")  # `infer` explains it
        if self.transpose_a:
            x = x.T
        if self.transpose_b:
            y = y.T
        if x.dtype.itemsize >= 4 or x.dtype.kind in "iub":
            return x.dot(y)
        return x.astype(np.float32).dot(y.astype(np.float32)).astype(x.dtype)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return _product_grads(MatMul, self.transpose_a, self.transpose_b, x, y, dout)


_MATMUL = MatMul.of()


class BatchMatMul(Op):
    """Batched matrix product over the last two axes; the leading axes broadcast."""

    transpose_a: bool = False
    transpose_b: bool = False
    examples = (
        case("f32[2,2,3]", "f32[2,3,4]"),
        case("f32[5,3,2]", "f32[4,3]", transpose_a=True, transpose_b=True),
        case("f32[2,1,2,3]", "f32[4,3,2]"),
        case("f32[2,5,2,3]", "f32[3,4]"),
        case("f32[0,2,3]", "f32[0,3,4]"),
    )

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        check_same_dtype(self.name, x, y)
        if x.ndim < 2 or y.ndim < 2:
            raise problem(
                ValueError,
                f"{self.name}: both inputs must have at least 2 dimensions",
                got=f"x {x} and y {y}",
                fix="ops.matmul accepts vectors too",
            )
        rows, inner = x.shape[:-3:-1] if self.transpose_a else x.shape[-2:]
        other, columns = y.shape[:-3:-1] if self.transpose_b else y.shape[-2:]
        check_inner_sizes(self.name, x, y, inner, other)
        batch = broadcast(x.shape[:-2], y.shape[:-2], op=self.name)
        return x.with_shape((*batch, rows, columns))

    def has_small_products(self, x: TensorType, y: TensorType) -> bool:
        return x.dtype is float32 and are_many_and_small(x, y)

    def lower(self, x: Array, y: Array) -> Array:
        inner_x = x.ndim - (2 if self.transpose_a else 1)
        inner_y = y.ndim - (1 if self.transpose_b else 2)
        if y.ndim == 2 and not self.transpose_a:
            return contract(x, y, (((inner_x,), (inner_y,)), ((), ())))
        if x.shape[:-2] == y.shape[:-2]:
            return contract_each(x, y, inner_x, inner_y)
        left = jnp.swapaxes(x, -1, -2) if self.transpose_a else x
        right = jnp.swapaxes(y, -1, -2) if self.transpose_b else y
        return jnp.matmul(left, right, preferred_element_type=wide_dtype(x.dtype)).astype(x.dtype)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        if len(y.shape) == 2 and not self.transpose_a:
            rows = reshape(x, (size(x.shape[:-1]), x.shape[-1]))
            drows = reshape(dout, (size(dout.shape[:-1]), dout.shape[-1]))
            dx, dy = _product_grads(MatMul, False, self.transpose_b, rows, y, drows)
            return reshape(dx, x.shape), dy
        dx, dy = _product_grads(BatchMatMul, self.transpose_a, self.transpose_b, x, y, dout)
        return sum_to(dx, x.shape), sum_to(dy, y.shape)


class Dense(Op):
    """Fully connected layer: x @ w^T + b; `x` may have leading axes, `b` may be None."""

    examples = (
        case("f32[2,3]", "f32[4,3]", "f32[4]"),
        case("f32[2,5,3]", "f32[4,3]", "f32[4]"),
        case("f32[3]", "f32[4,3]", None),
        case("f32[0,3]", "f32[4,3]", "f32[4]"),
        case("bf16[2,3]", "bf16[4,3]", "bf16[4]", differentiate=False),
    )

    def infer(self, x: TensorType, w: TensorType, b: TensorType | None) -> TensorType:
        check_same_dtype(self.name, x, w)
        if w.ndim != 2 or x.ndim < 1:
            raise problem(
                ValueError,
                "Dense: the weight must be a matrix, and the input must have at least 1 dimension",
                got=f"input {x} and weight {w}",
            )
        check_inner_sizes(self.name, x, w, x.shape[-1], w.shape[1])
        check_same_dtypes(self.name, x=x, b=b)
        if b is not None and b.shape != (w.shape[0],):
            raise problem(
                ValueError,
                "Dense: the bias does not match the weight",
                got=f"weight {w} and bias {b}",
                expected=f"a bias of shape [{w.shape[0]}]",
            )
        return x.with_shape((*x.shape[:-1], w.shape[0]))

    def lower(self, x: Array, w: Array, b: Array | None = None) -> Array:
        product = contract(x, w, (((x.ndim - 1,), (1,)), ((), ())))
        return product if b is None else product + b

    def grad(self, x: Any, w: Any, b: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        rows = reshape(x, (size(x.shape[:-1]), x.shape[-1]))
        drows = reshape(dout, (size(dout.shape[:-1]), dout.shape[-1]))
        dx = reshape(MatMul.of()(drows, w), x.shape)
        dw = MatMul.of(True)(drows, rows)
        return dx, dw, None if b is None else BiasAddGrad.of("NHWC")(drows)


class BiasAdd(Op):
    """Adds a bias vector along the channel axis."""

    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}
    examples = (
        case("f32[2,3]", "f32[3]"),
        case("f32[2,3,2,2]", "f32[3]"),
        case("f32[2,2,2,3]", "f32[3]", data_format="NHWC"),
        case("f32[2,3,1,2,2]", "f32[3]", data_format="NCDHW"),
    )

    def normalize(self) -> dict[str, Any]:
        channel_axis(self.name, self.data_format, 4)
        return {}

    def infer(self, input_x: TensorType, bias: TensorType) -> TensorType:
        check_same_dtype(self.name, input_x, bias)
        if not 2 <= input_x.ndim <= 5:
            raise problem(
                ValueError, "BiasAdd: the input must have 2 to 5 dimensions", got=str(input_x)
            )
        axis = channel_axis(self.name, self.data_format, input_x.ndim)
        if bias.shape != (input_x.shape[axis],):
            raise problem(
                ValueError,
                "BiasAdd: the bias does not match the channels of the input",
                got=f"input {input_x} and bias {bias}",
                expected=f"a bias of shape [{input_x.shape[axis]}] ({self.data_format})",
            )
        return input_x

    def lower(self, input_x: Array, bias: Array) -> Array:
        axis = channel_axis(self.name, self.data_format, input_x.ndim)
        return input_x + jnp.reshape(bias, along_channels(input_x.ndim, axis, bias.size))

    def grad(self, input_x: Any, bias: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return dout, BiasAddGrad.of(self.data_format)(dout)


class BiasAddGrad(Op):
    """Gradient of a bias: the sum over all axes but the channels."""

    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}
    examples = (
        case("f32[2,3]"),
        case("f32[2,3,4,2]"),
        case("f32[512,3]", data_format="NHWC"),
        case("f32[0,3]", data_format="NHWC"),
    )

    def infer(self, dout: TensorType) -> TensorType:
        check_axes(self.name, "dout", dout, least=2)
        return dout.with_shape((dout.shape[channel_axis(self.name, self.data_format, dout.ndim)],))

    def lower(self, dout: Array) -> Array:
        axis = channel_axis(self.name, self.data_format, dout.ndim)
        if axis == 1 and prefers_batch_last(dout.shape):
            return _tiled_sum(dout)
        return channel_sum(dout, axis)

    def grad(self, dout: Any, out: Any, ddout: Any) -> tuple[Any, ...]:
        axis = channel_axis(self.name, self.data_format, len(dout.shape))
        kept = reshape(ddout, along_channels(len(dout.shape), axis, dout.shape[axis]))
        return (broadcast_to(kept, dout.shape),)


def _tiled_sum(dout: Array) -> Array:
    """The sum over all but the channels, as a product of tiles with ones.

    A sum along the innermost axis runs element by element and takes six times as long. The
    gradient of a convolution's weight needs the same tiles, so they are computed only once.
    """
    rows, wide = to_tiles(dout, (TILE,) * (dout.ndim - 2)), wide_dtype(dout.dtype)
    ones = jnp.ones(rows.shape[1:], rows.dtype)
    sums = lax.dot_general(rows, ones, (((1,), (0,)), ((), ())), preferred_element_type=wide)
    return jnp.sum(sums.reshape(-1, dout.shape[1]), axis=0, dtype=wide).astype(dout.dtype)


def over_rows(x: Array, y: Array) -> Array:
    """x^T y on CPU, where a dot is fastest if its left side has the contracted axis last.

    A direct dot takes 51 ms where a transposed copy and a plain dot take 30 (a large weight
    gradient of Dense). What is copied is one side, or the other and the result, if that is less.
    """
    if max(x.size, y.size) < _SMALL:
        return contract(x, y, (((0,), (0,)), ((), ())))
    if not _turns_result(x.shape[0], x.shape[1], y.shape[1]):
        return matrix_product(lax.optimization_barrier(x.T), y)
    return lax.optimization_barrier(matrix_product(lax.optimization_barrier(y.T), x)).T


def _turns_result(rows: int, columns: int, others: int) -> bool:
    """Whether x^T y is large enough for copies, and y and the result are smaller than x."""
    is_small = rows * max(columns, others) < _SMALL
    return not is_small and rows * columns > rows * others + columns * others


def _product_grads(product: Any, trans_a: bool, trans_b: bool, x: Any, y: Any, dout: Any) -> Any:
    """Gradients of both sides of a product, as products without extra transposes."""
    dx = product.of(trans_b, True)(y, dout) if trans_a else product.of(False, not trans_b)(dout, y)
    dy = product.of(True, trans_a)(dout, x) if trans_b else product.of(not trans_a, False)(x, dout)
    return dx, dy


def matmul(input: Any, other: Any) -> Any:
    """Matrix product of tensors, with NumPy's rules for vectors and broadcasting."""
    check_tensors("matmul", input=input, other=other)
    rank_x, rank_y = input.ndim, other.ndim
    if rank_x == rank_y == 2:
        return _MATMUL(input, other)
    if rank_x == 0 or rank_y == 0:
        raise problem(
            ValueError,
            "matmul: both inputs must have at least 1 dimension",
            fix="use mul for scalars",
        )
    x = reshape(input, (1, *input.shape)) if rank_x == 1 else input
    y = reshape(other, (*other.shape, 1)) if rank_y == 1 else other
    product = BatchMatMul.of()(x, y)
    if rank_x > 1 and rank_y > 1:
        return product
    *batch, rows, columns = product.shape
    kept_rows = (rows,) if rank_x > 1 else ()
    kept_columns = (columns,) if rank_y > 1 else ()
    return reshape(product, (*batch, *kept_rows, *kept_columns))


def bmm(input_x: Any, mat2: Any) -> Any:
    """Batched matrix product."""
    return BatchMatMul.of()(input_x, mat2)


def mm(input: Any, mat2: Any) -> Any:
    """Matrix product of two matrices."""
    return MatMul.of()(input, mat2)


def mv(mat: Any, vec: Any) -> Any:
    """Matrix-vector product."""
    if len(mat.shape) != 2 or len(vec.shape) != 1:
        raise problem(
            ValueError,
            "mv: the inputs must be a matrix and a vector",
            got=f"shapes {list(mat.shape)} and {list(vec.shape)}",
        )
    return reshape(MatMul.of()(mat, reshape(vec, (*vec.shape, 1))), (mat.shape[0],))


def dense(input: Any, weight: Any, bias: Any = None) -> Any:
    """Fully connected layer: ``input @ weight.T + bias``; a 1-d weight acts as a vector."""
    if len(weight.shape) == 2 and (bias is None or bias.shape == weight.shape[:1]):
        return Dense.of()(input, weight, bias)
    if len(weight.shape) == 2:
        product = Dense.of()(input, weight, None)
    else:
        product = matmul(input, weight)
    return product if bias is None else add(product, bias)


def bias_add(input_x: Any, bias: Any) -> Any:
    """Adds `bias` along the channel axis (the second) of `input_x`."""
    return BiasAdd.of()(input_x, bias)
