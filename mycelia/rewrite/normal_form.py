"""Flattening of nested expressions to simple statements, in Python's evaluation order."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mycelia.rewrite.names import UniqueNames
from mycelia.rewrite.operands import is_path


class Flattener:
    """Splits statements; new variables hold the intermediate results."""

    def __init__(self, variables: UniqueNames, is_container: Callable[[ast.expr], bool]) -> None:
        self._variables = variables
        self._is_container = is_container
        self._before: list[ast.stmt] = []

    def flatten(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statement, preceded by the statements that compute its operands."""
        if _assigns_inside(statement):
            return [statement]
        self._before = []
        match statement:
            case ast.Assign(value=value) if has_plain_targets(statement):
                statement.value = self._one_level(value)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                statement.value = self._simple(value)
            case ast.AugAssign(target=target, value=value) if is_path(target):
                statement.value = self._simple(value)
            case ast.Expr(value=ast.Call() as value):
                statement.value = self._one_level(value)
            case ast.Return(value=ast.expr() as value):
                statement.value = self._simple(value)
            case ast.For(iter=value):
                statement.iter = self._simple(value)
            case ast.If(test=value):
                statement.test = self._simple(value)
        return [*self._before, statement]

    def _one_level(self, value: ast.expr) -> ast.expr:
        """The same expression over simple operands. Operands that Python may skip stay in place."""
        match value:
            case ast.Call():
                value.func = self._callee(value.func)
                value.args = [self._simple(arg) for arg in value.args]
                for keyword in value.keywords:
                    keyword.value = self._simple(keyword.value)
            case ast.BinOp():
                value.left = self._simple(value.left)
                value.right = self._simple(value.right)
            case ast.UnaryOp():
                value.operand = self._simple(value.operand)
            case ast.Compare():
                value.left = self._simple(value.left)
                value.comparators[0] = self._simple(value.comparators[0])
            case ast.BoolOp():
                value.values[0] = self._simple(value.values[0])
            case ast.Tuple() | ast.List():
                value.elts = [self._simple(e) for e in value.elts]
            case ast.Dict() if None not in value.keys:
                value.values = [self._simple(v) for v in value.values]
            case ast.Subscript():
                value.value = self._simple(value.value)
                value.slice = self._index(value.slice)
            case ast.Attribute() if not is_path(value):
                value.value = self._simple(value.value)
        return value

    def _simple(self, value: ast.expr) -> ast.expr:
        """A name, an attribute of a name, or a constant that replaces `value`."""
        if self._is_container(value):
            return self._put(value)
        match value:
            case ast.Constant() | ast.Name() | ast.Lambda():
                return value
            case ast.UnaryOp(operand=ast.Constant()):
                return value
            case ast.Attribute():
                return self._one_level(value)
            case ast.Starred():
                value.value = self._simple(value.value)
                return value
        return self._put(self._one_level(value))

    def _callee(self, function: ast.expr) -> ast.expr:
        if isinstance(function, ast.Attribute) and not is_path(function):
            if not _is_super(function.value):
                function.value = self._simple(function.value)
            return function
        if isinstance(function, (ast.Name, ast.Attribute)) or _is_constant_item(function):
            return function
        return self._simple(function)

    def _index(self, index: ast.expr) -> ast.expr:
        """An index with its calls extracted."""
        match index:
            case ast.Tuple():
                index.elts = [self._index(e) for e in index.elts]
                return index
            case ast.Slice():
                for field in ("lower", "upper", "step"):
                    part = getattr(index, field)
                    if part is not None:
                        setattr(index, field, self._index(part))
                return index
        has_call = any(isinstance(inner, ast.Call) for inner in ast.walk(index))
        return self._simple(index) if has_call else index

    def _put(self, value: ast.expr) -> ast.expr:
        """Assign `value` to a new variable, and return the variable."""
        name = self._variables.unique(_variable_for(value))
        target = ast.Name(name, ast.Store())
        self._before.append(ast.copy_location(ast.Assign([target], value), value))
        return ast.copy_location(ast.Name(name, ast.Load()), value)


def has_plain_targets(statement: ast.Assign) -> bool:
    """Whether the statement assigns only names and attributes of names, once."""
    if len(statement.targets) > 1:
        return False
    target = statement.targets[0]
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(is_path(part) for part in parts)


def last_name(function: ast.expr) -> str:
    """Short name of a callee: `conv` for `self.conv`, `blocks_0` for an item."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            return f"{last_name(value)}_{key!s}"
    return "call"


def operator_name(value: Any) -> str:
    """Name of a Python operator: `add`, `gt`, `not`."""
    operator = value.ops[0] if isinstance(value, ast.Compare) else value.op
    return type(operator).__name__.lower()


def _variable_for(value: ast.expr) -> str:
    match value:
        case ast.Call(func=function):
            return f"{last_name(function)}_var"
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp():
            return f"{operator_name(value)}_var"
        case ast.Attribute() | ast.Name():
            path = ast.unparse(value).replace(".", "_")
            return path if isinstance(value, ast.Attribute) else f"{path}_var"
    return f"{type(value).__name__.lower()}_var"


def _assigns_inside(statement: ast.stmt) -> bool:
    """Whether an expression of the statement assigns (`:=`), so it cannot be split."""
    heads = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    return any(isinstance(n, ast.NamedExpr) for head in heads for n in ast.walk(head))


def _is_super(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and (value.func.id == "super")
    )


def _is_constant_item(function: ast.expr) -> bool:
    """Whether the callee is an item such as `self.blocks[0]`, which needs no variable."""
    return (
        isinstance(function, ast.Subscript)
        and is_path(function.value)
        and isinstance(function.slice, ast.Constant)
    )
