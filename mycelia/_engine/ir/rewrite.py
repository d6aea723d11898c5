"""Rewriting graphs by rules, from the inputs up: one walk brings every node to its final form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.control_flow import TUPLE, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.primitive import Primitive

Rule = Callable[
    [Apply], GraphNode | None
]  # the replacement node, or None if the rule does not apply

LONGEST_CHAIN = 1000  # replacements of one node


@dataclass(frozen=True)
class Equation:
    """A rule that is only tried on applications of certain primitives, its `heads`."""

    heads: tuple[type, ...]
    rule: Rule

    @property
    def __name__(self) -> str:
        return self.rule.__name__

    @property
    def text(self) -> str:
        """The rule's docstring, an equation."""
        return self.rule.__doc__ or ""

    def __call__(self, node: Apply) -> GraphNode | None:
        return self.rule(node)


def on(*heads: type) -> Callable[[Rule], Equation]:
    """Decorator: try the rule only on applications of these primitives."""
    return lambda rule: Equation(heads, rule)


def rewrite(root: Graph, rules: Sequence[Rule]) -> int:
    """Apply `rules` in all graphs reachable from `root`; returns the number of replacements.

    The inputs of a node have their final form before the rules see the node, and a replacement is
    itself rewritten again. So with rules that only look at inputs, a second walk changes nothing.
    Operators with attributes that users attached (`shard`, `add_prim_attr`) are not rewritten.
    """
    walk = _RewriteWalk(rules)
    walk.graph(root)
    return walk.replacements


def rebuilt(node: Apply, fn: GraphNode, args: tuple[GraphNode, ...]) -> Apply:
    """`node` with another function and other arguments."""
    return Apply(fn, args, node.graph, span=node.span, type=node.type)


class _RewriteWalk:
    """One walk. A node that several graphs share is replaced in all of them."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.replacements = 0
        self._rules = rules
        self._by_head: dict[type, tuple[Rule, ...]] = {}
        self._new: dict[GraphNode, GraphNode] = {}
        self._becomes: dict[GraphNode, GraphNode] = {}
        self._chain: dict[GraphNode, int] = {}  # number of replacements that led to a node
        self._seen: set[Graph] = set()

    def graph(self, graph: Graph) -> None:
        """Rewrite the body of `graph`. An output tuple is the graph's signature, so it stays."""
        if graph in self._seen:
            return
        self._seen.add(graph)
        output = graph.output
        if isinstance(output, Apply) and primitive_of(output) is TUPLE:
            args = tuple([self._last_form(a) for a in output.args])
            if args != output.args:
                graph.output = rebuilt(output, output.fn, args)
        else:
            graph.output = self._last_form(output)

    def _last_form(self, root: GraphNode) -> GraphNode:
        new, stack = self._new, [root]
        while stack:
            node = stack[-1]
            if node in new:
                stack.pop()
            elif type(node) is not Apply:
                new[node] = node
                if type(node) is GraphConstant and isinstance(node.value, Graph):
                    self.graph(node.value)
            elif node in self._becomes:
                target = self._becomes[node]
                if target in new:
                    new[node] = new[target]
                else:
                    stack.append(target)
            else:
                waiting = [used for used in node.args if used not in new]
                if node.fn not in new:
                    waiting.append(node.fn)
                if waiting:
                    if node in self._chain:
                        self._chain |= dict.fromkeys(waiting, self._chain[node])
                    stack += reversed(waiting)
                else:
                    self._finish(node)
        return new[root]

    def _finish(self, node: Apply) -> None:
        new = self._new
        fn, args = new[node.fn], tuple([new[a] for a in node.args])
        same = fn is node.fn and args == node.args
        current = node if same else rebuilt(node, fn, args)
        replacement = self._first_match(current)
        if replacement is None:
            new[node] = new[current] = current
            return
        self.replacements += 1
        if replacement in new:
            new[node] = new[replacement]
            return
        self._becomes[node] = replacement
        length = self._chain[replacement] = self._chain.get(node, 0) + 1
        if length > LONGEST_CHAIN:
            raise self._endless()

    def _first_match(self, node: Apply) -> GraphNode | None:
        op = node.fn.value if type(node.fn) is GraphConstant else None
        rules = self._by_head.get(type(op))
        if rules is None:
            rules = self._by_head[type(op)] = _about(self._rules, type(op))
        if not rules or (isinstance(op, Primitive) and op.marks):
            return None
        for rule in rules:
            replacement = rule(node)
            if replacement is not None:
                return replacement
        return None

    def _endless(self) -> Exception:
        names = ", ".join(getattr(r, "__name__", type(r).__name__) for r in self._rules)
        return problem(
            RuntimeError,
            "rewriting does not terminate",
            got=f"{LONGEST_CHAIN} replacements of one node by {names}",
            fix="look for two rules that undo each other",
        )


def _about(rules: Sequence[Rule], head: type) -> tuple[Any, ...]:
    """The rules that may apply to applications of `head`."""
    return tuple([r.rule if isinstance(r, Equation) else r for r in rules if _concerns(r, head)])


def _concerns(rule: Rule, head: type) -> bool:
    return not isinstance(rule, Equation) or issubclass(head, rule.heads)
