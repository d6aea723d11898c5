"""Expands an optimizer's learning rate to one rate per parameter."""

from __future__ import annotations

from typing import Any

from mycelia.ops.shapes.reshape import reshape


def each_rate(rates: Any, count: int) -> tuple[Any, ...]:
    """The rates of `count` parameters as 0-d tensors, from one rate each or one for all."""
    if isinstance(rates, (tuple, list)):
        return tuple(reshape(rate, ()) for rate in rates)
    return (reshape(rates, ()),) * count
