"""Comparison of MindSpore's signatures with Mycelia's."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from mycelia.compat.names import Name

_ARGS, _KWARGS = "*", "**"
_WITHOUT = ("module", "property", "attr", "value", "legacy")
_UNSAID = "()"  # what the list has for classes written in another language


def difference(name: Name, value: Any) -> str:
    """How Mycelia's signature differs; empty if it accepts every call that MindSpore accepts."""
    if name.kind.startswith(_WITHOUT) or not callable(value):
        return ""
    if not name.signature or (name.kind == "class" and name.signature == _UNSAID):
        return ""
    wanted, ours = _listed(name.signature), _own(name, value)
    if wanted is None or ours is None:
        return ""
    return _compare(wanted, ours)


def _compare(wanted: dict[str, str], ours: dict[str, str]) -> str:
    takes_any = _KWARGS in ours
    missing = [p for p in wanted if p not in ours and p not in (_ARGS, _KWARGS) and not takes_any]
    if missing:
        return f"lacks {', '.join(missing)}"
    shared = [p for p in ours if p in wanted]
    if shared != [p for p in wanted if p in ours]:
        return f"different order: {', '.join(shared)}"
    needed = [p for p, d in ours.items() if not d and p not in wanted and p not in (_ARGS, _KWARGS)]
    if needed and _ARGS not in wanted:
        return f"needs {', '.join(needed)} as well"
    return _other_defaults({p: (wanted[p], ours[p]) for p in shared})


def _other_defaults(pairs: dict[str, tuple[str, str]]) -> str:
    for parameter, (listed, own) in pairs.items():
        if listed and not own:
            return f"{parameter} has no default"
        a, b = _literal(listed), _literal(own)
        if a is not None and b is not None and a != b:
            return f"{parameter}={own} instead of {listed}"
    return ""


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return list(value) if isinstance(value, tuple) else value


def _listed(signature: str) -> dict[str, str] | None:
    """Parameters with their defaults as text, from a listed signature."""
    try:
        arguments = _parsed(signature)
    except SyntaxError:
        return None
    defaults: dict[str, str] = {}
    ordered = [*arguments.posonlyargs, *arguments.args]
    blank = [None] * (len(ordered) - len(arguments.defaults))
    for argument, default in zip(ordered, [*blank, *arguments.defaults], strict=True):
        defaults[argument.arg] = ast.unparse(default) if default else ""
    if arguments.vararg:
        defaults[_ARGS] = ""
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        defaults[argument.arg] = ast.unparse(default) if default else ""
    if arguments.kwarg:
        defaults[_KWARGS] = ""
    return {p: d for p, d in defaults.items() if p not in ("self", "cls")}


def _parsed(signature: str) -> ast.arguments:
    """Parse a signature; defaults such as <Border.CONSTANT: 'constant'> become names."""
    while "<" in signature:
        start = signature.index("<")
        end = signature.find(">", start)
        if end < 0:
            break
        signature = f"{signature[:start]}something{signature[end + 1 :]}"
    (function,) = ast.parse(f"def f{signature}: pass").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def _own(name: Name, value: Any) -> dict[str, str] | None:
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (ValueError, TypeError):
        return None
    result: dict[str, str] = {}
    if name.signature.startswith("(self") and inspect.isfunction(value):
        parameters = parameters[1:]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            result[_ARGS] = ""
        elif parameter.kind is parameter.VAR_KEYWORD:
            result[_KWARGS] = ""
        elif parameter.name not in ("self", "cls"):
            empty = parameter.default is parameter.empty
            result[parameter.name] = "" if empty else repr(parameter.default)
    return result
