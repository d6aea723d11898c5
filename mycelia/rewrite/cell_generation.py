"""Generation of the new network: new classes, and cells that share unchanged parts."""

from __future__ import annotations

import ast
import builtins
import linecache
import symtable
import textwrap
from collections.abc import Iterator
from itertools import count
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.network_version import note_network_change
from mycelia.nn.cell import Cell
from mycelia.rewrite.names import UniqueNames
from mycelia.rewrite.scope import cells_of
from mycelia.rewrite.source_printer import (
    class_text,
    function_names,
    rewritten_routines,
    routine_text,
    tree_is_changed,
)
from mycelia.rewrite.statement import ParsedCell, ParsedFunction, StatementBlock, inside

_FILES = count(1)
_PARTS = ("_cells", "_params", "_flags")
_OF_ONE_CELL = ("_program",)  # attributes that each cell owns


def network_text(root: ParsedCell) -> str:
    """Code of all classes that a new network needs; the class of the network is the last."""
    return _SourcePlan(root).text


def build_network(root: ParsedCell) -> Cell:
    """Create a cell of a new class that shares parameters and unchanged parts with the old one."""
    for tree in trees_below(root):
        for routine in rewritten_routines(tree):
            _check_names(routine)
    plan = _SourcePlan(root)
    network = _CellRebuilder(root, _classes(plan)).rebuilt(root.cell)
    _name_parameters(network, root.cell)
    note_network_change()
    return network


def trees_below(root: ParsedCell) -> list[ParsedCell]:
    """Trees whose nodes are reachable from `root`, with `root` last."""
    trees = [s.tree for s in inside(root.construct.body, subtrees=True) if s.tree is not None]
    return [*dict.fromkeys(tree for tree in trees if tree is not root), root]


class _SourcePlan:
    """Names of the generated classes and functions, and their source code."""

    def __init__(self, root: ParsedCell) -> None:
        self.trees = [t for t in trees_below(root) if t is root or tree_is_changed(t)]
        names = UniqueNames()
        self.classes: dict[ParsedCell, str] = {}
        self.functions: dict[ParsedCell, dict[ParsedFunction, str]] = {}
        for tree in self.trees:
            routines = rewritten_routines(tree)
            names.taken |= {n for r in routines for n in r.function.__globals__}
            self.functions[tree] = function_names(routines, names)
            self.classes[tree] = names.unique(f"{type(tree.cell).__name__}Opt")
        texts = [class_text(t, self.classes[t], self.functions[t]) for t in self.trees]
        self.text = "\n\n\n".join(texts) + "\n"


def _classes(plan: _SourcePlan) -> dict[ParsedCell, type]:
    """Classes of a plan. Their functions keep their globals and closure variables."""
    file = f"<rewritten {type(plan.trees[-1].cell).__name__} {next(_FILES)}>"
    linecache.cache[file] = (len(plan.text), None, plan.text.splitlines(keepends=True), file)
    free = {n for t in plan.trees for r in rewritten_routines(t) for n in _outer_names(r)}
    free |= {name for names in plan.functions.values() for name in names.values()}
    module = ast.parse(plan.text, file)
    codes = _compiled(module, file, sorted(free - {"__class__"}))
    classes: dict[ParsedCell, type] = {}
    for tree in plan.trees:
        functions: dict[str, Any] = {}
        methods: dict[str, Any] = {}
        for routine in rewritten_routines(tree):
            name = plan.functions[tree].get(routine, routine.function.__name__)
            owner = plan.classes[tree] if routine.is_method else ""
            function = _function(codes[owner, name], routine)
            (methods if routine.is_method else functions)[name] = function
        for function in (*functions.values(), *methods.values()):
            _connect(function, functions)
        base = type(tree.cell)
        members = {**methods, "__module__": base.__module__, "__doc__": base.__doc__}
        classes[tree] = type(plan.classes[tree], (base,), members)
    return classes


def _compiled(module: ast.Module, file: str, free: list[str]) -> dict[tuple[str, str], CodeType]:
    """Code of each function by class and name; the names `free` are closure variables."""
    args = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    around = ast.FunctionDef("around", args, module.body, [], lineno=1, col_offset=0)
    module.body = [around]
    code = compile(ast.fix_missing_locations(module), file, "exec")
    codes: dict[tuple[str, str], CodeType] = {}
    for outer in _inner_codes(_inner_codes(code)[0]):
        if outer.co_flags & 0x2:  # function code has its own local variables, class code does not
            codes["", outer.co_name] = outer
        else:
            codes |= {(outer.co_name, inner.co_name): inner for inner in _inner_codes(outer)}
    return codes


