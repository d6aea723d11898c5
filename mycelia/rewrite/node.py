"""Node: the public interface of the statements of a network."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

from mycelia._engine.core.checks import check_instance, check_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell
from mycelia.rewrite import data_flow
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.operands import (
    ExpressionPosition,
    as_expression,
    as_value,
    assignment,
    by_keyword,
    positional,
    slots,
    targets,
)
from mycelia.rewrite.scoped_value import ScopedValue, ValueType
from mycelia.rewrite.statement import Argument, ParsedCell, Statement, held

if TYPE_CHECKING:
    from mycelia.rewrite.symbol_tree import SymbolTree

Targets = Sequence[ScopedValue | str]
Args = Sequence[ScopedValue] | None
Kwargs = dict[str, ScopedValue] | None
_FUNCTIONS = (FunctionType, type, BuiltinFunctionType)


class Node:
    """One statement of a network: its callee, arguments, and targets."""

    tree_view: type[SymbolTree]  # set by the module of SymbolTree, which imports this one

    def __init__(self, node: Statement) -> None:
        check_instance("Node", "node", node, Statement)
        self._statement = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other._statement is self._statement

    def __hash__(self) -> int:
        return id(self._statement)

    def __repr__(self) -> str:
        return f"Node({self.get_name()}: {self.get_node_type().name})"

    # ---- construction -----------------------------------------------------------------------

    @staticmethod
    def create_call_cell(
        cell: Cell,
        targets: Targets,
        args: Args = None,
        kwargs: Kwargs = None,
        name: str = "",
        is_sub_net: bool = False,
    ) -> Node:
        """Create a node `targets = self.name(*args, **kwargs)`; a sub-net is parsed into a tree."""
        check_instance("Node", "cell", cell, (Cell, Primitive))
        check_instance("Node", "name", name, str)
        check_instance("Node", "is_sub_net", is_sub_net, bool)
        if name and not name.isidentifier():
            raise wrong_value("Node", "name", name, "a valid Python name")
        kind = NodeType.CallCell if isinstance(cell, Cell) else NodeType.CallPrimitive
        opens = is_sub_net and isinstance(cell, Cell)
        code = _call(cell, targets, args, kwargs)
        statement = Statement(kind, name or type(cell).__name__, code, cell, opens=opens)
        return Node(statement)

    @staticmethod
    def create_call_function(
        function: Any, targets: Targets, args: Args = None, kwargs: Kwargs = None
    ) -> Node:
        """Create a node `targets = function(*args, **kwargs)`; the function is not expanded."""
        check_instance("create_call_function", "function", function, _FUNCTIONS)
        code = _call(function, targets, args, kwargs)
        return Node(Statement(NodeType.CallFunction, function.__name__, code, function))

    @staticmethod
    def create_input(param_name: str, default: ScopedValue | None = None) -> Node:
        """Create a node for an additional argument of `construct`."""
        check_instance("Node", "param_name", param_name, str)
        argument = Argument("args")
        if default is not None:
            check_instance("Node", "default", default, ScopedValue)
            argument = Argument("args", as_expression(default), _plain(default))
        code = ast.arg(param_name)
        name = f"input_{param_name}"
        return Node(Statement(NodeType.Input, name, code, argument=argument))

    # ---- properties -------------------------------------------------------------------------

    def get_handler(self) -> Statement:
        """Statement of this node."""
        return self._statement

    def get_name(self) -> str:
        """Name of the node, unique in its tree."""
        return self._statement.name

    def get_node_type(self) -> NodeType:
        """Type of the node."""
        return self._statement.kind

    def get_instance(self) -> Any:
        """The called cell, operator, or function; None if unknown."""
        return self._statement.instance

    def get_instance_type(self) -> Any:
        """Class of the callee; for a function, the function itself."""
        instance = self._statement.instance
        if getattr(instance, "__module__", "") == "builtins":
            return type(None)
        return instance if isinstance(instance, (FunctionType, type)) else type(instance)

    def get_attributes(self) -> dict[str, Any]:
        """Attributes of the cell or operator, its class as `cls`, and those set on the node."""
        attributes: dict[str, Any] = {}
        if self.get_node_type() in (NodeType.CallCell, NodeType.CallPrimitive):
            instance = self.get_instance()
            attributes = {n: v for n, v in vars(instance).items() if not n.startswith("_")}
            attributes["cls"] = type(instance)
        return attributes | self._statement.attributes

    def get_attribute(self, key: str) -> Any:
        """One attribute, or None."""
        check_instance("Node", "key", key, str)
        return self.get_attributes().get(key)

    def set_attribute(self, key: str, value: Any) -> None:
        """Store an attribute in this node; the cell itself does not change."""
        check_instance("Node", "key", key, str)
        self._statement.attributes[key] = value

    def get_symbol_tree(self) -> SymbolTree | None:
        """Tree that contains this node, or None."""
        block = self._statement.block
        return None if block is None else _view(block.tree)

    def get_sub_tree(self) -> SymbolTree:
        """Tree of the cell that a node of type Tree calls."""
        if self._statement.tree is None:
            kind = self.get_node_type()
            raise problem(
                TypeError,
                f"For 'get_sub_tree', the type of node must be NodeType.Tree, but got {kind}",
                got=self.get_name(),
            )
        return _view(self._statement.tree)

    # ---- arguments and targets --------------------------------------------------------------

    def get_targets(self) -> list[ScopedValue]:
        """Variables that the node assigns."""
        return targets(self._statement)

    def get_args(self) -> list[ScopedValue]:
        """Positional arguments."""
        return [as_value(slot.get()) for slot in positional(self._statement)]

    def get_kwargs(self) -> dict[str, ScopedValue]:
        """Keyword arguments."""
        return {n: as_value(slot.get()) for n, slot in by_keyword(self._statement).items()}

    def get_inputs(self) -> list[Node]:
        """Nodes that provide the arguments."""
        return [Node(provider) for provider, _ in data_flow.providers(self._statement).values()]

    def get_users(self) -> list[Node]:
        """Nodes that use the targets, each once."""
        uses = data_flow.users(self._statement).values()
        return list(dict.fromkeys(Node(user) for found in uses for user, _ in found))

    def get_arg_providers(self) -> dict[int, tuple[Node, int]]:
        """For each argument: the node that provides it, and the index of its target."""
        found = data_flow.providers(self._statement)
        return {place: (Node(provider), target) for place, (provider, target) in found.items()}

    def get_target_users(self, index: int = -1) -> Any:
        """For each target, or for one: the nodes that use it, and as which argument."""
        check_int("Node", "index", index)
        uses = data_flow.users(self._statement).items()
        found = {target: [(Node(user), place) for user, place in by] for target, by in uses}
        return found if index == -1 else found.get(index, [])

    def set_arg(self, index: int, arg: ScopedValue | str) -> None:
        """Replace argument `index` (positional arguments first, then keywords)."""
        check_int("Node", "index", index)
        check_instance("Node", "arg", arg, (ScopedValue, str))
        value = ScopedValue.create_naming_value(arg) if isinstance(arg, str) else arg
        self._slot(index).set(as_expression(value))

    def set_arg_by_node(self, arg_idx: int, src_node: Node, out_idx: int | None = None) -> None:
        """Replace argument `arg_idx` by a target of another node."""
        check_int("Node", "arg_idx", arg_idx)
        check_instance("Node", "src_node", src_node, Node)
        targets = src_node.get_targets()
        if out_idx is None and len(targets) != 1:
            raise problem(
                RuntimeError,
                "Node: out_idx is required unless the node has exactly one target",
                got=f"{src_node.get_name()} assigns {targets}",
            )
        index = 0 if out_idx is None else check_int("Node", "out_idx", out_idx)
        if not 0 <= index < len(targets):
            raise problem(
                RuntimeError,
                "Node: out_idx is out of range",
                got=f"out_idx={index} of {len(targets)} targets of {src_node.get_name()}",
            )
        self.set_arg(arg_idx, targets[index])

    def _slot(self, index: int) -> ExpressionPosition:
        block = self._statement.block
        if block is not None and block.is_container:
            raise problem(
                ValueError,
                "Node: the arguments of a cell in a container are fixed",
                got=self.get_name(),
            )
        positions = slots(self._statement)
        if not 0 <= index < len(positions):
            raise problem(
                ValueError,
                f"The 'index' must be in range of [0, {len(positions)}), but got {index}",
                got=f"the node {self.get_name()} of type {self.get_node_type().name}",
            )
        return positions[index]


def _call(callee: Any, names: Targets, args: Args, kwargs: Kwargs) -> ast.stmt:
    """Code of a new call."""
    check_instance("Node", "targets", names, (list, tuple))
    check_instance("Node", "args", args, (list, tuple, type(None)))
    check_instance("Node", "kwargs", kwargs, (dict, type(None)))
    for name in names:
        check_instance("Node", "targets", name, (ScopedValue, str))
    for value in args or ():
        check_instance("Node", "args", value, ScopedValue)
    for key, value in (kwargs or {}).items():
        check_instance("Node", "kwargs", key, str)
        check_instance("Node", "kwargs", value, ScopedValue)
    values = [ScopedValue.create_naming_value(n) if isinstance(n, str) else n for n in names]
    for value in values:
        if value.type is not ValueType.NamingValue:
            raise wrong_type("Node", "targets", value, "names")
    positional = [as_expression(value) for value in args or ()]
    by_name = [ast.keyword(k, as_expression(v)) for k, v in (kwargs or {}).items()]
    return assignment(values, ast.Call(held(callee), positional, by_name))


def _plain(value: ScopedValue) -> Any:
    """Python value of a default."""
    match value.type:
        case ValueType.ConstantValue | ValueType.CustomObjValue:
            return value.value
        case ValueType.TupleValue | ValueType.ListValue:
            return type(value.value)(_plain(item) for item in value.value)
        case ValueType.DictValue:
            return {_plain(key): _plain(item) for key, item in value.value.items()}
    raise wrong_type("Node", "default", value, "a constant, not a name")


def _view(tree: ParsedCell) -> SymbolTree:
    return Node.tree_view(tree)
