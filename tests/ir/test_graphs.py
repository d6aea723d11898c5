"""Graphs: building, closures, recursion, checking, printing, rewriting."""

from __future__ import annotations

import pytest

from mycelia import ops
from mycelia._engine.ir.analysis import (
    free_variables,
    is_recursive,
    nodes_by_graph,
    ordered,
    reachable_graphs,
    uses,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.rewrite import rewrite
from mycelia._engine.ir.verifier import verify

ADD, MUL = ops.Add.of(), ops.Mul.of()


def polynomial() -> Graph:
    graph = Graph("polynomial")
    x = graph.parameter("x")
    square = graph.apply(MUL, x, x)
    graph.output = graph.apply(ADD, graph.apply(MUL, square, 3), square)
    return graph


def closure() -> tuple[Graph, Graph]:
    outer, inner = Graph("outer"), Graph("inner")
    x, y = outer.parameter("x"), inner.parameter("y")
    twice = outer.apply(ADD, x, x)
    inner.output = inner.apply(MUL, twice, y)
    outer.output = outer.apply(inner, x)
    return outer, inner


def factorial() -> Graph:
    graph = Graph("factorial")
    n = graph.parameter("n")
    less = graph.apply(ops.Sub.of(), n, 1)
    graph.output = graph.apply(MUL, n, graph.apply(graph, less))
    return graph


def test_text():
    assert show(polynomial()) == (
        "graph polynomial(x):\n  %1 = Mul(x, x)\n  %2 = Mul(%1, 3)\n  %3 = Add(%2, %1)\n  return %3"
    )


def test_text_of_closures_and_fields():
    outer, _ = closure()
    assert show(outer) == (
        "graph outer(x):\n"
        "  %1 = @inner(x)\n"
        "  %2 = Add(x, x)\n"
        "  return %1\n\n"
        "graph inner(inner.y):\n"
        "  inner.%1 = Mul(%2, inner.y)\n"
        "  return inner.%1"
    )
    graph = Graph("g")
    graph.output = graph.apply(
        ops.MatMul(transpose_b=True), graph.parameter("a"), graph.parameter("b")
    )
    assert "MatMul[transpose_a=False, transpose_b=True](a, b)" in show(graph)


def test_a_closure_has_free_variables_and_its_parent_has_none():
    outer, inner = closure()
    (found,) = free_variables(inner)
    assert isinstance(found, Apply) and found.graph is outer
    assert free_variables(outer) == []
    verify(outer)


def test_free_variables_pass_through_graphs_between():
    outer, middle, inner = Graph("outer"), Graph("middle"), Graph("inner")
    x = outer.parameter("x")
    inner.output = inner.apply(ADD, x, 1)
    middle.output = middle.apply(inner)
    outer.output = outer.apply(middle)
    assert free_variables(middle) == [x]
    verify(outer)


def test_recursion():
    graph = factorial()
    assert is_recursive(graph) and not is_recursive(polynomial())
    assert reachable_graphs(graph) == [graph]
    verify(graph)


def test_order_and_uses():
    graph = polynomial()
    nodes = ordered(graph)
    for node in nodes:
        if isinstance(node, Apply):
            assert all(nodes.index(used) < nodes.index(node) for used in node.inputs)
    (x,) = graph.parameters
    square = nodes_by_graph(graph)[graph][0]
    assert [place for _, place in uses(graph)[x]] == [1, 2]
    assert len(uses(graph)[square]) == 2


def test_long_chains_need_no_recursion():
    graph = Graph("long")
    node = graph.parameter("x")
    for _ in range(5000):
        node = graph.apply(ADD, node, 1)
    graph.output = node
    assert len(nodes_by_graph(graph)[graph]) == 5000
    verify(graph)


def test_a_node_from_elsewhere_is_found():
    stranger, graph = polynomial(), Graph("graph")
    graph.output = graph.apply(ADD, stranger.parameters[0], 1)
    with pytest.raises(RuntimeError, match="does not enclose it"):
        verify(graph)


def test_an_unfinished_graph_says_so():
    with pytest.raises(RuntimeError, match="has no result yet"):
        ordered(Graph("empty"))


def three_times(node: Apply):
    """x * 3 = x + x + x"""
    match node:
        case Apply(
            fn=GraphConstant(value=ops.Mul()), args=(x, GraphConstant(value=3)), graph=graph
        ):
            return graph.apply(ADD, graph.apply(ADD, x, x), x)
    return None


def test_a_rule_is_an_equation():
    graph = polynomial()
    assert rewrite(graph, [three_times]) == 1
    assert show(graph) == (
        "graph polynomial(x):\n"
        "  %1 = Mul(x, x)\n"
        "  %2 = Add(%1, %1)\n"
        "  %3 = Add(%2, %1)\n"
        "  %4 = Add(%3, %1)\n"
        "  return %4"
    )


def test_a_shared_node_is_replaced_in_the_closure_too():
    outer, inner = closure()

    def add_is_mul(node: Apply):
        """x + x = x * 2"""
        match node:
            case Apply(fn=GraphConstant(value=ops.Add()), args=(x, y), graph=graph) if x is y:
                return graph.apply(MUL, x, 2)
        return None

    assert rewrite(outer, [add_is_mul]) == 1
    (found,) = free_variables(inner)
    assert isinstance(found, Apply) and found.fn.value == MUL
    verify(outer)


def test_rules_that_undo_each_other_are_found():
    def swap(node: Apply):
        """x + y = y + x"""
        match node:
            case Apply(fn=GraphConstant(value=ops.Add()), args=(x, y), graph=graph):
                return graph.apply(ADD, y, x)
        return None

    with pytest.raises(RuntimeError, match="does not terminate"):
        rewrite(polynomial(), [swap])
