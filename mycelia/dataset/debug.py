"""Hooks of the debug mode: they see the rows between the operations of a map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class DebugHook(ABC):
    """Looks at the values that go from one operation to the next; `compute` gives them back."""

    def __init__(self, prev_op_name: str | None = None) -> None:
        self.prev_op_name = prev_op_name

    @abstractmethod
    def compute(self, *args: Any) -> Any:
        """The values for the next operation."""

    def set_previous_op_name(self, prev_op_name: str) -> None:
        """Learn which operation gave the values."""
        self.prev_op_name = prev_op_name


class PrintMetaDataHook(DebugHook):
    """Prints the shapes and types of values."""

    def compute(self, *args: Any) -> Any:
        for place, value in enumerate(args):
            print(f"after {self.prev_op_name}, column {place}: {value.dtype}{list(value.shape)}")
        return args


class PrintDataHook(DebugHook):
    """Prints values."""

    def compute(self, *args: Any) -> Any:
        for place, value in enumerate(args):
            print(f"after {self.prev_op_name}, column {place}: {value}")
        return args
