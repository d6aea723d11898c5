"""Copying, comparing, and refilling Python's mutable containers: list, dict, set, deque."""

from __future__ import annotations

import copy
import operator
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

CONTAINERS = (list, dict, set, deque)


@dataclass(frozen=True)
class DequeFactory:
    """Creates deques with a maximum length."""

    maxlen: int | None

    def __call__(self, parts: Iterable[Any]) -> deque[Any]:
        return deque(parts, self.maxlen)


@dataclass(frozen=True)
class DefaultDictFactory:
    """Creates defaultdicts with a default factory."""

    factory: Callable[[], Any] | None

    def __call__(self, parts: dict[Any, Any]) -> defaultdict[Any, Any]:
        return defaultdict(self.factory, parts)


def maker_of(value: Any) -> Any:
    """The factory that creates a container of the same kind; for other values, their class."""
    if type(value) is deque:
        return DequeFactory(value.maxlen)
    return DefaultDictFactory(value.default_factory) if type(value) is defaultdict else type(value)


def makes_objects(maker: Any) -> bool:
    """Whether a factory is the class of objects with attributes, not of containers."""
    return isinstance(maker, type) and not issubclass(maker, dict)


def contents_of(container: Any) -> Any:
    """A copy of a container, with its type and elements."""
    kind = type(container)
    return kind(container) if kind in (list, dict, set) else copy.copy(container)


def is_unchanged(container: Any, before: Any) -> bool:
    """Whether a container still holds the same objects as an earlier copy, in the same order."""
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        pairs = zip(container.values(), before.values(), strict=True)
        return all(map(operator.is_, container, before)) and all(a is b for a, b in pairs)
    if isinstance(container, set):
        return bool(container == before)
    return all(map(operator.is_, container, before))


def refilling_calls(container: Any, contents: Any) -> list[tuple[Any, ...]]:
    """Calls that replace a container's elements; C functions for built-in containers."""
    kind = type(container)
    fill = kind.extend if isinstance(container, (list, deque)) else kind.update
    return [(kind.clear, container), (fill, container, contents)]


def refill(container: Any, contents: Any) -> None:
    """Replace a container's elements, in the order of `contents`."""
    for function, *arguments in refilling_calls(container, contents_of(contents)):
        function(*arguments)
