"""Path conflicts: values whose structures differ between the paths of a program."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.compiler.frontend.symbolic import GraphBreak


@dataclass(frozen=True)
class PathConflict:
    """A value that no program can represent; using it causes a graph break with this reason."""

    why: str


def conflict_error(conflict: PathConflict) -> GraphBreak:
    """The graph break for a use of such a value."""
    return GraphBreak(None, conflict.why)
