"""Turning chains of identical blocks into one scan, so that their program is compiled only once.

A network with many equal layers yields a graph that repeats one part. If cells are marked for this
(`lazy_inline`), each of their calls is a `block` node during tracing. A chain of blocks becomes a
scan over their stacked weights, and differentiation sees the scan. The same holds for a network
that processes its batch in parts: each part is a `part` node, and the scan is over the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.ir.analysis import applications, same_graphs
from mycelia._engine.ir.clone import copy_into, inline
from mycelia._engine.ir.control_flow import (
    BLOCK,
    PART,
    Item,
    Scan,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia.ops.shapes.concat import Stack, Unstack

MIN_BLOCKS = {BLOCK: 3, PART: 2}  # the shortest chains that become scans; others are inlined


def roll_layers(tracer: Tracer, outputs: Sequence[Any]) -> list[Any]:
    """`outputs` without blocks: long chains become scans, the others are inlined."""
    builder = tracer.root
    if tracer.builder is not builder:
        return list(outputs)
    resolved = builder.substituted(list(outputs))
    nodes = applications([node for node in resolved if isinstance(node, GraphNode)])
    blocks = [n for n in nodes if primitive_of(n) in MIN_BLOCKS]
    if not blocks:
        return resolved
    for chain in _chains(blocks, nodes):
        if len(chain.blocks) >= MIN_BLOCKS[primitive_of(chain.blocks[0])]:
            _scan(tracer, chain)
        else:
            for block in chain.blocks:
                body = inline(graphs_of(block)[0], builder.graph, operands_of(block))
                builder.replaced[block] = body
    return builder.substituted(resolved)


@dataclass
class _LayerChain:
    """Blocks each of which uses results of the previous one, or parts of the data.

    `carried` maps operand index -> result index of the previous block.
    """

    blocks: list[Apply]
    carried: dict[int, int]

    @property
    def others(self) -> list[int]:
        count = len(operands_of(self.blocks[0]))
        return [i for i in range(count) if i not in self.carried]


def _chains(blocks: list[Apply], nodes: list[Apply]) -> list[_LayerChain]:
    """The blocks in maximal chains."""
    last = _last_blocks(blocks, nodes)
    number = {block: i for i, block in enumerate(blocks)}
    chains: list[_LayerChain] = []
    for block in blocks:
        if chains and _continues(chains[-1], block, last, number):
            chains[-1].blocks.append(block)
        else:
            chains.append(_LayerChain([block], {}))
    return chains


def _last_blocks(blocks: list[Apply], nodes: list[Apply]) -> dict[GraphNode, int]:
    """For each node, the index of the last block that it depends on; -1 if there is none."""
    number = {block: i for i, block in enumerate(blocks)}
    last: dict[GraphNode, int] = {}
    for node in nodes:
        before = max((last.get(a, -1) for a in node.args), default=-1)
        last[node] = max(before, number.get(node, -1))
    return last


def _continues(
    chain: _LayerChain, block: Apply, last: dict[GraphNode, int], number: dict[Apply, int]
) -> bool:
    """Whether a block continues the chain: same graph, same carries; updates `chain.carried`."""
    before = chain.blocks[-1]
    carried = {
        position: op.index
        for position, operand in enumerate(operands_of(block))
        if type(op := primitive_of(operand)) is Item and _source(operand) is before
    }
    first = chain.blocks[0]
    if primitive_of(block) is not primitive_of(first):
        return False
    if not carried and primitive_of(block) is BLOCK:
        return False
    if len(chain.blocks) > 1 and carried != chain.carried:
        return False
    types = [[o.type for o in operands_of(b)] for b in (first, block)]
    if types[0] != types[1] or any(first.type[r] != types[0][p] for p, r in carried.items()):
        return False
    start = number[first]
    others = [o for i, o in enumerate(operands_of(block)) if i not in carried]
    if any(last.get(o, -1) >= start for o in others):
        return False
    if not same_graphs(graphs_of(first)[0], graphs_of(block)[0]):
        return False
    chain.carried = carried
    return True


def _source(item: GraphNode) -> GraphNode:
    assert isinstance(item, Apply)
    return item.args[0]


def _scan(tracer: Tracer, chain: _LayerChain) -> None:
    """Replace the blocks of a chain by the results of one scan."""
    builder, blocks = tracer.root, chain.blocks
    operands = [operands_of(b) for b in blocks]
    fixed = [p for p in chain.others if len({o[p] for o in operands}) == 1]
    mapped = [p for p in chain.others if p not in fixed]
    stacks = [_stacked(tracer, [o[p] for o in operands]) for p in mapped]
    step = _step(graphs_of(blocks[0])[0], [*chain.carried, *mapped, *fixed], chain.carried)
    count = len(chain.carried)
    first = operands[0]
    args = [*(first[p] for p in chain.carried), *stacks, *(first[p] for p in fixed)]
    types = step.output.type
    results = [t.with_shape((len(blocks), *t.shape)) for t in types[count:]]
    op = Scan(count, len(mapped), len(blocks))
    scan = builder.apply(op, (step, *args), (*types[:count], *results), blocks[0].span)
    slices = [_unstacked(tracer, builder.item(scan, count + i)) for i in range(len(results))]
    last = {r: builder.item(scan, i) for i, r in enumerate(chain.carried.values())}
    for index, block in enumerate(blocks):
        results_of_block = [parts[index] for parts in slices]
        if block is blocks[-1]:
            results_of_block = [last.get(i, node) for i, node in enumerate(results_of_block)]
        builder.replaced[block] = builder.tuple(tuple(results_of_block))


def _step(graph: Graph, order: list[int], carried: dict[int, int]) -> Graph:
    """The graph of a block with reordered parameters; it returns the carry first."""
    inner = GraphBuilder(graph.name)
    mapping: dict[GraphNode, GraphNode] = {
        graph.parameters[p]: inner.parameter(graph.parameters[p].name, graph.parameters[p].type)
        for p in order
    }
    whole = copy_into(graph, inner.graph, mapping)
    results = [inner.item(whole, i) for i in range(len(whole.type))]
    inner.graph.output = inner.tuple((*(results[r] for r in carried.values()), *results))
    return inner.graph


def _stacked(tracer: Tracer, nodes: list[GraphNode]) -> GraphNode:
    stack = Stack.of(0)(tuple([tracer.wrap(n) for n in nodes]))
    return tracer.data_node(stack)


def _unstacked(tracer: Tracer, node: GraphNode) -> list[GraphNode]:
    return [tracer.data_node(t) for t in Unstack.of(0)(tracer.wrap(node))]
