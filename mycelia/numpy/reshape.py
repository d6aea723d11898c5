"""Reshaping and rearranging arrays: reshape, transpose, flip, roll, tile."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import broadcast, normalize_axes, normalize_axis
from mycelia.numpy.array_conversion import integer, to_shape, to_tensor
from mycelia.tensor.tensor import Tensor


def reshape(x: Any, new_shape: Any) -> Any:
    """Change the shape, keeping the elements."""
    return ops.reshape(to_tensor(x), new_shape)


def ravel(x: Any) -> Any:
    """Flatten to one axis."""
    return to_tensor(x).ravel()


def expand_dims(a: Any, axis: Any) -> Any:
    """Insert axes of size 1 at the given positions of the result."""
    source = to_tensor(a)
    listed = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = source.ndim + len(listed)
    new = normalize_axes(listed, rank, "expand_dims")
    sizes = iter(source.shape)
    return ops.reshape(source, tuple(1 if place in new else next(sizes) for place in range(rank)))


def squeeze(a: Any, axis: Any = None) -> Any:
    """Remove axes of size 1: all of them, or the given ones."""
    source = to_tensor(a)
    named = normalize_axes(axis, source.ndim, "squeeze")
    kept = [n for place, n in enumerate(source.shape) if not (n == 1 and place in named)]
    return ops.reshape(source, tuple(kept))


def transpose(a: Any, axes: Any = None) -> Any:
    """Permute the axes; by default, reverse them."""
    source = to_tensor(a)
    order = tuple(range(source.ndim))[::-1] if axes is None else tuple(axes)
    return ops.transpose(source, order)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Swap two axes."""
    return ops.swapaxes(to_tensor(x), axis1, axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other positions; the others keep their order."""
    return ops.moveaxis(to_tensor(a), source, destination)


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """Move an axis to the position before the axis that is now at `start`."""
    source = to_tensor(x)
    place = normalize_axis(axis, source.ndim, "rollaxis")
    if not -source.ndim <= integer("rollaxis", "start", start) <= source.ndim:
        raise problem(
            ValueError,
            f"rollaxis: start {start} is out of range",
            expected=f"a number from {-source.ndim} to {source.ndim}",
        )
    target = start + source.ndim if start < 0 else start
    return ops.moveaxis(source, place, target - 1 if place < target else target)


# ---- at least so many axes ------------------------------------------------------------------


def atleast_1d(*arys: Any) -> Any:
    """View inputs as arrays with at least one axis; several arrays return a list."""
    return _each(arys, lambda t: t if t.ndim else ops.reshape(t, (1,)))


def atleast_2d(*arys: Any) -> Any:
    """View inputs as arrays with at least two axes (vectors are rows); several return a list."""
    return _each(arys, lambda t: t if t.ndim > 1 else ops.reshape(t, (1, t.size)))


def atleast_3d(*arys: Any) -> Any:
    """View inputs as arrays with at least three axes; several arrays return a list.

    Matrices gain a last axis of size 1; vectors gain a first and a last one.
    """
    return _each(arys, three_axes)


def three_axes(tensor: Any) -> Any:
    """A tensor with at least three axes."""
    if tensor.ndim > 2:
        return tensor
    return ops.reshape(tensor, (*tensor.shape, 1) if tensor.ndim == 2 else (1, tensor.size, 1))


def _each(arrays: tuple[Any, ...], shaped: Any) -> Any:
    made = [shaped(to_tensor(a)) for a in arrays]
    return made[0] if len(made) == 1 else made


# ---- copies of elements ---------------------------------------------------------------------


def broadcast_to(array: Any, shape: Any) -> Any:
    """Broadcast the array to `shape`."""
    if not isinstance(shape, (tuple, list)):
        raise wrong_type("broadcast_to", "shape", shape, "tuple or list of ints")
    return ops.broadcast_to(to_tensor(array), to_shape("broadcast_to", shape))


def broadcast_arrays(*args: Any) -> list[Any]:
    """Broadcast arrays against each other."""
    tensors = [to_tensor(a) for a in args]
    shape = broadcast(*(t.shape for t in tensors), op="broadcast_arrays")
    return [ops.broadcast_to(t, shape) for t in tensors]


def tile(a: Any, reps: Any) -> Any:
    """Repeat the whole array along each axis."""
    given = reps.tolist() if isinstance(reps, Tensor) else reps
    times = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return ops.tile(to_tensor(a), times)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Repeat each element; `repeats` is one count for all or one per element."""
    source = to_tensor(a)
    source, place = (source.ravel(), 0) if axis is None else (source, axis)
    counts = repeats.tolist() if isinstance(repeats, Tensor) else repeats
    return ops.repeat_interleave(source, counts, place)


# ---- flips, rotations, and shifts -----------------------------------------------------------


def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the elements along the axes (default: all)."""
    source = to_tensor(m)
    return ops.flip(source, normalize_axes(axis, source.ndim, "flip"))


def flipud(m: Any) -> Any:
    """Reverse the elements along the first axis."""
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """Reverse the elements along the second axis."""
    return flip(m, 1)


def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Rotate by 90 degrees `k` times in the plane of two axes, from the first to the second."""
    source = to_tensor(a)
    first, second = (normalize_axis(n, source.ndim, "rot90") for n in axes)
    if first == second:
        raise problem(ValueError, "rot90: the two axes are the same", got=str(axes))
    return ops.rot90(source, integer("rot90", "k", k), (first, second))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Shift elements along the axes, wrapping around at the ends."""
    source = to_tensor(a)
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    if axis is None:
        return ops.reshape(ops.roll(source.ravel(), (sum(shifts),), (0,)), source.shape)
    named = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normalize_axis(n, source.ndim, "roll") for n in named)
    pairs = max(len(shifts), len(axes))
    if {len(shifts), len(axes)} - {1, pairs}:
        raise problem(
            ValueError,
            "roll: the shifts do not match the axes",
            got=f"shift {shift} and axis {axis}",
            expected="one number, or as many shifts as axes",
        )
    return ops.roll(source, shifts * (pairs // len(shifts)), axes * (pairs // len(axes)))
