"""Errors for misspelled keyword arguments, with the closest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import CO_VARKEYWORDS
from typing import Any

from mycelia._engine.core.errors import did_you_mean, problem


def check_keywords(cls: type, keywords: Mapping[str, Any]) -> None:
    """Reject keyword arguments that the `__init__` of a class does not have.

    A constructor with `**kwargs`, or one that is not written in Python, does its own checks.
    """
    names = _names(cls.__init__)  # type: ignore[misc]
    if names is not None:
        refuse_others(f"{cls.__name__}.__init__", keywords, names[1:])


def misspelled(function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> TypeError | None:
    """The error for a call with a keyword argument that a function does not have, or None."""
    names = _names(function)
    unknown = [name for name in keywords if names is not None and name not in names]
    if names is None or not unknown:
        return None
    if function.__name__ == "__init__" and args:
        return _unknown(f"{type(args[0]).__name__}.__init__", unknown[0], names[1:])
    is_method = names[:1] == ("self",)
    return _unknown(function.__qualname__, unknown[0], names[1:] if is_method else names)


def unfitting(
    error: TypeError, function: Any, name: str, keywords: Mapping[str, Any]
) -> TypeError | None:
    """A better error for a call whose arguments do not match, or None if it is another error.

    The frame that called the public function, which is named `name`, caught the error.
    """
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:
        return None  # raised inside the function
    names = _names(function)
    unknown = [keyword for keyword in keywords if names is not None and keyword not in names]
    if names is not None and unknown:
        return _unknown(name, unknown[0], names[1:])
    return problem(TypeError, f"{name}() {str(error).partition('() ')[2] or error}")


def refuse_others(owner: str, keywords: Iterable[str], names: Sequence[str]) -> None:
    """Raise if one of `keywords` is not in `names`."""
    for name in keywords:
        if name not in names:
            raise _unknown(owner, name, names)


def _unknown(owner: str, name: str, names: Sequence[str]) -> TypeError:
    return problem(
        TypeError,
        f"{owner}() got an unexpected keyword argument '{name}'",
        expected=f"one of {', '.join(names)}" if names else "no arguments",
        fix=did_you_mean(name, names),
    )


def _names(function: Any) -> tuple[str, ...] | None:
    """The arguments of a Python function; None if it accepts any, or is not a Python function."""
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & CO_VARKEYWORDS:
        return None
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names


class CheckedKeywords:
    """A class whose constructor rejects misspelled keyword arguments, with a suggestion."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            check_keywords(cls, kwargs)
        return super().__new__(cls)
