"""Python source code from statements: functions and the classes they belong to."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Collection, Mapping
from typing import Any

from mycelia.rewrite.names import UniqueNames
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.statement import (
    EmbeddedObject,
    ParsedCell,
    ParsedFunction,
    Statement,
    StatementBlock,
    inside,
)

_EXPLANATION = "# Made from the attributes of the network it was read from, and these:"


def routine_text(routine: ParsedFunction, names: Mapping[ParsedFunction, str] | None = None) -> str:
    """Definition of a routine; `names` are the rewritten functions that it may call."""
    names = names or {}
    name = names.get(routine, routine.function.__name__)
    body = _written(routine.body, names) or [ast.Pass()]
    node = ast.FunctionDef(name, _arguments(routine), body, [], lineno=0)
    if "type_params" in ast.FunctionDef._fields:
        node.type_params = []  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(node))


def statement_text(statement: Statement) -> str:
    """Code of one node; of control flow, only the head."""
    if statement.head is not None:
        return "else:"
    if statement.kind is NodeType.Input:
        return statement.code.arg
    code = copy.deepcopy(statement.code)
    if statement.kind is not NodeType.ControlFlow:
        return ast.unparse(ast.fix_missing_locations(_ObjectTypeSubstitution().visit(code)))
    code.body = [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(_ObjectTypeSubstitution().visit(code))).split(
        "\n"
    )[0]


def tree_is_changed(tree: ParsedCell) -> bool:
    return bool(tree.attributes) or any(
        routine_text(routine) != routine.original for routine in tree.routines.values()
    )


def rewritten_routines(tree: ParsedCell) -> list[ParsedFunction]:
    """Routines of a tree that need new definitions: functions first, `construct` last."""
    changed = {r for r in tree.routines.values() if routine_text(r) != r.original}
    while True:
        more = {
            caller
            for caller in tree.routines.values()
            if caller not in changed and _calls(caller, changed)
        }
        if not more:
            break
        changed |= more
    changed.add(tree.construct)
    return sorted(changed, key=lambda r: (r is tree.construct, r.is_method))


def function_names(
    routines: Collection[ParsedFunction], names: UniqueNames
) -> dict[ParsedFunction, str]:
    """New names of rewritten functions; methods keep their names."""
    return {r: names.unique(r.function.__name__) for r in routines if not r.is_method}


def class_text(tree: ParsedCell, name: str, functions: Mapping[ParsedFunction, str]) -> str:
    """Class of a rewritten cell, after the functions it calls."""
    routines = rewritten_routines(tree)
    parts = [routine_text(r, functions) for r in routines if not r.is_method]
    methods = [routine_text(r, functions) for r in routines if r.is_method]
    head = f"class {name}({type(tree.cell).__name__}):"
    if tree.attributes:
        lines = [f"# self.{n} = {_first_line(v)}" for n, v in tree.attributes.items()]
        head = "\n".join([head, textwrap.indent("\n".join([_EXPLANATION, *lines]), "    ")])
    body = "\n\n".join(textwrap.indent(method, "    ") for method in methods)
    return "\n\n\n".join([*parts, f"{head}\n\n{body}"])


def reference_to(held: EmbeddedObject, routine: ParsedFunction) -> ast.expr:
    """Expression that refers to an object in code: an attribute of the cell, or a name."""
    tree = routine.tree
    holder = tree.attributes if routine.first else routine.added
    name = next((n for n, value in holder.items() if value is held.value), None)
    if name is None:
        name = _free_name(tree, type(held.value).__name__.lower())
        holder[name] = held.value
    if routine.first is None:
        return ast.Name(name, ast.Load())
    return ast.Attribute(ast.Name(routine.first, ast.Load()), name, ast.Load())


def attribute_name(tree: ParsedCell, name: str) -> str:
    """`name`, with a number appended if the cell already has such an attribute."""
    taken = UniqueNames({*dir(tree.cell), *tree.attributes, *tree.cell._params, *tree.cell._cells})
    return taken.unique(name)


def _free_name(tree: ParsedCell, name: str) -> str:
    return attribute_name(tree, tree.variables.unique(name))


def _calls(caller: ParsedFunction, callees: Collection[ParsedFunction]) -> bool:
    return any(
        s.routine in callees and not s.routine.is_method
        for s in inside(caller.body)
        if s.routine is not None and s.block is not None and s.block.routine is caller
    )


def _written(block: StatementBlock, names: Mapping[ParsedFunction, str]) -> list[ast.stmt]:
    """Code of a block, including the bodies of control flow."""
    assert block.routine is not None
    others = {s.head: s for s in block.statements if s.head is not None}
    found: list[ast.stmt] = []
    for statement in block.statements:
        if statement.kind is NodeType.Input or statement.head is not None:
            continue
        code: Any = copy.deepcopy(statement.code)
        if statement.routine is not None and statement.routine in names:
            code.value.func = ast.Name(names[statement.routine], ast.Load())
        code = _ObjectNameSubstitution(block.routine).visit(code)
        if statement.kind is NodeType.ControlFlow:
            assert statement.body is not None
            code.body = _written(statement.body, names) or [ast.Pass()]
            other = others.get(statement)
            if other is not None and other.body is not None:
                code.orelse = _written(other.body, names)
        found.append(code)
    return found


def _arguments(routine: ParsedFunction) -> ast.arguments:
    args = ast.arguments([], [], None, [], [], None, [])
    if routine.is_method:
        assert routine.first is not None
        args.args.append(ast.arg(routine.first))
    for statement in routine.body.statements:
        argument = statement.argument
        if argument is None:
            continue
        default = argument.default
        if default is not None:
            default = _ObjectTypeSubstitution().visit(copy.deepcopy(default))
        if argument.place in ("vararg", "kwarg"):
            setattr(args, argument.place, statement.code)
        elif argument.place == "kwonlyargs":
            args.kwonlyargs.append(statement.code)
            args.kw_defaults.append(default)
        else:
            getattr(args, argument.place).append(statement.code)
            if default is not None:
                args.defaults.append(default)
    if routine.is_method and args.posonlyargs:
        args.posonlyargs.insert(0, args.args.pop(0))
    return args


class _ObjectNameSubstitution(ast.NodeTransformer):
    """Replaces objects in code by the names that refer to them in the routine."""

    def __init__(self, routine: ParsedFunction) -> None:
        self._routine = routine

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        held: Any = node.value
        return reference_to(held, self._routine) if isinstance(held, EmbeddedObject) else node


class _ObjectTypeSubstitution(ast.NodeTransformer):
    """Replaces objects in code by their types, for display only."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        held: Any = node.value
        if not isinstance(held, EmbeddedObject):
            return node
        return ast.Name(f"<{type(held.value).__name__}>", ast.Load())


def _first_line(value: Any) -> str:
    line = repr(value).split("\n")[0]
    return f"{line} ..." if line.endswith("(") else line
