"""`Operation`, the interface between transforms and the pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np


class Operation(ABC):
    """Base class of transforms. User functions are plain callables instead."""

    @property
    def is_random(self) -> bool:
        """Whether `run` draws random numbers; a class attribute in most transforms."""
        return False

    takes_many: ClassVar[bool] = False  # whether `run_many` is implemented

    @abstractmethod
    def run(self, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
        """Apply the operation to one row; returns the values for the next operation."""

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        """Apply the operation to stacked rows in one call; None if it cannot for these rows."""
        return None

    def run_into(
        self, values: tuple[Any, ...], random: np.random.Generator | None, outs: list[np.ndarray]
    ) -> tuple[Any, ...] | None:
        """Write the result of `run` into arrays; values that do not fit are returned instead."""
        made = self.run(values, random)
        return put_into(made if isinstance(made, tuple) else (made,), outs)

    def exchanged(self, before: Operation) -> tuple[Operation, Operation] | None:
        """An equivalent, cheaper pair for the operation `before` followed by this one."""
        return None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that create an equal operation."""


def put_into(values: tuple[Any, ...], outs: list[np.ndarray]) -> tuple[Any, ...] | None:
    """Copy values into arrays of the same shapes and types; return them if they do not fit."""
    if len(values) != len(outs) or not all(map(fits, values, outs)):
        return values
    for value, out in zip(values, outs):
        np.copyto(out, value)
    return None


def fits(value: Any, out: np.ndarray) -> bool:
    """Whether a value can be copied into `out` unchanged."""
    return isinstance(value, np.ndarray) and value.shape == out.shape and value.dtype == out.dtype
