"""Parsing cells: turns the code of `construct` into statements and resolves their callees."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.source import FunctionDefinition, definition_of
from mycelia._engine.compiler.frontend.interpreter.user_code import is_read
from mycelia._engine.core.errors import located
from mycelia._engine.core.source_location import Span, current_span
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell
from mycelia.nn.layer.container import SequentialCell
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.normal_form import Flattener, has_plain_targets, last_name, operator_name
from mycelia.rewrite.operands import is_path
from mycelia.rewrite.scope import Scope, contents
from mycelia.rewrite.source_printer import routine_text
from mycelia.rewrite.statement import (
    Argument,
    ParsedCell,
    ParsedFunction,
    ParsedNetwork,
    Statement,
    StatementBlock,
)

_MATHS = {ast.BinOp: "binop", ast.UnaryOp: "unaryop", ast.Compare: "compare", ast.BoolOp: "boolop"}
_MOVES = {
    ast.Tuple: "tuple",
    ast.List: "list",
    ast.Dict: "dict",
    ast.Subscript: "subscript_var",
    ast.Attribute: "attribute_assign",
    ast.Name: "name_assign",
    ast.Constant: "constant_assign",
}
_HEADS = {ast.If: "if_node", ast.For: "for_node", ast.While: "while_node"}


def read_network(cell: Cell) -> ParsedCell:
    """Parse a network; raises an error that names the unsupported code."""
    function = _construct_of(cell)
    if type(cell).construct is SequentialCell.construct:
        return _read_tree(cell, _IN_SEQUENCE, ParsedNetwork())
    if not isinstance(function, FunctionType) or "construct" in vars(cell):
        raise _refused(cell, None, f"construct of {type(cell).__name__} is not a plain method")
    obstacle = _parse_obstacle(function)
    if obstacle is not None:
        raise _refused(cell, *obstacle)
    return _read_tree(cell, function, ParsedNetwork())


def read_subtree(cell: Cell, forest: ParsedNetwork) -> ParsedCell | None:
    """Parse a cell inside a network; None if it is not user code or cannot be parsed."""
    if id(cell) in forest.trees:
        return forest.trees[id(cell)]
    function = _construct_of(cell)
    if not isinstance(function, FunctionType) or "construct" in vars(cell):
        return None
    if not is_read(function) or _parse_obstacle(function) is not None:
        return None
    return _read_tree(cell, function, forest)


def read_cell(cell: Cell, name: str, tree: ParsedCell) -> Statement:
    """Statement that calls a cell; it has no code yet."""
    if type(cell).construct is SequentialCell.construct:
        body = read_container(cell, tree)
        return Statement(NodeType.CellContainer, name, None, cell, body=body)
    subtree = read_subtree(cell, tree.forest)
    if subtree is not None:
        return Statement(NodeType.Tree, name, None, cell, tree=subtree)
    return Statement(NodeType.CallCell, name, None, cell)


def read_container(container: Any, tree: ParsedCell) -> StatementBlock:
    """Statements for the cells of a container."""
    known = tree.forest.containers.get(id(container))
    if known is not None:
        return known
    cells = contents(container) or ()
    block = StatementBlock(tree, cells=cells, is_chain=isinstance(container, SequentialCell))
    tree.forest.containers[id(container)] = block
    tree.forest.kept.append(container)
    for cell in cells:
        block.add(contained(cell, tree))
    return block


def contained(cell: Cell, tree: ParsedCell) -> Statement:
    """Statement for a cell of a container; its code is for display only."""
    kind = type(cell).__name__
    statement = read_cell(cell, tree.node_names.unique(kind), tree)
    statement.code = ast.parse(f"x = {kind}(x)").body[0]
    return statement


def run_in_sequence(self: Any, input_data: Any) -> Any:
    for cell in self:
        input_data = cell(input_data)
    return input_data


_IN_SEQUENCE: Any = run_in_sequence


def _read_tree(cell: Cell, function: FunctionType, forest: ParsedNetwork) -> ParsedCell:
    tree = ParsedCell(cell, forest)
    forest.trees[id(cell)] = tree
    forest.kept.append(cell)
    tree.construct = _read_routine(function, tree, is_method=True)
    return tree


def _read_routine(function: FunctionType, tree: ParsedCell, is_method: bool) -> ParsedFunction:
    definition = definition_of(function)
    node: Any = copy.deepcopy(definition.node)
    if is_method:
        _mangle(node, function)
    routine = ParsedFunction(function, tree, is_method=is_method)
    tree.routines[function] = routine
    if is_method:
        routine.first = (node.args.posonlyargs + node.args.args)[0].arg
    tree.variables.taken |= _names_in(node)
    _FunctionParser(routine, definition).read(node)
    routine.original = routine_text(routine)
    return routine


class _FunctionParser:
    """Parses one function."""

    def __init__(self, routine: ParsedFunction, definition: FunctionDefinition) -> None:
        self._routine = routine
        self._tree = routine.tree
        self._scope = Scope(routine.function, definition.assigned, routine.first, routine.tree.cell)
        self._flattener = Flattener(routine.tree.variables, self._is_container)

    def read(self, node: ast.FunctionDef) -> None:
        for statement in self._inputs(node.args):
            self._routine.body.add(statement)
        self._fill(self._routine.body, node.body)

    def _inputs(self, args: ast.arguments) -> list[Statement]:
        plain = [*((a, "posonlyargs") for a in args.posonlyargs), *((a, "args") for a in args.args)]
        defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
        values = self._routine.function.__defaults__ or ()
        held = [None] * (len(plain) - len(values)) + list(values)
        inputs = [
            self._input(arg, Argument(place, default, value))
            for (arg, place), default, value in zip(plain, defaults, held, strict=True)
        ]
        if self._routine.is_method:
            del inputs[0]
        if args.vararg is not None:
            inputs.append(self._input(args.vararg, Argument("vararg")))
        by_name = self._routine.function.__kwdefaults__ or {}
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            inputs.append(self._input(arg, Argument("kwonlyargs", default, by_name.get(arg.arg))))
        if args.kwarg is not None:
            inputs.append(self._input(args.kwarg, Argument("kwarg")))
        return inputs

    def _input(self, arg: ast.arg, argument: Argument) -> Statement:
        name = "" if arg.arg == self._routine.first else self._named(f"input_{arg.arg}")
        return Statement(NodeType.Input, name, arg, argument=argument)

    def _fill(self, block: StatementBlock, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            for simple in self._flattener.flatten(statement):
                self._add(block, simple)

    def _add(self, block: StatementBlock, code: Any) -> None:
        if type(code) in _HEADS:
            self._add_control_flow(block, code)
        else:
            block.add(self._statement(code))

    def _add_control_flow(self, block: StatementBlock, code: Any) -> None:
        """Add the head with its body, followed by a node for its else."""
        inside, other = code.body, code.orelse
        code.body, code.orelse = [], []
        head = Statement(NodeType.ControlFlow, self._named(_HEADS[type(code)]), code)
        head.body = self._suite(inside)
        block.add(head)
        if other:
            name = self._named("else_node")
            block.add(
                Statement(NodeType.ControlFlow, name, None, head=head, body=self._suite(other))
            )

    def _suite(self, statements: Sequence[ast.stmt]) -> StatementBlock:
        block = StatementBlock(self._tree, routine=self._routine)
        self._fill(block, statements)
        return block

    def _statement(self, code: Any) -> Statement:
        if isinstance(code, ast.Return):
            return Statement(NodeType.Output, self._named("return"), code)
        value: Any = getattr(code, "value", None)
        if isinstance(code, ast.Expr) and isinstance(value, ast.Call):
            return self._call(code, value)
        if isinstance(code, ast.Assign) and has_plain_targets(code):
            if isinstance(value, ast.Call):
                return self._call(code, value)
            if type(value) in _MATHS:
                name = f"{_MATHS[type(value)]}_{operator_name(value)}"
                return Statement(NodeType.MathOps, self._named(name), code)
            if self._is_container(value):
                return self._container(code, value)
            if type(value) in _MOVES:
                return Statement(NodeType.CallMethod, self._named(_MOVES[type(value)]), code)
        return Statement(NodeType.Python, self._named(type(code).__name__), code)

    def _container(self, code: Any, value: ast.expr) -> Statement:
        container = self._scope.resolve(value)
        name = self._named(ast.unparse(value))
        body = read_container(container, self._tree)
        return Statement(NodeType.CellContainer, name, code, container, body=body)

    def _is_container(self, value: Any) -> bool:
        named = isinstance(value, ast.Attribute) or (
            isinstance(value, ast.Name) and value.id == self._routine.first
        )
        return named and is_path(value) and contents(self._scope.resolve(value)) is not None

    def _call(self, code: Any, value: ast.Call) -> Statement:
        """Statement of a call, classified by its callee."""
        callee = self._scope.resolve(value.func)
        name = self._named(last_name(value.func))
        if isinstance(callee, Cell):
            statement = read_cell(callee, name, self._tree)
            statement.code = code
            return statement
        if isinstance(callee, Primitive):
            return Statement(NodeType.CallPrimitive, name, code, callee)
        if isinstance(callee, (FunctionType, BuiltinFunctionType, type)):
            return Statement(
                NodeType.CallFunction, name, code, callee, routine=self._opened(callee, False)
            )
        if isinstance(callee, MethodType) and callee.__self__ is self._tree.cell:
            own = callee.__name__ == getattr(value.func, "attr", None)
            routine = self._opened(callee.__func__, True) if own else None
            return Statement(NodeType.CallFunction, name, code, callee, routine=routine)
        return Statement(NodeType.CallFunction, name, code)

    def _opened(self, function: Any, is_method: bool) -> ParsedFunction | None:
        """Parse a user function; None for other functions and those that cannot be parsed."""
        if not isinstance(function, FunctionType) or not is_read(function):
            return None
        if function in self._tree.routines:
            return self._tree.routines[function]
        if _parse_obstacle(function, is_method) is not None:
            return None
        return _read_routine(function, self._tree, is_method)

    def _named(self, name: str) -> str:
        return self._tree.node_names.unique(name)


def _construct_of(cell: Cell) -> Any:
    return inspect.getattr_static(type(cell), "construct")


def _parse_obstacle(
    function: FunctionType, is_method: bool = True
) -> tuple[Span | None, str] | None:
    """Why and where a function cannot be parsed; None if it can."""
    wrapped = getattr(function, "__mycelia_compiled__", None) or inspect.unwrap(function)
    try:
        definition = definition_of(wrapped)
    except (RuntimeError, SyntaxError):
        return None, f"the source of {function.__name__} is not available"
    node = definition.node
    decorators = getattr(node, "decorator_list", [])
    if decorators or wrapped is not function:
        where = decorators[0] if decorators else node
        return _span(definition, where), f"{definition.name} has a decorator"
    if definition.is_generator or not isinstance(node, ast.FunctionDef):
        kind = "a generator" if definition.is_generator else "not an ordinary function"
        return _span(definition, node), f"{definition.name} is {kind}"
    if is_method and not (node.args.posonlyargs or node.args.args):
        return _span(definition, node), f"{definition.name} does not have a self argument"
    return None


def _span(definition: FunctionDefinition, node: Any) -> Span:
    one_line = node.lineno == node.end_lineno
    end = node.end_col_offset if one_line else None
    return Span(definition.file, node.lineno, node.col_offset, end, definition.name)


def _refused(cell: Cell, span: Span | None, why: str) -> Exception:
    return located(
        TypeError,
        f"SymbolTree: {why}, so {type(cell).__name__} cannot be rewritten",
        expected="a construct that is a plain method in a source file",
        fix="define construct(self, ...) in a file, without decorators or yield",
        span=span or current_span(),
    )


def _names_in(node: ast.AST) -> set[str]:
    arguments = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return arguments | {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _mangle(node: ast.AST, function: FunctionType) -> None:
    """Mangle private attribute names as Python does, because the new class has another name."""
    parts = function.__qualname__.split(".")
    owner = parts[-2].lstrip("_") if len(parts) > 1 else ""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and owner and owner != "<locals>":
            name = inner.attr
            if name.startswith("__") and not name.endswith("__"):
                inner.attr = f"_{owner}{name}"
