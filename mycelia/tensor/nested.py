"""Tensors in nested tuples, lists, and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.tensor.tensor import Tensor


def leaves_of(value: Any) -> list[Any]:
    """The leaves of a nested value (neither tuple, list, nor dict), in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves_of(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves_of(part)]
    return [value]


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in a nested value, in order."""
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, Tensor)]


def mapped(fn: Callable[[Any], Any], value: Any) -> Any:
    """The same structure with `fn` applied to every leaf."""
    if isinstance(value, (tuple, list)):
        parts = [mapped(fn, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: mapped(fn, part) for name, part in value.items()}
    return fn(value)
