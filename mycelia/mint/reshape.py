"""Reshaping, splitting, joining, and repeating tensors."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_int, check_string, is_int
from mycelia._engine.core.dtype import bool_, promote
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Flatten the dimensions from `start_dim` to `end_dim`."""
    check_tensors("flatten", input=input)
    if not input.shape:
        return ops.reshape(input, (1,))
    return ops.flatten(input, start_dim=start_dim, end_dim=end_dim)


def permute(input: Any, dims: Any) -> Any:
    """Permute the dimensions."""
    return ops.transpose(input, tuple(dims))


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions."""
    return ops.swapaxes(input, dim0, dim1)


def squeeze(input: Any, dim: Any = None) -> Any:
    """Remove dimensions of size 1: those in `dim`, or all of them for None."""
    check_tensors("squeeze", input=input)
    rank = len(input.shape)
    listed = range(rank) if dim is None else (dim,) if is_int(dim) else tuple(dim)
    places = [normalize_axis(place, rank, "squeeze") for place in listed] if rank else []
    kept = [n for i, n in enumerate(input.shape) if n != 1 or i not in places]
    return ops.reshape(input, tuple(kept))


def select(input: Any, dim: int, index: int) -> Any:
    """Select the slice at `index` along `dim`, and remove that dimension."""
    axis = normalize_axis(check_int("select", "dim", dim), len(input.shape), "select")
    size = input.shape[axis]
    if not -size <= check_int("select", "index", index) < size:
        raise wrong_value("select", "index", index, f"in range of [{-size}, {size})")
    return ops.squeeze(ops.narrow(input, axis, index % size, 1), axis)


def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """Narrow the dimension `dim` to `length` elements from `start`."""
    return ops.narrow(input, dim, start, length)


def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """Split into at most `chunks` chunks of equal size along `dim`; the last may be smaller."""
    return ops.chunk(input, chunks, dim)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Split into chunks of one size (the last may be smaller), or of the listed sizes."""
    return ops.split(tensor, split_size_or_sections, dim)


def cat(tensors: Any, dim: int = 0) -> Any:
    """Concatenate tensors along `dim`, in their common dtype."""
    return ops.concat(_alike(tensors), dim)


def concat(tensors: Any, dim: int = 0) -> Any:
    """Concatenate tensors along `dim`, in their common dtype."""
    return ops.concat(_alike(tensors), dim)


def stack(tensors: Any, dim: int = 0) -> Any:
    """Stack tensors of the same shape along a new dimension `dim`."""
    return ops.stack(_alike(tensors), dim)


def _alike(tensors: Any) -> tuple[Any, ...]:
    listed = (tensors,) if isinstance(tensors, TensorProtocol) else tuple(tensors)
    wanted = listed[0].dtype if listed else None
    for one in listed[1:]:
        wanted = promote(wanted, one.dtype)
    return tuple(one if one.dtype is wanted else ops.cast(one, wanted) for one in listed)


def repeat_interleave(
    input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Repeat each slice along `dim` (each element for None) `repeats` times."""
    result = ops.repeat_interleave(input, repeats, dim)
    size = result.shape[0 if dim is None else dim]
    if output_size is not None and size != output_size:
        raise problem(
            ValueError,
            "repeat_interleave: 'output_size' is not the sum of the repeats",
            got=f"output_size={output_size} and {size} slices",
        )
    return result


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Coordinate grids from coordinate vectors."""
    order = check_string("meshgrid", "indexing", indexing or "ij", ("ij", "xy"))
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if len(tensors) == 1:
        return (ops.reshape(tensors[0], (-1,)),)
    return ops.meshgrid(*tensors, indexing=order)


def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with the vector `input` on a diagonal, or a diagonal of the matrix `input`."""
    check_tensors("diag", input=input)
    rank = len(input.shape)
    if rank not in (1, 2):
        raise problem(
            ValueError, "diag: input must be a vector or a matrix", got=f"{rank} dimensions"
        )
    if rank == 1:
        return ops.diag_embed(input, diagonal)
    return ops.identity(ops.diagonal(input, diagonal))


def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The `n`-th differences of neighbors along `dim`; for bools, whether neighbors differ."""
    check_tensors("diff", input=input)
    ends = [part for part in (prepend, input, append) if part is not None]
    result = cat(ends, dim) if len(ends) > 1 else input
    axis = normalize_axis(dim, len(result.shape), "diff")
    for _ in range(min(check_int("diff", "n", n), result.shape[axis])):
        size = result.shape[axis] - 1
        after, before = ops.narrow(result, axis, 1, size), ops.narrow(result, axis, 0, size)
        differs = result.dtype is bool_
        result = ops.logical_xor(after, before) if differs else ops.sub(after, before)
    return result
