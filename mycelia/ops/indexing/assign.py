"""In-place updates of parameters: assign, scatter_update, scatter_add, index_add."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import promote
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_arguments import (
    all_of,
    check_indices,
    check_updates,
    positions,
    write_at,
)
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.indexing.gather import gather
from mycelia.ops.shapes.reshape import scalar_to_tensor


class Assign(Op):
    """Assigns `value` to a parameter and returns the parameter."""

    writes = ("variable",)
    differentiable = False
    examples = (case("f32[2,3]", "f32[2,3]"), case("f32[2]", "i32[2]"), case("f32[]", "f32[]"))

    def infer(self, variable: TensorType, value: TensorType) -> tuple[Any, ...]:
        if promote(variable.dtype, value.dtype) is not variable.dtype:
            raise problem(
                TypeError,
                f"{self.name}: the dtype of the value cannot be cast to that of the variable",
                got=f"variable {variable}, value {value}",
                fix="cast the value to the dtype of the variable",
            )
        if variable.shape != value.shape:
            raise problem(
                ValueError,
                f"{self.name}: variable and value have different shapes",
                got=f"variable {variable}, value {value}",
            )
        return None, (variable,)

    def lower(self, variable: Array, value: Array) -> Any:
        return None, (self.combined(variable, jnp.asarray(value).astype(variable.dtype)),)

    def combined(self, variable: Array, value: Array) -> Array:
        return value


class Replacement(Op, register=False):
    """What a tensor holds after it was given other numbers: `new`, with the gradient of `former`.

    Programs have it while gradients may be taken; then it is `new`.
    """

    def infer(self, former: TensorType, new: TensorType) -> TensorType:
        return new

    def lower(self, former: Array, new: Array) -> Array:
        return jnp.asarray(new)

    def grad(self, former: Any, new: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return dout, None


class AssignAdd(Assign):
    """Adds `value` to a parameter in place and returns the parameter."""

    def combined(self, variable: Array, value: Array) -> Array:
        return jnp.add(variable, value)


class AssignSub(Assign):
    """Subtracts `value` from a parameter in place and returns the parameter."""

    def combined(self, variable: Array, value: Array) -> Array:
        return jnp.subtract(variable, value)


class ScatterRows(Op, register=False):
    """Base class of in-place updates of rows of a parameter, one row of updates per index."""

    use_locking: bool = False
    verb = "set"
    writes = ("input_x",)
    differentiable = False
    examples = (
        case("f32[4,2]", "i32[1]:<4", "f32[1,2]:positive"),
        case("f32[4]", "i64[1,1]:<4", "f32[1,1]:positive"),
        case("f32[4,2]", "i64[0]:<4", "f32[0,2]"),
    )

    def infer(self, input_x: TensorType, indices: TensorType, updates: TensorType) -> Any:
        check_indices(self.name, indices)
        self._check(input_x, updates)
        wanted = (*indices.shape, *input_x.shape[1:])
        if not input_x.ndim or updates.shape != wanted:
            raise problem(
                ValueError,
                f"{self.name}: the shape of the updates does not match the indices",
                got=f"variable {input_x}, indices {indices}, updates {updates}",
                expected=f"updates of shape {list(wanted)}",
            )
        return None, (input_x,)

    def bounds(self, input_x: Any, indices: Any, updates: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(1, input_x.shape[0]),)

    def lower(self, input_x: Array, indices: Array, updates: Array) -> Any:
        return None, (write_at(input_x, jnp.asarray(indices), updates, self.verb),)

    def _check(self, input_x: TensorType, updates: TensorType) -> None:
        if promote(input_x.dtype, updates.dtype) is not input_x.dtype:
            raise problem(
                TypeError,
                f"{self.name}: the dtype of the updates cannot be cast to that of the variable",
                got=f"variable {input_x}, updates {updates}",
            )


class ScatterUpdate(ScatterRows):
    """Replaces the rows of a parameter at `indices` with `updates`, in place."""

    use_locking: bool = True


class ScatterAdd(ScatterRows):
    """Adds `updates` to the rows of a parameter at `indices`, in place."""

    verb = "add"


class ScatterSub(ScatterRows):
    """Subtracts `updates` from the rows of a parameter at `indices`, in place."""

    verb = "subtract"


class ScatterMul(ScatterRows):
    """Multiplies the rows of a parameter at `indices` by `updates`, in place."""

    verb = "multiply"


class ScatterDiv(ScatterRows):
    """Divides the rows of a parameter at `indices` by `updates`, in place."""

    verb = "divide"


class ScatterMax(ScatterRows):
    """Elementwise maximum of the rows of a parameter at `indices` and `updates`, in place."""

    verb = "max"


class ScatterMin(ScatterRows):
    """Elementwise minimum of the rows of a parameter at `indices` and `updates`, in place."""

    verb = "min"


class ScatterPositions(ScatterRows, register=False):
    """Base class of in-place updates of slices at multi-dimensional indices."""

    examples = (
        case("f32[4,2]", "i32[1,1]:<4", "f32[1,2]:positive"),
        case("f32[4,2]", "i64[1,2]:<2", "f32[1]:positive"),
        case("f32[4,2]", "i64[0,1]:<4", "f32[0,2]"),
    )

    def infer(self, input_x: TensorType, indices: TensorType, updates: TensorType) -> Any:
        check_indices(self.name, indices)
        self._check(input_x, updates)
        check_updates(self.name, input_x.shape, indices.shape, updates.shape)
        return None, (input_x,)

    def bounds(self, input_x: Any, indices: Any, updates: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.positions(1, input_x.shape, indices.shape),)

    def lower(self, input_x: Array, indices: Array, updates: Array) -> Any:
        index = positions(jnp.asarray(indices))
        return None, (write_at(input_x, index, updates, self.verb),)


class ScatterNdUpdate(ScatterPositions):
    """Replaces slices of a parameter at multi-dimensional `indices`, in place."""

    use_locking: bool = True


class ScatterNdAdd(ScatterPositions):
    """Adds `updates` to slices of a parameter at multi-dimensional `indices`, in place."""

    verb = "add"


class ScatterNonAliasingAdd(ScatterPositions):
    """Adds `updates` to slices of a parameter at multi-dimensional `indices`, in place."""

    verb = "add"


class ScatterNdSub(ScatterPositions):
    """Subtracts `updates` from slices at multi-dimensional `indices`, in place."""

    verb = "subtract"


class ScatterNdMul(ScatterPositions):
    """Multiplies slices at multi-dimensional `indices` by `updates`, in place."""

    verb = "multiply"


class ScatterNdDiv(ScatterPositions):
    """Divides slices at multi-dimensional `indices` by `updates`, in place."""

    verb = "divide"


class ScatterNdMax(ScatterPositions):
    """Maximum of slices at multi-dimensional `indices` and `updates`, in place."""

    verb = "max"


class ScatterNdMin(ScatterPositions):
    """Minimum of slices at multi-dimensional `indices` and `updates`, in place."""

    verb = "min"


class IndexAdd(Op):
    """Adds slices of `y` to a parameter along an axis, in place. The result has a gradient."""

    axis: int
    use_lock: bool = True
    check_index_bound: bool = True
    writes = ("x",)
    examples = (
        case("f32[3,2]", "i32[2]:<3", "f32[2,2]", axis=0),
        case("f32[2,3]", "i32[4]:<3", "f32[2,4]", axis=-1),
    )

    def infer(self, x: TensorType, indices: TensorType, y: TensorType) -> Any:
        check_indices(self.name, indices)
        normalized = normalize_axis(self.axis, x.ndim, self.name)
        wanted = (*x.shape[:normalized], *indices.shape, *x.shape[normalized + 1 :])
        if indices.ndim != 1 or y.shape != wanted or y.dtype is not x.dtype:
            raise problem(
                ValueError if y.dtype is x.dtype else TypeError,
                f"{self.name}: y does not match the variable and the indices",
                got=f"x {x}, indices {indices}, y {y}",
                expected=f"1-D indices, and y of shape {list(wanted)} with the dtype of x",
            )
        return x, (x,)

    def bounds(self, x: Any, indices: Any, y: Any) -> tuple[IndexBound, ...]:
        axis = normalize_axis(self.axis, len(x.shape), self.name)
        return (IndexBound.indices(1, x.shape[axis]),) if self.check_index_bound else ()

    def lower(self, x: Array, indices: Array, y: Array) -> Any:
        normalized = normalize_axis(self.axis, x.ndim, self.name)
        result = write_at(x, (*all_of(normalized), jnp.asarray(indices)), y, "add")
        return result, (result,)

    def grad(self, x: Any, indices: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return dout, None, gather(dout, indices, self.axis)


class InplaceIndexAdd(IndexAdd):
    """Adds slices of `updates` to a parameter along an axis, in place."""


def assign(variable: Any, value: Any) -> Any:
    """Assigns `value` to a parameter and returns the parameter."""
    return Assign.of()(variable, _as_tensor(variable, value))


def assign_add(variable: Any, value: Any) -> Any:
    """Adds `value` to a parameter in place and returns the parameter."""
    return AssignAdd.of()(variable, _as_tensor(variable, value))


def assign_sub(variable: Any, value: Any) -> Any:
    """Subtracts `value` from a parameter in place and returns the parameter."""
    return AssignSub.of()(variable, _as_tensor(variable, value))


def _as_tensor(variable: Any, value: Any) -> Any:
    if isinstance(value, TensorProtocol):
        return value
    fits = not isinstance(value, float) or variable.dtype.is_inexact
    return scalar_to_tensor(value, variable.dtype if fits else "float32")


def scatter_update(input_x: Any, indices: Any, updates: Any) -> Any:
    """Replaces the rows of a parameter at `indices` with `updates`, in place."""
    return ScatterUpdate.of()(input_x, indices, updates)


def scatter_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """Adds `updates` to the rows of a parameter at `indices`, in place."""
    return ScatterAdd.of()(input_x, indices, updates)


def scatter_mul(input_x: Any, indices: Any, updates: Any) -> Any:
    """Multiplies the rows of a parameter at `indices` by `updates`, in place."""
    return ScatterMul.of()(input_x, indices, updates)


def scatter_div(input_x: Any, indices: Any, updates: Any) -> Any:
    """Divides the rows of a parameter at `indices` by `updates`, in place."""
    return ScatterDiv.of()(input_x, indices, updates)


def scatter_max(input_x: Any, indices: Any, updates: Any) -> Any:
    """Elementwise maximum of the rows of a parameter at `indices` and `updates`, in place."""
    return ScatterMax.of()(input_x, indices, updates)


def scatter_min(input_x: Any, indices: Any, updates: Any) -> Any:
    """Elementwise minimum of the rows of a parameter at `indices` and `updates`, in place."""
    return ScatterMin.of()(input_x, indices, updates)


def scatter_nd_update(input_x: Any, indices: Any, updates: Any) -> Any:
    """Replaces slices of a parameter at multi-dimensional `indices`, in place."""
    return ScatterNdUpdate.of()(input_x, indices, updates)


def scatter_nd_add(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Adds `updates` to slices of a parameter at multi-dimensional `indices`, in place."""
    return ScatterNdAdd.of(use_locking)(input_x, indices, updates)


