"""Hooks of the debug mode: they see the rows between the operations of a map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class DebugHook(ABC):
    """Looks at the values that go from one operation of a map to the next."""

    def __init__(self, prev_op_name: str | None = None) -> None:
        self.prev_op_name = prev_op_name

    @abstractmethod
    def compute(self, *args: Any) -> Any:
        """Look at a tuple with a value for each column, before or after an operation."""

    def set_previous_op_name(self, prev_op_name: str) -> None:
        """Learn which operation gave the values, or is the first to take them."""
        self.prev_op_name = prev_op_name


class PrintMetaDataHook(DebugHook):
    """Prints the shapes and types of values."""

    def compute(self, *args: Any) -> Any:
        for place, value in enumerate(args[0]):
            kind = getattr(value, "dtype", type(value).__name__)
            print(f"at {self.prev_op_name}, column {place}: {kind}{list(np.shape(value))}")
        return args


class PrintDataHook(DebugHook):
    """Prints values."""

    def compute(self, *args: Any) -> Any:
        for place, value in enumerate(args[0]):
            print(f"at {self.prev_op_name}, column {place}: {value}")
        return args
