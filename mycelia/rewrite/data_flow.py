"""Data flow between statements, derived from the code block by block."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.operands import slots, targets
from mycelia.rewrite.statement import Statement, StatementBlock, inside

Provider = tuple[Statement, int]  # a statement and which of its targets
Use = tuple[Statement, int]  # a statement and which of its arguments

_OPAQUE = (NodeType.Python, NodeType.ControlFlow)  # the last assignment inside is unknown


def providers(statement: Statement) -> dict[int, Provider]:
    """For each argument assigned by an earlier statement: that statement and its target.

    Statements inside and outside of control flow are not connected, nor are variables that control
    flow or a Python node may have assigned, because the assigning statement is unknown.
    """
    block = statement.block
    if block is None:
        return {}
    if block.is_container:
        index = block.statements.index(statement)
        return {0: (block.statements[index - 1], 0)} if block.is_chain and index else {}
    earlier = block.statements[: block.statements.index(statement)]
    providers_by_index = {
        index: _last_to_assign(ast.unparse(slot.get()), earlier)
        for index, slot in enumerate(slots(statement))
        if _named(slot.get())
    }
    return {
        index: provider for index, provider in providers_by_index.items() if provider is not None
    }


def users(statement: Statement) -> dict[int, list[Use]]:
    """For each used target, the statements that use it, and as which argument."""
    block = statement.block
    if block is None:
        return {}
    later = block.statements[block.statements.index(statement) + 1 :]
    if block.is_container:
        return {0: [(later[0], 0)]} if block.is_chain and later else {}
    uses = {i: _uses(str(target), later) for i, target in enumerate(targets(statement))}
    return {target: found for target, found in uses.items() if found}


def _last_to_assign(name: str, earlier: Sequence[Statement]) -> Provider | None:
    """The last statement that assigns `name`, if it is known."""
    for statement in reversed(earlier):
        if name in bound(statement):
            names = [str(target) for target in targets(statement)]
            is_known = name in names and statement.kind not in _OPAQUE
            return (statement, names.index(name)) if is_known else None
    return None


def _uses(name: str, later: Sequence[Statement]) -> list[Use]:
    """Uses of `name` until it is assigned again."""
    uses: list[Use] = []
    for statement in later:
        for index, slot in enumerate(slots(statement)):
            if _named(slot.get()) and ast.unparse(slot.get()) == name:
                uses.append((statement, index))
        if name in bound(statement):
            break
    return uses


def readers(statement: Statement) -> set[Statement]:
    """All statements that may read the targets of this one, including indirect uses."""
    block = statement.block
    assert block is not None
    if block.is_container:
        return {other for uses in users(statement).values() for other, _ in uses}
    return {other for name in _roots(statement) for other in _readers_of(statement, name)}


def bound(statement: Statement) -> set[str]:
    """Variables that a statement assigns anywhere in it."""
    if statement.kind is NodeType.Input:
        return {statement.code.arg}
    return {name for code in _codes(statement) for name in _stored(code)}


def read(statement: Statement) -> set[str]:
    """Variables that a statement reads anywhere in it."""
    return {
        node.id
        for code in _codes(statement)
        for node in ast.walk(code)
        if isinstance(node, ast.Name)
        and (isinstance(node.ctx, ast.Load) or isinstance(code, ast.AugAssign))
    }


def _readers_of(statement: Statement, name: str) -> Iterator[Statement]:
    block = statement.block
    assert block is not None and block.routine is not None
    for later in block.statements[block.statements.index(statement) + 1 :]:
        if name in read(later):
            yield later
        if name in bound(later) and later.kind is not NodeType.ControlFlow:
            return
    if block is not block.routine.body:  # a later use or iteration may read it
        yield from (s for s in inside(block.routine.body) if _own(s, block) and name in read(s))


def _own(statement: Statement, block: StatementBlock) -> bool:
    """Whether a statement is in the same function and is not a control flow head."""
    return (
        statement.block is not None
        and statement.block.routine is block.routine
        and statement.kind is not NodeType.ControlFlow
    )


def _roots(statement: Statement) -> set[str]:
    return {str(target).split(".")[0] for target in targets(statement)}


def _codes(statement: Statement) -> Iterator[ast.AST]:
    """Code of a statement and, for control flow, of everything inside."""
    if statement.kind is NodeType.Input:
        return
    if statement.code is not None:
        yield statement.code
    if statement.kind is NodeType.ControlFlow and statement.body is not None:
        for inner in statement.body.statements:
            yield from _codes(inner)


def _stored(code: ast.AST) -> Iterator[str]:
    """Names and attributes of names that code assigns."""
    for node in ast.walk(code):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(
            node.ctx, (ast.Store, ast.Del)
        ):
            yield ast.unparse(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]


def _named(expression: ast.expr) -> bool:
    return isinstance(expression, (ast.Name, ast.Attribute))
