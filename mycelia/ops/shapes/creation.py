"""Tensor creation: zeros, ones, full, eye, one_hot, tril_indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_non_negative_int, is_number
from mycelia._engine.core.dtype import as_dtype, float32, from_numpy, int32, int64, of_number
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_one_number
from mycelia.ops.shapes.reshape import broadcast_to, cast, copied, scalar_to_tensor

ANY_SIZE = 2**62


class Creation(Op, register=False):
    """Base of operators with static arguments only; NumPy creates the result without compiling."""

    differentiable = False
    host_limit = ANY_SIZE

    def infer(self, *args: Any) -> TensorType:
        made = self.host(*args)  # type: ignore[misc]
        return TensorType(from_numpy(made.dtype), made.shape)

    def lower(self, *args: Any) -> Array:
        return jnp.asarray(self.host(*args))  # type: ignore[misc]


class Zeros(Creation):
    """Tensor of zeros."""

    static = ("size", "dtype")
    examples = (
        case((2, 3), "float32"),
        case(2, "int8"),
        case((), "bool_"),
        case((0, 2), "float16"),
    )

    def infer(self, size: Any, dtype: Any) -> TensorType:
        return TensorType(as_dtype(dtype), _sizes(self.name, size))

    def lower(self, size: Any, dtype: Any) -> Array:
        return jnp.zeros(_sizes(self.name, size), as_dtype(dtype).numpy)

    def host(self, size: Any, dtype: Any) -> Any:
        return np.zeros(_sizes(self.name, size), as_dtype(dtype).numpy)


class Ones(Creation):
    """Tensor of ones."""

    static = ("shape", "dtype")
    examples = (case((2, 3), "float32"), case(2, "int8"), case((), "bfloat16"))

    def infer(self, shape: Any, dtype: Any) -> TensorType:
        return TensorType(as_dtype(dtype), _sizes(self.name, shape))

    def lower(self, shape: Any, dtype: Any) -> Array:
        return jnp.ones(_sizes(self.name, shape), as_dtype(dtype).numpy)

    def host(self, shape: Any, dtype: Any) -> Any:
        return np.ones(_sizes(self.name, shape), as_dtype(dtype).numpy)


class Fill(Creation):
    """Tensor filled with one value; without a dtype, in the dtype of the value."""

    static = ("type", "shape", "value")
    examples = (case("float32", (2, 2), 3), case("int32", (2,), 3.7), case(None, (), 2.5))

    def infer(self, type: Any, shape: Any, value: Any) -> TensorType:
        return TensorType(self._dtype(type, value), _sizes(self.name, shape))

    def lower(self, type: Any, shape: Any, value: Any) -> Array:
        one = np.asarray(value).astype(self._dtype(type, value).numpy)
        return jnp.full(_sizes(self.name, shape), one)

    def host(self, type: Any, shape: Any, value: Any) -> Any:
        one = np.asarray(value).astype(self._dtype(type, value).numpy)
        return np.full(_sizes(self.name, shape), one)

    def _dtype(self, dtype: Any, value: Any) -> Any:
        if not isinstance(value, (bool, complex)) and not is_number(value):
            raise wrong_type(self.name, "value", value, "number or bool")
        return of_number(value) if dtype is None else as_dtype(dtype)


class FillV2(Op):
    """Tensor filled with the single element of another tensor."""

    static = ("shape",)
    examples = (case((2, 3), "f32[]"), case((2,), "i32[1]"), case((0,), "f32[]"))

    def infer(self, shape: Any, value: TensorType) -> TensorType:
        if value.shape not in ((), (1,)):
            raise problem(ValueError, "FillV2: value must have one element", got=str(value))
        return value.with_shape(_sizes(self.name, shape))

    def lower(self, shape: Any, value: Array) -> Array:
        return jnp.broadcast_to(value, _sizes(self.name, shape))

    def host(self, shape: Any, value: Any) -> Any:
        return copied(np.broadcast_to(value, _sizes(self.name, shape)))


class ZerosLike(Op):
    """Zeros with the shape and dtype of a tensor."""

    differentiable = False
    host_limit = ANY_SIZE
    host = staticmethod(np.zeros_like)
    examples = (case("f32[2,3]"), case("bool[]"), case("f16[0]"))

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.zeros_like(x)


class OnesLike(Op):
    """Ones with the shape and dtype of a tensor."""

    differentiable = False
    host_limit = ANY_SIZE
    host = staticmethod(np.ones_like)
    examples = (case("f32[2,3]"), case("bool[]"), case("f16[0]"))

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.ones_like(x)


class Eye(Creation):
    """Matrix with ones on the main diagonal."""

    static = ("n", "m", "dtype")
    examples = (case(2, 3, "float32"), case(0, 0, "int32"), case(2, 2, "bool_"))

    def infer(self, n: Any, m: Any, dtype: Any) -> TensorType:
        return TensorType(as_dtype(dtype), self._size(n, m))

    def lower(self, n: Any, m: Any, dtype: Any) -> Array:
        return jnp.eye(*self._size(n, m), dtype=as_dtype(dtype).numpy)

    def host(self, n: Any, m: Any, dtype: Any) -> Any:
        return np.eye(*self._size(n, m), dtype=as_dtype(dtype).numpy)

    def _size(self, n: Any, m: Any) -> tuple[int, int]:
        rows = check_non_negative_int(self.name, "n", n)
        return rows, check_non_negative_int(self.name, "m", m)


class OneHot(Op):
    """One-hot encoding along a new axis of length `depth`."""

    static = ("depth",)
    axis: int = -1
    examples = (
        case("i32[3]:<4", 4, "f32[]", "f32[]"),
        case("i64[2,3]:<5", 4, "f32[]", "f32[]", axis=1),
        case("i64[]:<2", 3, "i32[]", "i32[]", axis=0),
    )

    def infer(
        self, indices: TensorType, depth: Any, on_value: TensorType, off_value: TensorType
    ) -> TensorType:
        if indices.dtype not in (int32, int64):
            raise problem(TypeError, "OneHot: indices must be int32 or int64", got=str(indices))
        if on_value.dtype is not off_value.dtype:
            raise problem(
                TypeError,
                "OneHot: on_value and off_value have different dtypes",
                got=f"{on_value} and {off_value}",
            )
        count = check_non_negative_int(self.name, "depth", depth)
        place = self._place(indices.ndim)
        shape = (*indices.shape[:place], count, *indices.shape[place:])
        check_one_number(self.name, "on_value", on_value)
        check_one_number(self.name, "off_value", off_value)
        return TensorType(on_value.dtype, shape)

    def lower(self, indices: Array, depth: Any, on_value: Array, off_value: Array) -> Array:
        place = self._place(indices.ndim)
        counter = jnp.arange(depth, dtype=indices.dtype)
        along = counter.reshape((depth,) + (1,) * (indices.ndim - place))
        on, off = jnp.reshape(on_value, ()), jnp.reshape(off_value, ())
        return jnp.where(jnp.expand_dims(indices, place) == along, on, off)

    def host(self, indices: Any, depth: Any, on_value: Any, off_value: Any) -> Any:
        if indices.dtype not in (np.int32, np.int64) or on_value.dtype != off_value.dtype:
            raise TypeError("not indices and two values of one dtype")
        place = self._place(indices.ndim)
        counter = np.arange(check_non_negative_int(self.name, "depth", depth))
        along = counter.reshape((depth,) + (1,) * (indices.ndim - place))
        on, off = np.reshape(on_value, ()), np.reshape(off_value, ())
        return np.where(np.expand_dims(indices, place) == along, on, off)

    def _place(self, rank: int) -> int:
        if not -1 <= self.axis <= rank:
            raise problem(
                ValueError,
                f"OneHot: axis {self.axis} is out of range",
                expected=f"an integer from -1 to {rank}",
            )
        return rank if self.axis == -1 else self.axis


class TrilIndices(Creation):
    """Row and column indices of the lower triangle of a matrix, as a tensor of two rows."""

    row: int
    col: int
    offset: int = 0
    dtype: Any = int32
    examples = (case(row=3, col=3), case(row=2, col=3, offset=1, dtype=int64), case(row=0, col=3))

    def normalize(self) -> dict[str, Any]:
        check_non_negative_int(type(self).__name__, "row", self.row)
        check_non_negative_int(type(self).__name__, "col", self.col)
        dtype = as_dtype(self.dtype)
        if dtype not in (int32, int64):
            raise wrong_type(type(self).__name__, "dtype", dtype, "int32 or int64")
        return {"dtype": dtype}

    def lower(self) -> Array:
        return jnp.asarray(self.host())

    def host(self) -> Any:
        return np.stack(np.tril_indices(self.row, self.offset, self.col)).astype(self.dtype.numpy)


class TriuIndices(TrilIndices):
    """Row and column indices of the upper triangle of a matrix, as a tensor of two rows."""

    def host(self) -> Any:
        return np.stack(np.triu_indices(self.row, self.offset, self.col)).astype(self.dtype.numpy)


def zeros(size: Any, dtype: Any = None) -> Any:
    """Tensor of zeros, float32 by default."""
    return Zeros.of()(size, as_dtype(dtype or float32))


def ones(shape: Any, dtype: Any = None) -> Any:
    """Tensor of ones, float32 by default."""
    return Ones.of()(shape, as_dtype(dtype or float32))


def zeros_like(input: Any, *, dtype: Any = None) -> Any:
    """Zeros with the shape of `input`, and its dtype unless `dtype` is given."""
    _check_tensor("zeros_like", input)
    return Zeros.of()(input.shape, as_dtype(dtype or input.dtype))


def ones_like(input: Any, *, dtype: Any = None) -> Any:
    """Ones with the shape of `input`, and its dtype unless `dtype` is given."""
    _check_tensor("ones_like", input)
    return Ones.of()(input.shape, as_dtype(dtype or input.dtype))


def fill(type: Any, shape: Any, value: Any) -> Any:
    """Tensor filled with `value`; `type` is the dtype, None for the dtype of the value."""
    if isinstance(value, TensorProtocol):
        return broadcast_to(cast(value, type or value.dtype), shape)
    return Fill.of()(type and as_dtype(type), shape, value)


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """Tensor filled with `fill_value`, int64 unless `dtype` is given."""
    if not isinstance(size, (tuple, list)):
        raise wrong_type("full", "size", size, "tuple or list of ints")
    return fill(dtype or int64, size, fill_value)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """Tensor filled with `fill_value`, with the shape of `input`, and its dtype unless given."""
    _check_tensor("full_like", input)
    return fill(dtype or input.dtype, input.shape, fill_value)


def fills(x: Any, value: Any) -> Any:
    """Tensor filled with `value`, with the shape and dtype of `x`."""
    return full_like(x, value)


def eye(n: int, m: int | None = None, dtype: Any = None) -> Any:
    """A matrix with ones on the main diagonal, float32 and square by default."""
    return Eye.of()(n, n if m is None else m, as_dtype(dtype or float32))


def one_hot(indices: Any, depth: Any, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Any:
    """One-hot encoding along a new axis of length `depth`."""
    return OneHot.of(axis)(indices, depth, _as_tensor(on_value), _as_tensor(off_value))


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Any:
    """Row and column indices of the lower triangle of a `row` by `col` matrix."""
    return TrilIndices.of(row, col, offset, dtype)()


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Any:
    """Row and column indices of the upper triangle of a `row` by `col` matrix."""
    return TriuIndices.of(row, col, offset, dtype)()


def _sizes(owner: str, shape: Any) -> Shape:
    sizes = as_shape(shape, owner)
    if any(n < 0 for n in sizes):
        raise problem(ValueError, f"{owner}: a negative size", got=f"shape {list(sizes)}")
    return sizes


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, TensorProtocol) else scalar_to_tensor(value, of_number(value))


def _check_tensor(owner: str, value: Any) -> None:
    if not isinstance(value, TensorProtocol):
        raise wrong_type(owner, "input", value, "Tensor")
