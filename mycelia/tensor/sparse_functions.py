"""Functions of COOTensors and CSRTensors: `coo_*` and `csr_*`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.tensor.sparse_matrix import (
    COOTensor,
    CSRTensor,
    SparseTensorBase,
    coo_of,
    csr_of,
    row_starts,
)
from mycelia.tensor.tensor import Tensor

Function = Callable[[Any], Any]


def _on_both(fn: Function) -> tuple[Function, Function]:
    """The element-wise function of the stored values, for COOTensors and for CSRTensors."""

    def on(kind: type[SparseTensorBase]) -> Function:
        def apply(x: Any) -> Any:
            if not isinstance(x, kind):
                raise wrong_type(apply.__name__, "x", x, kind.__name__)
            return x.map(fn)

        apply.__name__ = f"{kind.__name__[:3].lower()}_{fn.__name__}"
        apply.__doc__ = f"`{fn.__name__}` of the stored values of a {kind.__name__}."
        return apply

    return on(COOTensor), on(CSRTensor)


coo_abs, csr_abs = _on_both(ops.abs)
coo_acos, csr_acos = _on_both(ops.acos)
coo_acosh, csr_acosh = _on_both(ops.acosh)
coo_asin, csr_asin = _on_both(ops.asin)
coo_asinh, csr_asinh = _on_both(ops.asinh)
coo_atan, csr_atan = _on_both(ops.atan)
coo_atanh, csr_atanh = _on_both(ops.atanh)
coo_ceil, csr_ceil = _on_both(ops.ceil)
coo_cos, csr_cos = _on_both(ops.cos)
coo_cosh, csr_cosh = _on_both(ops.cosh)
coo_exp, csr_exp = _on_both(ops.exp)
coo_expm1, csr_expm1 = _on_both(ops.expm1)
coo_floor, csr_floor = _on_both(ops.floor)
coo_inv, csr_inv = _on_both(ops.inv)
coo_isfinite, csr_isfinite = _on_both(ops.isfinite)
coo_isinf, csr_isinf = _on_both(ops.isinf)
coo_isnan, csr_isnan = _on_both(ops.isnan)
coo_log, csr_log = _on_both(ops.log)
coo_log1p, csr_log1p = _on_both(ops.log1p)
coo_neg, csr_neg = _on_both(ops.neg)
coo_relu, csr_relu = _on_both(ops.relu)
coo_relu6, csr_relu6 = _on_both(ops.relu6)
coo_round, csr_round = _on_both(ops.round)
coo_sigmoid, csr_sigmoid = _on_both(ops.sigmoid)
coo_sin, csr_sin = _on_both(ops.sin)
coo_sinh, csr_sinh = _on_both(ops.sinh)
coo_softsign, csr_softsign = _on_both(ops.softsign)
coo_sqrt, csr_sqrt = _on_both(ops.sqrt)
coo_square, csr_square = _on_both(ops.square)
coo_tan, csr_tan = _on_both(ops.tan)
coo_tanh, csr_tanh = _on_both(ops.tanh)


def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """Add two COOTensors; sums with an absolute value below `thresh` are dropped."""
    return _coo("coo_add", x1).add(x2, thresh)


def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """Concatenate COOTensors along an axis."""
    if not isinstance(sp_input, (tuple, list)) or len(sp_input) < 2:
        raise problem(ValueError, "coo_concat: pass at least two COOTensors")
    first = _coo("coo_concat", sp_input[0])
    axis = concat_dim % first.ndim
    total, places = 0, []
    for one in sp_input:
        rest = [n for i, n in enumerate(_coo("coo_concat", one).shape) if i != axis]
        if rest != [n for i, n in enumerate(first.shape) if i != axis]:
            raise problem(
                ValueError,
                "coo_concat: the shapes differ in another axis",
                got=f"{first.shape} and {one.shape}",
            )
        shift = Tensor([total if i == axis else 0 for i in range(one.ndim)], one.indices.dtype)
        places.append(one.indices + shift)
        total += one.shape[axis]
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    values = ops.concat(tuple(one.values for one in sp_input))
    return COOTensor(ops.concat(tuple(places)), values, shape)


def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """`alpha` times `a` and `beta` times `b`."""
    return _csr("csr_add", a).add(b, alpha, beta)


def csr_mul(x: CSRTensor, y: Tensor) -> CSRTensor:
    """Multiply the stored values by the elements of a dense tensor at the same indices."""
    return _csr("csr_mul", x) * y


def csr_div(x: CSRTensor, y: Tensor) -> CSRTensor:
    """Divide the stored values by the elements of a dense tensor at the same indices."""
    return _csr("csr_div", x) / y


def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """Matrix-vector product of a CSRTensor and a dense vector."""
    return _csr("csr_mv", csr_tensor).mv(dense)


def csr_mm(
    a: CSRTensor,
    b: Any,
    trans_a: bool = False,
    trans_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Any:
    """Matrix product; each factor may be transposed first, or conjugated, too (adjoint)."""
    _csr("csr_mm", a)
    left = _turned(a, trans_a, adjoint_a)
    return left.mm(_turned(b, trans_b, adjoint_b))


def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """Sum along an axis, which remains with size 1."""
    return _csr("csr_reduce_sum", csr_tensor).sum(axis)


def csr_softmax(logits: CSRTensor, dtype: Any) -> CSRTensor:
    """Softmax over the stored values of each row, in `dtype`."""
    values = _csr("csr_softmax", logits).values.astype(dtype)
    rows = logits.rows().reshape(-1, 1)
    count = logits.shape[:1]
    lowest = ops.full(count, float("-inf"), dtype=values.dtype)
    highest = ops.tensor_scatter_max(lowest, rows, values)
    grown = ops.exp(values - ops.gather_nd(highest, rows))
    totals = ops.scatter_nd(rows, grown, count)
    return logits.with_values(grown / ops.gather_nd(totals, rows))


def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, dense_shape: Any) -> Tensor:
    """Gather the elements of a dense matrix at the indices of a CSRTensor."""
    return CSRTensor(indptr, indices, indices, tuple(dense_shape)).at_places(dense)


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """Convert a CSRTensor to a dense tensor."""
    return _csr("csr_to_dense", csr_tensor).to_dense()


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """Convert a CSRTensor to a COOTensor."""
    return _csr("csr_to_coo", tensor).to_coo()


def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """Convert row pointers to the row index of each of `nnz` values."""
    each = Tensor(list(range(nnz)), indptr.dtype)
    return CSRTensor(indptr, each, each, (indptr.shape[0] - 1, max(nnz, 1))).rows()


def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Convert sorted row indices to the row pointers of `height` rows."""
    return row_starts(row_indices, height)


