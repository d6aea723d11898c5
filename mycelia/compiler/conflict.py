"""Values that are not the same kind of thing on all paths of a program."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia.compiler.symbolic import ValueNeeded
from mycelia.core.errors import located
from mycelia.core.source import Span, current_span


@dataclass(frozen=True)
class Conflict:
    """A value that cannot be one of two; using it raises `why` (or asks for the vm)."""

    why: str
    expected: str = ""
    fix: str = ""
    needs_vm: bool = False
    span: Span | None = None  # where the second value comes from


def conflict_error(conflict: Conflict, span: Span | None = None) -> Exception:
    """The error for using a value that may be one of two things."""
    if conflict.needs_vm:
        return ValueNeeded(None, conflict.why)
    return located(
        TypeError,
        f"a value is not the same kind of thing on all paths: {conflict.why}",
        expected=conflict.expected or "the same type on both sides of a branch or loop",
        fix=conflict.fix or "assign a value of one type on both paths",
        span=span or current_span(),
    )
