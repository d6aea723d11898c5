"""Sparse tensors: COOTensor (coordinates) and CSRTensor (compressed rows)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.shape import Shape
from mycelia.tensor.tensor import Tensor


class SparseTensorBase(CheckedKeywords):
    """Base class of sparse tensors: stored values and a dense shape."""

    values: Tensor
    shape: Shape

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def size(self) -> int:
        """The number of stored values."""
        return self.values.size

    @property
    def itemsize(self) -> int:
        return self.values.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def with_values(self, values: Tensor) -> Any:
        """Replace the stored values, keeping the indices."""
        raise NotImplementedError

    def to_dense(self) -> Tensor:
        raise NotImplementedError

    def at_places(self, dense: Tensor) -> Tensor:
        """The elements of a dense tensor at the stored indices."""
        raise NotImplementedError

    def map(self, fn: Callable[[Any], Any]) -> Any:
        """Apply `fn` to the stored values, keeping the indices."""
        return self.with_values(fn(self.values))

    def abs(self) -> Any:
        return self.map(ops.abs)

    def astype(self, dtype: Any) -> Any:
        """Cast the stored values to another dtype."""
        return self.map(lambda values: values.astype(dtype))

    def __neg__(self) -> Any:
        return self.map(ops.neg)

    def __mul__(self, other: Any) -> Any:
        return self.with_values(self.values * self._beside(other))

    def __truediv__(self, other: Any) -> Any:
        return self.with_values(self.values / self._beside(other))

    def _beside(self, other: Any) -> Any:
        """The elements of `other` that correspond to the stored values."""
        if isinstance(other, Tensor) and other.ndim:
            return self.at_places(ops.broadcast_to(other, self.shape))
        if isinstance(other, (Tensor, int, float)):
            return other
        raise wrong_type(type(self).__name__, "other", other, "Tensor or number")


class COOTensor(SparseTensorBase):
    """Sparse tensor in coordinate format: `values[i]` is the element at `indices[i]`.

    Values with equal indices are summed.
    """

    def __init__(
        self,
        indices: Any = None,
        values: Any = None,
        shape: Any = None,
        coo_tensor: COOTensor | None = None,
    ) -> None:
        if coo_tensor is not None:
            if not isinstance(coo_tensor, COOTensor):
                raise wrong_type("COOTensor", "coo_tensor", coo_tensor, "COOTensor")
            indices, values, shape = coo_tensor.to_tuple()
        _check_parts("COOTensor", shape, indices=indices, values=values)
        if indices.ndim != 2 or values.ndim != 1 or indices.shape[0] != values.shape[0]:
            raise problem(
                ValueError,
                "For COOTensor, there must be one row of indices for each value",
                got=f"indices {indices.shape}, values {values.shape}",
            )
        if indices.shape[1] != len(shape):
            raise problem(
                ValueError,
                f"For COOTensor, the length of 'shape' must be {indices.shape[1]}, "
                f"but got {shape}.",
            )
        self.indices, self.values, self.shape = indices, values, shape

    def with_values(self, values: Tensor) -> COOTensor:
        return COOTensor(self.indices, values, self.shape)

    def at_places(self, dense: Tensor) -> Tensor:
        return ops.gather_nd(dense, self.indices)

    def to_tuple(self) -> tuple[Tensor, Tensor, Shape]:
        """Return the indices, the values, and the shape."""
        return self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """Convert to a dense tensor."""
        return ops.scatter_nd(self.indices, self.values, self.shape)

    def to_csr(self) -> CSRTensor:
        """Convert to a CSRTensor."""
        if self.ndim != 2:
            raise problem(
                ValueError,
                "COOTensor.to_csr: the tensor must be a matrix",
                got=str(self.shape),
            )
        order = ops.argsort(self._flat_places())
        rows, columns = self.indices[:, 0][order], self.indices[:, 1][order]
        indptr = row_starts(rows, self.shape[0])
        return CSRTensor(indptr, columns, self.values[order], self.shape)

    def coalesce(self) -> COOTensor:
        """Sort the indices and sum duplicates; the size of the result depends on the indices."""
        places, which = ops.unique(self._flat_places())
        order = ops.argsort(places)
        values = ops.scatter_nd(which.reshape(-1, 1), self.values, places.shape)[order]
        return COOTensor(self._unflattened(places[order]), values, self.shape)

    def add(self, other: COOTensor, thresh: Tensor) -> COOTensor:
        """Add another COOTensor; sums with an absolute value below `thresh` are dropped."""
        if not isinstance(other, COOTensor):
            raise wrong_type("COOTensor.add", "other", other, "COOTensor")
        if other.shape != self.shape:
            raise problem(
                ValueError,
                "COOTensor.add: the shapes differ",
                got=f"{self.shape} and {other.shape}",
            )
        joined = COOTensor(
            ops.concat((self.indices, other.indices)),
            ops.concat((self.values, other.values)),
            self.shape,
        ).coalesce()
        kept = ops.nonzero(ops.abs(joined.values) >= thresh).reshape(-1)
        return COOTensor(joined.indices[kept], joined.values[kept], self.shape)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Tensor):
            return self.to_dense() + other
        return self.add(other, Tensor(0, self.dtype))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __repr__(self) -> str:
        return (
            f"COOTensor(shape={list(self.shape)}, dtype={self.dtype}, "
            f"indices={self.indices!r}, values={self.values!r})"
        )

    def _flat_places(self) -> Tensor:
        """The index of each value in the flattened tensor."""
        indices = self.indices.astype(dtypes.int64)
        place = indices[:, 0]
        for axis in range(1, self.ndim):
            place = place * self.shape[axis] + indices[:, axis]
        return place

    def _unflattened(self, places: Tensor) -> Tensor:
        columns = []
        for length in reversed(self.shape):
            columns.append(places % length)
            places = places // length
        return ops.stack(tuple(reversed(columns)), 1).astype(self.indices.dtype)


class CSRTensor(SparseTensorBase):
    """Sparse matrix in compressed-row format.

    Row `i` has `values[indptr[i]:indptr[i + 1]]` in the columns `indices[indptr[i]:indptr[i + 1]]`.
    """

    def __init__(
        self,
        indptr: Any = None,
        indices: Any = None,
        values: Any = None,
        shape: Any = None,
        csr_tensor: CSRTensor | None = None,
    ) -> None:
        if csr_tensor is not None:
            if not isinstance(csr_tensor, CSRTensor):
                raise wrong_type("CSRTensor", "csr_tensor", csr_tensor, "CSRTensor")
            indptr, indices, values, shape = csr_tensor.to_tuple()
        _check_parts("CSRTensor", shape, indptr=indptr, indices=indices, values=values)
        if len(shape) != 2:
            raise problem(ValueError, "For CSRTensor, 'shape' must have two sizes", got=str(shape))
        if indptr.shape != (shape[0] + 1,):
            raise problem(
                ValueError,
                "For CSRTensor, 'indptr' must have one more element than there are rows",
                got=f"indptr {indptr.shape}, shape {shape}",
            )
        if indices.ndim != 1 or indices.shape != values.shape[:1]:
            raise problem(
                ValueError,
                "For CSRTensor, there must be one column index for each value",
                got=f"indices {indices.shape}, values {values.shape}",
            )
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, shape

    def with_values(self, values: Tensor) -> CSRTensor:
        return CSRTensor(self.indptr, self.indices, values, self.shape)

    def at_places(self, dense: Tensor) -> Tensor:
        return ops.gather_nd(dense, self.to_coo().indices)

    def rows(self) -> Tensor:
        """The row index of each value."""
        each = ops.arange(self.size).astype(self.indptr.dtype)
        found = ops.searchsorted(self.indptr, each, right=True)
        return (found - 1).astype(self.indptr.dtype)

    def to_tuple(self) -> tuple[Tensor, Tensor, Tensor, Shape]:
        """Return the row pointers, the column indices, the values, and the shape."""
        return self.indptr, self.indices, self.values, self.shape

    def to_coo(self) -> COOTensor:
        """Convert to a COOTensor."""
        columns = self.indices.astype(self.indptr.dtype)
        return COOTensor(ops.stack((self.rows(), columns), 1), self.values, self.shape)

    def to_dense(self) -> Tensor:
        """Convert to a dense tensor."""
        return self.to_coo().to_dense()

    def mv(self, dense_vector: Tensor) -> Tensor:
        """Matrix-vector product with a dense vector, or a matrix with one column."""
        return self.mm(dense_vector)

    def mm(self, matrix: Any) -> Any:
        """Matrix product with a dense matrix (dense result) or a CSRTensor (CSR result)."""
        if isinstance(matrix, CSRTensor):
            return csr_of(ops.matmul(self.to_dense(), matrix.to_dense()))
        if not isinstance(matrix, Tensor):
            raise wrong_type("CSRTensor.mm", "matrix", matrix, "Tensor or CSRTensor")
        if matrix.ndim not in (1, 2) or matrix.shape[0] != self.shape[1]:
            raise problem(
                ValueError,
                "CSRTensor: the inner sizes differ",
                got=f"{self.shape} and {matrix.shape}",
            )
        values = self.values if matrix.ndim == 1 else self.values.reshape(-1, 1)
        terms = values * ops.gather(matrix, self.indices, 0)
        shape = (self.shape[0], *matrix.shape[1:])
        return ops.scatter_nd(self.rows().reshape(-1, 1), terms, shape)

    def sum(self, axis: int) -> Tensor:
        """Sum over rows (axis 0) or columns (axis 1); the axis remains with size 1."""
        if not is_int(axis):
            raise wrong_type("CSRTensor.sum", "axis", axis, "int")
        if not -2 <= axis < 2:
            raise problem(ValueError, "CSRTensor.sum: the axis must be 0 or 1", got=str(axis))
        kept = axis % 2 ^ 1
        places = (self.rows(), self.indices)[kept]
        sums = ops.scatter_nd(places.reshape(-1, 1), self.values, (self.shape[kept],))
        return sums.reshape((-1, 1) if kept == 0 else (1, -1))

    def add(self, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
        """`alpha` times this matrix and `beta` times `b`."""
        if not isinstance(b, CSRTensor):
            raise wrong_type("CSRTensor.add", "b", b, "CSRTensor")
        scaled = (self * alpha).to_coo(), (b * beta).to_coo()
        return scaled[0].add(scaled[1], Tensor(0, self.dtype)).to_csr()

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Tensor):
            return self.to_dense() + other
        return self.add(other, Tensor(1, self.dtype), Tensor(1, self.dtype))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __repr__(self) -> str:
        return (
            f"CSRTensor(shape={list(self.shape)}, dtype={self.dtype}, indptr={self.indptr!r}, "
            f"indices={self.indices!r}, values={self.values!r})"
        )


def row_starts(rows: Tensor, count: int) -> Tensor:
    """The row pointers of `count` rows, from the sorted row indices `rows`."""
    ones = ops.ones(rows.shape, dtypes.int32)
    lengths = ops.scatter_nd(rows.reshape(-1, 1), ones, (count,))
    ends = ops.cumsum(lengths, 0)
    return ops.concat((ops.zeros((1,), ends.dtype), ends)).astype(rows.dtype)


def coo_of(dense: Tensor) -> COOTensor:
    """Convert a dense tensor to a COOTensor of its nonzero elements."""
    if not isinstance(dense, Tensor):
        raise wrong_type("dense_to_sparse_coo", "tensor", dense, "Tensor")
    places = ops.nonzero(dense)
    return COOTensor(places.astype(dtypes.int32), ops.gather_nd(dense, places), dense.shape)


def csr_of(dense: Tensor) -> CSRTensor:
    """Convert a dense matrix to a CSRTensor of its nonzero elements."""
    return coo_of(dense).to_csr()


def _check_parts(owner: str, shape: Any, **parts: Any) -> None:
    for name, part in parts.items():
        if not isinstance(part, Tensor):
            raise wrong_type(owner, name, part, "Tensor")
        if name != "values" and part.dtype not in (dtypes.int16, dtypes.int32, dtypes.int64):
            raise problem(TypeError, f"For {owner}, '{name}' must be integers", got=str(part.dtype))
    if not isinstance(shape, tuple):
        raise wrong_type(owner, "shape", shape, "tuple")
    if not all(is_int(n) for n in shape):
        raise problem(TypeError, f"For {owner}, 'shape' must be a tuple of int", got=repr(shape))
    if any(n <= 0 for n in shape):
        raise problem(ValueError, f"For {owner}, the sizes must be positive", got=repr(shape))


setattr(Tensor, "to_coo", coo_of)  # noqa: B010  # Tensor lies below the sparse matrices
setattr(Tensor, "to_csr", csr_of)  # noqa: B010
