"""Cutting graphs into stages, by marks and by costs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycelia as ms
from mycelia import nn
from mycelia._engine.ir.control_flow import RECOMPUTE, TUPLE, Item
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.types import parse_type
from mycelia._engine.parallel.pipeline.partition import split_by_stage, stages_by_marks
from mycelia._engine.parallel.pipeline.stage_search import balanced, stages_by_cost
from mycelia.ops.collective.stage_boundary import EnterStage
from mycelia.ops.elementwise.arithmetic import Add, Mul
from mycelia.ops.linalg.matmul import MatMul

TYPE = parse_type("f32[4,4]")


def network(*labels: int) -> Graph:
    """Layers x @ w, each marked with its stage; a scale of x is used by the last one, too."""
    graph = Graph("net")
    x = graph.parameter("x", type=TYPE)
    weights = [graph.parameter(f"w{i}", type=TYPE) for i in range(len(labels))]
    scale = graph.apply(Mul(), x, x, type=TYPE)
    value = graph.apply(Add(), x, scale, type=TYPE)
    for label, weight in zip(labels, weights, strict=True):
        if label >= 0:
            value = graph.apply(EnterStage(label), value, type=TYPE)
        value = graph.apply(MatMul(), value, weight, type=TYPE)
    value = graph.apply(Add(), value, scale, type=TYPE)
    graph.output = graph.apply(TUPLE, value, type=(TYPE,))
    return graph


def test_a_graph_is_cut_where_marks_are() -> None:
    graph = network(0, 1)
    placed = stages_by_marks(graph, graph.parameters[:1], 2)
    first, second = split_by_stage(placed.graph, placed.places, {}, 1)
    assert (first.place, second.place) == (0, 1)
    assert [getattr(n, "name", "") for n in first.inputs] == ["x", "w0"]
    assert len(first.crossing) == 2  # the scale and the first product
    assert set(first.crossing) <= set(second.inputs)
    assert second.results == (0,) and not first.results
    for part in (first, second):
        assert "EnterStage" not in show(part.graph)


def test_what_needs_weights_alone_is_computed_in_each_stage() -> None:
    graph = Graph("net")
    x, w = graph.parameter("x", type=TYPE), graph.parameter("w", type=TYPE)
    double = graph.apply(Add(), w, w, type=TYPE)
    one = graph.apply(MatMul(), graph.apply(EnterStage(0), x, type=TYPE), double, type=TYPE)
    two = graph.apply(MatMul(), graph.apply(EnterStage(1), one, type=TYPE), double, type=TYPE)
    graph.output = graph.apply(TUPLE, two, type=(TYPE,))
    placed = stages_by_marks(graph, [x], 2)
    parts = split_by_stage(placed.graph, placed.places, {}, 1)
    assert [len(p.crossing) for p in parts] == [1, 0]
    assert all("Add" in show(p.graph) for p in parts)


def test_stages_may_come_again_with_several_rounds() -> None:
    graph = network(0, 1, 0, 1)
    placed = stages_by_marks(graph, graph.parameters[:1], 2, 2)
    assert [p.place for p in split_by_stage(placed.graph, placed.places, {}, 3)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("labels", "message"),
    [((1, 0), "later stage"), ((0, 0), "has no cells"), ((0, 5), "out of range")],
)
def test_wrong_marks_are_refused(labels: tuple[int, ...], message: str) -> None:
    graph = network(*labels)
    with pytest.raises(ValueError, match=message):
        stages_by_marks(graph, graph.parameters[:1], 2)


def test_marks_inside_of_recomputed_cells_count() -> None:
    inner = network(0, 1)
    graph = Graph("net")
    given_ = [graph.parameter(p.name, type=p.type) for p in inner.parameters]
    again = graph.apply(RECOMPUTE, inner, *given_, type=(TYPE,))
    graph.output = graph.apply(TUPLE, graph.apply(Item(0), again, type=TYPE), type=(TYPE,))
    placed = stages_by_marks(graph, graph.parameters[:1], 2)
    assert [p.place for p in split_by_stage(placed.graph, placed.places, {}, 1)] == [0, 1]


def test_equal_layers_are_shared_equally() -> None:
    graph = network(*[-1] * 6)
    count = len(graph.parameters)
    placed = stages_by_cost(graph, [0], range(1, count), 3, byte=0.0)
    parts = split_by_stage(placed.graph, placed.places, {}, 2)
    assert [show(p.graph).count("MatMul") for p in parts] == [2, 2, 2]


def test_more_stages_than_operators_are_refused() -> None:
    graph = network(-1)
    with pytest.raises(ValueError, match="fewer operators"):
        stages_by_cost(graph, [0], [1], 5)


@given(
    st.lists(st.integers(0, 9), min_size=3, max_size=8),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
    st.integers(1, 3),
)
def test_no_cut_is_better_than_the_one_found(
    costs: list[int], crossing: list[int], count: int
) -> None:
    size = len(costs)
    crossings = [0.0, *crossing[1:size], 0.0]

    def worst(starts: list[int]) -> float:
        ends = [*starts[1:], size]
        return max(
            sum(costs[a:b]) + crossings[a] + crossings[b] for a, b in zip(starts, ends, strict=True)
        )

    found = balanced(np.array(costs, float), np.array(crossings[:size]), count)
    possible = [[0, *rest] for rest in combinations(range(1, size), count - 1)]
    assert found in possible
    assert worst(found) == min(map(worst, possible))


def test_programs_have_no_marks_when_there_is_no_pipeline(graph_mode: None) -> None:
    network = nn.SequentialCell(nn.Dense(4, 4), nn.Dense(4, 4))
    network[0].pipeline_stage, network[1].pipeline_stage = 0, 1
    assert network[1].pipeline_stage == 1
    network(ms.Tensor(np.ones((2, 4), np.float32)))
    (entry,) = network._compiled().entries.values()
    assert "EnterStage" not in show(entry.read.plain.graph)


def test_a_stage_is_a_number_from_0() -> None:
    with pytest.raises(ValueError, match="pipeline_stage"):
        nn.Dense(2, 2).pipeline_stage = -1
    with pytest.raises(TypeError, match="pipeline_stage"):
        nn.Dense(2, 2).pipeline_stage = "first"


def test_names_of_stage_config_are_cells() -> None:
    with pytest.raises(KeyError, match="unknown cell"):
        nn.PipelineCell(nn.Dense(2, 2), 2, stage_config={"other": 0})


def test_without_stages_a_pipeline_cell_sums_its_micro_batches(graph_mode: None) -> None:
    network = nn.Dense(4, 3)
    x = ms.Tensor(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))
    parts = [network(x[:3]).asnumpy(), network(x[3:]).asnumpy()]
    found = nn.PipelineCell(network, 2)(x).asnumpy()
    np.testing.assert_allclose(found, parts[0] + parts[1], rtol=1e-6)
