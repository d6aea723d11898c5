"""Static analysis: the MindSpore names that a Python file uses, with line numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mycelia.compat.coverage_report import resolve
from mycelia.compat.importer import public_names
from mycelia.compat.methods import methods_called, stored_names
from mycelia.compat.modules import ROOT, targets

Uses = dict[str, list[int]]  # a path such as mindspore.nn.Dense: the lines that use it


class UsageVisitor(ast.NodeVisitor):
    """Visits imports, then attributes; `uses` collects the MindSpore names."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # maps a name in the file to its path
        self.stars: list[str] = []  # modules from which * is imported
        self.uses: Uses = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not _is_ours(alias.name):
                continue
            self._use(alias.name, node.lineno)
            if alias.asname:
                self.bound[alias.asname] = alias.name
            else:
                self.bound[ROOT] = ROOT

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or not _is_ours(node.module):
            return
        for alias in node.names:
            path = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
            self._use(path, node.lineno)
            if alias.name != "*":
                self.bound[alias.asname or alias.name] = path
            else:
                self.stars.append(path)
                given = {name: f"{path}.{name}" for name in public_names(path)}
                self.bound = given | self.bound

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = _chain(node)
        if chain is None or chain[0] not in self.bound:
            return
        path = ".".join([self.bound[chain[0]], *chain[1:-1]])
        if targets(path):  # otherwise it is an attribute of a class or a function
            self._use(f"{path}.{chain[-1]}", node.lineno)

    def visit_Name(self, node: ast.Name) -> None:
        """Resolve a name that comes from `import *`."""
        path = self.bound.get(node.id)
        if path is not None and path.rpartition(".")[0] in self.stars:
            self._use(path, node.lineno)

    def class_of(self, node: ast.expr) -> str | None:
        """Path of the MindSpore class that an expression names, or None."""
        chain = _chain(node)
        if chain is None or chain[0] not in self.bound:
            return None
        path = ".".join([self.bound[chain[0]], *chain[1:]])
        return path if isinstance(resolve(path), type) else None

    def _use(self, path: str, line: int) -> None:
        if not path.endswith("__"):  # such as __version__
            self.uses.setdefault(path, []).append(line)


@dataclass(frozen=True)
class SourceUsage:
    """MindSpore names that a source uses, and what static analysis cannot determine."""

    uses: Uses
    unknown_methods: int  # called on objects of unknown class
    unknown_names: dict[str, list[int]]  # that only `import *` can have bound


def found_in(source: str, filename: str = "<script>") -> SourceUsage:
    """Paths below `mindspore` that a source uses, with lines, including methods of classes.

    Raises SyntaxError if the source is not valid Python.
    """
    tree = ast.parse(source, filename)
    scan = UsageVisitor()
    for kind in ((ast.Import, ast.ImportFrom), (ast.Attribute, ast.Name)):
        for node in ast.walk(tree):
            if isinstance(node, kind):
                scan.visit(node)
    methods = methods_called(tree, scan.class_of)
    for path, name, line in methods.known:
        if not name.startswith("_") and name not in _set_by(path):
            scan.uses.setdefault(f"{path}.{name}", []).append(line)
    unknown = _unknown_names(tree, scan) if scan.stars else {}
    return SourceUsage(
        {path: sorted(set(lines)) for path, lines in scan.uses.items()}, methods.unknown, unknown
    )


def uses(source: str, filename: str = "<script>") -> Uses:
    """Paths below `mindspore` that a source uses, with lines."""
    return found_in(source, filename).uses


def _unknown_names(tree: ast.Module, scan: UsageVisitor) -> dict[str, list[int]]:
    """Names that the file does not bind, so `import *` from some module must."""
    known = stored_names(tree) | set(scan.bound)
    found: dict[str, list[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in known:
            found.setdefault(node.id, []).append(node.lineno)
    return {name: sorted(set(lines)) for name, lines in found.items()}


@cache
def _set_by(path: str) -> frozenset[str]:
    """Attributes that the methods of a class mention, and so may set on its objects."""
    parts = [part for kind in getattr(resolve(path), "__mro__", ()) for part in vars(kind).values()]
    codes = [getattr(getattr(part, "__wrapped__", part), "__code__", None) for part in parts]
    return frozenset(name for code in codes if code is not None for name in code.co_names)


def python_files(paths: list[str]) -> Iterator[Path]:
    """The given files, and every .py file below the given folders."""
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*.py") if p.is_file())
        else:
            yield path


def _is_ours(module: str) -> bool:
    return module == ROOT or module.startswith(ROOT + ".")


def _chain(node: ast.expr) -> list[str] | None:
    """Components of `a.b.c`, or None if it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None
