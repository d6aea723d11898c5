"""Iterables of loops: sequences, tensors, iterators, and symbolic ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import CO_GENERATOR
from types import GeneratorType
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.user_code import is_users_code, special_method
from mycelia._engine.compiler.frontend.symbolic import (
    GraphBreak,
    SymbolicNumber,
    convert,
    is_symbolic,
)
from mycelia._engine.compiler.frontend.tracer import active_tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.handlers import handlers
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True)
class SymbolicRange:
    """range(start, stop, step) with a symbolic bound."""

    start: Any
    stop: Any
    step: int

    @staticmethod
    def of(*bounds: Any) -> SymbolicRange:
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step: Any = bounds[2] if len(bounds) > 2 else 1
        if is_symbolic(step):
            raise GraphBreak(step._data, "the step of a range is known only at run time")
        return SymbolicRange(start, stop, step)


@dataclass(frozen=True)
class SymbolicZip:
    """enumerate or zip over a symbolic range: each iteration takes one element of each part."""

    parts: tuple[Any, ...]


def known_length(source: Any) -> int | None:
    """The number of elements of `source`, or None if it is known only at run time."""
    if isinstance(source, (SymbolicRange, SymbolicZip)):
        return None
    if isinstance(source, Tensor):
        return source.shape[0] if source.shape else 0
    if special_method(source, "__len__") or special_method(source, "__iter__"):
        return -1
    try:
        return len(source)
    except TypeError:
        return -1  # an iterator: Python finds its end


def elements(source: Any) -> list[Any]:
    """All elements of a sequence, tensor, or iterator."""
    return list(iterate(source))


def iterate(source: Any) -> Iterator[Any]:
    """Iterate over a sequence, tensor, or iterator."""
    if isinstance(source, (SymbolicRange, SymbolicZip)):
        raise GraphBreak(None, "the number of elements is known only at run time")
    method = special_method(source, "__iter__")
    if method is not None:
        if method.__code__.co_flags & CO_GENERATOR:
            raise GraphBreak(None, f"{method.__qualname__} is a generator")
        assert handlers.call is not None
        found = handlers.call(method, (source,), {})
        return iterate(found) if found is not source else _by_next(source)
    if not isinstance(source, Iterable):
        raise problem(TypeError, f"a {type(source).__name__} is not iterable")
    if not isinstance(source, Iterator):
        return iter(source)
    refuse_generator(source)
    tracer = active_tracer()
    is_held = tracer is not None and tracer.store.is_held(source)
    return _taken_here(source) if is_held else source


def next_of(iterator: Any) -> Any:
    """`next(iterator)` on an iterator that a variable holds, so its state is visible."""
    method = special_method(iterator, "__next__")
    if method is not None:
        assert handlers.call is not None
        return handlers.call(method, (iterator,), {})
    if isinstance(iterator, Iterator):
        refuse_generator(iterator)
        _refuse_elsewhere(iterator)
    return next(iterator)


def refuse_generator(value: Any) -> None:
    """Raise for a user's generator: its effects could not be traced."""
    generator = getattr(value, "gen", None) if isinstance(value, AbstractContextManager) else value
    if isinstance(generator, GeneratorType) and is_users_code(generator.gi_code):
        raise GraphBreak(None, f"{generator.__qualname__} is a generator")


def _taken_here(iterator: Iterator[Any]) -> Iterator[Any]:
    while True:
        _refuse_elsewhere(iterator)
        try:
            element = next(iterator)
        except StopIteration:
            return
        yield element


def _by_next(iterator: Any) -> Iterator[Any]:
    while True:
        try:
            element = next_of(iterator)
        except StopIteration:
            return
        yield element


def _refuse_elsewhere(iterator: Any) -> None:
    """Raise if a runtime value decides the position of an iterator, or it is from outside."""
    tracer = active_tracer()
    if tracer is not None and id(iterator) not in tracer.store.journals[-1].made:
        raise GraphBreak(
            None, "an iterator is used in another branch or loop than the one that created it"
        )


def element_at(source: Any, index: Any) -> Any:
    """The element of an iterable at a symbolic index."""
    if isinstance(source, SymbolicRange):
        start = convert(source.start, int) if isinstance(source.start, Tensor) else source.start
        return index * source.step + start
    if isinstance(source, SymbolicZip):
        return tuple(element_at(part, index) for part in source.parts)
    if isinstance(source, Tensor):
        return source[index.strong if isinstance(index, SymbolicNumber) else index]
    if isinstance(source, range):
        return index * source.step + source.start
    raise GraphBreak(index._data, "an element is selected by a runtime index")
