"""Misspelled keyword arguments of constructors, with the nearest right ones."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import CO_VARKEYWORDS
from typing import Any

from mycelia.core.errors import did_you_mean, problem


def check_keywords(cls: type, given: Mapping[str, Any]) -> None:
    """Refuse keyword arguments that the `__init__` of a class does not have.

    A constructor with `**kwargs`, or one that is not written in Python, checks them itself.
    """
    code = getattr(cls.__init__, "__code__", None)  # type: ignore[misc]
    if code is None or code.co_flags & CO_VARKEYWORDS:
        return
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for name in given:
        if name not in names:
            raise problem(
                TypeError,
                f"{cls.__name__}.__init__() got an unexpected keyword argument '{name}'",
                expected=f"one of {', '.join(names)}" if names else "no arguments",
                fix=did_you_mean(name, names),
            )
