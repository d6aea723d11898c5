"""Tensor methods whose signatures differ from those of the functions of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_bool, check_int, check_string, is_int
from mycelia._engine.core.dtype import DType, as_dtype, float32, int32, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.shape import Shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.index_arguments import all_of, check_indices, write_at
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.random_streams import check_shape, stream
from mycelia.ops.activation.softmax import softmax
from mycelia.ops.elementwise.arithmetic import add, mul, subtract
from mycelia.ops.elementwise.bitwise import invert
from mycelia.ops.elementwise.comparison import isclose, logical_not
from mycelia.ops.elementwise.where import MaskedScatter
from mycelia.ops.in_place_functions import check_generator
from mycelia.ops.indexing.gather import gather, gather_d
from mycelia.ops.indexing.scatter import (
    IndexPut,
    TensorScatterElements,
    index_fill,
    tensor_scatter_add,
)
from mycelia.ops.indexing.sort import argsort, searchsorted, sort
from mycelia.ops.linalg.decomposition import qr
from mycelia.ops.linalg.diagonal import FillDiagonal, diagonal, trace, tril, triu
from mycelia.ops.linalg.solve import MatrixTriangularSolve
from mycelia.ops.linalg.tensor_products import addmm
from mycelia.ops.random.distributions import Drawn, LogNormalReverse, UniformReal
from mycelia.ops.random.sampling import bernoulli
from mycelia.ops.reduction.argmax import ArgMaxWithValue, ArgMinWithValue
from mycelia.ops.reduction.cumulative import cumsum
from mycelia.ops.reduction.reduction import all as every
from mycelia.ops.reduction.reduction import reduce_sum
from mycelia.ops.shapes.concat import stack
from mycelia.ops.shapes.creation import full, zeros
from mycelia.ops.shapes.reshape import broadcast_to, cast, expand_dims, scalar_to_tensor, sum_to
from mycelia.ops.shapes.tile import repeat_interleave
from mycelia.ops.shapes.views import swapaxes


class IndexCopy(Op):
    """Replaces, or adds to, slices along an axis with those of another tensor."""

    dim: int
    verb: str = "set"
    alpha: float = 1.0
    examples = (
        case("f32[3,2]", "i32[1]:<3", "f32[1,2]", dim=0),
        case("f32[2,3]", "i64[2]:<3", "f32[2,2]", dim=-1, verb="add", alpha=2.0),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("IndexCopy", "verb", self.verb, ("set", "add"))
        return {}

    def infer(self, x: TensorType, index: TensorType, source: TensorType) -> TensorType:
        check_indices(self.name, index)
        axis = normalize_axis(self.dim, x.ndim, self.name)
        wanted = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
        if index.ndim != 1 or source.shape != wanted or source.dtype is not x.dtype:
            raise problem(
                ValueError if source.dtype is x.dtype else TypeError,
                "index_copy_, index_add_: index and source do not match the tensor",
                got=f"tensor {x}, index {index}, source {source}",
                expected=f"a 1-D index and a source of shape {list(wanted)}",
            )
        return x

    def bounds(self, x: Any, index: Any, source: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(1, x.shape[normalize_axis(self.dim, len(x.shape), self.name)]),)

    def lower(self, x: Array, index: Array, source: Array) -> Array:
        place = (*all_of(normalize_axis(self.dim, x.ndim, self.name)), jnp.asarray(index))
        amounts = jnp.asarray(source) * jnp.asarray(self.alpha).astype(source.dtype)
        return write_at(x, place, amounts, self.verb)


class BitsAs(Op):
    """Reinterprets the bits of a tensor as another dtype of the same width."""

    dtype: DType
    differentiable = False
    examples = (
        case("f32[2,3]", dtype=int32),
        case("i32[0]", dtype=float32),
        case("i64[]", dtype=int64),
    )

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, x: TensorType) -> TensorType:
        if x.dtype.bits != self.dtype.bits or x.dtype.is_bool is not self.dtype.is_bool:
            raise problem(
                ValueError,
                "view: the dtypes have different widths",
                got=f"{x} as {self.dtype}",
                expected=f"a dtype of {x.dtype.bits} bits",
                fix="convert the values instead: x.astype(dtype)",
            )
        return x.with_dtype(self.dtype)

    def lower(self, x: Array) -> Array:
        source = jnp.asarray(x)
        if source.dtype == self.dtype.numpy:
            return source
        return jax.lax.bitcast_convert_type(source, self.dtype.numpy)


def bits_as(x: Any, dtype: Any) -> Any:
    """Reinterprets the bits of a tensor as another dtype of the same width."""
    return BitsAs.of(as_dtype(dtype))(x)


class CauchyNumbers(Drawn):
    """Random values of the Cauchy distribution with median 0 and scale 1."""

    examples = (case((2, 3)), case((0,), seed=2))

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(float32, check_shape("Cauchy", shape))

    def lower(self, shape: Any, key: Array) -> Array:
        return jax.random.cauchy(self.stream(key), shape, jnp.float32)


class Cauchy(CheckedKeywords):
    """Random values of the Cauchy distribution, of a given size."""

    def __init__(self, size: Any, median: float = 0.0, sigma: float = 1.0) -> None:
        self.size: Shape = check_shape("Cauchy", tuple(size))
        self.median, self.sigma = float(median), float(sigma)

    def __call__(self) -> Any:
        return add(mul(CauchyNumbers.of()(self.size), self.sigma), self.median)


class NonDeterministicInts(Op):
    """Random integers over the full range of the dtype."""

    draws = True
    differentiable = False
    static = ("shape",)
    dtype: DType = int64
    examples = (case((2, 3)), case((2,), dtype=int32))

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(self.dtype, check_shape("NonDeterministicInts", shape))

    def lower(self, shape: Any, key: Array) -> Array:
        unsigned = jnp.uint32 if self.dtype.bits == 32 else jnp.uint64
        bits = jax.random.bits(stream(key), shape, unsigned)
        return jax.lax.bitcast_convert_type(bits, self.dtype.numpy)


def _scatter_add(self: Any, *args: Any, **kwargs: Any) -> Any:
    """scatter_add(indices, updates), or scatter_add(dim, index, src) for single elements."""
    if len(args) + len(kwargs) == 2 and "dim" not in kwargs:
        return tensor_scatter_add(self, *args, **kwargs)
    return _elements_added(self, *args, **kwargs)


def _elements_added(self: Any, dim: int, index: Any, src: Any) -> Any:
    return TensorScatterElements.of(dim, "add")(self, index, src)


def _scattered(self: Any, dim: int, index: Any, src: Any, reduce: str | None = None) -> Any:
    """Writes, adds, or multiplies `src` (a tensor or a number) at single elements along `dim`."""
    if reduce is not None:
        check_string("scatter_", "reduce", reduce, ("add", "multiply"))
    if not isinstance(src, TensorProtocol):
        src = broadcast_to(scalar_to_tensor(src, self.dtype), index.shape)
    if reduce == "multiply":
        src = mul(gather_d(self, dim, index), src)
    return TensorScatterElements.of(dim, "add" if reduce == "add" else "none")(self, index, src)


def _index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    return IndexPut.of(int(accumulate))(self, values, tuple(indices))


def _index_copied(self: Any, dim: int, index: Any, tensor: Any) -> Any:
    return IndexCopy.of(check_int("index_copy_", "dim", dim))(self, index, tensor)


def _index_added(self: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    return IndexCopy.of(check_int("index_add_", "dim", dim), "add", alpha)(self, index, source)


def _index_add(self: Any, *args: Any, **kwargs: Any) -> Any:
    """index_add(indices, y, axis), or index_add(dim, index, source, *, alpha)."""
    if (args and isinstance(args[0], TensorProtocol)) or "indices" in kwargs:
        return _rows_added(self, *args, **kwargs)
    return _index_added(self, *args, **kwargs)


def _rows_added(
    self: Any,
    indices: Any,
    y: Any,
    axis: int,
    use_lock: bool = True,
    check_index_bound: bool = True,
) -> Any:
    return IndexCopy.of(axis, "add")(self, indices, y)


def _masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    return MaskedScatter.of()(self, mask, source)


def _fill_diagonal(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    return FillDiagonal.of(float(fill_value), wrap)(self)


def _sum_to_size(self: Any, *size: Any) -> Any:
    """Sums the tensor over axes until it has the shape `size`."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    aligned = self.shape[len(self.shape) - len(shape) :]
    fits = len(shape) <= len(self.shape)
    if not fits or any(n not in (1, m) for n, m in zip(shape, aligned, strict=True)):
        raise problem(
            ValueError,
            "sum_to_size: the tensor cannot be summed to this shape",
            got=f"shape {list(self.shape)}, size {list(shape)}",
        )
    return sum_to(self, shape)


