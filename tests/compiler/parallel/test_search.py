"""The searches, against the exact optimum and on problems small enough to try everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import nn
from mycelia._engine.compiler.sharding import integer_program, search
from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.cost_table import CostGraph
from mycelia._engine.compiler.sharding.exact_elimination import eliminate
from mycelia._engine.compiler.sharding.problem import build_problem
from mycelia._engine.compiler.sharding.strategies import SearchConstraints
from mycelia._engine.compiler.sharding.trw_message_passing import pass_messages
from mycelia._engine.distributed.cluster import KNOWN, Cluster
from mycelia._engine.distributed.mesh import Mesh
from mycelia.transforms.show import trace_for


def table(sizes, links, seed):
    """Random costs for variables of some sizes and for pairs of them."""
    rng = np.random.default_rng(seed)
    choices = CostGraph([rng.random(size) for size in sizes])
    for one, other in links:
        choices.link(one, other, rng.random((sizes[one], sizes[other])))
    return choices


def least(choices):
    return min(choices.total(c) for c in product(*[range(cost.size) for cost in choices.costs]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=7), st.integers(0, 10_000))
def test_chains_and_trees_are_solved_exactly(sizes, seed):
    parents = np.random.default_rng(seed)
    links = [(int(parents.integers(0, i)), i) for i in range(1, len(sizes))]
    choices = table(sizes, links, seed)
    assert choices.total(eliminate(choices)) == pytest.approx(least(choices))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_rings_are_solved_exactly(seed):
    choices = table([3] * 6, [(i, (i + 1) % 6) for i in range(6)], seed)
    assert choices.total(eliminate(choices)) == pytest.approx(least(choices))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_the_bound_of_messages_is_below_the_optimum_and_their_choice_above(seed):
    links = [(i, j) for i in range(6) for j in range(i + 1, 6) if (i * j + seed) % 3]
    choices = table([3] * 6, links, seed)
    found, best = pass_messages(choices), least(choices)
    assert found.bound <= best + 1e-9
    assert found.cost >= best - 1e-9


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_integer_program_finds_the_optimum(seed):
    links = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    choices = table([2, 3, 2, 3, 2], links, seed)
    assert integer_program.solve_integer_program(choices).cost == pytest.approx(least(choices))


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu = nn.GELU()

    def construct(self, x):
        return x + self.down(self.gelu(self.up(self.norm(x))))


def problem_of(layers, width=64, rows=96):
    net = nn.SequentialCell([Block(width) for _ in range(layers)])
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 1e-3)
    )
    x = ms.Tensor(np.zeros((rows, width), np.float32))
    return build_problem(trace_for(step, (x, x)).read.program)


@pytest.mark.parametrize("cluster", [Cluster(), KNOWN["a100"]], ids=lambda c: c.name)
@pytest.mark.parametrize("mesh", [Mesh((8,)), Mesh((4, 2))], ids=str)
def test_searches_are_close_to_the_optimum(mesh, cluster):
    works = problem_of(3).instances
    prices = CostModel(mesh, cluster.with_devices(8))
    best = search.integer_programming(works, SearchConstraints(), prices, shared=False).cost
    assert search.dynamic_programming(works, SearchConstraints(), prices).cost <= best * 1.02
    assert search.recursive_programming(works, SearchConstraints(), prices).cost <= best * 1.10


def test_deeper_networks_have_no_more_to_decide():
    prices = CostModel(Mesh((8,)), Cluster().with_devices(8))

    def variables(layers):
        works = problem_of(layers).instances
        return len(search.full_table(works, SearchConstraints(), prices, shared=True).options)

    assert variables(12) == variables(24) < variables(3) * 3


def test_what_is_planned_together_costs_the_same_as_planned_alone():
    works = problem_of(6).instances
    prices = CostModel(Mesh((4, 2)), Cluster().with_devices(8))
    alone = search.dynamic_programming(works, SearchConstraints(), prices, shared=False).cost
    assert search.dynamic_programming(
        works, SearchConstraints(), prices, shared=True
    ).cost == pytest.approx(alone, rel=0.01)
