"""MindSpore's public names from names.tsv: path, signature, and usage count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Name:
    """One public name; `uses` counts how often real scripts use it."""

    module: str  # or a class, for methods
    name: str
    kind: str
    signature: str
    uses: int
    aliases: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


@cache
def names() -> tuple[Name, ...]:
    """All names, in the order of the list: the most used first."""
    text = files("mycelia.compat").joinpath("names.tsv").read_text(encoding="utf-8")
    return tuple(_read(line) for line in text.splitlines()[1:])


@cache
def modules_of_names() -> frozenset[str]:
    """Modules under which names are listed, including those of their aliases."""
    paths = {path for name in names() for path in (name.path, *name.aliases)}
    classes = {p for n in names() if n.kind != "module" for p in (n.path, *n.aliases)}
    return frozenset({path.rpartition(".")[0] for path in paths} - classes)


def _read(line: str) -> Name:
    module, name, kind, signature, uses, aliases = line.split("\t")
    others = tuple(alias for alias in aliases.split(";") if alias)
    return Name(module, name, kind, signature, int(uses or 0), others)
