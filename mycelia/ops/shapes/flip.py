"""Reordering elements along axes: flip, roll, rot90, reverse_sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import as_shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.index_arguments import check_indices
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import copied, identity
from mycelia.ops.shapes.views import swapaxes


class ReverseV2(Op):
    """Reverses the elements along the given axes."""

    axis: tuple[int, ...]
    examples = (
        case("f32[2,3]", axis=(0,)),
        case("f32[2,3]", axis=(0, -1)),
        case("f32[2]", axis=()),
    )

    def normalize(self) -> dict[str, Any]:
        if not isinstance(self.axis, (tuple, list)):
            raise wrong_type("ReverseV2", "axis", self.axis, "tuple or list of ints")
        return {"axis": as_shape(self.axis, "ReverseV2")}

    def infer(self, input_x: TensorType) -> TensorType:
        self._axes(input_x.ndim)
        return input_x

    def lower(self, input_x: Array) -> Array:
        return lax.rev(jnp.asarray(input_x), self._axes(input_x.ndim))

    def host(self, input_x: Any) -> Any:
        return copied(np.flip(input_x, self._axes(input_x.ndim)))

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (ReverseV2.of(self.axis)(dout),)

    def _axes(self, rank: int) -> tuple[int, ...]:
        axes = tuple(_axis(a, rank, self.name) for a in self.axis)
        if len(set(axes)) < len(axes):
            raise problem(ValueError, "ReverseV2: an axis is named twice", got=str(self.axis))
        return axes


class ReverseSequence(Op):
    """Reverses the first `seq_lengths[i]` slices along `seq_dim` for each batch index i."""

    seq_dim: int
    batch_dim: int = 0
    examples = (
        case("f32[2,3]", "i64[2]:<4", seq_dim=1),
        case("f32[3,2,2]", "i32[2]:<4", seq_dim=0, batch_dim=1),
    )

    def infer(self, x: TensorType, seq_lengths: TensorType) -> TensorType:
        check_indices(self.name, seq_lengths)
        sequence, batch = self._axes(x.ndim)
        if sequence == batch:
            raise wrong_value(self.name, "batch_dim", self.batch_dim, "an axis other than seq_dim")
        if seq_lengths.shape != (x.shape[batch],):
            raise problem(
                ValueError,
                "ReverseSequence: there must be one length per slice along batch_dim",
                got=f"lengths {seq_lengths} for axis {batch} of {x}",
            )
        return x

    def bounds(self, x: Any, seq_lengths: Any) -> tuple[IndexBound, ...]:
        return IndexBound.lengths(1, seq_lengths, x.shape[self._axes(len(x.shape))[0]])

    def lower(self, x: Array, seq_lengths: Array) -> Array:
        sequence, batch = self._axes(x.ndim)
        place = lax.broadcasted_iota(seq_lengths.dtype, x.shape, sequence)
        ends = jnp.expand_dims(seq_lengths, [i for i in range(x.ndim) if i != batch])
        source = jnp.where(place < ends, ends - 1 - place, place)
        return jnp.take_along_axis(jnp.asarray(x), source, sequence, mode="clip")

    def host(self, x: Any, seq_lengths: Any) -> Any:
        self.infer(_type_of(x), _type_of(seq_lengths))
        sequence, batch = self._axes(x.ndim)
        place = np.arange(x.shape[sequence]).reshape(-1, *(1,) * (x.ndim - 1 - sequence))
        ends = np.expand_dims(seq_lengths, [i for i in range(x.ndim) if i != batch])
        source = np.where(place < ends, ends - 1 - place, place)
        shape = [n if i in (sequence, batch) else 1 for i, n in enumerate(x.shape)]
        return np.take_along_axis(x, source.reshape(shape), sequence)

    def grad(self, x: Any, seq_lengths: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return ReverseSequence.of(self.seq_dim, self.batch_dim)(dout, seq_lengths), None

    def _axes(self, rank: int) -> tuple[int, int]:
        return (
            normalize_axis(self.seq_dim, rank, self.name),
            normalize_axis(self.batch_dim, rank, self.name),
        )


class Roll(Op):
    """Rolls a tensor cyclically along axes; without axes, as if it were flattened."""

    shifts: tuple[int, ...]
    dims: tuple[int, ...] | None = None
    examples = (
        case("f32[2,3]", shifts=1),
        case("f32[2,3]", shifts=(1, -2), dims=(0, 1)),
        case("f32[0,3]", shifts=1, dims=0),
    )

    def normalize(self) -> dict[str, Any]:
        shifts = as_shape(self.shifts, "Roll")
        dims = None if self.dims is None else as_shape(self.dims, "Roll")
        if len(shifts) != (1 if dims is None else len(dims)):
            raise problem(
                ValueError,
                "Roll: there must be one shift per axis",
                got=f"shifts {self.shifts}, dims {self.dims}",
            )
        return {"shifts": shifts, "dims": dims}

    def infer(self, input_x: TensorType) -> TensorType:
        for axis in self.dims or ():
            normalize_axis(axis, input_x.ndim, self.name)
        return input_x

    def lower(self, input_x: Array) -> Array:
        return jnp.roll(jnp.asarray(input_x), *self._arguments())

    def host(self, input_x: Any) -> Any:
        return np.roll(input_x, *self._arguments())

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Roll.of(tuple(-s for s in self.shifts), self.dims)(dout),)

    def _arguments(self) -> tuple[Any, Any]:
        return (self.shifts[0], None) if self.dims is None else (self.shifts, self.dims)


def flip(input: Any, dims: Any) -> Any:
    """Reverses `input` along the axes `dims`."""
    if not isinstance(dims, (tuple, list)):
        raise wrong_type("flip", "dims", dims, "tuple or list of ints")
    return ReverseV2.of(tuple(dims))(input)


def fliplr(input: Any) -> Any:
    """Reverses `input` along its second axis (left to right)."""
    return ReverseV2.of((1,))(input)


def flipud(input: Any) -> Any:
    """Reverses `input` along its first axis (up to down)."""
    return ReverseV2.of((0,))(input)


def reverse(x: Any, axis: Any) -> Any:
    """Reverses `x` along the axes `axis`."""
    return flip(x, axis)


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Any:
    """Reverses the first `seq_lengths[i]` slices along `seq_dim` for each batch index i."""
    return ReverseSequence.of(seq_dim, batch_dim)(x, seq_lengths)


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Rolls `input` cyclically along `dims`."""
    axes = None if dims is None else as_shape(dims, "roll")
    return Roll.of(as_shape(shifts, "roll"), axes)(input)


def rot90(input: Any, k: int, dims: Any) -> Any:
    """Rotates `input` by `k` times 90 degrees, from the first axis of `dims` to the second."""
    check_tensors("rot90", input=input)
    if len(dims) != 2:
        raise wrong_value("rot90", "dims", dims, "two axes")
    rank = len(input.shape)
    first, second = (_axis(d, rank, "rot90") for d in dims)
    if first == second:
        raise problem(RuntimeError, "rot90: the two axes must differ", got=str(dims))
    match check_int("rot90", "k", k) % 4:
        case 1:
            return swapaxes(flip(input, (second,)), first, second)
        case 2:
            return flip(input, (first, second))
        case 3:
            return flip(swapaxes(input, first, second), (second,))
    return identity(input)


def _type_of(array: Any) -> TensorType:
    return TensorType(from_numpy(array.dtype), array.shape)


def _axis(axis: Any, rank: int, owner: str) -> int:
    return normalize_axis(check_int(owner, "axis", axis), rank, owner)
