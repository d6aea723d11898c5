"""Source lookup: the syntax tree of a function, and the scopes of its names."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from mycelia._engine.core.errors import problem

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True, eq=False)
class FunctionDefinition:
    """The source of one function: its syntax tree, its file, and its names."""

    node: FunctionNode
    file: str
    name: str
    assigned: frozenset[str]
    outer: frozenset[str]  # names declared nonlocal
    module: frozenset[str]  # names declared global
    is_generator: bool
    inner: dict[FunctionNode, FunctionDefinition] = field(default_factory=dict)
    free_names: frozenset[str] = frozenset()

    @property
    def body(self) -> list[ast.stmt]:
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body

    def nested(self, node: FunctionNode) -> FunctionDefinition:
        """The definition of a function inside this one."""
        found = self.inner.get(node)
        if found is None:
            found = self.inner[node] = _define(node, self.file)
        return found


_DEFINITIONS: dict[CodeType, FunctionDefinition] = {}


def definition_of(fn: FunctionType) -> FunctionDefinition:
    """The definition behind a Python function."""
    code = fn.__code__
    found = _DEFINITIONS.get(code)
    if found is None:
        found = _DEFINITIONS[code] = _define(_find(fn), code.co_filename)
    return found


def _define(node: FunctionNode, file: str) -> FunctionDefinition:
    names = _AssignedNames()
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for statement in body:
        names.visit(statement)
    arguments = {a.arg for a in _arguments(node.args)}
    assigned = (names.assigned | arguments) - names.outer - names.module
    return FunctionDefinition(
        node,
        file,
        "<lambda>" if isinstance(node, ast.Lambda) else node.name,
        frozenset(assigned),
        frozenset(names.outer),
        frozenset(names.module),
        names.is_generator,
        free_names=frozenset(_mentioned(node) - assigned | names.outer),
    )


def _arguments(args: ast.arguments) -> list[ast.arg]:
    extra = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *extra]


def _mentioned(node: ast.AST) -> set[str]:
    """All names used inside, including nested functions."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names
    }


class _AssignedNames(ast.NodeVisitor):
    """Collects the names that a function assigns, without those of nested functions."""

    def __init__(self) -> None:
        self.assigned: set[str] = set()
        self.outer: set[str] = set()
        self.module: set[str] = set()
        self.is_generator = False

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.assigned.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.assigned.add(node.name)
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.assigned.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in (*node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)

    def _visit_comprehension(self, node: Any) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.assigned.add(inner.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.outer.update(node.names)

    def visit_Global(self, node: ast.Global) -> None:
        self.module.update(node.names)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.assigned.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.assigned.update(alias.asname or alias.name for alias in node.names)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.assigned.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.assigned.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.assigned.add(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.assigned.add(node.rest)
        self.generic_visit(node)

    def visit_Yield(self, node: Any) -> None:
        self.is_generator = True

    visit_YieldFrom = visit_Yield


def _find(fn: FunctionType) -> FunctionNode:
    """The syntax tree node of `fn`."""
    code = fn.__code__
    tree = _tree_of_file(code.co_filename, _text_of(fn))
    wanted: Any = (
        ast.Lambda if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    )
    found = [
        n
        for n in ast.walk(tree)
        if isinstance(n, wanted)
        and _first_line(n) == code.co_firstlineno
        and getattr(n, "name", "<lambda>") == code.co_name
    ]
    if len(found) > 1:
        found = [n for n in found if _same_code(n, code)] or found
    if not found:
        raise _no_source(code)
    return found[0]


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", [])
    return decorators[0].lineno if decorators else node.lineno


def _same_code(node: Any, code: CodeType) -> bool:
    """Whether the columns of `code` are inside `node`: two lambdas may share a line."""
    columns = [
        (line, column) for line, _, column, _ in code.co_positions() if line and column is not None
    ]
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    start = (body.lineno, body.col_offset)
    end = (node.end_lineno, node.end_col_offset)
    inside = [c for c in columns if start <= c <= end]
    names = tuple(a.arg for a in _arguments(node.args))
    same_names = code.co_varnames[: len(names)] == names
    return same_names and len(inside) >= len(columns) - 2 and min(inside, default=end) == start


def _text_of(fn: FunctionType) -> str:
    file = fn.__code__.co_filename
    lines = linecache.getlines(file, fn.__globals__)
    if lines:
        return "".join(lines)
    for holder in (getattr(fn, "__source__", None), fn.__globals__.get("__source__")):
        if isinstance(holder, str):
            return holder
    try:
        text = textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        raise _no_source(fn.__code__) from None
    return "\n" * (fn.__code__.co_firstlineno - 1) + text


@lru_cache(maxsize=64)
def _tree_of_file(file: str, text: str) -> ast.Module:
    return ast.parse(text, filename=file)


def _no_source(code: CodeType) -> Exception:
    return problem(
        RuntimeError,
        f"the source of {code.co_name} is not available, so it cannot be compiled",
        got=f"a function from {code.co_filename}, line {code.co_firstlineno}",
        fix="define the function in a file, or set the global __source__ to the source text",
    )
