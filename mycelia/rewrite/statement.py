"""What a network is read into: trees, routines, blocks, and the statements that are its nodes."""

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
    """An object standing as a constant in code; it becomes an attribute of the new network."""

    value: Any

    def __deepcopy__(self, memo: Any) -> EmbeddedObject:
        return self


def held(value: Any) -> ast.expr:
    """An object as an expression."""
    constant: Any = EmbeddedObject(value)
    return ast.Constant(constant)


@dataclass(eq=False)
class Argument:
    """How an input is declared: a field of `ast.arguments`, and its default if it has one."""

    place: str
    default: ast.expr | None = None
    value: Any = None


@dataclass(eq=False)
class Statement:
    """One node: a simple statement, the head of a control flow, an argument, or a held cell.

    The code is the truth: arguments and targets are read from it and set in it.
    """

    kind: NodeType
    name: str
    code: Any  # ast.stmt; ast.arg of an input; None of an else
    instance: Any = None  # the cell, operator or function that is called
    body: StatementBlock | None = None  # of a control flow, or the cells of a container
    routine: ParsedFunction | None = None  # what a called function of the user's does
    tree: ParsedCell | None = None
    argument: Argument | None = None
    head: Statement | None = None  # the if, for or while that an else belongs to
    block: StatementBlock | None = None  # where it stands; None before it is inserted
    home: ParsedCell | None = None  # whose attributes and names its code means
    opens: bool = False  # whether a cell that is inserted is to be read, too
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def inner(self) -> StatementBlock | None:
        """The block inside: of a control flow, a container, or a function."""
        return self.body if self.routine is None else self.routine.body


@dataclass(eq=False)
class StatementBlock:
    """Statements in order; of a container, its cells."""

    tree: ParsedCell
    statements: list[Statement] = field(default_factory=list)
    routine: ParsedFunction | None = None  # None for containers
    cells: tuple[Cell, ...] | None = None  # what a container held when it was read
    is_chain: bool = False  # whether each cell of a container takes the result of the last

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
    """A function read into statements; `construct` of a cell is one."""

    function: FunctionType
    tree: ParsedCell
    first: str | None = None  # the name of `self`, for methods
    is_method: bool = False
    original: str = ""  # its text when it was read
    added: dict[str, Any] = field(default_factory=dict)  # functions that edits call, by name
    body: StatementBlock = field(init=False)

    def __post_init__(self) -> None:
        self.body = StatementBlock(self.tree, routine=self)


@dataclass(eq=False)
class ParsedCell:
    """One cell of the user's, read."""

    cell: Cell
    forest: ParsedNetwork
    routines: dict[FunctionType, ParsedFunction] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)  # what edits add to `self`
    node_names: UniqueNames = field(default_factory=UniqueNames)
    variables: UniqueNames = field(default_factory=UniqueNames)
    file_name: str = ""
    construct: ParsedFunction = field(init=False)

    def statements(self) -> Iterator[Statement]:
        """All statements of this tree in order of the code, opened functions included."""
        yield from inside(self.construct.body)

    def find(self, name: str) -> Statement | None:
        return next((s for s in self.statements() if s.name == name), None)


@dataclass(eq=False)
class ParsedNetwork:
    """All that was read of one network. Each cell, container and function is read once."""

    trees: dict[int, ParsedCell] = field(default_factory=dict)
    containers: dict[int, StatementBlock] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # what the keys above are the ids of


def inside(
    block: StatementBlock, subtrees: bool = False, seen: set[int] | None = None
) -> Iterator[Statement]:
    """The statements of a block, each followed by those inside it; shared parts once."""
    seen = {id(block)} if seen is None else seen
    for statement in list(block.statements):
        yield statement
        tree = statement.tree if subtrees else None
        inner = statement.inner if tree is None else tree.construct.body
        if inner is not None and id(inner) not in seen:
            seen.add(id(inner))
            yield from inside(inner, subtrees, seen)
