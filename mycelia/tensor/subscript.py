"""Indexing of tensors, with NumPy's semantics."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia.ops.elementwise.where import MaskedFill
from mycelia.ops.indexing.subscript import (
    ARRAY,
    FULL,
    INT,
    NEW,
    ONE,
    Spec,
    Subscript,
    SubscriptAssign,
)
from mycelia.ops.shapes.reshape import ExpandDims, Reshape
from mycelia.tensor.conversion import array_from

_FIRST = Subscript.of(ONE)
_FILL, _EXPAND, _RESHAPE = MaskedFill.of(), ExpandDims.of(), Reshape.of()


def get_item(tensor: Any, index: Any) -> Any:
    """tensor[index] as a new tensor."""
    if type(index) is int and tensor.shape:
        return _FIRST(tensor, np.int64(_in_range(index, tensor.shape[0])))
    request = _SubscriptParser.read(tensor.shape, index)
    if request.is_false:
        raise problem(
            IndexError,
            "a tensor cannot be indexed by False",
            expected="True, ints, slices, None, ..., lists or tensors",
        )
    return Subscript.of(request.spec)(request.grown(tensor), *request.data_for(tensor))


def set_item(tensor: Any, index: Any, value: Any) -> Any:
    """The result of tensor[index] = value as a new tensor; `tensor` is unchanged."""
    written = _value(tensor, value)
    mask = _lone_mask(tensor.shape, index)
    if mask is not None and not written.shape:
        spread = mask.shape + (1,) * (len(tensor.shape) - len(mask.shape))
        return _FILL(tensor, _RESHAPE(mask, spread), written)
    request = _SubscriptParser.read(tensor.shape, index)
    if request.is_false:
        return tensor
    op = SubscriptAssign.of(request.spec)
    result = op(request.grown(tensor), written, *request.data_for(tensor))
    return _RESHAPE(result, tensor.shape) if request.new_axes else result


@dataclass
class _SubscriptParser:
    """Parser of a subscript: the static specification, its index data, and the current axis.

    True and False mean a new axis that an index array reads once or never; the tensor is expanded
    by those axes first.
    """

    shape: Shape
    axis: int = 0
    is_false: bool = False
    entries: list[tuple[Any, ...]] = field(default_factory=list)
    data: list[Any] = field(default_factory=list)
    new_axes: list[int] = field(default_factory=list)
    in_tuple: bool = False  # in a tuple, a mask may be shorter or longer than its axis
    by_tensor: bool = False  # the subscript is one tensor

    @classmethod
    def read(cls, shape: Shape, index: Any) -> _SubscriptParser:
        parts = [_part(p) for p in (index if isinstance(index, tuple) else (index,))]
        in_tuple = isinstance(index, tuple) and len(index) > 1
        request = cls(shape, in_tuple=in_tuple, by_tensor=isinstance(index, TensorProtocol))
        for part in _whole(parts, len(shape)):
            request._take(part)
        return request

    @property
    def spec(self) -> Spec:
        """The entries, without full slices at the end."""
        count = len(self.entries)
        while count and self.entries[count - 1] is FULL:
            count -= 1
        return tuple(self.entries[:count])

    def grown(self, tensor: Any) -> Any:
        for axis in self.new_axes:
            tensor = _EXPAND(tensor, axis)
        return tensor

    def data_for(self, tensor: Any) -> list[Any]:
        return [tensor._wrap(d) if isinstance(d, np.ndarray) else d for d in self.data]

    def _take(self, part: Any) -> None:
        if part is None:
            self.entries.append(NEW)
        elif isinstance(part, bool):
            self.is_false = self.is_false or not part
            self.new_axes.append(self.axis + len(self.new_axes))
            self._add(ARRAY, np.zeros(int(part), np.int64))
        elif isinstance(part, int):
            self._add(INT, np.int64(_in_range(part, self.shape[self.axis])))
            self.axis += 1
        elif isinstance(part, slice):
            self._take_slice(part)
        elif _is_mask(part):
            self._take_mask(np.asarray(part))
        else:
            self._take_array(part)

    def _take_slice(self, part: slice) -> None:
        size = self.shape[self.axis]
        self.axis += 1
        if part.start is None and part.stop is None and part.step is None:
            self.entries.append(FULL)
            return
        start, stop, step = _bounds(part, size)
        count = len(range(start, stop, step))
        if step == 1 and count == size:
            self.entries.append(FULL)
        elif step == 1 or not count:
            self._add(("window", count), np.int64(start if count else 0))
        else:
            self.entries.append(("steps", start, count, step))

    def _take_mask(self, mask: np.ndarray) -> None:
        wanted = self.shape[self.axis : self.axis + mask.ndim]
        if self.in_tuple and mask.ndim == 1 and len(mask) != wanted[0]:
            mask = _cut(mask, wanted[0])
        for size, given in zip(wanted, mask.shape, strict=True):
            if size != given:
                raise problem(
                    ValueError if self.by_tensor else IndexError,
                    f"dimension is {size} but corresponding boolean dimension is {given}",
                    got=f"a mask of shape {list(mask.shape)} for axes of sizes {list(wanted)}",
                )
        for places in np.nonzero(mask):
            self._add(ARRAY, places.astype(np.int64))
        self.axis += mask.ndim

    def _take_array(self, part: Any) -> None:
        size = self.shape[self.axis]
        self.axis += 1
        array = part if isinstance(part, np.ndarray) else part._data
        if isinstance(array, np.ndarray | np.generic):
            _check_array(np.asarray(array), size)
            if not array.ndim:
                self._add(INT, np.int64(_in_range(int(array), size)))
                return
        self._add(ARRAY if array.ndim else INT, part)

    def _add(self, entry: tuple[Any, ...], datum: Any) -> None:
        self.entries.append(entry)
        self.data.append(datum)


def _cut(mask: np.ndarray, size: int) -> np.ndarray:
    """Trim or extend a mask to the size of its axis; missing elements count as False."""
    if np.any(mask[size:]):
        raise problem(
            IndexError,
            f"dimension is {size} but corresponding boolean dimension is {len(mask)}",
            got=f"True at index {int(np.flatnonzero(mask)[-1])}",
        )
    return np.resize(np.append(mask[:size], np.zeros(max(0, size - len(mask)), bool)), size)


def _part(part: Any) -> Any:
    """Normalize one item of a subscript: None, Ellipsis, bool, int, slice, or index array."""
    if part is None or part is Ellipsis or isinstance(part, (bool, int, slice)):
        return part
    if isinstance(part, np.bool_):
        return bool(part)
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, (list, tuple, range, np.ndarray)):
        part = _array(list(part) if isinstance(part, range) else part)
    if _is_mask(part):
        return part if part.shape else bool(np.asarray(part))
    if isinstance(part, TensorProtocol) and part.dtype.is_integer:
        return part
    if isinstance(part, np.ndarray) and part.dtype.kind in "iu":
        return part
    raise problem(
        IndexError,
        "unsupported tensor index",
        got=f"{part!r} of type {type(part).__name__}",
        expected="ints, slices, None, ..., True, and lists, tuples or tensors of ints or bools",
    )


def _array(part: Any) -> np.ndarray:
    if isinstance(part, (list, tuple)) and not part:
        raise problem(IndexError, "a tensor cannot be indexed by an empty list")
    array = array_from(part, None)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def _whole(parts: list[Any], rank: int) -> list[Any]:
    """Expand the ellipsis (or the end) so that every axis has an item."""
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if len(dots) > 1:
        raise problem(IndexError, "an index can only have a single ellipsis ('...')")
    used = sum(_axes_of(p) for p in parts)
    if used > rank:
        if rank == 0 and len(parts) == 1 and isinstance(parts[0], int):
            raise problem(TypeError, "Cannot iterate over a scalar tensor.", fix="use t.item()")
        raise problem(
            IndexError,
            f"too many indices for tensor of dimension {rank}",
            got=f"{used} indices",
        )
    place = dots[0] if dots else len(parts)
    return [*parts[:place], *[slice(None)] * (rank - used), *parts[place + 1 :]]


def _axes_of(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.dtype == np.bool_
    return isinstance(part, TensorProtocol) and part.dtype.is_bool


def _bounds(part: slice, size: int) -> tuple[int, int, int]:
    ends = (part.start, part.stop, part.step)
    try:
        known = [None if e is None else operator.index(e) for e in ends]
    except TypeError:
        raise problem(
            TypeError,
            "the ends and the step of a slice must be ints",
            got=f"{part}",
        ) from None
    if known[2] == 0:
        raise problem(ValueError, "the step of a slice cannot be 0")
    return slice(*known).indices(size)


def _in_range(index: int, size: int) -> int:
    if not -size <= index < size:
        raise problem(IndexError, f"index {index} is out of bounds for dimension with size {size}")
    return index + size if index < 0 else index


def _check_array(array: np.ndarray, size: int) -> None:
    """Reject out-of-range indices in a host array; checking a device array would block."""
    if array.size:
        low, high = array.min(), array.max()
        _in_range(int(low), size)
        _in_range(int(high), size)


def _lone_mask(shape: Shape, index: Any) -> Any:
    """The index if it is a single bool tensor over leading axes, whose values are not needed."""
    if isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    is_tensor = isinstance(index, TensorProtocol)
    fits = is_tensor and index.dtype.is_bool and index.shape == shape[: len(index.shape)]
    return index if fits and index.shape else None


def _value(tensor: Any, value: Any) -> Any:
    if isinstance(value, TensorProtocol):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return tensor._wrap(np.asarray(value).astype(tensor.dtype.numpy))
    if isinstance(value, (list, tuple, np.ndarray)):
        return tensor._wrap(array_from(value, None))
    raise problem(
        TypeError,
        "unsupported value in an assignment to tensor elements",
        got=f"{value!r} of type {type(value).__name__}",
        expected="a number, Tensor, list, tuple or numpy array",
    )
