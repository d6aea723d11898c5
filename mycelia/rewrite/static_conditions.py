"""Evaluation of conditions that are known before the network runs."""

from __future__ import annotations

import ast
import copy
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.source import definition_of
from mycelia.rewrite.data_flow import bound, providers
from mycelia.rewrite.edits import splice
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.operands import is_path, targets
from mycelia.rewrite.scope import UNKNOWN, Scope
from mycelia.rewrite.statement import ParsedCell, ParsedFunction, Statement, inside

_PLAIN = (bool, int, float, str, type(None))


def choose_known_branches(tree: ParsedCell) -> None:
    """Replace each if with a known condition by the branch that is taken."""
    for statement in list(tree.statements()):
        if isinstance(statement.code, ast.If) and statement.block is not None:
            _choose(statement)


def _choose(statement: Statement) -> None:
    block = statement.block
    assert block is not None and statement.body is not None
    found = _value(statement.code.test, statement)
    if found is UNKNOWN:
        return
    other = next((s for s in block.statements if s.head is statement), None)
    if not found and other is None:
        block.take(statement)
        return
    taken = statement.body if found or other is None else other.body
    assert taken is not None
    splice(statement, taken, erase_after_return=True)


def _value(expression: ast.expr, statement: Statement) -> Any:
    """Static value of an expression at a statement: plain values, and `is None` of anything."""
    known: dict[str, Any] = {}
    leaves = _KnownNameSubstitution(statement, known)
    text = leaves.visit(ast.Expression(copy.deepcopy(expression)))
    if leaves.is_open:
        return UNKNOWN
    code = compile(ast.fix_missing_locations(text), "<condition>", "eval")
    result = eval(code, {"__builtins__": {}}, known)
    return result if isinstance(result, _PLAIN) else UNKNOWN


class _KnownNameSubstitution(ast.NodeTransformer):
    """Substitutes known objects for the names in a condition."""

    def __init__(self, statement: Statement, known: dict[str, Any]) -> None:
        self._statement = statement
        self._known = known
        self.is_open = False

    def visit_Expression(self, node: ast.Expression) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a is None` accepts any object; other comparisons accept only plain values."""
        by_identity = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        node.left = self._leaf(node.left, by_identity)
        node.comparators = [self._leaf(c, by_identity) for c in node.comparators]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self.visit(v) for v in node.values]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self.visit(node.operand)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._leaf(node, False)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._leaf(node, False)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.Constant):
            self.is_open = True
        return node

    def _leaf(self, node: ast.expr, any_object: bool) -> ast.expr:
        if not is_path(node):
            return self.visit(node)
        found = self._meaning(node)
        if found is UNKNOWN or not (any_object or isinstance(found, _PLAIN)):
            self.is_open = True
            return node
        name = f"known_{len(self._known)}"
        self._known[name] = found
        return ast.Name(name, ast.Load())

    def _meaning(self, node: ast.expr) -> Any:
        routine = self._statement.block.routine if self._statement.block else None
        assert routine is not None
        text = ast.unparse(node)
        for provider, place in providers(self._statement).values():
            if str(targets(provider)[place]) == text and provider.kind is NodeType.MathOps:
                return _value(provider.code.value, provider)
        assigned = {name for s in inside(routine.body) for name in bound(s)}
        return UNKNOWN if text in assigned else scope_of(routine).resolve(node)


def scope_of(routine: ParsedFunction) -> Scope:
    """Scope of the names in a routine."""
    assigned = definition_of(routine.function).assigned | routine.tree.variables.taken
    return Scope(routine.function, assigned, routine.first, routine.tree.cell)
