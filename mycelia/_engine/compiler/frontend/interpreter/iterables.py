"""What a loop runs over: known sequences, tensors, and ranges of unknown length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.symbolic import (
    GraphBreak,
    SymbolicNumber,
    convert,
    is_symbolic,
)
from mycelia._engine.core.errors import problem
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True)
class SymbolicRange:
    """range(start, stop, step) with a bound that is only known at run time."""

    start: Any
    stop: Any
    step: int

    @staticmethod
    def of(*bounds: Any) -> SymbolicRange:
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step: Any = bounds[2] if len(bounds) > 2 else 1
        if is_symbolic(step):
            raise GraphBreak(step._data, "the step of a range is only known at run time")
        return SymbolicRange(start, stop, step)


@dataclass(frozen=True)
class SymbolicZip:
    """enumerate or zip with an unknown range inside: each pass takes one element of each part."""

    parts: tuple[Any, ...]


def known_length(source: Any) -> int | None:
    """How many elements a loop over `source` has, or None if only the run tells."""
    if isinstance(source, (SymbolicRange, SymbolicZip)):
        return None
    if isinstance(source, Tensor):
        return source.shape[0] if source.shape else 0
    try:
        return len(source)
    except TypeError:
        return -1  # an iterator: it has an end, Python knows it


def elements(source: Any) -> list[Any]:
    """All elements of a sequence, tensor or iterator."""
    if isinstance(source, (SymbolicRange, SymbolicZip)):
        raise GraphBreak(None, "the number of elements is only known at run time")
    if not isinstance(source, Iterable):
        raise problem(TypeError, f"a {type(source).__name__} cannot be looped over")
    return list(source)


def element_at(source: Any, index: Any) -> Any:
    """Element number `index` (only known at run time) of something looped over."""
    if isinstance(source, SymbolicRange):
        start = convert(source.start, int) if isinstance(source.start, Tensor) else source.start
        return index * source.step + start
    if isinstance(source, SymbolicZip):
        return tuple(element_at(part, index) for part in source.parts)
    if isinstance(source, Tensor):
        return source[index.strong if isinstance(index, SymbolicNumber) else index]
    if isinstance(source, range):
        return index * source.step + source.start
    raise GraphBreak(index._data, "an element is chosen by a number only known at run time")
