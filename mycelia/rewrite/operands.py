"""Getting and setting the arguments and targets in the code of a statement."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.scoped_value import ScopedValue, ValueType
from mycelia.rewrite.statement import EmbeddedObject, Statement, held

_SEQUENCES: dict[Any, tuple[ValueType, type]] = {
    ast.Tuple: (ValueType.TupleValue, tuple),
    ast.List: (ValueType.ListValue, list),
}


@dataclass(frozen=True)
class ExpressionPosition:
    """Position of one expression in a syntax tree."""

    holder: Any
    field: str
    index: int | None = None

    def get(self) -> ast.expr:
        value = getattr(self.holder, self.field)
        return value if self.index is None else value[self.index]

    def set(self, expression: ast.expr) -> None:
        if self.index is None:
            setattr(self.holder, self.field, expression)
        else:
            getattr(self.holder, self.field)[self.index] = expression


def positional(statement: Statement) -> list[ExpressionPosition]:
    """Positions of the positional arguments."""
    code = statement.code
    if statement.head is not None:
        return positional(statement.head)
    if statement.kind in (NodeType.Python, NodeType.Input) or code is None:
        return []
    if isinstance(code, ast.Return):
        return [] if code.value is None else [ExpressionPosition(code, "value")]
    if isinstance(code, ast.For):
        return [ExpressionPosition(code, "iter")]
    if isinstance(code, (ast.If, ast.While)):
        return [ExpressionPosition(code, "test")]
    if statement.kind is NodeType.CellContainer and not isinstance(code.value, ast.Call):
        return []
    return _slots_of_value(code)


def _slots_of_value(code: Any) -> list[ExpressionPosition]:
    value = code.value
    match value:
        case ast.Call():
            return _listed(value, "args")
        case ast.BinOp():
            return [ExpressionPosition(value, "left"), ExpressionPosition(value, "right")]
        case ast.UnaryOp():
            return [ExpressionPosition(value, "operand")]
        case ast.Compare():
            return [ExpressionPosition(value, "left"), *_listed(value, "comparators")]
        case ast.BoolOp():
            return _listed(value, "values")
        case ast.Tuple() | ast.List():
            return _listed(value, "elts")
        case ast.Dict():
            return []
        case ast.Subscript():
            return [ExpressionPosition(value, "value"), ExpressionPosition(value, "slice")]
    return [ExpressionPosition(code, "value")]


def _listed(holder: Any, field: str) -> list[ExpressionPosition]:
    return [ExpressionPosition(holder, field, i) for i in range(len(getattr(holder, field)))]


def by_keyword(statement: Statement) -> dict[str, ExpressionPosition]:
    """Positions of the keyword arguments."""
    value = getattr(statement.code, "value", None)
    if statement.kind is NodeType.Python:
        return {}
    if isinstance(value, ast.Call):
        return {
            k.arg or f"**{ast.unparse(k.value)}": ExpressionPosition(k, "value")
            for k in value.keywords
        }
    if isinstance(value, ast.Dict):
        return {
            str(key.value): ExpressionPosition(value, "values", i)
            for i, key in enumerate(value.keys)
            if isinstance(key, ast.Constant)
        }
    return {}


def slots(statement: Statement) -> list[ExpressionPosition]:
    """Positions of all arguments: positional ones, then keywords."""
    return [*positional(statement), *by_keyword(statement).values()]


def targets(statement: Statement) -> list[ScopedValue]:
    """Variables that a statement assigns."""
    code = statement.code
    if statement.kind is NodeType.Input:
        return [ScopedValue.create_naming_value(code.arg)]
    if statement.kind is NodeType.Python or not isinstance(code, ast.Assign):
        return []
    target = code.targets[0]
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [as_value(part) for part in parts]


def set_targets(statement: Statement, values: Sequence[ScopedValue]) -> None:
    """Change the variables that a statement assigns."""
    statement.code = assignment(values, statement.code.value)


def assignment(values: Sequence[ScopedValue], expression: ast.expr) -> ast.stmt:
    """Statement `a, b = expression`; without targets, only the expression."""
    if not values:
        return ast.Expr(expression)
    parts = [as_expression(value) for value in values]
    for part in parts:
        part.ctx = ast.Store()  # type: ignore[attr-defined]
    target = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Store())
    return ast.Assign([target], expression, lineno=0)


def as_value(expression: ast.expr) -> ScopedValue:
    """Value of an expression."""
    if isinstance(expression, ast.Constant):
        value: Any = expression.value
        return ScopedValue.create_variable_value(
            value.value if isinstance(value, EmbeddedObject) else value
        )
    if isinstance(expression, ast.Name):
        return ScopedValue.create_naming_value(expression.id)
    if isinstance(expression, ast.Attribute) and is_path(expression):
        return ScopedValue.create_naming_value(expression.attr, ast.unparse(expression.value))
    kind_and_make = _SEQUENCES.get(type(expression))
    if kind_and_make is not None:
        kind, make = kind_and_make
        return ScopedValue(kind, "", make(as_value(e) for e in expression.elts))  # type: ignore[attr-defined]
    if _is_negative(expression):
        return ScopedValue.create_variable_value(ast.literal_eval(expression))
    if isinstance(expression, ast.Dict) and None not in expression.keys:
        pairs = {
            as_value(k): as_value(v)  # type: ignore[arg-type]
            for k, v in zip(expression.keys, expression.values, strict=True)
        }
        return ScopedValue(ValueType.DictValue, "", pairs)
    return ScopedValue(ValueType.UnsupportedValue, "", ast.unparse(expression))


def as_expression(value: ScopedValue) -> ast.expr:
    """Expression of a value."""
    match value.type:
        case ValueType.ConstantValue:
            return ast.Constant(value.value)
        case ValueType.TupleValue:
            return ast.Tuple([as_expression(item) for item in value.value], ast.Load())
        case ValueType.ListValue:
            return ast.List([as_expression(item) for item in value.value], ast.Load())
        case ValueType.DictValue:
            return ast.Dict(
                [as_expression(key) for key in value.value],
                [as_expression(item) for item in value.value.values()],
            )
        case ValueType.CustomObjValue:
            return held(value.value)
    try:
        return ast.parse(str(value), mode="eval").body
    except SyntaxError:
        raise problem(
            ValueError, "ScopedValue: the name is not a valid Python name", got=repr(str(value))
        ) from None


def is_path(expression: ast.expr) -> bool:
    """Whether an expression is a name with attributes: `a.b.c`."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return isinstance(expression, ast.Name)


def _is_negative(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.UnaryOp)
        and isinstance(expression.op, ast.USub)
        and isinstance(expression.operand, ast.Constant)
    )
