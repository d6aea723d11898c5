"""Which of MindSpore's names the tests call, found by reading the tests.

A name counts if a test file, or a table of cases that a test runs, refers to what it resolves to here:
`ops.add` by any import, `Tensor.sum` by a call `x.sum(...)`. Operator classes with examples are run by the
conformance tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from mycelia._engine.operators.operator import REGISTRY
from mycelia.compat.coverage_report import is_there, resolve
from mycelia.compat.names import Name, names

ROOT = Path(__file__).resolve().parents[1]
# What tables of cases call the modules they are given, the real one's or ours.
USUAL = {
    "ms": "mindspore",
    "mindspore": "mindspore",
    "nn": "mindspore.nn",
    "ops": "mindspore.ops",
    "mnp": "mindspore.numpy",
    "mint": "mindspore.mint",
    "train": "mindspore.train",
    "transforms": "mindspore.dataset.transforms",
    "vision": "mindspore.dataset.vision",
    "Tensor": "mindspore.Tensor",
}
# Tables that name operators by strings: what the strings are names of.
BY_STRING = {
    "operator_cases": ("mindspore.ops",),
    "more_operator_cases": ("mindspore.ops",),
    "numpy_cases": ("mindspore.numpy",),
    "mint_cases": ("mindspore.mint", "mindspore.mint.nn", "mindspore.mint.nn.functional"),
    "metrics_cases": ("mindspore.train",),
    "probability_cases": (
        "mindspore.nn.probability.distribution",
        "mindspore.nn.probability.bijector",
    ),
}


def called_names() -> list[str]:
    """The paths of the names that tests call, in order."""
    seen = Seen()
    for path in sources():
        seen.read(path)
    return sorted(name.path for name in names() if seen.has(name))


def sources() -> Iterator[Path]:
    yield from sorted(ROOT.rglob("test_*.py"))
    yield from sorted(ROOT.rglob("*_cases.py"))
    yield from sorted((ROOT.parent / "examples").glob("*.py"))  # test_examples.py runs them


class Seen:
    """What the files read so far refer to: paths, objects behind them, and methods called."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.objects: dict[int, Any] = {id(op): op for op in REGISTRY.values() if op.examples}
        self.methods: set[str] = set()

    def has(self, name: Name) -> bool:
        if not any(map(is_there, (name.path, *name.aliases))):
            return False
        is_member = name.kind in ("method", "property", "attr") or name.kind.endswith(":property")
        if is_member or name.signature.startswith("(self"):
            return name.name in self.methods
        if self.paths & {name.path, *name.aliases}:
            return True
        found = next(resolve(p) for p in (name.path, *name.aliases) if is_there(p))
        return id(found) in self.objects and not isinstance(found, (int, str, float))

    def read(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bound = dict(USUAL)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                bound |= {a.asname or a.name: a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                bound |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                self._refer(bound, ast.unparse(node))
                self.methods.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._refer(bound, node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                for word in node.value.split() if path.stem in BY_STRING else ():
                    self._refer(bound, word)
                    for module in BY_STRING[path.stem]:
                        self._add(f"{module}.{word}")

    def _refer(self, bound: dict[str, str], text: str) -> None:
        first, _, rest = text.partition(".")
        if bound.get(first) == USUAL["Tensor"] and rest.isidentifier():
            self.methods.add(rest)
        if first in bound and text.replace(".", "").isidentifier():
            self._add(f"{bound[first]}.{rest}" if rest else bound[first])

    def _add(self, path: str) -> None:
        if path.startswith("mycelia."):
            found = _ours(path)
            self.objects[id(found)] = found
            path = "mindspore" + path.removeprefix("mycelia")
        if path.startswith("mindspore") and path not in self.paths and is_there(path):
            self.paths.add(path)
            found = resolve(path)
            self.objects[id(found)] = found


def _ours(path: str) -> Any:
    """What a path of ours leads to, or None."""
    try:
        return resolve_name(path)
    except (ImportError, AttributeError):
        return None
