"""The reader as a whole: a Python function and its arguments in, the value of its call out."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.frontend.interpreter.calls import CallInterpreter
from mycelia._engine.compiler.frontend.tracer import Tracer


class Interpreter(CallInterpreter):
    """Reads calls into the program of a tracer."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.pending = []
        self.recursive = []

    def call_from_python(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the framework makes of a user's function."""
        return self.call(fn, args, kwargs)
