"""Products of vectors and matrices, distances, and norms."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_bool, check_string
from mycelia._engine.core.dtype import bool_
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia.ops.linalg.solve import MatrixTriangularSolve

_COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def bmm(input: Any, mat2: Any) -> Any:
    """Batched matrix product."""
    for name, x in (("input", input), ("mat2", mat2)):
        if len(x.shape) != 3:
            raise problem(
                ValueError, f"bmm: '{name}' must have 3 dimensions", got=f"shape {list(x.shape)}"
            )
    return ops.bmm(input, mat2)


def mv(input: Any, vec: Any) -> Any:
    """Matrix-vector product."""
    return ops.mv(input, vec)


def dot(input: Any, other: Any) -> Any:
    """Dot product of two vectors."""
    if len(input.shape) != 1 or input.shape != other.shape:
        raise problem(
            ValueError,
            "dot: both inputs must be vectors of the same length",
            got=f"shapes {list(input.shape)} and {list(other.shape)}",
        )
    return ops.matmul(input, other)


def vdot(input: Any, other: Any) -> Any:
    """Dot product of two vectors, with the first conjugated."""
    check_tensors("vdot", input=input, other=other)
    return dot(ops.conj(input) if input.dtype.is_complex else input, other)


def outer(input: Any, vec2: Any) -> Any:
    """Outer product of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise problem(
            ValueError,
            "outer: the inputs must be vectors",
            got=f"{input.ndim} and {vec2.ndim} dimensions",
        )
    return ops.outer(input, vec2)


def addr_(input: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * outer(vec1, vec2), in place."""
    return input.copy_(ops.add(ops.mul(input, beta), ops.mul(ops.outer(vec1, vec2), alpha)))


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (batch1 @ batch2)."""
    return ops.baddbmm(input, batch1, batch2, beta, alpha)


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """Cross product along `dim` (default: the first dimension of size 3)."""
    check_tensors("cross", input=input, other=other)
    if input.shape != other.shape:
        raise problem(
            ValueError,
            "cross: the shapes differ",
            got=f"{list(input.shape)} and {list(other.shape)}",
        )
    threes = [i for i, n in enumerate(input.shape) if n == 3]
    axis = normalize_axis(dim, len(input.shape), "cross") if dim is not None else None
    if not threes or (axis is not None and axis not in threes):
        raise problem(
            ValueError,
            "cross: vectors must have 3 elements",
            got=f"shape {list(input.shape)}, dim={dim}",
        )
    place = threes[0] if axis is None else axis

    def turned(x: Any, shift: int) -> Any:
        return ops.roll(x, -shift, place)

    return ops.sub(
        ops.mul(turned(input, 1), turned(other, 2)), ops.mul(turned(input, 2), turned(other, 1))
    )


def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """Pairwise p-norm distances between the rows of `x1` and `x2`; the mode has no effect."""
    check_string("cdist", "compute_mode", compute_mode, _COMPUTE_MODES)
    return ops.cdist(x1, x2, float(p))


def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Solve A @ X = b (with `transpose`, A^T @ X = b) for a triangular A; returns (X, A)."""
    check_bool("triangular_solve", "upper", upper)
    check_bool("triangular_solve", "transpose", transpose)
    matrix = A
    if check_bool("triangular_solve", "unitriangular", unitriangular):
        matrix = ops.where(ops.eye(A.shape[-1], A.shape[-2], bool_), 1.0, A)
    if transpose:
        matrix = ops.swapaxes(matrix, -1, -2)
    return MatrixTriangularSolve(lower=upper == transpose)(matrix, b), A


def inv(input: Any) -> Any:
    """The inverse of each square matrix."""
    return ops.inverse(input)


def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The matrix norm of order `ord` over the two dimensions `dim`."""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The vector norm of order `ord` over `dim` (all dimensions for None)."""
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def qr(A: Any, mode: str = "reduced") -> Any:
    """QR factorization: (Q, R); with mode 'r', Q is empty."""
    if check_string("qr", "mode", mode, ("reduced", "complete", "r")) != "r":
        return ops.qr(A, mode)
    return ops.zeros((0,), A.dtype), ops.qr(A, "reduced")[1]


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """1-D convolution of (time, batch, channels) along the first axis.

    The weight has the shape (kernel, channels in, channels out).
    """
    rows = ops.transpose(input, (1, 2, 0))
    kernel = ops.transpose(weight, (2, 1, 0))
    result = ops.conv1d(rows, kernel, bias, pad_mode="pad", padding=pad)
    return ops.transpose(result, (2, 0, 1))
