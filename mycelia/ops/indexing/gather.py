"""Gathering elements by index, and the scatter operators of its gradients.

Negative indices count from the end. An index out of range raises an error where its value is known
(small host arrays); inside a compiled program it selects the nearest element instead.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, as_shape, normalize_axis, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_arguments import (
    all_of,
    check_elements,
    check_indices,
    check_updates,
    element_places,
    over_batch,
    position_depth,
    positions,
)
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import NUMBERS, check_axes, check_kinds, check_readable, check_shape
from mycelia.ops.shapes.reshape import reshape


class Gather(Op):
    """Gathers slices along an axis by index; the leading `batch_dims` axes are batched."""

    static = ("axis",)
    rows_of = 0
    batch_dims: int = 0
    examples = (
        case("f32[4,3]", "i32[2]:<4", 0),
        case("f32[2,4]", "i64[2,3]:<4", -1),
        case("f32[2,3,4]", "i32[2,5]:<4", 2, batch_dims=1),
        case("f32[4,0]", "i64[]:<4", 0),
    )

    def infer(self, input_params: TensorType, input_indices: TensorType, axis: Any) -> TensorType:
        check_indices(self.name, input_indices)
        shape = self._result(input_params.shape, input_indices.shape, axis)
        check_readable(self.name, input_params, shape)
        return input_params.with_shape(shape)

    def bounds(self, input_params: Any, input_indices: Any, axis: Any) -> tuple[IndexBound, ...]:
        normalized = self._batch_and_axis(input_params.shape, input_indices.shape, axis)[1]
        return (IndexBound.indices(1, input_params.shape[normalized], negative=True),)

    def lower(self, input_params: Array, input_indices: Array, axis: Any) -> Array:
        batch, normalized = self._batch_and_axis(input_params.shape, input_indices.shape, axis)

        if not size(input_params.shape):
            return jnp.zeros(
                self._result(input_params.shape, input_indices.shape, axis), input_params.dtype
            )

        def take(x: Array, indices: Array) -> Array:
            return x.at[(*all_of(normalized - batch), indices)].get(mode="clip")

        return over_batch(take, batch)(jnp.asarray(input_params), jnp.asarray(input_indices))

    def host(self, input_params: Any, input_indices: Any, axis: Any) -> Any:
        batch, normalized = self._batch_and_axis(input_params.shape, input_indices.shape, axis)
        if input_indices.dtype.kind not in "iu":
            raise TypeError("the indices must be integers")
        if not batch:
            return np.take(input_params, input_indices, axis=normalized)
        rows = np.ndindex(input_params.shape[:batch])
        slices = [np.take(input_params[i], input_indices[i], axis=normalized - batch) for i in rows]
        shape = self._result(input_params.shape, input_indices.shape, axis)
        return np.reshape(slices, shape).astype(input_params.dtype)

    def grad(
        self, input_params: Any, input_indices: Any, axis: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        back = GatherGrad.of(input_params.shape, axis, self.batch_dims)
        return back(dout, input_indices), None

    def _result(self, shape: Shape, indices: Shape, axis: Any) -> Shape:
        batch, normalized = self._batch_and_axis(shape, indices, axis)
        return (*shape[:normalized], *indices[batch:], *shape[normalized + 1 :])

    def _batch_and_axis(self, shape: Shape, indices: Shape, axis: Any) -> tuple[int, int]:
        normalized = normalize_axis(axis, len(shape), self.name)
        if not shape:
            raise problem(ValueError, f"{self.name}: cannot gather from a 0-d tensor")
        batch = self.batch_dims + len(indices) if self.batch_dims < 0 else self.batch_dims
        if not 0 <= batch <= min(normalized, len(indices)) or shape[:batch] != indices[:batch]:
            raise problem(
                ValueError,
                f"{self.name}: the batch axes do not match",
                got=f"batch_dims={self.batch_dims}, shapes {list(shape)} and {list(indices)}",
                expected="equal leading sizes, and no more batch axes than axis",
            )
        return batch, normalized


class GatherV2(Gather):
    """Gathers slices along an axis by index; the older name of Gather."""

    batch_dims: int = 0


class SparseGatherV2(Gather):
    """Gathers slices along an axis by index, for parameters that are updated row by row."""

    batch_dims: int = 0


class GatherGrad(Op):
    """The gradient of Gather: adds each slice at the index it was gathered from."""

    shape: tuple[int, ...]
    axis: int = 0
    batch_dims: int = 0
    examples = (
        case("f32[2,3]", "i32[2]:<4", shape=(4, 3)),
        case("f32[2,3,5]", "i32[2,5]:<4", shape=(2, 3, 4), axis=2, batch_dims=1),
    )

    def infer(self, dout: TensorType, indices: TensorType) -> TensorType:
        x = dout.with_shape(self.shape)
        read = Gather.of(self.batch_dims).infer(x, indices, self.axis)
        check_shape(self.name, "dout", dout, read.shape)
        check_kinds(self.name, NUMBERS, dout=dout)
        return x

    def bounds(self, dout: Any, indices: Any) -> tuple[IndexBound, ...]:
        size = self.shape[normalize_axis(self.axis, len(self.shape), self.name)]
        return (IndexBound.indices(1, size, negative=True).gradient("Gather", "input_indices"),)

    def lower(self, dout: Array, indices: Array) -> Array:
        normalized = normalize_axis(self.axis, len(self.shape), self.name)
        batch = self.batch_dims + indices.ndim if self.batch_dims < 0 else self.batch_dims

        def put(d: Array, at: Array) -> Array:
            zeros = jnp.zeros(self.shape[batch:], d.dtype)
            return zeros.at[(*all_of(normalized - batch), at)].add(d, mode="clip")

        return over_batch(put, batch)(jnp.asarray(dout), jnp.asarray(indices))

    def grad(self, dout: Any, indices: Any, out: Any, dout_: Any) -> tuple[Any, ...]:
        return Gather.of(self.batch_dims)(dout_, indices, self.axis), None


class GatherD(Op):
    """Gathers elements along `dim`: out[i][j] = x[index[i][j]][j] for dim 0."""

    static = ("dim",)
    examples = (
        case("f32[2,3]", 1, "i64[2,2]:<3"),
        case("f32[2,3]", 0, "i32[1,2]:<2"),
        case("f32[3]", -1, "i64[0]:<3"),
    )

    def infer(self, x: TensorType, dim: Any, index: TensorType) -> TensorType:
        check_indices(self.name, index)
        check_elements(self.name, x.shape, index.shape, normalize_axis(dim, x.ndim, self.name))
        check_readable(self.name, x, index.shape)
        return x.with_shape(index.shape)

    def bounds(self, x: Any, dim: Any, index: Any) -> tuple[IndexBound, ...]:
        normalized = normalize_axis(dim, len(x.shape), self.name)
        return (IndexBound.indices(2, x.shape[normalized], negative=True),)

    def lower(self, x: Array, dim: Any, index: Array) -> Array:
        normalized = normalize_axis(dim, x.ndim, self.name)
        if not size(index.shape):
            return jnp.zeros(index.shape, x.dtype)
        return jnp.asarray(x).at[element_places(jnp.asarray(index), normalized)].get(mode="clip")

    def host(self, x: Any, dim: Any, index: Any) -> Any:
        normalized = normalize_axis(dim, x.ndim, self.name)
        check_elements(self.name, x.shape, index.shape, normalized)
        return x[element_places(index, normalized)]

    def grad(self, x: Any, dim: Any, index: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return GatherDGrad.of(x.shape, dim)(dout, index), None


class GatherDGrad(Op):
    """The gradient of GatherD: adds each element at the index it was gathered from."""

    shape: tuple[int, ...]
    dim: int
    examples = (
        case("f32[2,2]", "i64[2,2]:<3", shape=(2, 3), dim=1),
        case("f32[1,2]", "i32[1,2]:<2", shape=(2, 3), dim=0),
    )

    def infer(self, dout: TensorType, index: TensorType) -> TensorType:
        x = dout.with_shape(self.shape)
        read = GatherD.of().infer(x, self.dim, index)
        check_shape(self.name, "dout", dout, read.shape)
        check_kinds(self.name, NUMBERS, dout=dout)
        return x

    def bounds(self, dout: Any, index: Any) -> tuple[IndexBound, ...]:
        size = self.shape[normalize_axis(self.dim, len(self.shape), self.name)]
        return (IndexBound.indices(1, size, negative=True).gradient("GatherD", "index"),)

    def lower(self, dout: Array, index: Array) -> Array:
        normalized = normalize_axis(self.dim, len(self.shape), self.name)
        zeros = jnp.zeros(self.shape, dout.dtype)
        return zeros.at[element_places(jnp.asarray(index), normalized)].add(dout, mode="clip")

    def grad(self, dout: Any, index: Any, out: Any, dout_: Any) -> tuple[Any, ...]:
        return GatherD.of()(dout_, self.dim, index), None


class GatherNd(Op):
    """Gathers slices at multi-dimensional indices, which the last axis of `indices` holds."""

    examples = (
        case("f32[3,3]", "i64[2,2]:<3"),
        case("f32[3,2]", "i32[2,1]:<3"),
        case("f32[3,2]", "i32[2]:<2"),
    )

    def infer(self, input_x: TensorType, indices: TensorType) -> TensorType:
        check_indices(self.name, indices)
        check_axes(self.name, "indices", indices)
        shape = self._result(input_x.shape, indices.shape)
        check_readable(self.name, input_x, shape)
        return input_x.with_shape(shape)

    def bounds(self, input_x: Any, indices: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.positions(1, input_x.shape, indices.shape),)

    def lower(self, input_x: Array, indices: Array) -> Array:
        shape = self._result(input_x.shape, indices.shape)
        if not size(input_x.shape) or not indices.shape[-1]:
            return (
                jnp.broadcast_to(input_x, shape) if size(shape) else jnp.zeros(shape, input_x.dtype)
            )
        return jnp.asarray(input_x).at[positions(jnp.asarray(indices))].get(mode="clip")

    def host(self, input_x: Any, indices: Any) -> Any:
        shape = self._result(input_x.shape, indices.shape)
        return np.array(np.broadcast_to(input_x[positions(indices)], shape))

    def grad(self, input_x: Any, indices: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return ScatterNd.of()(indices, dout, input_x.shape), None

    def _result(self, shape: Shape, indices: Shape) -> Shape:
        return (*indices[:-1], *shape[position_depth(self.name, shape, indices) :])


class ScatterNd(Op):
    """Scatters slices into zeros of `shape` at multi-dimensional indices; repeated indices add up.

    It is the adjoint of GatherNd.
    """

    static = ("shape",)
    examples = (
        case("i64[2,1]:<4", "f32[2,3]", (4, 3)),
        case("i32[3,2]:<2", "f32[3]", (2, 3)),
        case("i64[0,1]:<4", "f32[0]", (4,)),
    )

    def infer(self, indices: TensorType, updates: TensorType, shape: Any) -> TensorType:
        check_indices(self.name, indices)
        wanted = as_shape(shape, self.name)
        check_updates(self.name, wanted, indices.shape, updates.shape, least=0)
        return updates.with_shape(wanted)

    def bounds(self, indices: Any, updates: Any, shape: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.positions(0, as_shape(shape, self.name), indices.shape),)

    def lower(self, indices: Array, updates: Array, shape: Any) -> Array:
        zeros = jnp.zeros(as_shape(shape, self.name), updates.dtype)
        if not indices.shape[-1]:
            return zeros + jnp.sum(updates, _lead(indices), dtype=updates.dtype)
        return zeros.at[positions(jnp.asarray(indices))].add(updates, mode="clip")

    def host(self, indices: Any, updates: Any, shape: Any) -> Any:
        sizes = as_shape(shape, self.name)
        check_updates(self.name, sizes, indices.shape, updates.shape, least=0)
        result = np.zeros(sizes, updates.dtype)
        if not indices.shape[-1]:
            return result + np.sum(updates, _lead(indices), dtype=updates.dtype)
        np.add.at(result, positions(indices), updates)
        return result

    def grad(self, indices: Any, updates: Any, shape: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return None, GatherNd.of()(dout, indices)


def _lead(indices: Any) -> tuple[int, ...]:
    """The axes of the updates that enumerate the indices."""
    return tuple(range(indices.ndim - 1))


class EmbeddingLookup(Op):
    """Embedding lookup in a table whose first row has index `offset`; zeros for other indices."""

    static = ("offset",)
    rows_of = 0
    examples = (case("f32[4,2]", "i64[3]:<6", 0), case("f32[4,2]", "i32[2,2]:<6", 2))

    def infer(self, input_params: TensorType, input_indices: TensorType, offset: Any) -> TensorType:
        check_indices(self.name, input_indices)
        check_axes(self.name, "input_params", input_params)
        return input_params.with_shape((*input_indices.shape, *input_params.shape[1:]))

    def lower(self, input_params: Array, input_indices: Array, offset: Any) -> Array:
        if not input_params.shape[0]:
            shape = (*input_indices.shape, *input_params.shape[1:])
            return jnp.zeros(shape, input_params.dtype)
        rows = jnp.asarray(input_indices) - offset
        inside = (rows >= 0) & (rows < input_params.shape[0])
        gathered = jnp.take(jnp.asarray(input_params), rows, axis=0, mode="clip")
        wide = jnp.expand_dims(inside, tuple(range(inside.ndim, gathered.ndim)))
        return jnp.where(wide, gathered, jnp.zeros((), gathered.dtype))


class UnravelIndex(Op):
    """Converts flat indices into coordinates of a tensor of shape `dims`, one row per axis."""

    static = ("dims",)
    differentiable = False
    examples = (case("i64[2]:<6", (2, 3)), case("i32[]:<6", (6,)))

    def infer(self, indices: TensorType, dims: Any) -> TensorType:
        check_indices(self.name, indices)
        return indices.with_shape((len(as_shape(dims, self.name)), *indices.shape))

    def bounds(self, indices: Any, dims: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(0, prod(as_shape(dims, self.name))),)

    def lower(self, indices: Array, dims: Any) -> Array:
        return jnp.stack(jnp.unravel_index(jnp.asarray(indices), dims)).astype(indices.dtype)

    def host(self, indices: Any, dims: Any) -> Any:
        return np.stack(np.unravel_index(indices, dims)).astype(indices.dtype)


def gather(input_params: Any, input_indices: Any, axis: Any, batch_dims: int = 0) -> Any:
    """Gathers slices of `input_params` along `axis` by index."""
    return Gather.of(batch_dims)(input_params, input_indices, axis)


def gather_d(x: Any, dim: Any, index: Any) -> Any:
    """Gathers elements of `x` along `dim`: out[i][j] = x[index[i][j]][j] for dim 0."""
    return GatherD.of()(x, dim, index)


def gather_elements(input: Any, dim: Any, index: Any) -> Any:
    """Gathers elements of `input` along `dim`: out[i][j] = input[index[i][j]][j] for dim 0."""
    return GatherD.of()(input, dim, index)


def gather_nd(input_x: Any, indices: Any) -> Any:
    """Gathers slices of `input_x` at multi-dimensional indices."""
    check_tensors("gather_nd", input_x=input_x, indices=indices)
    return GatherNd.of()(input_x, indices if indices.shape else reshape(indices, (1,)))


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    """Scatters `updates` into zeros of `shape` at multi-dimensional indices; repeats add up."""
    return ScatterNd.of()(indices, updates, shape)


def index_select(input: Any, axis: int, index: Any) -> Any:
    """Selects slices of `input` along `axis` with a 1-D index."""
    check_tensors("index_select", input=input, index=index)
    if len(index.shape) != 1:
        raise problem(
            ValueError,
            "index_select: the index must be 1-D",
            got=f"shape {list(index.shape)}",
        )
    return Gather.of()(input, index, axis)


def take(input: Any, index: Any) -> Any:
    """Selects elements of the flattened `input`; the result has the shape of `index`."""
    return Gather.of()(reshape(input, (-1,)), index, 0)
