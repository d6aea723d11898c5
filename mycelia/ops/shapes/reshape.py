"""Changing shape or dtype: reshape, transpose, cast, squeeze, broadcast_to, identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_number
from mycelia._engine.core.dtype import as_dtype
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, as_shape, broadcast, normalize_axis, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import NUMBERS, check_kinds, check_spreads_to


class Cast(Op):
    """Casts to another dtype; a Python number becomes a 0-d tensor."""

    static = ("dtype",)
    promotes = ("x",)
    examples = (
        case("f32[2,3]", "float16", differentiate=False),
        case("f32[2,3]", "float64"),
        case("i32[4]", "float32"),
        case("f32[0,2]", "float64"),
    )

    def infer(self, x: TensorType, dtype: Any) -> TensorType:
        return x.with_dtype(as_dtype(dtype))

    def lower(self, x: Array, dtype: Any) -> Array:
        wanted, given = as_dtype(dtype), jnp.asarray(x)
        if jnp.iscomplexobj(given) and not wanted.is_complex:
            given = given.real
        return given.astype(wanted.numpy)

    def host(self, x: Any, dtype: Any) -> Any:
        wanted = as_dtype(dtype)
        real = x.real if x.dtype.kind == "c" and not wanted.is_complex else x
        return real.astype(wanted.numpy)

    def grad(self, x: Any, dtype: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Cast.of()(dout, x.dtype),)


class Reshape(Op):
    """Reshapes a tensor; one size may be -1, which is inferred."""

    static = ("shape",)
    keeps_order = view_may_copy = True
    examples = (case("f32[2,3]", (3, 2)), case("f32[4]", (2, -1)), case("f32[1]", ()))

    def infer(self, x: TensorType, shape: Any) -> TensorType:
        return x.with_shape(resolve_shape(x.shape, shape))

    def lower(self, x: Array, shape: Any) -> Array:
        return jnp.reshape(x, resolve_shape(x.shape, shape))

    def host(self, x: Any, shape: Any) -> Any:
        return copied(x.reshape(resolve_shape(x.shape, shape)))

    def view(self, x: Any, shape: Any) -> Any:
        return np.reshape(x, resolve_shape(x.shape, shape), copy=False)

    def put_back(self, x: Any, shape: Any, value: Any) -> Any:
        return Reshape.of()(value, x.shape)

    def grad(self, x: Any, shape: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Reshape.of()(dout, x.shape),)


def resolve_shape(old: Shape, new: Any) -> Shape:
    """`new` with its -1 resolved, or a ValueError if the sizes do not match."""
    wanted = as_shape(new, "Reshape")
    known = size(tuple(n for n in wanted if n != -1))
    if wanted.count(-1) == 1 and known and size(old) % known == 0:
        wanted = tuple(size(old) // known if n == -1 else n for n in wanted)
    if -1 in wanted or size(wanted) != size(old):
        raise problem(
            ValueError,
            "Reshape: the sizes do not match",
            got=f"shape {list(old)} ({size(old)} elements) and the new shape {list(wanted)}",
            expected="the same number of elements, with at most one -1",
        )
    return wanted


class Transpose(Op):
    """Permutes the axes of a tensor."""

    static = ("perm",)
    examples = (case("f32[2,3]", (1, 0)), case("f32[2,3,4]", (2, 0, -2)))

    def infer(self, x: TensorType, perm: Any) -> TensorType:
        order = self._order(x.ndim, perm)
        return x.with_shape(tuple(x.shape[i] for i in order))

    def lower(self, x: Array, perm: Any) -> Array:
        return jnp.transpose(x, self._order(x.ndim, perm))

    def host(self, x: Any, perm: Any) -> Any:
        return copied(self.view(x, perm))

    def view(self, x: Any, perm: Any) -> Any:
        return x.transpose(self._order(x.ndim, perm))

    def put_back(self, x: Any, perm: Any, value: Any) -> Any:
        order = self._order(len(x.shape), perm)
        return Transpose.of()(value, tuple(order.index(i) for i in range(len(order))))

    def grad(self, x: Any, perm: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (self.put_back(x, perm, dout),)

    def _order(self, rank: int, perm: Any) -> tuple[int, ...]:
        order = tuple(normalize_axis(p, rank, self.name) for p in as_shape(perm, self.name))
        if sorted(order) != list(range(rank)):
            raise problem(
                ValueError,
                "Transpose: the permutation must name every axis once",
                got=f"{tuple(perm)} for a tensor of {rank} dimensions",
                expected=f"the numbers 0 to {rank - 1} in any order",
            )
        return order


class BroadcastTo(Op):
    """Broadcasts a tensor to `shape`; -1 keeps a size."""

    shape: tuple[int, ...]
    examples = (
        case("f32[1,3]", shape=(2, 3)),
        case("f32[3]", shape=(2, 2, 3)),
        case("f32[2,1]", shape=(-1, 4)),
    )

    def normalize(self) -> dict[str, Any]:
        return {"shape": as_shape(self.shape, "BroadcastTo")}

    def infer(self, x: TensorType) -> TensorType:
        return x.with_shape(self._target(x.shape))

    def lower(self, x: Array) -> Array:
        return jnp.broadcast_to(x, self._target(x.shape))

    def host(self, x: Any) -> Any:
        return copied(self.view(x))

    def view(self, x: Any) -> Any:
        return np.broadcast_to(x, self._target(x.shape))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (sum_to(dout, x.shape),)

    def _target(self, shape: Shape) -> Shape:
        extra = len(self.shape) - len(shape)
        target = tuple(
            shape[i - extra] if n == -1 and i >= extra else n for i, n in enumerate(self.shape)
        )
        if extra < 0 or -1 in target or broadcast(shape, target, op=self.name) != target:
            raise problem(
                ValueError,
                "BroadcastTo: the input does not broadcast to the shape",
                got=f"a tensor of shape {list(shape)} and the target {list(self.shape)}",
                expected="each size equal to the target's, or 1",
            )
        return target


class SumTo(Op):
    """Inverse of broadcasting: sums until the result has `shape`."""

    static = ("shape",)
    examples = (case("f32[2,3]", (3,)), case("f32[2,3]", (2, 1)), case("f32[2,3,4]", (1, 4)))

    def infer(self, x: TensorType, shape: Any) -> TensorType:
        summed = x.with_shape(shape)
        check_spreads_to(self.name, "result", summed, x.shape)
        check_kinds(self.name, NUMBERS, x=x)
        return summed

    def lower(self, x: Array, shape: Any) -> Array:
        extra = x.ndim - len(shape)
        kept = [i for i, n in enumerate(shape) if n == 1 and x.shape[i + extra] != 1]
        axes = (*range(extra), *(i + extra for i in kept))
        return summed(x, axes).reshape(shape)

    def grad(self, x: Any, shape: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (BroadcastTo.of(x.shape)(dout),)


def sum_to(x: Any, shape: Shape) -> Any:
    """`x` summed back to `shape`, from which it was broadcast."""
    return x if x.shape == tuple(shape) else SumTo.of()(x, tuple(shape))


class ExpandDims(Op):
    """Inserts an axis of size 1."""

    static = ("axis",)
    keeps_order = True
    examples = (case("f32[2,3]", 0), case("f32[2,3]", -1), case("f32[]", 0))

    def infer(self, x: TensorType, axis: int) -> TensorType:
        place = normalize_axis(axis, x.ndim + 1, self.name)
        return x.with_shape((*x.shape[:place], 1, *x.shape[place:]))

    def lower(self, x: Array, axis: int) -> Array:
        return jnp.expand_dims(x, normalize_axis(axis, x.ndim + 1, self.name))

    def host(self, x: Any, axis: int) -> Any:
        return copied(self.view(x, axis))

    def view(self, x: Any, axis: int) -> Any:
        return np.expand_dims(x, normalize_axis(axis, x.ndim + 1, self.name))

    def put_back(self, x: Any, axis: int, value: Any) -> Any:
        return Reshape.of()(value, x.shape)

    def grad(self, x: Any, axis: int, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Reshape.of()(dout, x.shape),)


class Squeeze(Op):
    """Removes axes of size 1: the given ones, or all."""

    axis: tuple[int, ...] = ()
    keeps_order = True
    examples = (
        case("f32[2,1,3]"),
        case("f32[2,1,3]", axis=1),
        case("f32[1,1,3]", axis=(0, -2)),
        case("f32[2,1]", axis=0),
    )

    def normalize(self) -> dict[str, Any]:
        return {"axis": as_shape(self.axis, "Squeeze")}

    def infer(self, x: TensorType) -> TensorType:
        gone = self._gone(x.shape)
        return x.with_shape(tuple(n for i, n in enumerate(x.shape) if i not in gone))

    def lower(self, x: Array) -> Array:
        return lax.squeeze(jnp.asarray(x), self._gone(x.shape))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Reshape.of()(dout, x.shape),)

    def host(self, x: Any) -> Any:
        return copied(self.view(x))

    def view(self, x: Any) -> Any:
        return np.squeeze(x, self._gone(x.shape))

    def put_back(self, x: Any, value: Any) -> Any:
        return Reshape.of()(value, x.shape)

    def _gone(self, shape: Shape) -> tuple[int, ...]:
        named = self.axis or tuple(range(len(shape)))
        axes = {normalize_axis(a, len(shape), self.name) for a in named}
        return tuple(sorted(a for a in axes if shape[a] == 1))


class Flatten(Op):
    """Flattens all axes but the first."""

    keeps_order = view_may_copy = True
    examples = (case("f32[2,3,4]"), case("f32[3]"), case("f32[0,3]"))

    def infer(self, x: TensorType) -> TensorType:
        if not x.ndim:
            raise problem(
                RuntimeError,
                "Flatten: the input must have at least 1 dimension",
                got=str(x),
                fix="reshape it first: x.reshape((1,))",
            )
        return x.with_shape((x.shape[0], size(x.shape[1:])))

    def lower(self, x: Array) -> Array:
        return jnp.reshape(x, (x.shape[0], size(x.shape[1:])))

    def host(self, x: Any) -> Any:
        return copied(x.reshape((x.shape[0], size(x.shape[1:]))))

    def view(self, x: Any) -> Any:
        return np.reshape(x, (x.shape[0], size(x.shape[1:])), copy=False)

    def put_back(self, x: Any, value: Any) -> Any:
        return Reshape.of()(value, x.shape)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Reshape.of()(dout, x.shape),)


class Identity(Op):
    """Identity of a tensor."""

    examples = (case("f32[2,3]"), case("i32[]"), case("f32[0]"))

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)

    def host(self, x: Any) -> Any:
        return copied(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (dout,)


class IdentityN(Op):
    """Identity of a tuple of tensors."""

    examples = (case(("f32[2]", "i32[]")), case(("f32[0]",)))

    def lower(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(jnp.asarray(one) for one in x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (dout,)


class Barrier(Op):
    """Identity of a tuple of tensors, available only after the tensors of `after`.

    Optimizations do not see through it: values derived from the result are computed again.
    """

    examples = (case(("f32[2]", "i32[]"), ("f32[2]",)), case(("f32[3]",), ("f32[2,2]", "i32[2]")))

    def infer(self, x: tuple[TensorType, ...], after: tuple[TensorType, ...]) -> Any:
        return x

    def lower(self, x: tuple[Array, ...], after: tuple[Array, ...]) -> tuple[Array, ...]:
        given = [tuple([jnp.asarray(one) for one in part]) for part in (x, after)]
        return lax.optimization_barrier(tuple(given))[0]

    def grad(self, x: Any, after: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return dout, None


class StopGradient(Op):
    """Identity that blocks gradients."""

    differentiable = False
    keeps_order = True
    examples = (case("f32[2,3]"), case("i32[]"))

    def infer(self, value: TensorType) -> TensorType:
        return value

    def lower(self, value: Array) -> Array:
        return lax.stop_gradient(jnp.asarray(value))

    def host(self, value: Any) -> Any:
        return copied(value)

    def view(self, value: Any) -> Any:
        return value

    def put_back(self, value: Any, new: Any) -> Any:
        return new


class ScalarToTensor(Op):
    """Converts a Python number to a 0-d tensor."""

    static = ("input_x", "dtype")
    differentiable = False
    examples = (case(3, "float32"), case(2.5, "int64"), case(True, "bool_"))

    def infer(self, input_x: Any, dtype: Any = "float32") -> TensorType:
        if not isinstance(input_x, bool) and not is_number(input_x):
            raise problem(
                TypeError,
                "ScalarToTensor: the input must be a number",
                got=f"{input_x!r} of type {type(input_x).__name__}",
                expected="a bool, int or float",
            )
        return TensorType(as_dtype(dtype), ())

    def lower(self, input_x: Any, dtype: Any = "float32") -> Array:
        return jnp.asarray(self.host(input_x, dtype))

    def host(self, input_x: Any, dtype: Any = "float32") -> Any:
        self.infer(input_x, dtype)
        return np.asarray(input_x).astype(as_dtype(dtype).numpy)


def copied(view: Any) -> np.ndarray:
    """Copy of a NumPy view, so that in-place writes to one tensor do not change another."""
    return np.array(view, order="C")


def cast(input: Any, dtype: Any) -> Any:
    """Casts `input` to another dtype."""
    wanted = as_dtype(dtype)
    if isinstance(input, bool) or is_number(input):
        return ScalarToTensor.of()(input, wanted)
    return input if getattr(input, "dtype", None) is wanted else Cast.of()(input, wanted)


def scalar_to_tensor(input_x: Any, dtype: Any = "float32") -> Any:
    """Converts a Python number to a 0-d tensor of `dtype`."""
    return ScalarToTensor.of()(input_x, as_dtype(dtype))


def reshape(input: Any, shape: Any) -> Any:
    """Reshapes a tensor; one size may be -1, which is inferred."""
    return Reshape.of()(input, shape)


def transpose(input: Any, dims: Any) -> Any:
    """Permutes the axes of `input` to the order `dims`."""
    return Transpose.of()(input, dims)


def broadcast_to(input: Any, shape: Any) -> Any:
    """Broadcasts `input` to `shape`; -1 keeps a size."""
    return BroadcastTo.of(as_shape(shape, "broadcast_to"))(input)


def expand_dims(input_x: Any, axis: int) -> Any:
    """Inserts an axis of size 1 at `axis`."""
    return ExpandDims.of()(input_x, axis)


def squeeze(input: Any, axis: Any = None) -> Any:
    """Removes the axes of size 1 of `input`, or only those in `axis`."""
    return Squeeze.of(() if axis is None else as_shape(axis, "squeeze"))(input)


def stop_gradient(value: Any) -> Any:
    """Blocks gradients through `value`: a tensor, or tensors in tuples and lists."""
    if isinstance(value, (tuple, list)):
        return type(value)(stop_gradient(one) for one in value)
    return StopGradient.of()(value) if isinstance(value, TensorProtocol) else value


def identity(x: Any) -> Any:
    """Identity: tensors as new tensors, anything else unchanged."""
    return Identity.of()(x) if isinstance(x, TensorProtocol) else x
