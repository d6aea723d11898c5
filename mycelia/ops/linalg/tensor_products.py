"""Tensor products: einsum, tensordot, outer and Kronecker products, addmm and its relatives."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, as_shape, normalize_axis, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.dot import check_same_dtype, wide_dtype
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.elementwise.arithmetic import add, mul
from mycelia.ops.linalg.matmul import BatchMatMul, MatMul, mv
from mycelia.ops.shapes.reshape import cast, reshape, sum_to, transpose


class Einsum(Op):
    """Einstein summation over a tuple of tensors: `Einsum('ij,jk->ik')((x, y))`."""

    equation: str
    promotes = ("x",)
    examples = (
        case(("f32[2,3]", "f32[3,4]"), equation="ij,jk->ik"),
        case(("f32[2,3,3]",), equation="bii->b"),
        case(("f32[2,3]", "f32[2,3]", "f32[4,3]"), equation="...j,...j,kj->...k"),
    )

    def lower(self, x: tuple[Array, ...]) -> Array:
        product = jnp.einsum(self.equation, *x, preferred_element_type=wide_dtype(x[0].dtype))
        return product.astype(x[0].dtype)


class Ger(Op):
    """Outer product of two vectors."""

    examples = (case("f32[2]", "f32[3]"), case("f32[0]", "f32[3]"))

    def infer(self, x1: TensorType, x2: TensorType) -> TensorType:
        check_same_dtype(self.name, x1, x2)
        if not x1.dtype.is_float:
            raise unsupported_dtype(self.name, x1, "a float tensor")
        if x1.ndim != 1 or x2.ndim != 1:
            raise problem(ValueError, "Ger: both inputs must be vectors", got=f"{x1} and {x2}")
        return x1.with_shape((x1.shape[0], x2.shape[0]))

    def lower(self, x1: Array, x2: Array) -> Array:
        return jnp.outer(x1, x2)

    def grad(self, x1: Any, x2: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return mv(dout, x2), mv(transpose(dout, (1, 0)), x1)


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """Bilinear layer: input1^T W input2 + bias for each matrix W in `weight`."""
    product = Einsum.of("...i,oij,...j->...o")((input1, weight, input2))
    return product if bias is None else add(product, bias)


def einsum(equation: str, *operands: Any) -> Any:
    """Einstein summation: `einsum('ij,jk->ik', x, y)`."""
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    return Einsum.of(equation)(operands)


def dot(input: Any, other: Any) -> Any:
    """Dot product over the last axis of `input` and the second-to-last axis of `other`."""
    check_tensors("dot", input=input, other=other)
    if len(input.shape) < 2 or len(other.shape) < 2:
        raise problem(
            ValueError,
            "dot: both inputs must have at least 2 dimensions",
            got=f"shapes {list(input.shape)} and {list(other.shape)}",
            fix="ops.matmul accepts vectors",
        )
    if not input.dtype.is_float:
        raise unsupported_dtype("dot", TensorType(input.dtype, input.shape), "a float tensor")
    return tensor_dot(input, other, (-1, -2))


def inner(input: Any, other: Any) -> Any:
    """Inner product over the last axes; with a scalar, the elementwise product."""
    check_tensors("inner", input=input, other=other)
    if not input.shape or not other.shape:
        return mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise problem(
            ValueError,
            "inner: the last sizes differ",
            got=f"shapes {list(input.shape)} and {list(other.shape)}",
        )
    return tensor_dot(input, other, (-1, -1))


def tensor_dot(x1: Any, x2: Any, axes: Any) -> Any:
    """Tensor contraction over the last n and first n axes (`axes=n`) or two lists of axes."""
    check_tensors("tensor_dot", x1=x1, x2=x2)
    left, right = _paired_axes(x1.shape, x2.shape, axes)
    free_left = tuple(i for i in range(len(x1.shape)) if i not in left)
    free_right = tuple(i for i in range(len(x2.shape)) if i not in right)
    rows, columns = _sizes(x1.shape, free_left), _sizes(x2.shape, free_right)
    inner_size = size(_sizes(x1.shape, left))
    x = reshape(transpose(x1, (*free_left, *left)), (size(rows), inner_size))
    y = reshape(transpose(x2, (*right, *free_right)), (inner_size, size(columns)))
    return reshape(MatMul.of()(x, y), (*rows, *columns))


def _paired_axes(left: Shape, right: Shape, axes: Any) -> tuple[Shape, Shape]:
    if is_int(axes):
        pairs = tuple(range(len(left) - axes, len(left))), tuple(range(axes))
        fits = 0 <= axes <= min(len(left), len(right))
    else:
        first, second = (as_shape(a, "tensor_dot") for a in axes)
        pairs = (
            tuple(normalize_axis(a, len(left), "tensor_dot") for a in first),
            tuple(normalize_axis(a, len(right), "tensor_dot") for a in second),
        )
        fits = len(first) == len(second)
    if not fits or _sizes(left, pairs[0]) != _sizes(right, pairs[1]):
        raise problem(
            ValueError,
            "tensor_dot: the axes to sum over do not match",
            got=f"shapes {list(left)} and {list(right)} with axes={axes}",
            expected="pairs of axes of equal sizes",
        )
    return pairs


def _sizes(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(shape[a] for a in axes)


def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Any:
    """Batched dot product over one axis of `x1` and one of `x2`; axis 0 is the batch."""
    rank_1, rank_2 = len(x1.shape), len(x2.shape)
    pair = (rank_1 - 1, max(rank_2 - 2, 1)) if axes is None else axes
    first, second = (pair, pair) if is_int(pair) else pair
    left = normalize_axis(first, rank_1, "batch_dot")
    right = normalize_axis(second, rank_2, "batch_dot")
    free_left = tuple(i for i in range(1, rank_1) if i != left)
    free_right = tuple(i for i in range(1, rank_2) if i != right)
    rows, columns = _sizes(x1.shape, free_left), _sizes(x2.shape, free_right)
    if 0 in (left, right) or x1.shape[0] != x2.shape[0] or x1.shape[left] != x2.shape[right]:
        raise problem(
            ValueError,
            "batch_dot: the shapes do not match",
            got=f"shapes {list(x1.shape)} and {list(x2.shape)} with axes={axes}",
            expected="equal batch sizes, and equal sizes on the two axes; axis 0 is the batch",
        )
    batch, inner_size = x1.shape[0], x1.shape[left]
    x = reshape(transpose(x1, (0, *free_left, left)), (batch, size(rows), inner_size))
    y = reshape(transpose(x2, (0, right, *free_right)), (batch, inner_size, size(columns)))
    result = (batch, *rows, *columns)
    return reshape(BatchMatMul.of()(x, y), result if len(result) > 1 else (batch, 1))


def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """Vector dot product along one axis."""
    product = mul(x, y)
    position = normalize_axis(axis, len(product.shape), "vecdot")
    wide = cast(product, "int64") if product.dtype.kind in ("bool", "int", "uint") else product
    kept = tuple(1 if i == position else n for i, n in enumerate(product.shape))
    return reshape(sum_to(wide, kept), (*kept[:position], *kept[position + 1 :]))


def outer(input: Any, vec2: Any) -> Any:
    """Outer product: `input` as a column times `vec2`, broadcasting."""
    return mul(reshape(input, (-1, 1)), vec2)


def ger(input: Any, vec2: Any) -> Any:
    """Outer product of two vectors."""
    return Ger.of()(input, vec2)


def kron(input: Any, other: Any) -> Any:
    """Kronecker product."""
    check_tensors("kron", input=input, other=other)
    rank = max(len(input.shape), len(other.shape))
    left = (1,) * (rank - len(input.shape)) + tuple(input.shape)
    right = (1,) * (rank - len(other.shape)) + tuple(other.shape)
    x = reshape(input, tuple(n for pair in zip(left, (1,) * rank, strict=True) for n in pair))
    y = reshape(other, tuple(n for pair in zip((1,) * rank, right, strict=True) for n in pair))
    return reshape(mul(x, y), tuple(a * b for a, b in zip(left, right, strict=True)))


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Matrix product and addition: beta * input + alpha * (mat1 @ mat2)."""
    return _weighted("addmm", input, MatMul.of()(mat1, mat2), beta, alpha)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Matrix-vector product and addition: beta * input + alpha * (mat @ vec)."""
    return _weighted("addmv", input, mv(mat, vec), beta, alpha)


def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Outer product and addition: beta * x + alpha * outer(vec1, vec2)."""
    check_tensors("addr", x=x, vec1=vec1, vec2=vec2)
    return _weighted("addr", x, outer(vec1, vec2), beta, alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """Batched matrix product and addition: beta * input + alpha * (batch1 @ batch2)."""
    return _weighted("baddbmm", input, BatchMatMul.of()(batch1, batch2), beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Sum of batched matrix products: beta * input + alpha * sum(batch1 @ batch2)."""
    product = BatchMatMul.of()(batch1, batch2)
    return _weighted("addbmm", input, sum_to(product, product.shape[1:]), beta, alpha)


def _weighted(name: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    fractions = isinstance(beta, float) or isinstance(alpha, float)
    if fractions and not input.dtype.is_inexact:
        raise problem(
            TypeError,
            f"{name}: beta and alpha must be ints for integer tensors",
            got=f"beta={beta}, alpha={alpha} and {input.dtype}",
        )
    scaled = product if alpha == 1 else mul(product, alpha)
    return add(input if beta == 1 else mul(input, beta), scaled)
