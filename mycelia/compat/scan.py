"""Which of MindSpore's names a Python file uses, and in which lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from mycelia.compat.modules import ROOT, targets

Uses = dict[str, list[int]]  # a path such as mindspore.nn.Dense: the lines that use it


class Scan(ast.NodeVisitor):
    """Visits imports, then attributes; `uses` has what is used of MindSpore."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # a name in the file: the path behind it
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

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = _chain(node)
        if chain is None or chain[0] not in self.bound:
            return
        path = ".".join([self.bound[chain[0]], *chain[1:-1]])
        if targets(path):  # else it is an attribute of a class or a function
            self._use(f"{path}.{chain[-1]}", node.lineno)

    def _use(self, path: str, line: int) -> None:
        if not path.endswith("__"):  # such as __version__
            self.uses.setdefault(path, []).append(line)


def uses(source: str, filename: str = "<script>") -> Uses:
    """The paths below `mindspore` that a source uses, with lines.

    Raises SyntaxError if the source is no Python.
    """
    tree = ast.parse(source, filename)
    scan = Scan()
    for kind in ((ast.Import, ast.ImportFrom), ast.Attribute):
        for node in ast.walk(tree):
            if isinstance(node, kind):
                scan.visit(node)
    return {path: sorted(set(lines)) for path, lines in scan.uses.items()}


def python_files(paths: list[str]) -> Iterator[Path]:
    """The files themselves, and every .py below the folders."""
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*.py") if p.is_file())
        else:
            yield path


def _is_ours(module: str) -> bool:
    return module == ROOT or module.startswith(ROOT + ".")


def _chain(node: ast.expr) -> list[str] | None:
    """The names of `a.b.c`, or None if it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None
