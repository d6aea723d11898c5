"""Distinguishing user code, which is traced, from library code, which is called."""

from __future__ import annotations

import linecache
import sysconfig
import types
from typing import Any

from mycelia._engine.core.source_location import PACKAGE

FRAMEWORK = str(PACKAGE)
LIBRARY = tuple({sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"]})
_NATIVE_MODULES = ("numpy", "jax", "jaxlib", "scipy")
_GENERATED = (  # as dataclasses do
    "__init__", "__eq__", "__repr__", "__hash__", "__replace__", "__lt__", "__le__", "__gt__",
    "__ge__", "__setattr__", "__delattr__",
)  # fmt: skip


def is_read(fn: types.FunctionType) -> bool:
    """Whether a function is user code, whose source is traced; other functions are called."""
    if hasattr(fn, "__mycelia_native__"):
        return False
    file = fn.__code__.co_filename
    if file.startswith(FRAMEWORK) or file.startswith("<frozen"):
        return False
    if file.startswith("<") and not (linecache.getlines(file) or "__source__" in fn.__globals__):
        return hasattr(fn, "__source__") or fn.__name__ not in _GENERATED
    module = (fn.__module__ or "").split(".")[0]
    if module in _NATIVE_MODULES:
        return False
    return not _is_of_library(file)


def is_generated(fn: Any) -> bool:
    """Whether a method was generated without a source file, as by dataclasses."""
    return isinstance(fn, types.FunctionType) and fn.__code__.co_filename == "<string>"


def is_users_code(code: types.CodeType) -> bool:
    """Whether a code object, such as that of a generator, comes from a user file."""
    file = code.co_filename
    return not (file.startswith((FRAMEWORK, "<frozen")) or _is_of_library(file))


def special_method(value: Any, name: str) -> types.FunctionType | None:
    """The user-defined special method of `value` with this name, if there is one."""
    method = getattr(type(value), name, None)
    return method if isinstance(method, types.FunctionType) and is_read(method) else None


def _is_of_library(file: str) -> bool:
    return file.startswith(LIBRARY) and "site-packages" not in file