def _searchsorted(self: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Insertion index of each of `v` in this sorted tensor, as int32."""
    values = v if isinstance(v, TensorProtocol) else scalar_to_tensor(v, self.dtype)
    return searchsorted(self, values, out_int32=True, side=side, sorter=sorter)


def _kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The k-th smallest element along `dim`, and its index."""
    count = self.shape[dim] if self.shape else 1
    if not 1 <= check_int("kthvalue", "k", k) <= count:
        raise problem(ValueError, "kthvalue: k is out of range", got=f"k={k} of {count}")
    values, indices = sort(self, dim)
    chosen = [gather(array, scalar_to_tensor(k - 1, int64), dim) for array in (values, indices)]
    if keepdim:
        chosen = [expand_dims(array, dim) for array in chosen]
    return chosen[0], cast(chosen[1], int64)


def _choose(self: Any, choices: Any, mode: str = "clip") -> Any:
    """Selects each element from one of several tensors; this tensor holds the choices."""
    check_string("choose", "mode", mode, ("raise", "wrap", "clip"))
    listed = stack(tuple(choices), 0) if isinstance(choices, (tuple, list)) else choices
    count = listed.shape[0]
    index = self % count if mode == "wrap" else self.clip(0, count - 1)
    if mode == "raise" and not bool(every((self >= 0) & (self < count))):
        raise problem(ValueError, "choose: an index is out of range", got=f"{count} choices")
    shape = jnp.broadcast_shapes(index.shape, listed.shape[1:])
    chosen = broadcast_to(cast(index, int64), (1, *shape))
    return gather_d(broadcast_to(listed, (count, *shape)), 0, chosen)[0]


def _argmax_with_value(self: Any, axis: int | None = 0, keep_dims: bool = False) -> Any:
    return _extreme(ArgMaxWithValue, self, axis, keep_dims)


def _argmin_with_value(self: Any, axis: int | None = 0, keep_dims: bool = False) -> Any:
    return _extreme(ArgMinWithValue, self, axis, keep_dims)


def _extreme(op: Any, x: Any, axis: int | None, keep_dims: bool) -> Any:
    """The extreme value and its index; over all elements the index is 0."""
    if axis is None:
        index, value = op.of(0)(x.ravel())
        return value, zeros((), int64)
    index, value = op.of(axis, keep_dims)(x)
    return value, cast(index, int64)


def _allclose(
    self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    return bool(every(isclose(self, other, rtol, atol, equal_nan)))


def _bitwise_not(self: Any) -> Any:
    if self.dtype.is_inexact:
        raise wrong_type("bitwise_not", "input", self, "Tensor of integers or bool")
    return logical_not(self) if self.dtype.is_bool else invert(self)


def _triangular_solve(
    self: Any,
    A: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Any, Any]:
    """The solution x of A @ x = self for a triangular matrix A, and A."""
    triangle = triu(A) if upper else tril(A)
    solved = triangle
    if unitriangular:
        solved = _fill_diagonal(triangle, 1.0) if len(A.shape) == 2 else _unit(triangle)
    return MatrixTriangularSolve(not upper, transpose)(solved, self), A


def _unit(triangle: Any) -> Any:
    rows = triangle.shape[-1]
    eye = full((rows, rows), 0.0, dtype=triangle.dtype)
    off = triu(triangle, 1) + tril(triangle, -1)
    return off + _fill_diagonal(eye, 1.0)


def _uniform(self: Any, from_: float = 0.0, to: float = 1.0, generator: Any = None) -> Any:
    """Uniform random values between two bounds, with the shape and dtype of this tensor."""
    check_generator("uniform", generator)
    drawn = UniformReal.of()(self.shape)
    return cast(add(mul(drawn, float(to) - float(from_)), float(from_)), self.dtype)


def _log_normal(self: Any, mean: float = 1.0, std: float = 2.0) -> Any:
    return LogNormalReverse.of(float(mean), float(std))(self)


def _cauchy(self: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
    return cast(Cauchy(self.shape, median, sigma)(), self.dtype)


def _bernoulli(self: Any, *, generator: Any = None) -> Any:
    """Bernoulli samples: 1 with the probability in the element, else 0."""
    check_generator("bernoulli", generator)
    return bernoulli(self, self)


def _new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    return full(size, fill_value, dtype=dtype or self.dtype)


def _new_empty(self: Any, size: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of the given size; its elements are 0."""
    return zeros(size, dtype or self.dtype)


def matrix_transposed(x: Any) -> Any:
    """Swaps the last two axes."""
    if len(x.shape) < 2:
        raise problem(
            ValueError, "mT, mH: the tensor must have at least 2 axes", got=f"shape {list(x.shape)}"
        )
    return swapaxes(x, -2, -1)


def _cumsum(self: Any, axis: int, dtype: Any = None) -> Any:
    """Cumulative sum along `axis`; bool and integers of fewer than 32 bits become int32."""
    is_narrow = not self.dtype.is_inexact and self.dtype.bits < int32.bits
    return cumsum(self, axis, int32 if dtype is None and is_narrow else dtype)


def _added(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """self + alpha * other, with broadcasting."""
    return add(self, other if isinstance(alpha, (int, float)) and alpha == 1 else mul(other, alpha))


def _argsort(self: Any, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Indices of a stable sort along `axis`."""
    check_bool("argsort", "stable", stable)
    return argsort(self, axis, descending)


def _sort(self: Any, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Stable sort along `axis`: the sorted elements and their indices."""
    check_bool("sort", "stable", stable)
    return sort(self, axis, descending)


def _gathered(self: Any, *args: Any, **kwargs: Any) -> Any:
    """gather(input_indices, axis, batch_dims=0), or gather(dim, index) for single elements."""
    is_by_element = (args and is_int(args[0])) or "dim" in kwargs
    return (gather_d if is_by_element else gather)(self, *args, **kwargs)


def _qr(self: Any, some: bool = True) -> Any:
    """QR decomposition; with `some=False` the orthogonal factor is square."""
    return qr(self, "reduced" if check_bool("qr", "some", some) else "complete")


def _repeat_interleave(
    self: Any, repeats: Any, axis: int | None = None, *, output_size: int | None = None
) -> Any:
    """Repeats each slice along `axis`, or each element if `axis` is None."""
    result = repeat_interleave(self, repeats, axis)
    if output_size not in (None, result.shape[axis or 0]):
        raise problem(
            ValueError,
            "repeat_interleave: output_size differs from the size of the result",
            got=f"output_size={output_size} for a result of shape {list(result.shape)}",
        )
    return result


def _scatter(self: Any, dim: int, index: Any, src: Any, reduce: str = "none") -> Any:
    """Replaces, or adds to, elements along `dim` with `src` (a tensor or a number)."""
    check_string("scatter", "reduce", reduce, ("none", "add", "multiply"))
    return _scattered(self, dim, index, src, None if reduce == "none" else reduce)


def _softmax(self: Any, axis: int, dtype: Any = None) -> Any:
    """Softmax along `axis`; `dtype` sets the dtype of the computation."""
    return softmax(self, axis, dtype=dtype)


def _trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Sum along a diagonal of the matrices that two axes span."""
    if (offset, axis1, axis2) == (0, 0, 1) and self.ndim == 2:
        total = trace(self)
    else:
        total = reduce_sum(diagonal(self, offset, axis1, axis2), -1)
    return total if dtype is None else cast(total, as_dtype(dtype))


FORMS: dict[str, Callable[..., Any]] = {
    "add": _added,
    "sub": subtract,
    "allclose": _allclose,
    "argmax_with_value": _argmax_with_value,
    "argmin_with_value": _argmin_with_value,
    "argsort": _argsort,
    "gather": _gathered,
    "qr": _qr,
    "repeat_interleave": _repeat_interleave,
    "scatter": _scatter,
    "softmax": _softmax,
    "sort": _sort,
    "trace": _trace,
    "bernoulli": _bernoulli,
    "bitwise_not": _bitwise_not,
    "cauchy": _cauchy,
    "choose": _choose,
    "cumsum": _cumsum,
    "fill_diagonal": _fill_diagonal,
    "index_add": _index_add,
    "index_put": _index_put,
    "kthvalue": _kthvalue,
    "log_normal": _log_normal,
    "masked_scatter": _masked_scatter,
    "new_empty": _new_empty,
    "new_full": _new_full,
    "scatter_add": _scatter_add,
    "searchsorted": _searchsorted,
    "sum_to_size": _sum_to_size,
    "triangular_solve": _triangular_solve,
    "uniform": _uniform,
}
IN_PLACE_FORMS: dict[str, Callable[..., Any]] = {
    "addmm_": addmm,
    "fill_diagonal_": _fill_diagonal,
    "index_add_": _index_added,
    "index_copy_": _index_copied,
    "index_fill_": index_fill,
    "index_put_": _index_put,
    "masked_scatter_": _masked_scatter,
    "scatter_": _scattered,
    "scatter_add_": _elements_added,
}
