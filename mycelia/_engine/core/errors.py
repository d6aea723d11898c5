"""Errors that teach: the problem, what came, what was expected, the fix, the user's own line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

from mycelia._engine.core.source_location import Span, current_span
from mycelia._engine.core.tracebacks import mark_explained

E = TypeVar("E", bound=BaseException)


class IndexOutOfRangeError(IndexError, ValueError, RuntimeError):
    """An index, a label or a length outside of what it counts.

    MindSpore raises one of the three for the same mistake, each of its operators another.
    """


class RaggedListError(TypeError, ValueError):
    """Nested lists of different lengths: a TypeError in MindSpore, a ValueError in NumPy."""


class ShapeError(ValueError, RuntimeError):
    """Sizes or axes that do not fit an operator.

    MindSpore raises one of the two for the same mistake, each form of an operator another.
    """


class _ReadableKeyError(KeyError):
    """A KeyError that shows its message as other errors do, and not as a key."""

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[KeyError], tuple[Any, ...]]:
        return KeyError, self.args


_ReadableKeyError.__name__ = _ReadableKeyError.__qualname__ = "KeyError"  # as tracebacks name it
_ReadableKeyError.__module__ = "builtins"
_READABLE: dict[type[BaseException], type[BaseException]] = {KeyError: _ReadableKeyError}


def problem(kind: type[E], what: str, *, got: str = "", expected: str = "", fix: str = "") -> E:
    """Build an exception of MindSpore's type `kind` with our message. The caller raises it."""
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
    """The same, for a place in user code that is known."""
    lines = [what]
    lines += [
        f"  {label + ':':<10}{text}"
        for label, text in (("got", got), ("expected", expected), ("fix", fix))
        if text
    ]
    if span is not None:
        lines += ["", span.show()]
    made: Any = _READABLE.get(kind, kind)
    error: E = made("\n".join(lines))
    mark_explained(error)
    return error


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A suggestion for a misspelled name, or nothing if no known one is like it."""
    choices = {one.lower(): one for one in known}
    found = get_close_matches(str(name).lower(), choices, n=1, cutoff=0.6)
    return f"did you mean {choices[found[0]]!r}?" if found else ""


def wrong_type(owner: str, argument: str, value: Any, expected: str) -> TypeError:
    """The error for an argument of a wrong Python type."""
    return problem(
        TypeError,
        f"For '{owner}', the '{argument}' must be {expected}, but got '{type(value).__name__}'",
        got=f"{argument}={value!r}",
        expected=expected,
    )


def wrong_value(owner: str, argument: str, value: Any, expected: str) -> ValueError:
    """The error for an argument of the right type but a value that makes no sense."""
    return problem(
        ValueError,
        f"For '{owner}', the '{argument}' must be {expected}, "
        f"but got '{value}' with type '{type(value).__name__}'.",
    )
