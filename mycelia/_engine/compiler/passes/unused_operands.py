"""Rules for operands of branches and loops: no unused ones, no duplicates, no constants."""

from __future__ import annotations

import numpy as np

from mycelia._engine.compiler.frontend.graph_builder import constant
from mycelia._engine.compiler.passes.patterns import replacement
from mycelia._engine.compiler.passes.signatures import Source, by_number, remade
from mycelia._engine.ir.analysis import used_parameters
from mycelia._engine.ir.control_flow import SWITCH, WHILE, Switch, While, graphs_of, operands_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.rewrite import on


@on(Switch)
def operands_of_switch(node: Apply) -> GraphNode | None:
    """switch(p, @f, @g, x, x, 3, y, p) = switch(p, @f', @g', x), where y is used by neither

    The constant moves into the graphs, and so does p, which is False in f and True in g.
    """
    index, graphs, operands = node.args[0], graphs_of(node), operands_of(node)
    needed = _needed(graphs)
    remaining: dict[GraphNode, int] = {}
    sources: dict[int, Source] = {}
    for position, operand in enumerate(operands):
        if position not in needed or operand is index:
            continue
        if isinstance(operand, GraphConstant):
            sources[position] = operand
        else:
            sources[position] = remaining.setdefault(operand, len(remaining))
    if len(remaining) == len(operands):
        return None
    decided = [i for i in needed if operands[i] is index]
    new = []
    for number, graph in enumerate(graphs):
        known = constant(np.asarray(number, index.dtype))
        mine = by_number(graph, sources | dict.fromkeys(decided, known))
        parameters = [graph.parameters[operands.index(operand)] for operand in remaining]
        new.append(remade(graph, parameters, mine))
    return replacement(node, SWITCH, (index, *new, *remaining))


@on(While)
def operands_of_while(node: Apply) -> GraphNode | None:
    """while(@f, @g, *carry, x, x, 3, y) = while(@f', @g', *carry, x), where y is used by neither"""
    (condition, step), operands = graphs_of(node), operands_of(node)
    count = len(node.type)
    needed = _needed([condition, step])
    remaining: dict[GraphNode, int] = {}
    sources: dict[int, Source] = {i: i for i in range(count)}
    for index, operand in list(enumerate(operands))[count:]:
        if index not in needed:
            continue
        if isinstance(operand, GraphConstant):
            sources[index] = operand
        else:
            sources[index] = remaining.setdefault(operand, count + len(remaining))
    if count + len(remaining) == len(operands):
        return None
    order = [*range(count), *(operands.index(operand, count) for operand in remaining)]
    new = [
        remade(graph, [graph.parameters[i] for i in order], by_number(graph, sources))
        for graph in (condition, step)
    ]
    return replacement(node, WHILE, (*new, *operands[:count], *remaining))


def _needed(graphs: list[Graph]) -> list[int]:
    """The indices of the parameters that at least one of the graphs uses."""
    used = [used_parameters(graph) for graph in graphs]
    return [
        index
        for index, parameters in enumerate(zip(*(g.parameters for g in graphs), strict=True))
        if any(p in names for p, names in zip(parameters, used, strict=True))
    ]


RULES = (operands_of_switch, operands_of_while)
