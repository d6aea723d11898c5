"""Rules for what branches and loops are given: nothing unused, nothing twice, no constants."""

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

    The constant is written into the graphs, and so is p, which is False in f and True in g.
    """
    index, graphs, operands = node.args[0], graphs_of(node), operands_of(node)
    needed = _needed(graphs)
    kept: dict[GraphNode, int] = {}
    sources: dict[int, Source] = {}
    for place, operand in enumerate(operands):
        if place not in needed or operand is index:
            continue
        if isinstance(operand, GraphConstant):
            sources[place] = operand
        else:
            sources[place] = kept.setdefault(operand, len(kept))
    if len(kept) == len(operands):
        return None
    decided = [i for i in needed if operands[i] is index]
    new = []
    for number, graph in enumerate(graphs):
        known = constant(np.asarray(number, index.dtype))
        mine = by_number(graph, sources | dict.fromkeys(decided, known))
        parameters = [graph.parameters[operands.index(operand)] for operand in kept]
        new.append(remade(graph, parameters, mine))
    return replacement(node, SWITCH, (index, *new, *kept))


@on(While)
def operands_of_while(node: Apply) -> GraphNode | None:
    """while(@f, @g, *carry, x, x, 3, y) = while(@f', @g', *carry, x), where y is used by neither"""
    (goes_on, step), operands = graphs_of(node), operands_of(node)
    count = len(node.type)
    needed = _needed([goes_on, step])
    kept: dict[GraphNode, int] = {}
    sources: dict[int, Source] = {i: i for i in range(count)}
    for place, operand in list(enumerate(operands))[count:]:
        if place not in needed:
            continue
        if isinstance(operand, GraphConstant):
            sources[place] = operand
        else:
            sources[place] = kept.setdefault(operand, count + len(kept))
    if count + len(kept) == len(operands):
        return None
    places = [*range(count), *(operands.index(operand, count) for operand in kept)]
    new = [
        remade(graph, [graph.parameters[i] for i in places], by_number(graph, sources))
        for graph in (goes_on, step)
    ]
    return replacement(node, WHILE, (*new, *operands[:count], *kept))


def _needed(graphs: list[Graph]) -> list[int]:
    """The numbers of the parameters that one of the graphs uses."""
    used = [used_parameters(graph) for graph in graphs]
    return [
        place
        for place, parameters in enumerate(zip(*(g.parameters for g in graphs), strict=True))
        if any(p in found for p, found in zip(parameters, used, strict=True))
    ]


RULES = (operands_of_switch, operands_of_while)
