"""SymbolTree: parses a network, edits its nodes, and generates the new network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mycelia._engine.core.checks import check_instance, check_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.nn.cell import Cell
from mycelia.rewrite import data_flow, edits
from mycelia.rewrite.cell_generation import build_network, network_text
from mycelia.rewrite.edits import Position
from mycelia.rewrite.node import Node
from mycelia.rewrite.node_type import NodeType
from mycelia.rewrite.parse import read_network
from mycelia.rewrite.source_printer import statement_text
from mycelia.rewrite.statement import ParsedCell, Statement, StatementBlock, inside
from mycelia.rewrite.static_conditions import choose_known_branches

_FILE = "./network_define.py"
_TITLES = ("node type", "name", "codes", "arg providers", "target users")


class SymbolTree(CheckedKeywords):
    """A network as nodes, one per statement of `construct`.

    A user cell that is called inside has a separate tree. Any of the trees can edit the nodes of
    all trees, of control flow, of containers, and of user functions.
    """

    def __init__(self, handler: ParsedCell) -> None:
        check_instance("SymbolTree", "handler", handler, ParsedCell)
        self._tree = handler

    @classmethod
    def create(cls, network: Any) -> SymbolTree:
        """Parse a network."""
        check_instance("SymbolTree", "network", network, Cell)
        return cls(read_network(network))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolTree) and other._tree is self._tree

    def __hash__(self) -> int:
        return id(self._tree)

    def get_handler(self) -> ParsedCell:
        """The parsed network."""
        return self._tree

    def get_origin_network(self) -> Cell:
        """The network that was parsed."""
        return self._tree.cell

    # ---- queries ----------------------------------------------------------------------------

    def nodes(self, all_nodes: bool = False) -> Iterator[Node]:
        """Nodes of `construct`; with `all_nodes`, each followed by those inside it."""
        check_instance("nodes", "all_nodes", all_nodes, bool)
        return (Node(statement) for statement in self._statements(all_nodes))

    def all_nodes(self, subtree_nodes: bool = True) -> Iterator[Node]:
        """All nodes of this tree; with `subtree_nodes`, also of the trees inside."""
        check_instance("all_nodes", "subtree_nodes", subtree_nodes, bool)
        return (Node(s) for s in inside(self._tree.construct.body, subtree_nodes))

    def get_node(self, node_name: str) -> Node | None:
        """Node of this tree with that name, including control flow and functions, or None."""
        check_instance("SymbolTree", "node_name", node_name, str)
        found = self._tree.find(node_name)
        return None if found is None else Node(found)

    def get_inputs(self) -> list[Node]:
        """Nodes of the arguments of `construct`."""
        return [node for node in self.nodes() if node.get_node_type() is NodeType.Input]

    def print_node_tabulate(self, all_nodes: bool = False) -> None:
        """Print the nodes as a table: type, name, code, and connections."""
        check_instance("print_node_tabulate", "all_nodes", all_nodes, bool)
        print(_table(self._statements(all_nodes)))

    def dump(self) -> None:
        """Print the table of this tree and of each tree inside it."""
        trees = [s.tree for s in self._statements(True) if s.tree is not None]
        for tree in dict.fromkeys([self._tree, *trees]):
            print(f"{type(tree.cell).__name__}:")
            print(_table(inside(tree.construct.body)))

    # ---- edits ------------------------------------------------------------------------------

    def before(self, node: Node | str) -> Position:
        """The position before a node."""
        return Position(self._statement_of(node), False)

    def after(self, node: Node | str) -> Position:
        """The position after a node."""
        return Position(self._statement_of(node), True)

    def insert(self, position: Position, node: Node) -> Node:
        """Insert a new node at a position."""
        check_instance("SymbolTree", "position", position, Position)
        check_instance("SymbolTree", "node", node, Node)
        if not self._owns(position.block):
            raise problem(
                ValueError,
                "SymbolTree: the position does not belong to this tree",
                got=f"a position beside {position.statement.name}",
            )
        edits.insert(position, node.get_handler())
        return node

    def append(self, node: Node) -> Node:
        """Insert a new node at the end, before the last return."""
        check_instance("SymbolTree", "node", node, Node)
        last = self._tree.construct.body.statements[-1]
        return self.insert(Position(last, last.kind is not NodeType.Output), node)

    def erase(self, node: Node | str) -> Node | None:
        """Remove a node. Users of its targets must be given another value first."""
        statement = self._statement_of(node)
        edits.erase(statement)
        return Node(statement)

    def replace(self, old_node: Node, new_nodes: Sequence[Node]) -> Node:
        """Replace a node by new nodes, and return the last of them."""
        check_instance("SymbolTree", "old_node", old_node, Node)
        check_instance("SymbolTree", "new_nodes", new_nodes, (list, tuple))
        for node in new_nodes:
            check_instance("SymbolTree", "new_nodes", node, Node)
        if not new_nodes:
            raise problem(
                ValueError, "SymbolTree: new_nodes must not be empty", fix="erase the node instead"
            )
        edits.replace(self._statement_of(old_node), [node.get_handler() for node in new_nodes])
        return new_nodes[-1]

    def set_output(self, index: int, return_value: str) -> Node:
        """Make the network return the variable `return_value`."""
        check_int("SymbolTree", "index", index)
        check_instance("SymbolTree", "return_value", return_value, str)
        returns = [n for n in self.nodes() if n.get_node_type() is NodeType.Output]
        if not returns:
            raise problem(RuntimeError, "SymbolTree: construct must end with a return")
        returns[-1].set_arg(index, return_value)
        return returns[-1]

    def unique_name(self, name: str = "output") -> str:
        """A variable name that the tree does not use: `name`, or `name_1`, `name_2`, ..."""
        check_instance("SymbolTree", "name", name, str)
        return self._tree.variables.unique(name)

    def flatten_nodes(self, node: Node, erase_nodes_after_return: bool = False) -> None:
        """Replace a control flow node by the nodes of its body."""
        check_instance("flatten_nodes", "node", node, Node)
        statement = self._statement_of(node)
        if statement.kind is not NodeType.ControlFlow:
            raise problem(
                ValueError,
                "For 'flatten_nodes', the type of node can only be ControlFlow",
                got=f"{statement.name}, {statement.kind}",
            )
        assert statement.body is not None
        edits.splice(statement.head or statement, statement.body, erase_nodes_after_return)

    def flatten_static_if_control_flow(self) -> None:
        """Keep only the taken branch of each if whose condition is a compile-time constant."""
        choose_known_branches(self._tree)

    # ---- the new network --------------------------------------------------------------------

    def get_code(self) -> str:
        """Code of the edited network; changed cells inside it come first."""
        return network_text(self._tree)

    def get_network(self) -> Cell:
        """Create a network that runs the edited code, in both modes.

        It shares parameters and unchanged cells with the original network.
        """
        return build_network(self._tree)

    def set_saved_file_name(self, file_name: str) -> None:
        """Set the file that `save_network_to_file` writes; `.py` is appended if missing."""
        check_instance("SymbolTree", "file_name", file_name, str)
        self._tree.file_name = file_name if file_name.endswith(".py") else f"{file_name}.py"

    def get_saved_file_name(self) -> str:
        return self._tree.file_name or _FILE

    def save_network_to_file(self) -> None:
        """Write the code of the network to a file, for reading."""
        write_atomically(Path(self.get_saved_file_name()), [self.get_code().encode()])

    # ---- inside -----------------------------------------------------------------------------

    def _statements(self, all_nodes: bool) -> Iterator[Statement]:
        body = self._tree.construct.body
        return inside(body, subtrees=True) if all_nodes else iter(list(body.statements))

    def _statement_of(self, node: Node | str) -> Statement:
        """Statement of a node of this tree or of a tree inside it."""
        check_instance("SymbolTree", "node", node, (Node, str))
        found = self._tree.find(node) if isinstance(node, str) else node.get_handler()
        if found is None or found.block is None or not self._owns(found.block):
            raise problem(
                RuntimeError,
                "SymbolTree: the node does not belong to this tree",
                got=node if isinstance(node, str) else node.get_name(),
                expected=f"one of {', '.join(s.name for s in self._tree.statements())}",
            )
        return found

    def _owns(self, block: StatementBlock) -> bool:
        return block.tree.forest is self._tree.forest


Node.tree_view = SymbolTree


def _table(statements: Iterable[Statement]) -> str:
    """One line per node: type, name, code, providers of arguments, and users of targets."""
    rows = [_TITLES, *(_row(statement) for statement in statements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    rule = "  ".join("-" * width for width in widths)
    lines = [_line(row, widths) for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _row(statement: Statement) -> tuple[str, ...]:
    arguments = {
        index: (source.name, target)
        for index, (source, target) in data_flow.providers(statement).items()
    }
    targets = {
        target: [(user.name, index) for user, index in uses]
        for target, uses in data_flow.users(statement).items()
    }
    code = statement_text(statement)
    links = (_pairs(arguments), _pairs(targets))
    return statement.kind.name, statement.name, code.split("\n")[0], *links


def _pairs(values: Mapping[int, object]) -> str:
    return ", ".join(f"{index}: {value}" for index, value in values.items())


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
