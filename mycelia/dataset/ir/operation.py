"""The operation of a map that says its name, its parameters and whether it needs random numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np


class Operation(ABC):
    """A transform as the pipeline knows it; user functions are plain callables instead."""

    @property
    def is_random(self) -> bool:
        """Whether `run` needs random numbers; a class attribute in most transforms."""
        return False

    takes_many: ClassVar[bool] = False  # whether `run_many` does anything

    @abstractmethod
    def run(self, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
        """The values for the next operation."""

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        """The same for stacked rows, in one go; None where these rows do not allow it."""
        return None

    def run_into(
        self, values: tuple[Any, ...], random: np.random.Generator | None, outs: list[np.ndarray]
    ) -> tuple[Any, ...] | None:
        """Put what `run` gives into arrays; what does not fit them is given back instead."""
        made = self.run(values, random)
        return put_into(made if isinstance(made, tuple) else (made,), outs)

    def exchanged(self, before: Operation) -> tuple[Operation, Operation] | None:
        """Two operations that do what `before` and then this one do, with less work."""
        return None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What makes an equal operation again."""


def put_into(values: tuple[Any, ...], outs: list[np.ndarray]) -> tuple[Any, ...] | None:
    """Copy values into arrays of the same shapes and types; give them back if they differ."""
    if len(values) != len(outs) or not all(map(fits, values, outs)):
        return values
    for value, out in zip(values, outs):
        np.copyto(out, value)
    return None


def fits(value: Any, out: np.ndarray) -> bool:
    """Whether a value can be copied into `out` as it is."""
    return isinstance(value, np.ndarray) and value.shape == out.shape and value.dtype == out.dtype
