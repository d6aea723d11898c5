"""Making a failing program small: statements and expressions are taken away while it still fails."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator


def shrink(source: str, still_fails: Callable[[str], bool], most_trials: int = 400) -> str:
    """The smallest text found that `still_fails`."""
    trials = 0
    found = True
    while found and trials < most_trials:
        found = False
        for smaller in smaller_programs(source):
            trials += 1
            if trials > most_trials:
                break
            if still_fails(smaller):
                source, found = smaller, True
                break
    return source


def smaller_programs(source: str) -> Iterator[str]:
    """The program with one statement or part of an expression taken away, large parts first."""
    tree = ast.parse(source)
    count = sum(1 for _ in ast.walk(tree))
    for place in range(count):
        for change in (_remove, _unwrap, _drop_otherwise, _simplify):
            candidate = copy.deepcopy(tree)
            node = _nth(candidate, place)
            if change(candidate, node):
                yield ast.unparse(ast.fix_missing_locations(candidate)) + "\n"


def _nth(tree: ast.AST, place: int) -> ast.AST:
    for number, node in enumerate(ast.walk(tree)):
        if number == place:
            return node
    raise IndexError(place)


def _remove(tree: ast.AST, node: ast.AST) -> bool:
    """Take a statement out of its block."""
    if not isinstance(node, ast.stmt):
        return False
    block = _block_of(tree, node)
    if block is None:
        return False
    block.remove(node)
    if not block:
        block.append(ast.Pass())
    return not isinstance(node, ast.Pass)


def _unwrap(tree: ast.AST, node: ast.AST) -> bool:
    """Put the body of a branch or loop in its place."""
    if not isinstance(node, (ast.If, ast.While, ast.For)):
        return False
    block = _block_of(tree, node)
    if block is None:
        return False
    place = block.index(node)
    block[place : place + 1] = node.body
    return True


def _drop_otherwise(tree: ast.AST, node: ast.AST) -> bool:
    """Leave out the else clause."""
    if not isinstance(node, (ast.If, ast.While, ast.For)) or not node.orelse:
        return False
    node.orelse = []
    return True


def _simplify(tree: ast.AST, node: ast.AST) -> bool:
    """Put a part of an expression in the place of the whole."""
    parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    if not isinstance(node, (ast.BinOp, ast.Call, ast.IfExp, ast.BoolOp, ast.UnaryOp)) or not parts:
        return False
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        parts = node.args or owner
        if not parts:
            return False
    return _replace(tree, node, parts[0])


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> bool:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return True
            if isinstance(value, list) and any(part is old for part in value):
                value[[part is old for part in value].index(True)] = new
                return True
    return False


def _block_of(tree: ast.AST, node: ast.AST) -> list[ast.stmt] | None:
    """The list of statements that holds one."""
    for parent in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and any(part is node for part in block):
                return block
    return None
