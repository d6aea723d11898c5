"""Scatter operators that return a new tensor: tensor_scatter_*, scatter, index_fill.

Where an index repeats, all updates count if they add, multiply, or compare; if they replace, one of
them remains. Indices out of range have no effect inside a compiled program.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.checks import check_string
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import Case, case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_arguments import (
    all_of,
    check_elements,
    check_indices,
    check_updates,
    element_places,
    positions,
    write_at,
)
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_axes, check_readable
from mycelia.ops.elementwise.arithmetic import div, mul, neg
from mycelia.ops.indexing.gather import GatherD, GatherNd
from mycelia.ops.shapes.reshape import broadcast_to, scalar_to_tensor

_APART = (case("f32[3,2]", "i64[1,1]:<3", "f32[1,2]"), case("f32[3]", "i32[0,1]:<3", "f32[0]"))
_TOGETHER = (
    case("f32[3,2]", "i64[4,1]:<3", "f32[4,2]"),
    case("f32[2,3]", "i32[2,2]:<2", "f32[2]"),
)


class TensorScatter(Op, register=False):
    """Base class of updates of a copy at multi-dimensional indices, one slice per index."""

    verb = "set"
    kernel: ClassVar[Any] = np.add
    examples: ClassVar[tuple[Case, ...]] = (*_TOGETHER, *_APART)

    def infer(self, input_x: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        check_indices(self.name, indices)
        if input_x.dtype is not updates.dtype:
            raise problem(
                TypeError,
                f"{self.name}: the updates differ in dtype from the tensor",
                got=f"{input_x} and updates {updates}",
                fix="cast the updates to the dtype of the tensor",
            )
        check_updates(self.name, input_x.shape, indices.shape, updates.shape)
        return input_x

    def bounds(self, input_x: Any, indices: Any, updates: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.positions(1, input_x.shape, indices.shape),)

    def lower(self, input_x: Array, indices: Array, updates: Array) -> Array:
        return write_at(input_x, positions(jnp.asarray(indices)), updates, self.verb)

    def host(self, input_x: Any, indices: Any, updates: Any) -> Any:
        if input_x.dtype != updates.dtype:
            raise TypeError("the dtypes differ")
        check_updates(self.name, input_x.shape, indices.shape, updates.shape)
        result = np.array(input_x)
        if self.verb == "set":
            result[positions(indices)] = updates
        elif self.verb == "divide":
            return np.asarray(write_at(input_x, positions(indices), updates, self.verb))
        else:
            self.kernel.at(result, positions(indices), updates)
        return result


class TensorScatterUpdate(TensorScatter):
    """Replaces slices at multi-dimensional indices with `updates`, in a new tensor."""

    examples = _APART

    def grad(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        blank = broadcast_to(scalar_to_tensor(0, dout.dtype), updates.shape)
        return TensorScatterUpdate.of()(dout, indices, blank), None, GatherNd.of()(dout, indices)


class TensorScatterAdd(TensorScatter):
    """Adds `updates` to slices at multi-dimensional indices, in a new tensor."""

    verb = "add"

    def grad(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        return dout, None, GatherNd.of()(dout, indices)


class TensorScatterSub(TensorScatter):
    """Subtracts `updates` from slices at multi-dimensional indices, in a new tensor."""

    verb = "subtract"
    kernel = np.subtract

    def grad(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        return dout, None, neg(GatherNd.of()(dout, indices))


class TensorScatterMul(TensorScatter):
    """Multiplies slices at multi-dimensional indices by `updates`, in a new tensor.

    The gradient of `updates` is valid if no index repeats.
    """

    verb = "multiply"
    kernel = np.multiply
    examples = (
        case("f32[3,2]", "i64[1,1]:<3", "f32[1,2]", differentiate=False),
        case("f32[3]", "i32[0,1]:<3", "f32[0]"),
    )

    def grad(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        inner = TensorScatterMul.of()(dout, indices, updates)
        return inner, None, GatherNd.of()(mul(dout, input_x), indices)


class TensorScatterDiv(TensorScatter):
    """Divides slices at multi-dimensional indices by `updates`, in a new tensor.

    The gradient of `updates` is valid if no index repeats.
    """

    verb = "divide"
    examples = (
        case("f32[3,2]", "i64[1,1]:<3", "f32[1,2]:positive", differentiate=False),
        case("f32[3]", "i32[0,1]:<3", "f32[0]:positive"),
    )

    def grad(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        inner = TensorScatterDiv.of()(dout, indices, updates)
        lost = div(GatherNd.of()(mul(dout, out), indices), updates)
        return inner, None, neg(lost)


class _Extreme(TensorScatter, register=False):
    """Base class of scatter maximum and minimum; equal elements share the gradient."""

    examples = (
        case("f32[3,2]:distinct", "i64[4,1]:<3", "f32[4,2]"),
        case("f32[3]", "i32[0,1]:<3", "f32[0]"),
    )

    def grad(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        to_x, to_updates = ScatterExtremeGrad.of()(input_x, indices, updates, out, dout)
        return to_x, None, to_updates


class TensorScatterMax(_Extreme):
    """Maximum of slices at multi-dimensional indices and `updates`, in a new tensor."""

    verb = "max"
    kernel = np.maximum


class TensorScatterMin(_Extreme):
    """Minimum of slices at multi-dimensional indices and `updates`, in a new tensor."""

    verb = "min"
    kernel = np.minimum


class ScatterExtremeGrad(Op):
    """The gradient of TensorScatterMax and TensorScatterMin, shared among equal elements."""

    examples = (case("f32[3]", "i64[2,1]:<3", "f32[2]", "f32[3]", "f32[3]", differentiate=False),)

    def bounds(
        self, input_x: Any, indices: Any, updates: Any, out: Any, dout: Any
    ) -> tuple[IndexBound, ...]:
        bound = IndexBound.positions(1, input_x.shape, indices.shape)
        return (bound.gradient("TensorScatter", "indices"),)

    def lower(
        self, input_x: Array, indices: Array, updates: Array, out: Array, dout: Array
    ) -> tuple[Array, Array]:
        index = positions(jnp.asarray(indices))
        from_x = (input_x == out).astype(dout.dtype)
        from_updates = (updates == jnp.asarray(out)[index]).astype(dout.dtype)
        sources = from_x.at[index].add(from_updates)
        share = dout / jnp.maximum(sources, 1)
        return share * from_x, share[index] * from_updates


class TensorScatterElements(Op):
    """Scatters elements along an axis: out[index[i][j]][j] = updates[i][j] for axis 0."""

    axis: int = 0
    reduction: str = "none"
    examples = (
        case("f32[3,3]", "i64[1,3]:<3", "f32[1,3]"),
        case("f32[2,3]", "i32[2,4]:<3", "f32[2,4]", axis=1, reduction="add"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("TensorScatterElements", "reduction", self.reduction, ("none", "add"))
        return {}

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        check_indices(self.name, indices)
        axis = normalize_axis(self.axis, data.ndim, self.name)
        check_elements(self.name, data.shape, indices.shape, axis)
        if indices.shape != updates.shape:
            raise problem(
                ValueError,
                f"{self.name}: indices and updates have different shapes",
                got=f"indices {indices}, updates {updates}",
            )
        if data.dtype is not updates.dtype:
            raise problem(
                TypeError,
                f"{self.name}: the updates differ in dtype from the tensor",
                got=f"{data} and updates {updates}",
            )
        return data

    def bounds(self, data: Any, indices: Any, updates: Any) -> tuple[IndexBound, ...]:
        axis = normalize_axis(self.axis, len(data.shape), self.name)
        return (IndexBound.indices(1, data.shape[axis], negative=True),)

    def lower(self, data: Array, indices: Array, updates: Array) -> Array:
        axis = normalize_axis(self.axis, data.ndim, self.name)
        verb = "add" if self.reduction == "add" else "set"
        return write_at(data, element_places(jnp.asarray(indices), axis), updates, verb)

    def grad(self, data: Any, indices: Any, updates: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        read = GatherD.of()(dout, self.axis, indices)
        if self.reduction == "add":
            return dout, None, read
        blank = broadcast_to(scalar_to_tensor(0, dout.dtype), updates.shape)
        return TensorScatterElements.of(self.axis)(dout, indices, blank), None, read


class ScatterAddWithAxis(TensorScatterElements):
    """Adds elements along an axis: out[index[i][j]][j] += updates[i][j] for axis 0."""

    reduction: str = "add"


class IndexFill(Op):
    """Fills the slices along `dim` at the given indices with one value."""

    static = ("dim",)
    promotes = ("value",)
    examples = (
        case("f32[3,2]", 0, "i32[1]:<3", "f32[]"),
        case("f32[2,3]", -1, "i64[2]:<3", "f32[]"),
        case("i32[3]", 0, "i32[]:<3", "i32[]"),
    )

    def infer(self, x: TensorType, dim: Any, index: TensorType, value: TensorType) -> TensorType:
        check_indices(self.name, index)
        check_axes(self.name, "x", x)
        normalized = normalize_axis(dim, x.ndim, self.name)
        check_readable(self.name, x.with_shape((x.shape[normalized],)), index.shape)
        if value.ndim or index.ndim > 1:
            raise problem(
                ValueError,
                "IndexFill: expected a 1-D index and one value",
                got=f"index {index}, value {value}",
            )
        return x

    def bounds(self, x: Any, dim: Any, index: Any, value: Any) -> tuple[IndexBound, ...]:
        axis = normalize_axis(dim, len(x.shape), self.name)
        return (IndexBound.indices(2, x.shape[axis], negative=True),)

    def lower(self, x: Array, dim: Any, index: Array, value: Array) -> Array:
        normalized = normalize_axis(dim, x.ndim, self.name)
        if not x.size:
            return jnp.asarray(x)
        return write_at(x, (*all_of(normalized), jnp.asarray(index)), value, "set")

    def host(self, x: Any, dim: Any, index: Any, value: Any) -> Any:
        normalized = normalize_axis(dim, x.ndim, self.name)
        if index.dtype.kind not in "iu" or index.ndim > 1 or value.ndim:
            raise TypeError("expected a 1-D index and one value")
        result = np.array(x)
        result[(*all_of(normalized), index)] = value.astype(x.dtype)
        return result


class IndexPut(Op):
    """Replaces, or adds to, the elements at a tuple of index tensors."""

    accumulate: int = 0
    examples = (
        case("f32[3,2]", "f32[1]", ("i32[2]:<1", "i32[2]:<2"), differentiate=False),
        case("f32[3,2]", "f32[2]", ("i64[2]:<3", "i64[2]:<2"), accumulate=1),
    )

    def bounds(self, x1: Any, x2: Any, indices: Any) -> tuple[IndexBound, ...]:
        parts = zip(range(len(indices)), x1.shape, strict=False)
        return tuple([IndexBound.indices((2, i), size, negative=True) for i, size in parts])

    def lower(self, x1: Array, x2: Array, indices: tuple[Array, ...]) -> Array:
        verb = "add" if self.accumulate else "set"
        return write_at(x1, tuple(map(jnp.asarray, indices)), x2, verb)


def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Any:
    """Replaces slices of `input_x` at multi-dimensional indices, in a new tensor."""
    return TensorScatterUpdate.of()(input_x, indices, updates)


def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """Adds `updates` to slices at multi-dimensional indices, in a new tensor."""
    return TensorScatterAdd.of()(input_x, indices, updates)


def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Any:
    """Subtracts `updates` from slices at multi-dimensional indices, in a new tensor."""
    return TensorScatterSub.of()(input_x, indices, updates)


def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Any:
    """Multiplies slices at multi-dimensional indices by `updates`, in a new tensor."""
    return TensorScatterMul.of()(input_x, indices, updates)


def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Any:
    """Divides slices at multi-dimensional indices by `updates`, in a new tensor."""
    return TensorScatterDiv.of()(input_x, indices, updates)


def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Any:
    """Maximum of slices at multi-dimensional indices and `updates`, in a new tensor."""
    return TensorScatterMax.of()(input_x, indices, updates)


def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Any:
    """Minimum of slices at multi-dimensional indices and `updates`, in a new tensor."""
    return TensorScatterMin.of()(input_x, indices, updates)


def tensor_scatter_elements(
    input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none"
) -> Any:
    """Replaces, or adds to, elements of `input_x` along `axis`, in a new tensor."""
    return TensorScatterElements.of(axis, reduction)(input_x, indices, updates)


def scatter(input: Any, axis: int, index: Any, src: Any) -> Any:
    """Scatters `src` (a tensor or a number) into `input` along `axis`, in a new tensor."""
    if not isinstance(src, TensorProtocol):
        src = broadcast_to(scalar_to_tensor(src, input.dtype), index.shape)
    return TensorScatterElements.of(axis)(input, index, src)


def index_fill(x: Any, axis: Any, index: Any, value: Any) -> Any:
    """Fills the slices of `x` along `axis` at `index` with one value, in a new tensor."""
    one = value if isinstance(value, TensorProtocol) else scalar_to_tensor(value, x.dtype)
    return IndexFill.of()(x, axis, index, one)
