"""Shape functions built on reshape, transpose, and broadcast: flatten, permute, unsqueeze, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_int, check_string
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import as_shape, normalize_axis, size
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia.ops.shapes.reshape import (
    broadcast_to,
    cast,
    expand_dims,
    identity,
    reshape,
    transpose,
)


def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Any:
    """Flattens the axes from `start_dim` to `end_dim`; order 'F' reverses all axes first."""
    _check_tensor("flatten", "input", input)
    check_string("flatten", "order", order, ("C", "F"))
    check_int("flatten", "start_dim", start_dim)
    check_int("flatten", "end_dim", end_dim)
    if order == "F":
        rank = len(input.shape)
        input = transpose(input, tuple(range(rank - 1, -1, -1)))
    if len(input.shape) < 2 and start_dim in (0, 1):
        return reshape(input, (-1,))
    rank = len(input.shape)
    first = normalize_axis(start_dim, rank, "flatten")
    last = normalize_axis(end_dim, rank, "flatten")
    if first > last:
        raise problem(
            ValueError,
            "flatten: start_dim comes after end_dim",
            got=f"start_dim={start_dim}, end_dim={end_dim} for {rank} dimensions",
        )
    merged = size(input.shape[first : last + 1])
    return reshape(input, (*input.shape[:first], merged, *input.shape[last + 1 :]))


def ravel(input: Any) -> Any:
    """Flattens a tensor to one axis."""
    return reshape(input, (-1,))


def view_as(input: Any, other: Any) -> Any:
    """Reshapes `input` to the shape of `other`."""
    check_tensors("view_as", input=input, other=other)
    return reshape(input, other.shape)


def reshape_(input: Any, shape: Any) -> Any:
    """Reshapes a tensor; one size may be -1, which is inferred."""
    return reshape(input, shape)


def unsqueeze(input: Any, dim: int) -> Any:
    """Inserts an axis of size 1 at `dim`."""
    return expand_dims(input, dim)


def permute(input: Any, axis: Any) -> Any:
    """Permutes the axes of `input` to the order `axis`."""
    return transpose(input, axis)


def t(input: Any) -> Any:
    """Transposes a matrix; tensors of other ranks are returned unchanged."""
    check_tensors("t", input=input)
    return transpose(input, (1, 0)) if len(input.shape) == 2 else identity(input)


def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Swaps two axes of `input`."""
    _check_tensor("swapaxes", "input", input)
    rank = len(input.shape)
    first = normalize_axis(axis0, rank, "swapaxes")
    second = normalize_axis(axis1, rank, "swapaxes")
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return transpose(input, tuple(order))


def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """Swaps two axes of `input`."""
    return swapaxes(input, dim0, dim1)


def movedim(x: Any, source: Any, destination: Any) -> Any:
    """Moves the axes `source` to the positions `destination`; the others keep their order."""
    rank = len(x.shape)
    sources = [normalize_axis(a, rank, "movedim") for a in as_shape(source, "movedim")]
    places = [normalize_axis(a, rank, "movedim") for a in as_shape(destination, "movedim")]
    if len(sources) != len(places) or len(set(sources)) < len(sources):
        raise problem(
            ValueError,
            "movedim: source and destination must name the same number of axes, each once",
            got=f"source={source}, destination={destination}",
        )
    order = [a for a in range(rank) if a not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return transpose(x, tuple(order))


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Moves the axes `source` to the positions `destination`; the others keep their order."""
    return movedim(x, source, destination)


def expand(input_x: Any, size: Any) -> Any:
    """Broadcasts `input_x` to `size`; -1 keeps a size."""
    return broadcast_to(input_x, freeze(size))


def expand_as(input: Any, other: Any) -> Any:
    """Broadcasts `input` to the shape of `other`."""
    check_tensors("expand_as", input=input, other=other)
    return broadcast_to(input, other.shape)


def type_as(input: Any, other: Any) -> Any:
    """Casts `input` to the dtype of `other`."""
    check_tensors("type_as", input=input, other=other)
    return cast(input, other.dtype)


def deepcopy(input_x: Any) -> Any:
    """Copy of `input_x`."""
    return identity(input_x)


def atleast_1d(inputs: Any) -> Any:
    """Tensor (or each of a sequence) with at least one axis."""
    return _each(inputs, lambda x: x if x.shape else reshape(x, (1,)), "atleast_1d")


def atleast_2d(inputs: Any) -> Any:
    """Tensor (or each of a sequence) with at least two axes; new axes come first."""

    def grown(x: Any) -> Any:
        return reshape(x, (1,) * (2 - len(x.shape)) + x.shape) if len(x.shape) < 2 else x

    return _each(inputs, grown, "atleast_2d")


def atleast_3d(inputs: Any) -> Any:
    """Tensor (or each of a sequence) with at least three axes; a vector becomes the middle one."""

    def grown(x: Any) -> Any:
        match len(x.shape):
            case 0:
                return reshape(x, (1, 1, 1))
            case 1:
                return reshape(x, (1, *x.shape, 1))
            case 2:
                return reshape(x, (*x.shape, 1))
        return x

    return _each(inputs, grown, "atleast_3d")


def _each(inputs: Any, fn: Callable[[Any], Any], owner: str) -> Any:
    if isinstance(inputs, TensorProtocol):
        return fn(inputs)
    if not isinstance(inputs, (tuple, list)):
        raise wrong_type(owner, "inputs", inputs, "Tensor or tuple or list of Tensors")
    for one in inputs:
        _check_tensor(owner, "inputs", one)
    return tuple(fn(one) for one in inputs)


def _check_tensor(owner: str, argument: str, value: Any) -> None:
    if not isinstance(value, TensorProtocol):
        raise wrong_type(owner, argument, value, "Tensor")
