"""Method calls of a file on objects whose class is known statically, such as tensors."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Resolve = Callable[[ast.expr], str | None]  # maps an expression to the path of a MindSpore class
_SETTERS = {"setattr", "__dict__", "insert_child_to_cell", "insert_param_to_cell",
            "register_buffer", "__setattr__"}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class MethodUses:
    """Method calls on known classes (class path, name, line), and the other calls."""

    known: list[tuple[str, str, int]] = field(default_factory=list)
    unknown: int = 0  # method calls on objects of unknown class


def methods_called(tree: ast.Module, resolve: Resolve) -> MethodUses:
    """Method calls on objects: instances of a class, annotated names, or `self` of a subclass.

    A name that is bound twice, or in any other way, counts as unknown.
    """
    found = MethodUses()
    _look(tree, {}, resolve, found)
    return found


def stored_names(tree: ast.AST) -> set[str]:
    """All names that a file binds, and Python's builtins."""
    found = {*dir(builtins), "__file__", "__name__", "__doc__", "__class__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found |= set(node.names)
    return found


def _look(
    scope: ast.AST, outer: dict[str, str | None], resolve: Resolve, found: MethodUses
) -> None:
    """Collect the method calls of one scope; inner scopes see its names."""
    classes = outer | _bound(scope, resolve)
    for node in _within(scope):
        if isinstance(node, ast.ClassDef):
            _look_at_class(node, classes, resolve, found)
        elif isinstance(node, _FUNCTIONS):
            _look(node, classes, resolve, found)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            _note(node.func, classes, resolve, found)


def _look_at_class(
    node: ast.ClassDef, outer: dict[str, str | None], resolve: Resolve, found: MethodUses
) -> None:
    """Collect from the methods of a class; `self` has the methods of the base class."""
    bases = [resolve(base) for base in node.bases]
    base = bases[0] if len(bases) == 1 else None
    own = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
           and not isinstance(part.ctx, ast.Load)}  # fmt: skip
    own |= {part.name for part in node.body if isinstance(part, (ast.FunctionDef, ast.ClassDef))}
    own |= _assigned(node)
    base = None if _sets_by_name(node) else base
    for part in node.body:
        inside = MethodUses()
        _look(part, outer, resolve, inside) if isinstance(part, _FUNCTIONS) else None
        first = part.args.args[0].arg if isinstance(part, Function) and part.args.args else ""
        found.known += inside.known
        found.unknown += inside.unknown
        for call in _calls_on(part, first):
            if base is not None and call.attr not in own:
                found.known.append((base, call.attr, call.lineno))


def _sets_by_name(node: ast.ClassDef) -> bool:
    """Whether the class sets attributes by computed names (setattr)."""
    names = [getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)]
    return not _SETTERS.isdisjoint(names)


def _calls_on(part: ast.AST, name: str) -> Iterator[ast.Attribute]:
    for node in ast.walk(part):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == name == "self":
                yield node.func


def _note(
    called: ast.Attribute, classes: dict[str, str | None], resolve: Resolve, found: MethodUses
) -> None:
    owner = called.value
    path: str | None = None
    if called.attr.startswith("_"):
        return  # Python's, such as super().__init__
    if isinstance(owner, ast.Call):
        path = resolve(owner.func)
    elif isinstance(owner, ast.Name):
        if owner.id == "self" or owner.id not in classes:
            return  # another module, or a `self` that is handled with its class
        path = classes[owner.id]
    if path is None:
        found.unknown += 1
    else:
        found.known.append((path, called.attr, called.lineno))


def _bound(scope: ast.AST, resolve: Resolve) -> dict[str, str | None]:
    """Classes of the names that a scope binds; None if unknown."""
    found: dict[str, str | None] = {}
    arguments = getattr(scope, "args", None)
    if isinstance(arguments, ast.arguments):
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            kind = argument.annotation
            found[argument.arg] = None if kind is None else resolve(kind)
    for node in _within(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
    for node in _within(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Call):
                once = _times_bound(scope, target.id) == 1
                found[target.id] = resolve(value.func) if once else None
    return found


def _times_bound(scope: ast.AST, name: str) -> int:
    return sum(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
        for node in _within(scope)
    )


def _assigned(node: ast.ClassDef) -> set[str]:
    """Names that the body of a class binds."""
    return {n.id for n in _within(node) if isinstance(n, ast.Name)
            and isinstance(n.ctx, ast.Store)}  # fmt: skip


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a scope, including inner functions and classes but not their bodies."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
