"""Data structures of a parsed network: trees, routines, blocks, and statements (nodes)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from mycelia.nn.cell import Cell
from mycelia.rewrite.names import UniqueNames
from mycelia.rewrite.node_type import NodeType


@dataclass(eq=False)
class EmbeddedObject:
    """Object embedded in code as a constant; it becomes an attribute of the new network."""

    value: Any

    def __deepcopy__(self, memo: Any) -> EmbeddedObject:
        return self


def held(value: Any) -> ast.expr:
    """Expression of an embedded object."""
    constant: Any = EmbeddedObject(value)
    return ast.Constant(constant)


@dataclass(eq=False)
class Argument:
    """Declaration of an input: a field of `ast.arguments`, and its default if there is one."""

    place: str
    default: ast.expr | None = None
    value: Any = None


@dataclass(eq=False)
class Statement:
    """One node: a simple statement, a control flow head, an argument, or a contained cell.

    The code is authoritative: arguments and targets are read from it and written to it.
    """

    kind: NodeType
    name: str
    code: Any  # ast.stmt; ast.arg of an input; None of an else
    instance: Any = None  # the called cell, operator, or function
    body: StatementBlock | None = None  # of control flow, or the cells of a container
    routine: ParsedFunction | None = None  # the body of a called user function
    tree: ParsedCell | None = None
    argument: Argument | None = None
    head: Statement | None = None  # the if, for or while that an else belongs to
    block: StatementBlock | None = None  # the enclosing block; None before it is inserted
    home: ParsedCell | None = None  # the tree that its attributes and names refer to
    opens: bool = False  # whether an inserted cell is parsed too
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def inner(self) -> StatementBlock | None:
        """Inner block of control flow, a container, or a function."""
        return self.body if self.routine is None else self.routine.body


@dataclass(eq=False)
class StatementBlock:
    """Statements in order; of a container, its cells."""

    tree: ParsedCell
    statements: list[Statement] = field(default_factory=list)
    routine: ParsedFunction | None = None  # None for containers
    cells: tuple[Cell, ...] | None = None  # the contents of a container when it was parsed
    is_chain: bool = (
        False  # whether each cell of a container receives the result of the previous one
    )

    def add(self, statement: Statement) -> None:
        self.put(len(self.statements), statement)

    def put(self, place: int, statement: Statement) -> None:
        self.statements.insert(place, statement)
        statement.block = self
        statement.home = None if self.is_container else self.tree

    def take(self, statement: Statement) -> None:
        self.statements.remove(statement)
        statement.block = None

    @property
    def is_container(self) -> bool:
        return self.cells is not None


@dataclass(eq=False)
class ParsedFunction:
    """Function parsed into statements, such as the `construct` of a cell."""

    function: FunctionType
    tree: ParsedCell
    first: str | None = None  # the name of `self`, for methods
    is_method: bool = False
    original: str = ""  # its source when it was parsed
    added: dict[str, Any] = field(default_factory=dict)  # functions called by edits, by name
    body: StatementBlock = field(init=False)

    def __post_init__(self) -> None:
        self.body = StatementBlock(self.tree, routine=self)


@dataclass(eq=False)
class ParsedCell:
    """A parsed user cell."""

    cell: Cell
    forest: ParsedNetwork
    routines: dict[FunctionType, ParsedFunction] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)  # attributes that edits add to `self`
    node_names: UniqueNames = field(default_factory=UniqueNames)
    variables: UniqueNames = field(default_factory=UniqueNames)
    file_name: str = ""
    construct: ParsedFunction = field(init=False)

    def statements(self) -> Iterator[Statement]:
        """All statements of this tree in code order, including expanded functions."""
        yield from inside(self.construct.body)

    def find(self, name: str) -> Statement | None:
        return next((s for s in self.statements() if s.name == name), None)


@dataclass(eq=False)
class ParsedNetwork:
    """Everything parsed of one network. Each cell, container, and function is parsed once."""

    trees: dict[int, ParsedCell] = field(default_factory=dict)
    containers: dict[int, StatementBlock] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # the objects whose ids are the keys above


def inside(
    block: StatementBlock, subtrees: bool = False, seen: set[int] | None = None
) -> Iterator[Statement]:
    """Statements of a block, each followed by those inside it; shared parts appear once."""
    seen = {id(block)} if seen is None else seen
    for statement in list(block.statements):
        yield statement
        tree = statement.tree if subtrees else None
        inner = statement.inner if tree is None else tree.construct.body
        if inner is not None and id(inner) not in seen:
            seen.add(id(inner))
            yield from inside(inner, subtrees, seen)
