"""How types and constants look in the text of graphs, and when two graphs are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mycelia import ops
from mycelia._engine.core.dtype import float16
from mycelia._engine.ir.analysis import same_graphs, used_parameters
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.printer import show, show_type
from mycelia._engine.ir.types import parse_type

CONSTANTS: list[tuple[Any, str]] = [
    (np.float32(0.1), "0.1"),
    (np.asarray(3), "3"),
    (np.bool_(True), "True"),
    (np.float64(0.5), "f64(0.5)"),
    (np.int32(-2), "i32(-2)"),
    (np.array([1, 2], np.float32), "f32[2]{1.0, 2.0}"),
    (np.eye(2, dtype=np.int8), "i8[2,2]{1, 0, 0, 1}"),
    (np.zeros((100, 3), np.float32), "f32[100,3]{...}"),
    (float16, "f16"),
    ((2, -1), "(2, -1)"),
    ((2,), "(2,)"),
    (None, "None"),
]


@pytest.mark.parametrize("value, shown", CONSTANTS, ids=lambda v: v if isinstance(v, str) else "")
def test_constants(value: Any, shown: str):
    graph = Graph("g")
    graph.output = graph.apply(ops.Add.of(), graph.parameter("x"), value)
    assert f"%1 = Add(x, {shown})\n" in show(graph)


def test_types_of_several_values():
    one, other = parse_type("f32[2]"), parse_type("i64[]")
    assert show_type((one, other)) == "(f32[2], i64[])"
    assert show_type((one,)) == "(f32[2],)"
    assert show_type(((one, other), None)) == "((f32[2], i64[]), None)"


_MUL = ops.Mul.of()


def double(number: Any, *, op: Any = _MUL, swap: bool = False) -> Graph:
    graph = Graph("double")
    x, _ = graph.parameter("x"), graph.parameter("y")
    graph.output = graph.apply(op, number, x) if swap else graph.apply(op, x, number)
    return graph


def nested(inner: Graph) -> Graph:
    graph = Graph("nested")
    graph.output = graph.apply(inner, graph.parameter("x"))
    return graph


def test_graphs_are_the_same_if_they_apply_the_same_to_the_same():
    assert same_graphs(double(2), double(2))
    assert same_graphs(nested(double(2)), nested(double(2)))
    for other in (double(3), double(2.0), double(2, op=ops.Add.of()), double(2, swap=True)):
        assert not same_graphs(double(2), other)
        assert not same_graphs(nested(double(2)), nested(other))


def test_graphs_that_call_themselves_may_be_the_same():
    def endless(op: Any) -> Graph:
        graph = Graph("endless")
        graph.output = graph.apply(op, graph.apply(graph, graph.parameter("x")))
        return graph

    assert same_graphs(endless(ops.Neg.of()), endless(ops.Neg.of()))
    assert not same_graphs(endless(ops.Neg.of()), endless(ops.Exp.of()))


def test_used_parameters():
    graph = double(2)
    assert used_parameters(graph) == {graph.parameters[0]}
