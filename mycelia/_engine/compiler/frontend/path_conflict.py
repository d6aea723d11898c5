"""Values that are not the same kind of thing on all paths of a program."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.compiler.frontend.symbolic import GraphBreak


@dataclass(frozen=True)
class PathConflict:
    """A value that no program can hold: whoever uses it needs Python, for this reason."""

    why: str


def conflict_error(conflict: PathConflict) -> GraphBreak:
    """What asks for Python where such a value is used."""
    return GraphBreak(None, conflict.why)
