"""User-facing errors: the problem, what was got and expected, a fix, and the user's own line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

from mycelia._engine.core.source_location import Span, current_span
from mycelia._engine.core.tracebacks import mark_explained

E = TypeVar("E", bound=BaseException)


class IndexOutOfRangeError(IndexError, ValueError, RuntimeError):
    """An index, label, or length that is out of range.

    MindSpore raises one of these three types for the same mistake, depending on the operator.
    """


class RaggedListError(TypeError, ValueError):
    """Nested lists of different lengths: a TypeError in MindSpore, a ValueError in NumPy."""


class ShapeError(ValueError, RuntimeError):
    """Sizes or axes that do not fit an operator.

    MindSpore raises one of these two types for the same mistake, depending on the operator.
    """


class _ReadableKeyError(KeyError):
    """A KeyError that prints its message like other errors, not as a quoted key."""

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[KeyError], tuple[Any, ...]]:
        return KeyError, self.args


_ReadableKeyError.__name__ = _ReadableKeyError.__qualname__ = "KeyError"  # as tracebacks name it
_ReadableKeyError.__module__ = "builtins"
_READABLE: dict[type[BaseException], type[BaseException]] = {KeyError: _ReadableKeyError}


def problem(kind: type[E], what: str, *, got: str = "", expected: str = "", fix: str = "") -> E:
    """Build an exception of type `kind` with Mycelia's message. The caller raises it."""
    return located(kind, what, got=got, expected=expected, fix=fix, span=current_span())


def located(
    kind: type[E],
    what: str,
    *,
    got: str = "",
    expected: str = "",
    fix: str = "",
    span: Span | None,
) -> E:
    """Like `problem`, for a known location in user code."""
    lines = [what]
    lines += [
        f"  {label + ':':<10}{text}"
        for label, text in (("got", got), ("expected", expected), ("fix", fix))
        if text
    ]
    if span is not None:
        lines += ["", span.show()]
    exception_type: Any = _READABLE.get(kind, kind)
    error: E = exception_type("\n".join(lines))
    mark_explained(error)
    return error


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A suggestion for a misspelled name, or an empty string if no known name is similar."""
    choices = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(str(name).lower(), choices, n=1, cutoff=0.6)
    return f"did you mean {choices[matches[0]]!r}?" if matches else ""


def wrong_type(owner: str, argument: str, value: Any, expected: str) -> TypeError:
    """The error for an argument of the wrong Python type."""
    return problem(
        TypeError,
        f"For '{owner}', the '{argument}' must be {expected}, but got '{type(value).__name__}'",
        got=f"{argument}={value!r}",
        expected=expected,
    )


def wrong_value(owner: str, argument: str, value: Any, expected: str) -> ValueError:
    """The error for an argument with an invalid value."""
    return problem(
        ValueError,
        f"For '{owner}', the '{argument}' must be {expected}, "
        f"but got '{value}' with type '{type(value).__name__}'.",
    )
