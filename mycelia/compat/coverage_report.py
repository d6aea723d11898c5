"""Coverage of MindSpore's public API, name by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from mycelia.compat.modules import served_paths, targets
from mycelia.compat.names import Name, names
from mycelia.compat.signatures import difference

SERVED, OTHER_SIGNATURE, ABSENT = "served", "other signature", "absent"
_NOTHING = object()


@dataclass(frozen=True)
class NameStatus:
    """Support status of one name: `state`, and how the signature differs, if it does."""

    name: Name
    state: str
    difference: str = ""

    @property
    def tested(self) -> bool:
        return self.name.path in tested_names()


@dataclass(frozen=True)
class Coverage:
    """Support status of all names; prints as a table by module."""

    states: tuple[NameStatus, ...]

    @property
    def names(self) -> float:
        """Fraction of the names that are served."""
        return len(self.served) / len(self.states)

    @property
    def uses(self) -> float:
        """Fraction of the uses in real scripts that are served."""
        return self._uses(self.served) / self._uses(self.states)

    @property
    def served(self) -> tuple[NameStatus, ...]:
        return tuple(s for s in self.states if s.state == SERVED)

    @property
    def absent(self) -> tuple[NameStatus, ...]:
        return tuple(s for s in self.states if s.state == ABSENT)

    def within(self, *modules: str) -> Coverage:
        """Coverage of some modules, including their submodules."""
        return Coverage(tuple(s for s in self.states if _is_within(s.name.module, modules)))

    def without(self, *modules: str) -> Coverage:
        """Coverage without some modules."""
        return Coverage(tuple(s for s in self.states if not _is_within(s.name.module, modules)))

    def __str__(self) -> str:
        rows = ["| module | names | served | tested | uses served |", "|---|---:|---:|---:|---:|"]
        modules = dict.fromkeys(status.name.module for status in self.states)
        for module in sorted(modules):
            rows.append(self._row(module, [s for s in self.states if s.name.module == module]))
        return "\n".join([*rows, self._row("**all**", self.states)])

    def _row(self, title: str, states: Any) -> str:
        served = [s for s in states if s.state == SERVED]
        tested, uses = sum(s.tested for s in served), self._uses(states)
        part = f"{self._uses(served) / uses:.1%}" if uses else "-"
        return f"| {title} | {len(states)} | {len(served)} | {tested} | {part} |"

    @staticmethod
    def _uses(states: Any) -> int:
        return sum(status.name.uses for status in states)


def coverage() -> Coverage:
    """Coverage of MindSpore's public API. `print(coverage())` shows a table."""
    return Coverage(tuple(map(status, names())))


def status(name: Name) -> NameStatus:
    """Support status of a name, under its path or one of its aliases."""
    paths = (name.path, *name.aliases)
    value = next((f for f in map(resolve, paths) if f is not _NOTHING), _NOTHING)
    if value is _NOTHING:
        return NameStatus(name, ABSENT)
    differs = difference(name, value)
    return NameStatus(name, OTHER_SIGNATURE if differs else SERVED, differs)


def resolve(path: str) -> Any:
    """Object at `path` under the `mindspore` alias, or a sentinel if there is none."""
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        modules = targets(".".join(parts[:count]))
        for module in modules:
            value = _attribute(import_module(module), parts[count:])
            if value is not _NOTHING:
                return value
    modules = targets(path) if path in served_paths() else ()
    return import_module(modules[0]) if modules else _NOTHING


def is_there(path: str) -> bool:
    """Whether the `mindspore` alias serves a path."""
    return resolve(path) is not _NOTHING


def _attribute(value: Any, parts: list[str]) -> Any:
    for part in parts:
        value = getattr(value, part, _NOTHING)
        if value is _NOTHING:
            return _NOTHING
    return value


def _is_within(module: str, above: tuple[str, ...]) -> bool:
    return any(module == one or module.startswith(one + ".") for one in above)


@cache
def tested_names() -> frozenset[str]:
    """Names that a test calls, as listed in tested_names.txt."""
    listed = files("mycelia.compat").joinpath("tested_names.txt")
    return (
        frozenset(listed.read_text(encoding="utf-8").split()) if listed.is_file() else frozenset()
    )
