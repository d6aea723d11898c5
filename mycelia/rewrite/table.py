"""Nodes as a readable table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mycelia.rewrite.data_flow import providers, users
from mycelia.rewrite.source_printer import statement_text
from mycelia.rewrite.statement import Statement

_TITLES = ("node type", "name", "codes", "arg providers", "target users")


def table(statements: Iterable[Statement]) -> str:
    """One line per node: type, name, code, providers of arguments, and users of targets."""
    rows = [_TITLES, *(_row(statement) for statement in statements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    rule = "  ".join("-" * width for width in widths)
    lines = [_line(row, widths) for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _row(statement: Statement) -> tuple[str, ...]:
    given = {place: (source.name, out) for place, (source, out) in providers(statement).items()}
    taken = {
        out: [(user.name, place) for user, place in found]
        for out, found in users(statement).items()
    }
    code = statement_text(statement)
    return statement.kind.name, statement.name, code.split("\n")[0], _pairs(given), _pairs(taken)


def _pairs(found: Mapping[int, object]) -> str:
    return ", ".join(f"{place}: {value}" for place, value in found.items())


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
