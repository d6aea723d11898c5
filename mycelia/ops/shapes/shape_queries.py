"""Shape, size, rank, and dtype of tensors, and functions of Python scalars and tuples."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import as_dtype, float32, from_numpy, int32, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op


class Shape(Primitive):
    """Shape of a tensor, as a tuple of ints."""

    def __call__(self, input_x: Any) -> tuple[int, ...]:
        return _tensor(self.name, input_x).shape


class Size(Primitive):
    """Number of elements of a tensor, as an int."""

    def __call__(self, input_x: Any) -> int:
        return prod(_tensor(self.name, input_x).shape)


class Rank(Primitive):
    """Rank (number of axes) of a tensor, as an int."""

    def __call__(self, input_x: Any) -> int:
        return len(_tensor(self.name, input_x).shape)


class DType(Primitive):
    """Dtype of a tensor."""

    def __call__(self, input_x: Any) -> Any:
        return _tensor(self.name, input_x).dtype


class ScalarCast(Primitive):
    """Converts a Python number to the Python type of a dtype."""

    def __call__(self, input_x: Any, input_y: Any) -> Any:
        return as_dtype(input_y)(input_x)


class InvertPermutation(Primitive):
    """Inverse of a permutation, both as tuples of ints."""

    def __call__(self, input_x: Any) -> tuple[int, ...]:
        order = tuple(input_x)
        if sorted(order) != list(range(len(order))):
            raise problem(
                ValueError,
                "InvertPermutation: the input is not a permutation",
                got=str(order),
                expected=f"the numbers 0 to {len(order) - 1}, each once",
            )
        return tuple(order.index(i) for i in range(len(order)))


class TensorToTuple(Primitive):
    """Elements of a 1-d tensor, as a tuple."""

    def __call__(self, input_x: Any) -> tuple[Any, ...]:
        return tuple(np.asarray(_tensor(self.name, input_x)).tolist())


class TensorShape(Op):
    """Shape of a tensor, as an int64 tensor."""

    differentiable = False
    examples = (case("f32[2,3]"), case("f32[]"), case("i32[0,4]"))

    def infer(self, input_x: TensorType) -> TensorType:
        return TensorType(int64, (input_x.ndim,))

    def lower(self, input_x: Array) -> Array:
        return jnp.asarray(np.array(input_x.shape, np.int64))

    def host(self, input_x: Any) -> Any:
        return np.array(input_x.shape, np.int64)


class TupleToArray(Op):
    """Converts a tuple of numbers to a tensor: ints to int32, floats to float32."""

    static = ("input_x",)
    differentiable = False
    examples = (case((1, 2, 3)), case((1.5, 2.5)), case(((1.0, 2.0), (3.0, 4.0))))

    def infer(self, input_x: Any) -> TensorType:
        array = self.host(input_x)
        return TensorType(from_numpy(array.dtype), array.shape)

    def lower(self, input_x: Any) -> Array:
        return jnp.asarray(self.host(input_x))

    def host(self, input_x: Any) -> np.ndarray:
        if not isinstance(input_x, tuple):
            raise wrong_type(self.name, "input_x", input_x, "tuple")
        if not input_x:
            raise problem(ValueError, "TupleToArray: the tuple is empty")
        kinds = {type(v) for v in input_x}
        if len(kinds) > 1:
            names = ", ".join(sorted(k.__name__ for k in kinds))
            raise problem(TypeError, "TupleToArray: the elements have several types", got=names)
        whole = kinds <= {int, bool}
        return np.array(input_x, int32.numpy if whole else float32.numpy)


class ScalarToArray(Op):
    """Converts a Python number to a 0-d tensor of its default dtype."""

    static = ("input_x",)
    differentiable = False
    examples = (case(3), case(2.5), case(True))

    def infer(self, input_x: Any) -> TensorType:
        return TensorType(as_dtype(type(input_x)), ())

    def lower(self, input_x: Any) -> Array:
        return jnp.asarray(self.host(input_x))

    def host(self, input_x: Any) -> np.ndarray:
        return np.asarray(input_x, as_dtype(type(input_x)).numpy)


def shape(input_x: Any) -> tuple[int, ...]:
    """Shape of a tensor, as a tuple of ints."""
    return _tensor("shape", input_x).shape


def shape_(input_x: Any) -> tuple[int, ...]:
    """Shape of a tensor, as a tuple of ints."""
    return shape(input_x)


def size(input_x: Any) -> int:
    """Number of elements of a tensor."""
    return prod(_tensor("size", input_x).shape)


def numel(input: Any) -> int:
    """Number of elements of a tensor."""
    return size(input)


def rank(input_x: Any) -> int:
    """Rank (number of axes) of a tensor."""
    return len(_tensor("rank", input_x).shape)


def dtype(x: Any) -> Any:
    """Dtype of a tensor."""
    return _tensor("dtype", x).dtype


def dyn_shape(input_x: Any) -> Any:
    """Shape of a tensor, as an int64 tensor."""
    return TensorShape.of()(input_x)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, TensorProtocol)


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """Converts a Python number to the Python type of the dtype `input_y`."""
    return as_dtype(input_y)(input_x)


def scalar_to_array(input_x: Any) -> Any:
    """Converts a Python number to a 0-d tensor of its default dtype."""
    return ScalarToArray.of()(input_x)


def tuple_to_array(input_x: Any) -> Any:
    """Converts a tuple of numbers to a tensor: ints to int32, floats to float32."""
    return TupleToArray.of()(input_x)


def tuple_len(x: Any) -> int:
    """Length of a tuple."""
    return len(x)


def tuple_getitem(x: Any, index: int) -> Any:
    """One element of a tuple."""
    return x[index]


def tuple_reversed(x: Any) -> tuple[Any, ...]:
    """Reversed tuple."""
    return tuple(reversed(x))


def make_tuple(*elements: Any) -> tuple[Any, ...]:
    """The arguments as a tuple."""
    return elements


def make_range(*bounds: int) -> tuple[int, ...]:
    """Python's `range`, as a tuple."""
    return tuple(range(*bounds))


def shape_mul(shape: Iterable[int]) -> int:
    """Product of the sizes of a shape."""
    return prod(shape)


def _tensor(owner: str, value: Any) -> TensorProtocol:
    if not isinstance(value, TensorProtocol):
        raise wrong_type(owner, "input_x", value, "Tensor")
    return value
