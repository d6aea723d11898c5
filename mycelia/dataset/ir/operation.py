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

    def exchanged(self, before: Operation) -> tuple[Operation, Operation] | None:
        """Two operations that do what `before` and then this one do, with less work."""
        return None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What makes an equal operation again."""