def _inner_codes(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _outer_names(routine: ParsedFunction) -> set[str]:
    return {*routine.function.__code__.co_freevars, *routine.added}


def _function(code: CodeType, routine: ParsedFunction) -> FunctionType:
    """Function with new code and the globals, defaults, and closure of the old one."""
    old = routine.function
    held = cells_of(old)
    cells = tuple(
        held[name] if name in held else CellType(_outer_value(routine, name))
        for name in code.co_freevars
    )
    function = FunctionType(code, old.__globals__, code.co_name, _defaults(routine), cells)
    function.__kwdefaults__ = {
        s.code.arg: s.argument.value
        for s in routine.body.statements
        if s.argument is not None and s.argument.place == "kwonlyargs" and s.argument.default
    } or None
    function.__module__, function.__doc__ = old.__module__, old.__doc__
    function.__annotations__ = dict(old.__annotations__)
    return function


def _outer_value(routine: ParsedFunction, name: str) -> Any:
    if name in routine.added:
        return routine.added[name]
    return routine.function.__globals__.get(name, getattr(builtins, name, None))


def _connect(function: FunctionType, functions: dict[str, Any]) -> None:
    """Make the rewritten functions of its tree visible to a function."""
    for name, cell in cells_of(function).items():
        if name in functions:
            cell.cell_contents = functions[name]


def _defaults(routine: ParsedFunction) -> tuple[Any, ...]:
    return tuple(
        s.argument.value
        for s in routine.body.statements
        if s.argument is not None
        and s.argument.place in ("posonlyargs", "args")
        and s.argument.default is not None
    )


class _CellRebuilder:
    """Copies cells down to the changed ones."""

    def __init__(self, root: ParsedCell, classes: dict[ParsedCell, type]) -> None:
        self._forest = root.forest
        self._classes = classes
        self._copies: dict[int, Any] = {}

    def rebuilt(self, cell: Any) -> Any:
        """New cell for an old one; the same cell if nothing in it changed."""
        if id(cell) not in self._copies:
            self._copies[id(cell)] = cell
            self._copies[id(cell)] = self._copied(cell)
        return self._copies[id(cell)]

    def _copied(self, cell: Cell) -> Cell:
        tree = self._forest.trees.get(id(cell))
        made_class = None if tree is None else self._classes.get(tree)
        block = self._forest.containers.get(id(cell))
        own = {name: self._rebuilt_value(value) for name, value in vars(cell).items()}
        parts = {name: self.rebuilt(c) for name, c in cell._cells.items() if c is not None}
        is_same = all(own[name] is value for name, value in vars(cell).items()) and all(
            parts[name] is cell._cells[name] for name in parts
        )
        if made_class is None and is_same and not _is_changed(block):
            return cell
        kind = type(cell) if made_class is None else made_class
        copy: Any = object.__new__(kind)
        copy.__dict__.update({n: v for n, v in own.items() if n not in _OF_ONE_CELL})
        for name in _PARTS:
            object.__setattr__(copy, name, type(own[name])(own[name]))
        copy._cells.update(parts)
        if block is not None and _is_changed(block):
            self._refill(copy, block)
        if tree is not None and made_class is not None:
            self._add(copy, tree.attributes)
        _take_along(copy, cell)
        return copy

    def _rebuilt_value(self, value: Any) -> Any:
        """Attribute of a copy: a cell, a plain list of cells, or any other value."""
        if isinstance(value, Cell):
            return self.rebuilt(value)
        if type(value) not in (list, tuple) or not any(isinstance(v, Cell) for v in value):
            return value
        block = self._forest.containers.get(id(value))
        items = value if block is None else [s.instance for s in block.statements]
        copies = [self._rebuilt_value(item) for item in items]
        is_same = len(copies) == len(value) and all(
            a is b for a, b in zip(copies, value, strict=True)
        )
        return value if is_same else type(value)(copies)

    def _refill(self, container: Any, block: StatementBlock) -> None:
        """Refill a changed container: renumbers its cells, but keeps names."""
        old = {id(cell): name for name, cell in container._cells.items()}
        for name in container._cells:
            container.__dict__.pop(name, None)
        container._cells.clear()
        is_numbered = all(name.isdigit() for name in old.values())
        names = UniqueNames(() if is_numbered else old.values())
        for index, statement in enumerate(block.statements):
            cell = self.rebuilt(statement.instance)
            old_name = old.get(id(cell))
            name = str(index) if is_numbered else old_name or names.unique(statement.name)
            container._cells[name] = cell
            container.__dict__[name] = cell

    def _add(self, copy: Any, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            if isinstance(value, Cell):
                cell = self.rebuilt(value)
                copy._cells[name] = cell
                object.__setattr__(copy, name, cell)
            else:
                setattr(copy, name, value)


def _is_changed(block: StatementBlock | None) -> bool:
    if block is None or block.cells is None:
        return False
    now = [statement.instance for statement in block.statements]
    return len(now) != len(block.cells) or any(
        a is not b for a, b in zip(now, block.cells, strict=True)
    )


def _take_along(copy: Any, cell: Cell) -> None:
    """Copy the methods that the old cell stores as attributes, and its input description."""
    for name, value in vars(cell).items():
        if isinstance(value, MethodType) and value.__self__ is cell:
            object.__setattr__(copy, name, MethodType(getattr(type(copy), value.__name__), copy))
    signature = cell._signature
    if signature is not None:
        copy.set_inputs(*signature.inputs, **signature.by_name)


def _name_parameters(network: Cell, old: Cell) -> None:
    """Name new parameters of the network by their paths."""
    shared = {id(p) for p in old.get_parameters()}
    names = UniqueNames(p.name for p in network.get_parameters() if id(p) in shared)
    for path, parameter in list(network.parameters_and_names()):
        if id(parameter) not in shared:
            parameter.name = names.unique(path)


def _check_names(routine: ParsedFunction) -> None:
    """Raise if the code reads a variable that is no longer assigned."""
    outer = _outer_names(routine)
    around = f"def around({', '.join(sorted(outer - {'__class__'}))}):\n"
    text = around + textwrap.indent(routine_text(routine), "    ")
    known = {*outer, *routine.function.__globals__, *dir(builtins)}
    lost = sorted(set(_global_names(symtable.symtable(text, "<routine>", "exec"))) - known)
    if lost:
        name = routine.function.__name__
        raise problem(
            RuntimeError,
            f"SymbolTree: in {name}, nothing assigns {', '.join(lost)}, which is still read",
            got=routine_text(routine),
            fix="pass another value to the users of an erased node: node.set_arg(index, name)",
        )


def _global_names(table: symtable.SymbolTable) -> Iterator[str]:
    """Global names that the functions of a source text refer to."""
    for inner in table.get_children():
        yield from (s.get_name() for s in inner.get_symbols() if s.is_global())
        yield from _global_names(inner)