def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """Convert a dense tensor to a COOTensor of its nonzero elements."""
    return coo_of(tensor)


def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """Convert a dense matrix to a CSRTensor of its nonzero elements."""
    return csr_of(tensor)


def make_sparse_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> COOTensor:
    """Create a COOTensor from indices, values, and a dense shape."""
    return COOTensor(indices, values, tuple(dense_shape))


def coo_tensor_get_indices(x: COOTensor) -> Tensor:
    return _coo("coo_tensor_get_indices", x).indices


def coo_tensor_get_values(x: COOTensor) -> Tensor:
    return _coo("coo_tensor_get_values", x).values


def coo_tensor_get_dense_shape(x: COOTensor) -> tuple[int, ...]:
    return _coo("coo_tensor_get_dense_shape", x).shape


def csr_tensor_get_indptr(x: CSRTensor) -> Tensor:
    return _csr("csr_tensor_get_indptr", x).indptr


def csr_tensor_get_indices(x: CSRTensor) -> Tensor:
    return _csr("csr_tensor_get_indices", x).indices


def csr_tensor_get_values(x: CSRTensor) -> Tensor:
    return _csr("csr_tensor_get_values", x).values


def csr_tensor_get_dense_shape(x: CSRTensor) -> tuple[int, ...]:
    return _csr("csr_tensor_get_dense_shape", x).shape


def _turned(matrix: Any, transposed: bool, adjoint: bool) -> Any:
    if not (transposed or adjoint):
        return matrix
    if isinstance(matrix, Tensor):
        turned = matrix.T
        return ops.conj(turned) if adjoint and matrix.dtype.is_complex else turned
    by_place = matrix.to_coo()
    conjugate = adjoint and matrix.dtype.is_complex
    values = ops.conj(by_place.values) if conjugate else by_place.values
    return COOTensor(by_place.indices[:, ::-1], values, matrix.shape[::-1]).to_csr()


def _coo(owner: str, x: Any) -> COOTensor:
    if not isinstance(x, COOTensor):
        raise wrong_type(owner, "x", x, "COOTensor")
    return x


def _csr(owner: str, x: Any) -> CSRTensor:
    if not isinstance(x, CSRTensor):
        raise wrong_type(owner, "x", x, "CSRTensor")
    return x


_PUBLIC = ("coo_", "csr_", "coo2", "csr2", "dense_to_sparse_", "make_sparse_")
__all__ = [n for n in globals() if n.startswith(_PUBLIC) and n not in ("coo_of", "csr_of")]
