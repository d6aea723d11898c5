"""Decorators for public functions and classes: shorter tracebacks, suggestions for keywords."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from mycelia._engine.core.keyword_suggestions import misspelled
from mycelia._engine.core.tracebacks import shorten

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def entry_point(function: F) -> F:
    """Decorator for a public function: shortens the tracebacks of the errors that it raises."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            better = _of_keywords(error, function, args, kwargs)
            if better is not None:
                raise better from None
            shorten(error)
            raise

    return run  # type: ignore[return-value]


def entry_points(cls: C) -> C:
    """Decorator for a class: applies `entry_point` to its constructor and public methods."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, entry_point(member))
    return cls


def _of_keywords(
    error: Exception, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """A better error than Python's if a keyword argument is misspelled."""
    trace = error.__traceback__
    if not kwargs or type(error) is not TypeError or trace is None or trace.tb_next is not None:
        return None  # raised inside the function
    return misspelled(function, args, kwargs)
