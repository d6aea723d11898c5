"""Changing blocks: putting statements in, taking them out."""

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
    """The place just before or just after a node."""

    statement: Statement
    is_after: bool

    @property
    def block(self) -> StatementBlock:
        if self.statement.block is None:
            raise problem(
                ValueError,
                "SymbolTree: the position is beside a node that is not in the tree any more",
                got=self.statement.name,
            )
        return self.statement.block


def insert(position: Position, statement: Statement) -> None:
    """Put a statement at a position, and let its code find what it calls."""
    if statement.block is not None:
        raise problem(
            ValueError,
            "SymbolTree: a node in a tree cannot be inserted again",
            got=statement.name,
            fix="erase it first, or make a new node",
        )
    block = position.block
    if block.is_container:
        _check_is_cell(statement)
    place = _place(position, block, statement.kind is NodeType.Input)
    if statement.kind is NodeType.Input:
        _check_signature([*block.statements[:place], statement, *block.statements[place:]])
    _settle(statement, block)
    block.put(place, statement)


def erase(statement: Statement) -> None:
    """Take a statement out, an if, for or while with its else."""
    block = statement.block
    assert block is not None
    for other in [s for s in block.statements if s.head is statement]:
        block.take(other)
    block.take(statement)
    _detach(statement, block.tree)


def replace(old: Statement, new: Sequence[Statement]) -> None:
    """Put statements in the place of one."""
    if old.kind is NodeType.Input:
        raise problem(ValueError, "SymbolTree: an input cannot be replaced", got=old.name)
    for statement in new:
        insert(Position(old, False), statement)
    erase(old)


def splice(statement: Statement, inside: StatementBlock, erase_after_return: bool) -> None:
    """Put the statements of a control flow's body in its place."""
    block = statement.block
    assert block is not None
    moved = list(inside.statements)
    place = block.statements.index(statement)
    for offset, inner in enumerate(moved):
        inside.take(inner)
        block.put(place + offset, inner)
    erase(statement)
    if erase_after_return and any(inner.kind is NodeType.Output for inner in moved):
        for later in block.statements[place + len(moved) :]:
            block.take(later)


def _place(position: Position, block: StatementBlock, is_input: bool) -> int:
    """Where in the list a new statement goes: else stays with its if, inputs stay in front."""
    beside = position.statement
    statements = block.statements
    if not position.is_after and beside.head is not None:
        beside = beside.head
    place = statements.index(beside) + position.is_after
    while place < len(statements) and statements[place].head is not None:
        place += 1
    inputs = sum(s.kind is NodeType.Input for s in statements)
    if is_input and (block.is_container or place > inputs or not _is_top(block)):
        raise problem(
            ValueError,
            "SymbolTree: an input stands beside other inputs",
            got=f"a position beside {beside.name}",
            fix="insert it before or after an input node",
        )
    return place if is_input else max(place, inputs)


def _check_signature(statements: Sequence[Statement]) -> None:
    """Raise if the inputs among `statements` are no arguments that Python takes."""
    inputs = [(s.code.arg, s.argument) for s in statements if s.argument is not None]
    names = [name for name, _ in inputs]
    plain = [a.default is not None for _, a in inputs if a.place in ("posonlyargs", "args")]
    if len(set(names)) == len(names) and plain == sorted(plain):
        return
    raise problem(
        ValueError,
        "SymbolTree: these inputs cannot be the arguments of a function",
        got=", ".join(names),
        expected="different names, and no input without a default after one with a default",
    )


def _is_top(block: StatementBlock) -> bool:
    return block.routine is not None and block is block.routine.body


def _check_is_cell(statement: Statement) -> None:
    if not isinstance(statement.instance, Cell):
        raise problem(
            TypeError,
            "SymbolTree: a container holds cells only",
            got=f"a node of type {statement.kind.name}",
            fix="make the node with Node.create_call_cell",
        )


def _settle(statement: Statement, block: StatementBlock) -> None:
    """Give a statement its name in the tree, and make its callee known there."""
    tree = block.tree
    if statement.home is tree:
        return
    statement.name = tree.node_names.unique(statement.name)
    if statement.opens:
        found = read_cell(statement.instance, statement.name, tree)
        statement.kind, statement.body, statement.tree = found.kind, found.body, found.tree
    if statement.instance is None or block.routine is None:
        return
    statement.code.value.func = _callee(statement, block.routine)


def _callee(statement: Statement, routine: ParsedFunction) -> ast.expr:
    """The expression by which the code of `routine` calls what a node holds."""
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
    """Forget the attribute that was added for a node, which may come back."""
    callee = getattr(getattr(statement.code, "value", None), "func", None)
    name = callee.attr if isinstance(callee, ast.Attribute) else ""
    if name in tree.attributes and tree.attributes[name] is statement.instance:
        del tree.attributes[name]
        statement.home = None


def _is_variable(name: str, tree: ParsedCell) -> bool:
    return any(name in r.function.__code__.co_varnames for r in tree.routines.values())
