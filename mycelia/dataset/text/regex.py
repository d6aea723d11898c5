"""Optional import of the package `regex`: regular expressions in ICU's notation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.text.strings import Span

try:
    import regex  # type: ignore[import-untyped]
except ImportError:  # the extra is not installed
    regex = None

# ICU's differences: \x{1F600}, \Q literal \E, \Z (before the last line break), \z (end)
_ESCAPE = re.compile(
    r"\\(?:x\{(?P<code>[0-9A-Fa-f]+)\}|Q(?P<literal>.*?)(?:\\E|\Z)|(?P<one>.))", re.S
)
_ENDS = {"Z": r"(?=\n?\Z)", "z": r"\Z"}
_REFERENCE = re.compile(
    r"\\(?P<literal>.)|\$\{(?P<name>\w+)\}|\$(?P<number>\d)|(?P<bad>[$\\])", re.S
)


def compiled(owner: str, pattern: str) -> Any:
    """The compiled pattern; an invalid one raises an error that shows the problem."""
    if regex is None:
        raise problem(
            ImportError,
            f"{owner}: requires the package regex, which is not installed",
            fix="pip install 'mycelia[text]'",
        )
    try:
        return regex.compile(_ESCAPE.sub(_translated, pattern), regex.VERSION1)
    except regex.error as error:
        raise problem(
            RuntimeError, f"{owner}: invalid regular expression: {error}", got=repr(pattern)
        ) from error


def _translated(escape: re.Match[str]) -> str:
    if escape["code"]:
        return f"\\U{int(escape['code'], 16):08x}"
    if escape["literal"] is not None:
        return regex.escape(escape["literal"])
    return _ENDS.get(escape["one"], escape[0])


def replacement(owner: str, template: str, pattern: Any) -> Callable[[Any], str]:
    """The replacement template: $0, $1, ${name} refer to groups, a backslash escapes."""
    parts: list[str | int] = []
    end = 0
    for found in _REFERENCE.finditer(template):
        parts.append(template[end : found.start()])
        parts.append(_part(owner, template, found, pattern))
        end = found.end()
    parts.append(template[end:])
    return lambda match: "".join(
        (match[part] or "") if isinstance(part, int) else part for part in parts
    )


def _part(owner: str, template: str, found: re.Match[str], pattern: Any) -> str | int:
    if found["literal"]:
        return found["literal"]
    number = int(found["number"]) if found["number"] else pattern.groupindex.get(found["name"], -1)
    if not 0 <= number <= pattern.groups:
        raise problem(
            RuntimeError,
            f"{owner}: the replacement refers to an unknown group",
            got=repr(template),
            expected=f"$0 to ${pattern.groups}, or \\$ for a literal dollar sign",
        )
    return number


def cut(text: str, delimiter: Any, kept: Any | None) -> Iterator[Span]:
    """The text between matches of `delimiter`, and the delimiters that match `kept`."""
    end = 0
    for found in delimiter.finditer(text):
        start, stop = found.span()
        if start > end:
            yield end, start
        if stop > start and kept is not None and kept.fullmatch(text[start:stop]):
            yield start, stop
        end = stop
    if len(text) > end:
        yield end, len(text)
