"""Tensors and operators in plain numpy: what a program means when nothing of ours runs it.

A `Watch` looks on: how close comparisons came to a tie, how large numbers grew, what was decided.
Programs that come too close to a tie or grow too large say nothing about a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np


@dataclass
class Watch:
    """What was seen while a program ran."""

    margin: float = np.inf  # the smallest distance of a comparison from a tie
    kink: float = np.inf  # the smallest distance of a maximum or absolute value from its corner
    scale: float = 1.0  # the largest magnitude of any number
    decisions: list[bool] = field(default_factory=list)


_watches: list[Watch] = [Watch()]


@contextmanager
def watching() -> Iterator[Watch]:
    """A watch over everything computed inside the block."""
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.pop()


class Array:
    """A numpy array with the methods and the promotion of a tensor, and with numpy's views."""

    def __init__(self, data: Any) -> None:
        self.data = np.array(data)
        if self.data.size and self.data.dtype != bool:
            largest = float(np.max(np.abs(self.data)))
            watch = _watches[-1]
            watch.scale = max(watch.scale, largest if np.isfinite(largest) else np.inf)

    @classmethod
    def of(cls, data: np.ndarray) -> Array:
        """An array that shares the memory of `data`."""
        array = cls.__new__(cls)
        array.data = data
        return array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def __bool__(self) -> bool:
        found = bool(self.data)
        _watches[-1].decisions.append(found)
        return found

    def __int__(self) -> int:
        return int(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __index__(self) -> int:
        return int(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self.data)))

    def __getitem__(self, index: Any) -> Array:
        plain = _plain(index)
        if isinstance(plain, np.ndarray) and not plain.ndim:
            plain = int(plain)
        if isinstance(plain, (list, np.ndarray)):
            return Array(self.data[plain])
        parts = plain if isinstance(plain, tuple) else (plain,)
        return Array.of(self.data[parts if Ellipsis in parts else (*parts, ...)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[_plain(index)] = _plain(value)
        self._watch_scale()

    def _watch_scale(self) -> None:
        Array(self.data)

    # ---- views --------------------------------------------------------------------------------

    @property
    def T(self) -> Array:
        return Array.of(self.data.T)

    def reshape(self, *shape: int) -> Array:
        return Array.of(self.data.reshape(shape))

    def flatten(self) -> Array:
        return Array.of(self.data.reshape(-1))

    def squeeze(self) -> Array:
        return Array.of(self.data.squeeze())

    def unsqueeze(self, axis: int) -> Array:
        return Array.of(np.expand_dims(self.data, axis))

    def swapaxes(self, one: int, other: int) -> Array:
        return Array.of(self.data.swapaxes(one, other))

    def diagonal(self) -> Array:
        found = self.data.diagonal()
        found.flags.writeable = True
        return Array.of(found)

    def narrow(self, axis: int, start: int, length: int) -> Array:
        return Array.of(self.data.swapaxes(0, axis)[start : start + length].swapaxes(0, axis))

    def split(self, size: int) -> list[Array]:
        return [self[i : i + size] for i in range(0, len(self), size)]

    def unbind(self) -> list[Array]:
        return list(self)

    # ---- in-place writes ----------------------------------------------------------------------

    def copy(self) -> Array:
        return Array(self.data)

    def fill_(self, value: Any) -> Array:
        self[...] = value
        return self

    def zero_(self) -> Array:
        return self.fill_(0)

    def add_(self, other: Any) -> Array:
        return self.fill_(self + other)

    def mul_(self, other: Any) -> Array:
        return self.fill_(self * other)

    def __neg__(self) -> Array:
        return Array(-self.data)

    def __abs__(self) -> Array:
        _watches[-1].kink = min(_watches[-1].kink, _distance(self.data, 0))
        return Array(np.abs(self.data))

    def __hash__(self) -> int:
        return id(self)

    def abs(self) -> Array:
        return abs(self)

    def exp(self) -> Array:
        return Array(np.exp(self.data))

    def tanh(self) -> Array:
        return Array(np.tanh(self.data))

    def sin(self) -> Array:
        return Array(np.sin(self.data))

    def sum(self) -> Array:
        return Array(self.data.sum(dtype=self.data.dtype))

    def mean(self) -> Array:
        return Array(self.data.mean(dtype=self.data.dtype))

    def max(self) -> Array:
        self._watch_order()
        return Array(self.data.max())

    def min(self) -> Array:
        self._watch_order()
        return Array(self.data.min())

    def any(self) -> Array:
        return Array(self.data.any())

    def all(self) -> Array:
        return Array(self.data.all())

    def _watch_order(self) -> None:
        ordered = np.sort(self.data)
        _watches[-1].kink = min(_watches[-1].kink, _distance(ordered[1:], ordered[:-1]))


def _plain(value: Any) -> Any:
    """Arrays inside an index or value as numpy's."""
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    return value.data if isinstance(value, Array) else value


def _distance(left: Any, right: Any) -> float:
    """The smallest distance of two floating point operands, relative to their size."""
    left, right = np.asarray(left), np.asarray(right)
    if not (left.dtype.kind == "f" or right.dtype.kind == "f"):
        return np.inf
    size = np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    return float(np.min(np.abs(left - right) / size, initial=np.inf))


def _operands(left: Any, right: Any) -> tuple[Any, Any]:
    """Both operands in the type that tensors compute in: whole numbers give way to float32."""
    left, right = _plain(left), _plain(right)
    types = [v.dtype for v in (left, right) if isinstance(v, np.ndarray)]
    floats = [t for t in types if t.kind == "f"]
    if floats:
        wanted: Any = max(floats)
    elif isinstance(left, float) or isinstance(right, float):
        wanted = np.dtype(np.float32)
    else:
        wanted = types[0]
    return np.asarray(left, wanted), np.asarray(right, wanted)


def _arithmetic(compute: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The method of an operator, and the one for the other order."""

    def method(self: Array, other: Any) -> Array:
        return Array(compute(*_operands(self, other)))

    def reflected(self: Array, other: Any) -> Array:
        return Array(compute(*_operands(other, self)))

    return method, reflected


def _comparison(compute: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Array, other: Any) -> Array:
        left, right = _operands(self, other)
        _watches[-1].margin = min(_watches[-1].margin, _distance(left, right))
        return Array(compute(left, right))

    return method


def _divide(left: Any, right: Any) -> Any:
    whole = left.dtype.kind != "f"
    return np.divide(left, right, dtype=np.float32 if whole else None)


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": _divide,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "pow": np.power,
}
for _name, _compute in _ARITHMETIC.items():
    _method, _reflected = _arithmetic(_compute)
    setattr(Array, f"__{_name}__", _method)
    setattr(Array, f"__r{_name}__", _reflected)
for _name, _compute in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(Array, f"__{_name}__", _comparison(_compute))


def _corner(compute: Callable[..., Any]) -> Callable[..., Any]:
    def operator(left: Any, right: Any) -> Array:
        left, right = _operands(left, right)
        _watches[-1].kink = min(_watches[-1].kink, _distance(left, right))
        return Array(compute(left, right))

    return operator


def _where(condition: Array, left: Any, right: Any) -> Array:
    return Array(np.where(condition.data, *_operands(left, right)))


ops = SimpleNamespace(
    maximum=_corner(np.maximum),
    minimum=_corner(np.minimum),
    abs=abs,
    tanh=Array.tanh,
    exp=Array.exp,
    sin=Array.sin,
    where=_where,
    stack=lambda parts: Array(np.stack([part.data for part in parts])),
    square=lambda a: a * a,
)
