"""Array transforms: type casts, masks, padding, slices, one-hot encoding."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, check_number, wrong_type
from mycelia.dataset.transforms.transform import Transform


class Relational(IntEnum):
    """The comparison operators of `Mask`."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARE = {
    Relational.EQ: operator.eq,
    Relational.NE: operator.ne,
    Relational.GT: operator.gt,
    Relational.GE: operator.ge,
    Relational.LT: operator.lt,
    Relational.LE: operator.le,
}


@dataclass(frozen=True, eq=False)
class TypeCast(Transform):
    """Casts values to another type."""

    takes_many = True
    data_type: Any

    def __post_init__(self) -> None:
        _ = _numpy_type("data_type", self.data_type)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        return np.asarray(value).astype(_numpy_type("data_type", self.data_type))


@dataclass(frozen=True, eq=False)
class OneHot(Transform):
    """One-hot encodes labels; `smoothing_rate` is spread over the classes."""

    takes_many = True
    num_classes: int
    smoothing_rate: float = 0.0

    def __post_init__(self) -> None:
        check_int("num_classes", self.num_classes, 1)
        check_number("smoothing_rate", self.smoothing_rate, 0.0, 1.0)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        labels = np.asarray(value)
        if labels.dtype.kind not in "iu":
            raise problem(RuntimeError, "OneHot: labels must be ints", got=f"type {labels.dtype}")
        if labels.size and not (labels.min() >= 0 and labels.max() < self.num_classes):
            raise problem(
                RuntimeError,
                "OneHot: a label is out of range",
                got=f"labels from {labels.min()} to {labels.max()}",
                expected=f"0 to {self.num_classes - 1}",
            )
        rate = self.smoothing_rate
        kind = labels.dtype if rate == 0 else np.dtype(np.float64)
        rows = np.full((*labels.shape, self.num_classes), rate / self.num_classes, kind)
        high = 1 - rate + rate / self.num_classes if rate else 1
        np.put_along_axis(rows, labels[..., None].astype(np.int64), kind.type(high), axis=-1)
        return rows


@dataclass(frozen=True, eq=False)
class Fill(Transform):
    """Fills an array with one value; the type of the input stays."""

    takes_many = True
    fill_value: Any

    def __post_init__(self) -> None:
        if not isinstance(self.fill_value, (int, float, bool, str, bytes)):
            raise wrong_type("fill_value", self.fill_value, "int, float, bool, str or bytes")

    def apply(self, value: Any, random: Any) -> np.ndarray:
        array = np.asarray(value)
        if isinstance(self.fill_value, (str, bytes)):
            return np.full(array.shape, self.fill_value)
        return np.full(array.shape, self.fill_value, array.dtype)


@dataclass(frozen=True, eq=False)
class Mask(Transform):
    """Compares values with a constant; returns a boolean mask."""

    takes_many = True
    operator: Relational
    constant: Any
    dtype: Any = dtypes.bool_

    def __post_init__(self) -> None:
        if not isinstance(self.operator, Relational):
            raise wrong_type("operator", self.operator, "Relational")
        if not isinstance(self.constant, (int, float, bool, str)):
            raise wrong_type("constant", self.constant, "str, float, bool or int")

    def apply(self, value: Any, random: Any) -> np.ndarray:
        found = _COMPARE[self.operator](np.asarray(value), self.constant)
        return found.astype(_numpy_type("dtype", self.dtype))


@dataclass(frozen=True, eq=False)
class PadEnd(Transform):
    """Pads (or truncates) the end of each axis; None in the shape keeps an axis unchanged."""

    pad_shape: Any
    pad_value: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.pad_shape, (list, tuple)):
            raise wrong_type("pad_shape", self.pad_shape, "list")
        for size in self.pad_shape:
            if size is not None:
                check_int("pad_shape", size, 1)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.ndim != len(self.pad_shape):
            raise problem(
                RuntimeError,
                "PadEnd: the value has a different rank than pad_shape",
                got=f"shape {array.shape}",
                expected=f"{len(self.pad_shape)} dimensions",
            )
        sizes = [old if new is None else new for old, new in zip(array.shape, self.pad_shape)]
        is_text = array.dtype.kind in "US"
        empty = "" if is_text else 0
        fill = empty if self.pad_value is None else self.pad_value
        kind = np.result_type(array, np.asarray(fill)) if is_text else array.dtype
        whole = np.full(sizes, fill, kind)
        kept = tuple(slice(0, min(pair)) for pair in zip(array.shape, sizes))
        whole[kept] = array[kept]
        return whole


