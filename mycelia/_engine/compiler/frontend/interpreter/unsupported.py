"""Errors for unsupported Python syntax, with the user's line and an alternative."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mycelia._engine.core.errors import located

if TYPE_CHECKING:
    from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
    from mycelia._engine.compiler.frontend.interpreter.user_function import Frame

_WAYS = {
    "Await": ("await", "await outside the compiled function"),
    "AsyncFor": ("async for", "use an ordinary loop, or loop outside the compiled function"),
    "AsyncWith": ("async with", "use async code outside the compiled function"),
    "AsyncFunctionDef": ("async def", "define an ordinary function"),
    "Yield": ("yield", "collect the values in a list and return it"),
    "YieldFrom": ("yield from", "collect the values in a list and return it"),
    "ClassDef": ("a class inside a compiled function", "define the class at module level"),
    "Global": ("assigning a global name", "return the value, or store it in a Parameter"),
}


def unsupported(interpreter: InterpreterBase, node: ast.AST, frame: Frame) -> Exception:
    """The error for an unsupported syntax node."""
    interpreter.at(node, frame)
    kind = type(node).__name__
    name, way = _WAYS.get(kind, (kind, "use a construct listed in docs/guide/graph_mode.md"))
    return located(
        SyntaxError,
        f"{name} cannot be compiled",
        got=f"{name} in {interpreter.tracer.span.function if interpreter.tracer.span else '?'}",
        fix=way,
        span=interpreter.tracer.span,
    )
