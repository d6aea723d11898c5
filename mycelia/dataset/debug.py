"""Debug hooks, which inspect rows between the operations of a map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class DebugHook(ABC):
    """Base class of debug hooks, which inspect the values between two operations of a map."""

    def __init__(self, prev_op_name: str | None = None) -> None:
        self.prev_op_name = prev_op_name

    @abstractmethod
    def compute(self, *args: Any) -> Any:
        """Inspect one row, a tuple of columns, before or after an operation."""

    def set_previous_op_name(self, prev_op_name: str) -> None:
        """Set the name of the operation that produced the values or that is the first to run."""
        self.prev_op_name = prev_op_name


class PrintMetaDataHook(DebugHook):
    """Prints the shape and dtype of each column."""

    def compute(self, *args: Any) -> Any:
        for index, value in enumerate(args[0]):
            kind = getattr(value, "dtype", type(value).__name__)
            print(f"at {self.prev_op_name}, column {index}: {kind}{list(np.shape(value))}")
        return args


class PrintDataHook(DebugHook):
    """Prints the value of each column."""

    def compute(self, *args: Any) -> Any:
        for index, value in enumerate(args[0]):
            print(f"at {self.prev_op_name}, column {index}: {value}")
        return args