@dataclass(frozen=True, eq=False)
class Concatenate(Transform):
    """Concatenates the columns of a row along an axis, with optional arrays before and after."""

    axis: int = 0
    prepend: Any = None
    append: Any = None

    def __post_init__(self) -> None:
        if check_int("axis", self.axis, -(2**31)) not in (0, -1):
            raise problem(
                ValueError,
                "Concatenate: requires vectors, which have one axis",
                got=f"axis={self.axis}",
            )
        for name in ("prepend", "append"):
            part = getattr(self, name)
            if part is not None and np.ndim(part) != 1:
                raise problem(ValueError, f"Concatenate: {name} must be a vector", got=f"{part!r}")

    def run(self, values: tuple[Any, ...], random: Any) -> np.ndarray:
        kind = np.asarray(values[0]).dtype
        edges = [None if part is None else np.asarray(part) for part in (self.prepend, self.append)]
        parts = [edges[0], *values, edges[1]]
        joined = np.concatenate([np.atleast_1d(part) for part in parts if part is not None])
        return joined if joined.dtype.kind in "US" else joined.astype(kind)

    def __call__(self, *values: Any) -> np.ndarray:
        return self.run(tuple(self.checked(value) for value in values), None)


@dataclass(frozen=True, eq=False)
class Duplicate(Transform):
    """Duplicates a value, for two columns."""

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, Any]:
        if len(values) != 1:
            raise problem(
                RuntimeError, "Duplicate: requires one column", got=f"{len(values)} columns"
            )
        return values[0], np.array(values[0])


@dataclass(frozen=True, eq=False, init=False)
class Slice(Transform):
    """Slices an array: an int, a list of ints, a slice, None (everything), or `...` per axis."""

    slices: tuple[Any, ...]

    def __init__(self, *slices: Any) -> None:
        for part in slices:
            if not (
                part is None
                or part is Ellipsis
                or is_int(part)
                or isinstance(part, (bool, slice))
                or (isinstance(part, list) and part and all(is_int(p) for p in part))
            ):
                raise wrong_type("slices", part, "int, list of ints, slice, bool, None or ...")
        object.__setattr__(self, "slices", slices)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        array = np.asarray(value)
        parts = list(self.slices)
        if Ellipsis in [p for p in parts if not isinstance(p, (list, slice))]:
            position = next(i for i, part in enumerate(parts) if part is Ellipsis)
            parts[position : position + 1] = [None] * (array.ndim - len(parts) + 1)
        for axis, part in enumerate(parts):
            array = _sliced(array, axis, part)
        return np.array(array)


def _sliced(array: np.ndarray, axis: int, part: Any) -> np.ndarray:
    if part is None or part is True:
        return array
    if isinstance(part, slice):
        return array[(slice(None),) * axis + (part,)]
    return np.take(array, [part] if is_int(part) else part, axis=axis)


@dataclass(frozen=True, eq=False)
class Unique(Transform):
    """The unique values of an array, the index of each element among them, and the counts."""

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[np.ndarray, ...]:
        if len(values) != 1:
            raise problem(RuntimeError, "Unique: requires one column", got=f"{len(values)} columns")
        flat = np.asarray(values[0]).ravel()
        found, first, indices, counts = np.unique(
            flat, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        rank = np.argsort(order)
        return found[order], rank[indices].astype(np.int32), counts[order].astype(np.int32)


def _numpy_type(argument: str, kind: Any) -> Any:
    if isinstance(kind, dtypes.DType):
        return kind.numpy
    try:
        return np.dtype(kind)
    except TypeError:
        raise wrong_type(argument, kind, "mycelia.dtype or numpy.dtype") from None
