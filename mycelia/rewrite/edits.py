"""Edits of statement blocks: insert, erase, replace."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.parse import read_cell
from mycelia.rewrite.scope import UNKNOWN
from mycelia.rewrite.source_printer import attribute_name
from mycelia.rewrite.statement import ParsedCell, ParsedFunction, Statement, StatementBlock


@dataclass(frozen=True)
class Position:
    """The position directly before or after a node."""

    statement: Statement
    is_after: bool

    @property
    def block(self) -> StatementBlock:
        if self.statement.block is None:
            raise problem(
                ValueError,
                "SymbolTree: the position refers to a node that is no longer in the tree",
                got=self.statement.name,
            )
        return self.statement.block


def insert(position: Position, statement: Statement) -> None:
    """Insert a statement at a position, and make its callee available to its code."""
    if statement.block is not None:
        raise problem(
            ValueError,
            "SymbolTree: a node in a tree cannot be inserted again",
            got=statement.name,
            fix="erase it first, or create a new node",
        )
    block = position.block
    if block.is_container:
        _check_is_cell(statement)
    index = _index_of(position, block, statement.kind is NodeType.Input)
    if statement.kind is NodeType.Input:
        _check_signature([*block.statements[:index], statement, *block.statements[index:]])
    _register(statement, block)
    block.put(index, statement)


def erase(statement: Statement) -> None:
    """Remove a statement; an if, for, or while together with its else."""
    block = statement.block
    assert block is not None
    for other in [s for s in block.statements if s.head is statement]:
        block.take(other)
    block.take(statement)
    _detach(statement, block.tree)


def replace(old: Statement, new: Sequence[Statement]) -> None:
    """Replace one statement by several."""
    if old.kind is NodeType.Input:
        raise problem(ValueError, "SymbolTree: an input cannot be replaced", got=old.name)
    for statement in new:
        insert(Position(old, False), statement)
    erase(old)


def splice(statement: Statement, inside: StatementBlock, erase_after_return: bool) -> None:
    """Replace a control flow statement by the statements of its body."""
    block = statement.block
    assert block is not None
    moved = list(inside.statements)
    index = block.statements.index(statement)
    for offset, inner in enumerate(moved):
        inside.take(inner)
        block.put(index + offset, inner)
    erase(statement)
    if erase_after_return and any(inner.kind is NodeType.Output for inner in moved):
        for later in block.statements[index + len(moved) :]:
            block.take(later)


def _index_of(position: Position, block: StatementBlock, is_input: bool) -> int:
    """List index of a new statement: an else stays with its if, and inputs come first."""
    anchor = position.statement
    statements = block.statements
    if not position.is_after and anchor.head is not None:
        anchor = anchor.head
    index = statements.index(anchor) + position.is_after
    while index < len(statements) and statements[index].head is not None:
        index += 1
    inputs = sum(s.kind is NodeType.Input for s in statements)
    if is_input and (block.is_container or index > inputs or not _is_top(block)):
        raise problem(
            ValueError,
            "SymbolTree: an input must be next to other inputs",
            got=f"a position next to {anchor.name}",
            fix="insert it before or after an input node",
        )
    return index if is_input else max(index, inputs)


def _check_signature(statements: Sequence[Statement]) -> None:
    """Raise if the inputs among `statements` do not form a valid Python signature."""
    inputs = [(s.code.arg, s.argument) for s in statements if s.argument is not None]
    names = [name for name, _ in inputs]
    plain = [a.default is not None for _, a in inputs if a.place in ("posonlyargs", "args")]
    if len(set(names)) == len(names) and plain == sorted(plain):
        return
    raise problem(
        ValueError,
        "SymbolTree: these inputs do not form a valid function signature",
        got=", ".join(names),
        expected="different names, and inputs without a default before inputs with a default",
    )


def _is_top(block: StatementBlock) -> bool:
    return block.routine is not None and block is block.routine.body


def _check_is_cell(statement: Statement) -> None:
    if not isinstance(statement.instance, Cell):
        raise problem(
            TypeError,
            "SymbolTree: a container can hold only cells",
            got=f"a node of type {statement.kind.name}",
            fix="create the node with Node.create_call_cell",
        )


def _register(statement: Statement, block: StatementBlock) -> None:
    """Register a statement's name and callee in the tree."""
    tree = block.tree
    if statement.home is tree:
        return
    statement.name = tree.node_names.unique(statement.name)
    if statement.opens:
        parsed = read_cell(statement.instance, statement.name, tree)
        statement.kind, statement.body, statement.tree = parsed.kind, parsed.body, parsed.tree
    if statement.instance is None or block.routine is None:
        return
    statement.code.value.func = _callee(statement, block.routine)


def _callee(statement: Statement, routine: ParsedFunction) -> ast.expr:
    """Expression with which the code of `routine` calls the object of a node."""
    instance, tree = statement.instance, routine.tree
    if isinstance(instance, Cell) or not hasattr(instance, "__name__"):
        return _attached(instance, statement.name, routine)
    name = instance.__name__
    if routine.function.__globals__.get(name, UNKNOWN) is instance and not _is_variable(name, tree):
        return ast.Name(name, ast.Load())
    known = next((n for n, value in routine.added.items() if value is instance), None)
    if known is None:
        known = tree.variables.unique(name)
        routine.added[known] = instance
    return ast.Name(known, ast.Load())


def _attached(instance: Any, name: str, routine: ParsedFunction) -> ast.expr:
    tree = routine.tree
    if routine.first is None:
        known = tree.variables.unique(name)
        routine.added[known] = instance
        return ast.Name(known, ast.Load())
    known = attribute_name(tree, name)
    tree.attributes[known] = instance
    return ast.Attribute(ast.Name(routine.first, ast.Load()), known, ast.Load())


def _detach(statement: Statement, tree: ParsedCell) -> None:
    """Remove the attribute that was added for a node, which may be inserted again."""
    callee = getattr(getattr(statement.code, "value", None), "func", None)
    name = callee.attr if isinstance(callee, ast.Attribute) else ""
    if name in tree.attributes and tree.attributes[name] is statement.instance:
        del tree.attributes[name]
        statement.home = None


def _is_variable(name: str, tree: ParsedCell) -> bool:
    return any(name in r.function.__code__.co_varnames for r in tree.routines.values())
