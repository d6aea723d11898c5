"""The complete interpreter, which traces calls of Python functions."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.frontend.interpreter.calls import CallInterpreter
from mycelia._engine.compiler.frontend.tracer import Tracer


class Interpreter(CallInterpreter):
    """Interprets Python source, and records operators with a tracer."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.pending = []
        self.recursive = []

    def call_from_python(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace a call of a user function by the framework."""
        return self.call(fn, args, kwargs)
