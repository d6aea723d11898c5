"""The pipeline optimizer: rewrite rules that produce the same rows with less work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.ir.operations import (
    ConcatNode,
    MapNode,
    ProjectNode,
    RenameNode,
    RepeatNode,
    RowBoundary,
    ShuffleNode,
    SkipNode,
    TakeNode,
)
from mycelia.dataset.ir.sources import SourceNode

Rule = Callable[[DatasetNode], DatasetNode | None]


def prepare(root: DatasetNode, *, loses_rows: bool = False) -> DatasetNode:
    """The tree to run: steps numbered for random keys, then rewritten.

    `loses_rows` says that failing rows are skipped; then a rule may not count rows before a map.
    """
    rules = tuple(rule for rule in RULES if not (loses_rows and rule is push_down))
    return optimise(numbered(root), rules)


def numbered(root: DatasetNode) -> DatasetNode:
    """Number each random step, so that rewrites do not change its random numbers."""
    numbers = count(1)

    def visit(node: DatasetNode) -> DatasetNode:
        children = tuple(visit(child) for child in node.children)
        node = replace(node, children=children, number=next(numbers))
        if isinstance(node, MapNode):
            return replace(node, numbers=tuple(next(numbers) for _ in node.operations))
        if isinstance(node, SourceNode) and node.sampler is not None:
            return _numbered_sampler(node, numbers)
        return node

    return visit(root)


def _numbered_sampler(node: SourceNode, numbers: count[int]) -> SourceNode:
    chain = []
    sampler = node.sampler
    while sampler is not None:
        chain.append(replace(sampler, number=next(numbers)))
        sampler = sampler.child  # type: ignore[assignment]
    made = None
    for sampler in reversed(chain):
        made = replace(sampler, child=made)
    return replace(node, sampler=made)


def optimise(root: DatasetNode, rules: tuple[Rule, ...] | None = None) -> DatasetNode:
    """Rewrite until no rule applies."""
    node = root.over(*(optimise(child, rules) for child in root.children))
    for rule in RULES if rules is None else rules:
        better = rule(node)
        if better is not None:
            return optimise(better, rules)
    return node


def drop_nothing(node: DatasetNode) -> DatasetNode | None:
    """skip(0)(x) = take(-1)(x) = repeat(1)(x) = concat(x) = x, and rename(a, a)(x) = x."""
    match node:
        case SkipNode(count=0) | TakeNode(count=-1) | RepeatNode(count=1):
            return node.child
        case ConcatNode(children=(only,), sampler=None):
            return only
        case RenameNode() if node.columns() == node.child.columns():
            return node.child
        case ProjectNode() if node.columns() == node.child.columns():
            return node.child
    return None


def fuse_maps(node: DatasetNode) -> DatasetNode | None:
    """map(g)(map(f)(x)) = map(f, g)(x), if the inputs of g are exactly the outputs of f."""
    match node:
        case MapNode(children=(MapNode() as below,)) if _fits(below, node):
            return replace(
                node,
                children=below.children,
                operations=(*below.operations, RowBoundary(below.given), *node.operations),
                numbers=(*below.numbers, 0, *node.numbers),
                input_columns=below.taken,
                output_columns=node.given,
                num_parallel_workers=_most(below, node),
            )
    return None


def exchange_operations(node: DatasetNode) -> DatasetNode | None:
    """map(f, g)(x) = map(h, k)(x), if g knows such a cheaper pair."""
    if not isinstance(node, MapNode):
        return None
    for position, pair in enumerate(zip(node.operations, node.operations[1:])):
        if all(isinstance(o, Operation) and not o.is_random for o in pair):
            made = pair[1].exchanged(pair[0])
            if made is not None:
                operations = (*node.operations[:position], *made, *node.operations[position + 2 :])
                return replace(node, operations=operations)
    return None


def join_skips(node: DatasetNode) -> DatasetNode | None:
    """skip(a)(skip(b)(x)) = skip(a + b)(x)."""
    match node:
        case SkipNode(count=a, children=(SkipNode(count=b, children=(below,)),)):
            return node.over(below) if b == 0 else replace(node, children=(below,), count=a + b)
    return None


def join_takes(node: DatasetNode) -> DatasetNode | None:
    """take(a)(take(b)(x)) = take(min(a, b))(x)."""
    match node:
        case TakeNode(count=a, children=(TakeNode(count=b, children=(below,)),)) if min(a, b) > 0:
            return replace(node, children=(below,), count=min(a, b))
    return None


def push_down(node: DatasetNode) -> DatasetNode | None:
    """c(f(x)) = f(c(x)), where c selects rows by index (skip, take, shuffle, repeat) and f maps
    each row to one row (map, project, rename): a row keeps its random key when it moves."""
    match node:
        case SkipNode() | TakeNode() | ShuffleNode() | RepeatNode():
            below = node.child
            if isinstance(below, (ProjectNode, RenameNode)) or (
                isinstance(below, MapNode) and (not below.callbacks or isinstance(node, RepeatNode))
            ):
                return below.over(node.over(below.child))
    return None


def join_projects(node: DatasetNode) -> DatasetNode | None:
    """project(a)(project(b)(x)) = project(a)(x)."""
    match node:
        case ProjectNode(children=(ProjectNode(children=(below,)),)):
            return node.over(below)
    return None


RULES: tuple[Rule, ...] = (
    drop_nothing,
    join_skips,
    join_takes,
    push_down,
    fuse_maps,
    exchange_operations,
    join_projects,
)


def _fits(below: MapNode, above: MapNode) -> bool:
    """Whether the outputs of one map are the inputs of the next, with no other columns moved."""
    return (
        above.taken == below.given
        and len(above.taken) == len(below.taken)
        and not above.callbacks
        and not below.callbacks
        and above.python_multiprocessing == below.python_multiprocessing
    )


def _most(below: MapNode, above: MapNode) -> int | None:
    """The larger number of workers, if either node sets one."""
    given = [n.num_parallel_workers for n in (below, above) if n.num_parallel_workers]
    return max(given) if given else None


def random_step(node: DatasetNode) -> str | None:
    """The name of a random operation in this map node, if any."""
    if isinstance(node, MapNode):
        for operation in node.operations:
            if isinstance(operation, Operation) and operation.is_random:
                return type(operation).__name__
    return None
