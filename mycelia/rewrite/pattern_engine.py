"""Pattern matching: finding and replacing groups of connected nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from mycelia._engine.core.checks import check_instance
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.nn.cell import Cell
from mycelia.rewrite import edits
from mycelia.rewrite.data_flow import bound, read, readers
from mycelia.rewrite.edits import Position
from mycelia.rewrite.node import Node
from mycelia.rewrite.operands import set_targets, targets
from mycelia.rewrite.statement import Statement, StatementBlock, inside
from mycelia.rewrite.symbol_tree import SymbolTree

Matched = OrderedDict[str, Node]


class PatternNode(CheckedKeywords):
    """One node of a pattern: the type of the callee, and patterns of the inputs.

    Without patterns for the inputs, any inputs match.
    """

    def __init__(
        self,
        pattern_node_name: str,
        match_type: Any = type[None],
        inputs: Sequence[PatternNode] | None = None,
    ) -> None:
        check_instance("PatternNode", "pattern_node_name", pattern_node_name, str)
        self._name = pattern_node_name
        self._type = match_type
        self._inputs: list[PatternNode] = []
        self.set_inputs(list(inputs or ()))

    @staticmethod
    def from_node(node: Node) -> PatternNode:
        """Create the pattern of one node, without its inputs."""
        check_instance("PatternNode", "node", node, Node)
        return PatternNode(node.get_name(), node.get_instance_type())

    @staticmethod
    def create_pattern_from_node(node: Node) -> PatternNode:
        """Create the pattern of a node and of all nodes that it depends on."""
        pattern = PatternNode.from_node(node)
        for source in node.get_inputs():
            pattern.add_input(PatternNode.create_pattern_from_node(source))
        return pattern

    @staticmethod
    def create_pattern_from_list(type_list: Sequence[Any]) -> PatternNode:
        """Create a chain: each type consumes the previous result; the last one is the root."""
        check_instance("PatternNode", "type_list", type_list, (list, tuple))
        if not type_list:
            raise problem(ValueError, "PatternNode: type_list must have at least one type")
        pattern: PatternNode | None = None
        for place, kind in enumerate(type_list):
            inputs = [] if pattern is None else [pattern]
            pattern = PatternNode(f"{place}-{kind}", kind, inputs)
        assert pattern is not None
        return pattern

    def add_input(self, node: PatternNode) -> None:
        """Append an input pattern."""
        check_instance("PatternNode", "node", node, PatternNode)
        self._inputs.append(node)

    def set_inputs(self, inputs: Sequence[PatternNode]) -> None:
        """Set the patterns of all inputs, in order."""
        check_instance("PatternNode", "inputs", inputs, (list, tuple))
        for node in inputs:
            check_instance("PatternNode", "inputs", node, PatternNode)
        self._inputs = list(inputs)

    def get_inputs(self) -> list[PatternNode]:
        return self._inputs

    def match(self, node: Node) -> bool:
        """Whether this single node matches, regardless of its inputs."""
        check_instance("PatternNode", "node", node, Node)
        return node.get_instance_type() == self._type

    def name(self) -> str:
        return self._name

    def type(self) -> Any:
        return self._type


class VarNode(PatternNode):
    """A pattern node that matches any node; the matched node is not replaced."""

    def __init__(self) -> None:
        super().__init__("placeholder", Cell)

    def match(self, node: Node) -> bool:
        return True


class Replacement(ABC):
    """Creates the nodes that replace a match."""

    @abstractmethod
    def build(
        self, pattern: PatternNode, is_chain_pattern: bool, matched: Matched
    ) -> Sequence[Node]:
        """Return the new nodes in order, or none to leave the match unchanged.

        `matched` maps pattern names to nodes, inputs first. The last new node inherits the targets
        of the root of the match.
        """

    def __call__(
        self, pattern: PatternNode, is_chain_pattern: bool, matched: Matched
    ) -> Sequence[Node]:
        check_instance("Replacement", "pattern", pattern, PatternNode)
        check_instance("Replacement", "matched", matched, OrderedDict)
        return self.build(pattern, is_chain_pattern, matched)


class PatternEngine(CheckedKeywords):
    """Replaces all matches of a pattern, in a tree and its subtrees."""

    def __init__(
        self, pattern: PatternNode | Sequence[Any], replacement: Replacement | None = None
    ) -> None:
        check_instance("PatternEngine", "pattern", pattern, (PatternNode, list, tuple))
        check_instance("PatternEngine", "replacement", replacement, Replacement)
        is_root = isinstance(pattern, PatternNode)
        self._pattern: Any = pattern if is_root else PatternNode.create_pattern_from_list(pattern)  # type: ignore[arg-type]
        self._replacement: Any = replacement

    def pattern(self) -> PatternNode:
        """Root of the pattern."""
        return self._pattern

    def apply(self, stree: SymbolTree) -> bool:
        """Replace every match; return whether there was one.

        A match is skipped if a node outside of it reads one of its intermediate values.
        """
        check_instance("PatternEngine", "stree", stree, SymbolTree)
        body = stree.get_handler().construct.body
        found = [s.block for s in inside(body, subtrees=True) if s.block is not None]
        changes = [self._apply_to(block) for block in dict.fromkeys(found)]
        return any(changes)

    def _apply_to(self, block: StatementBlock) -> bool:
        is_chain = _is_chain(self._pattern)
        is_changed = False
        for statement in list(block.statements):
            if statement.block is None:
                continue
            group = _MatchedNodes(self._pattern)
            if not group.fits(self._pattern, Node(statement)) or not group.is_isolated():
                continue
            new = self._replacement(self._pattern, is_chain, group.matched)
            if new:
                group.give_way_to([node.get_handler() for node in new])
                is_changed = True
        return is_changed


class _MatchedNodes:
    """Nodes that match a pattern."""

    def __init__(self, root: PatternNode) -> None:
        self._root = root
        self.matched: Matched = OrderedDict()
        self._own: list[Statement] = []  # the nodes to replace; the root is the last

    def fits(self, pattern: PatternNode, node: Node) -> bool:
        """Match a node and, if the pattern has input patterns, its inputs."""
        if not pattern.match(node):
            return False
        wanted, given = pattern.get_inputs(), node.get_inputs()
        if wanted and len(wanted) != len(given):
            return False
        if not all(self.fits(p, n) for p, n in zip(wanted, given, strict=False)):
            return False
        self.matched[pattern.name()] = node
        if not isinstance(pattern, VarNode) and node.get_handler() not in self._own:
            self._own.append(node.get_handler())
        return True

    def is_isolated(self) -> bool:
        """Whether no node outside reads an intermediate value of the group.

        Also checks that the arguments of its nodes still have the same value at the root.
        """
        *parts, root = self._own
        outside = {other for part in parts for other in readers(part)} - {*self._own}
        if outside or root.block is None:
            return False
        statements = root.block.statements
        end = statements.index(root)
        return root.block.is_container or not any(
            read(part) & bound(between)
            for part in parts
            for between in statements[statements.index(part) : end]
            if between not in self._own
        )

    def give_way_to(self, new: Sequence[Statement]) -> None:
        root = self._own[-1]
        for statement in new:
            edits.insert(Position(root, False), statement)
        assert root.block is not None
        if not root.block.is_container:
            set_targets(new[-1], targets(root))
        for statement in self._own:
            edits.erase(statement)


def _is_chain(pattern: PatternNode) -> bool:
    inputs = pattern.get_inputs()
    return len(inputs) < 2 and all(_is_chain(p) for p in inputs)
