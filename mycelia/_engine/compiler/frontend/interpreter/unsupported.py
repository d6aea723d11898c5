"""Errors for Python that the compiler does not read: the construct, the line, the other way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mycelia._engine.core.errors import located

if TYPE_CHECKING:
    from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
    from mycelia._engine.compiler.frontend.interpreter.user_function import Frame

_WAYS = {
    "Await": ("await", "do the waiting outside of the compiled function"),
    "AsyncFor": ("async for", "loop over known elements, outside of async code"),
    "AsyncWith": ("async with", "do the waiting outside of the compiled function"),
    "AsyncFunctionDef": ("async def", "define an ordinary function"),
    "Yield": ("yield", "collect the values in a list and return it"),
    "YieldFrom": ("yield from", "collect the values in a list and return it"),
    "ClassDef": ("a class inside a compiled function", "define the class at module level"),
    "Global": ("assigning a global name", "return the value, or keep it in a Parameter"),
}


def unsupported(reader: InterpreterBase, node: ast.AST, frame: Frame) -> Exception:
    """The error for a kind of syntax that is not read."""
    reader.at(node, frame)
    kind = type(node).__name__
    name, way = _WAYS.get(kind, (kind, "write it with the constructs of docs/guide/graph_mode.md"))
    return located(
        SyntaxError,
        f"{name} cannot be compiled",
        got=f"{name} in {reader.tracer.span.function if reader.tracer.span else '?'}",
        fix=way,
        span=reader.tracer.span,
    )
