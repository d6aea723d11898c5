"""The user's call stack in errors: which functions were being traced, with which arguments."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import type_of_array
from mycelia._engine.compiler.frontend.interpreter.base import span_of
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame, UserFunction
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber
from mycelia._engine.core.source_location import Span
from mycelia._engine.core.tracebacks import innermost_frame, mark_explained, shows_all_frames
from mycelia.tensor.tensor import Tensor

_MOST_SHOWN = 12
_CALLS, _LINE = "mycelia_calls", "mycelia_line"
_READER = str(Path(__file__).parent)


def note_line(error: Exception, node: ast.AST, frame: Frame) -> None:
    """Attach the user's innermost line to an error."""
    if _LINE not in error.__dict__:
        error.__dict__[_LINE] = span_of(node, frame)


def note_call(
    error: Exception, fn: UserFunction, variables: dict[str, Any], span: Span | None
) -> None:
    """Attach a call on the user's stack to an error."""
    names = [a.arg for a in (*fn.definition.node.args.posonlyargs, *fn.definition.node.args.args)]
    shown = ", ".join(_argument(n, variables[n]) for n in names if n in variables)
    place = f", called at {Path(span.file).name}:{span.line}" if span is not None else ""
    error.__dict__.setdefault(_CALLS, []).append(f"{fn.definition.name}({shown}){place}")


def with_stack(error: Exception) -> Exception:
    """The error with the user's line and call stack, without frames of the interpreter."""
    calls = error.__dict__.pop(_CALLS, None)
    line = error.__dict__.pop(_LINE, None)
    is_located = "\n\n  " in str(error)
    if line is not None and not is_located:
        error.add_note(f"\n{line.show()}")
    if calls:
        lines = calls[::-1][:_MOST_SHOWN]
        rest = len(calls) - len(lines)
        lines += [f"... and {rest} more"] if rest else []
        error.add_note("\n  while compiling\n" + "\n".join(f"    {line}" for line in lines))
    if shows_all_frames() or not (is_located or (line is not None and _is_users(error))):
        return error
    mark_explained(error)
    return error.with_traceback(None)


def _is_users(error: Exception) -> bool:
    """Whether Python raised the error for the user's line itself, not for other code."""
    code = innermost_frame(error)
    return code is None or code.co_name == "__getattr__" or code.co_filename.startswith(_READER)


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
