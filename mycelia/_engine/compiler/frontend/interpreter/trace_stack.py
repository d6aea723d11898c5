"""The user's call stack in errors: which functions were being read, with what arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import type_of_array
from mycelia._engine.compiler.frontend.interpreter.user_function import UserFunction
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber
from mycelia._engine.core.source_location import Span
from mycelia.tensor.tensor import Tensor

_MOST_SHOWN = 12
_CALLS = "mycelia_calls"


def note_call(
    error: Exception, fn: UserFunction, variables: dict[str, Any], span: Span | None
) -> None:
    """Remember in an error that it passed through this call."""
    names = [a.arg for a in (*fn.definition.node.args.posonlyargs, *fn.definition.node.args.args)]
    shown = ", ".join(_argument(n, variables[n]) for n in names if n in variables)
    place = f", called at {Path(span.file).name}:{span.line}" if span is not None else ""
    error.__dict__.setdefault(_CALLS, []).append(f"{fn.definition.name}({shown}){place}")


def with_stack(error: Exception) -> Exception:
    """The error with the calls it passed through, and without the reader's own frames."""
    calls = error.__dict__.pop(_CALLS, None)
    if calls:
        lines = calls[::-1][:_MOST_SHOWN]
        rest = len(calls) - len(lines)
        lines += [f"... and {rest} more"] if rest else []
        error.add_note("\n  while compiling\n" + "\n".join(f"    {line}" for line in lines))
    return error.with_traceback(None) if "\n\n  " in str(error) else error


def _argument(name: str, value: Any) -> str:
    if isinstance(value, SymbolicNumber):
        return f"{name}: {value.kind.__name__}"
    if isinstance(value, Tensor):
        return f"{name}: {type_of_array(value._data)}"
    if isinstance(value, (int, float, str)) or value is None:
        return f"{name}={value!r}"
    if isinstance(value, (tuple, list)):
        return f"{name}: {type(value).__name__} of {len(value)}"
    return name if name == "self" else f"{name}: {type(value).__name__}"