def scatter_nd_sub(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Subtracts `updates` from slices at multi-dimensional `indices`, in place."""
    return ScatterNdSub.of(use_locking)(input_x, indices, updates)


def scatter_nd_mul(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Multiplies slices at multi-dimensional `indices` by `updates`, in place."""
    return ScatterNdMul.of(use_locking)(input_x, indices, updates)


def scatter_nd_div(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Divides slices at multi-dimensional `indices` by `updates`, in place."""
    return ScatterNdDiv.of(use_locking)(input_x, indices, updates)


def scatter_nd_max(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Maximum of slices at multi-dimensional `indices` and `updates`, in place."""
    return ScatterNdMax.of(use_locking)(input_x, indices, updates)


def scatter_nd_min(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Minimum of slices at multi-dimensional `indices` and `updates`, in place."""
    return ScatterNdMin.of(use_locking)(input_x, indices, updates)


def index_add(
    x: Any,
    indices: Any,
    y: Any,
    axis: int,
    use_lock: bool = True,
    check_index_bound: bool = True,
) -> Any:
    """Adds slices of `y` to the parameter `x` along `axis`, in place."""
    return IndexAdd.of(axis, use_lock, check_index_bound)(x, indices, y)


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Adds slices of `updates` to the parameter `var` along `axis`, in place."""
    return InplaceIndexAdd.of(axis)(var, indices, updates)
