"""The operation of a map that says its name, its parameters and whether it needs random numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Operation(ABC):
    """A transform as the pipeline knows it; user functions are plain callables instead."""

    @property
    def is_random(self) -> bool:
        """Whether `run` needs random numbers; a class attribute in most transforms."""
        return False

    @abstractmethod
    def run(self, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
        """The values for the next operation."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What makes an equal operation again."""
