"""Inlining: rules that replace calls, and branches with known conditions, by graph bodies."""

from __future__ import annotations

from mycelia._engine.compiler.passes.patterns import array_of
from mycelia._engine.ir.analysis import is_recursive, same_graphs
from mycelia._engine.ir.clone import inline
from mycelia._engine.ir.control_flow import Call, Recompute, Switch, graphs_of, operands_of
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.rewrite import on


@on(Call)
def call_of_graph(node: Apply) -> GraphNode | None:
    """call(@g, *x) = the body of g for x, unless g calls itself"""
    (graph,) = graphs_of(node)
    if is_recursive(graph):
        return None
    return inline(graph, node.graph, operands_of(node))


@on(Recompute)
def what_is_recomputed(node: Apply) -> GraphNode | None:
    """recompute(@g, *x) = the body of g for x, after differentiation"""
    return inline(graphs_of(node)[0], node.graph, operands_of(node))


@on(Switch)
def known_choice(node: Apply) -> GraphNode | None:
    """switch(1, @f, @g, *x) = the body of g for x"""
    index = array_of(node.args[0])
    if index is None:
        return None
    return inline(graphs_of(node)[int(index.item())], node.graph, operands_of(node))


@on(Switch)
def no_choice(node: Apply) -> GraphNode | None:
    """switch(i, @f, @f, *x) = the body of f for x"""
    first, *others = graphs_of(node)
    if not all(same_graphs(first, other) for other in others):
        return None
    return inline(first, node.graph, operands_of(node))


RULES = (call_of_graph, what_is_recomputed, known_choice, no_choice)
