"""Turning errors that an operator's rules raise into user-facing messages."""

from __future__ import annotations

from typing import Any, NoReturn

from mycelia._engine.core.errors import located
from mycelia._engine.core.source_location import Span
from mycelia._engine.core.tracebacks import is_explained
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType

RULE_ERRORS = (
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    AttributeError,
    ZeroDivisionError,
)


def raise_explained(
    op: Primitive, args: tuple[Any, ...], error: Exception, span: Span | None
) -> NoReturn:
    """Raise `error` with our message; an earlier exception of the user stays visible as context."""
    if is_explained(error):
        raise error
    raise explained(op, args, error, span) from None


def explained(
    op: Primitive, args: tuple[Any, ...], error: Exception, span: Span | None
) -> Exception:
    """The user-facing form of an `error` that a rule raised for `args` (types and static values).

    The type and first line are kept; the rest names the operator, its arguments, and the user's
    line.
    """
    shown = f"{op!r} called with {', '.join(map(shown_type, args)) or 'no arguments'}"
    if isinstance(error, ZeroDivisionError):
        what = f"{op.name}: a size must not be zero"
        return located(ValueError, what, got=shown, span=span)
    if isinstance(error, AttributeError) and not all(isinstance(a, TensorType) for a in args):
        return located(
            TypeError,
            f"{op.name}: an argument is not a Tensor",
            got=shown,
            expected=f"{op.name}()({', '.join(op.arguments.names)}) with Tensors",
            span=span,
        )
    kinds = [kind for kind in (TypeError, ValueError, IndexError) if isinstance(error, kind)]
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return located((kinds or [TypeError])[0], f"{op.name}: {first_line}", got=shown, span=span)


def shown_type(value: Any) -> str:
    """A type, a static value, or a tuple of those, as shown in messages."""
    if isinstance(value, tuple):
        parts = ", ".join(map(shown_type, value))
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    return repr(value) if isinstance(value, str) else str(value)
