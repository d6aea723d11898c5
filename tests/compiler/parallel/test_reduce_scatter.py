"""Sums of which each device keeps a part, on clusters whose compiler makes one collective of it."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import nn
from mycelia._engine.distributed.cluster import KNOWN


def plan(cluster, level):
    net = nn.Dense(512, 512, has_bias=False)
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    x = ms.Tensor(np.zeros((4096, 512), np.float32))
    return ms.parallel.plan(
        step, x, x, devices=8, cluster=cluster, mode="data_parallel", optimizer_level=level
    )


def sent(found):
    """The bytes of large collectives, by kind."""
    kinds = {}
    for row in found.rows:
        for move in row.moves:
            if move.moved > 1e5:
                kinds[move.kind] = kinds.get(move.kind, 0.0) + move.moved
    return kinds


def test_gradients_are_scattered_where_the_optimizer_shares_its_work():
    weight = 512 * 512 * 4
    each = weight * 7 / 8
    assert sent(plan(KNOWN["a100"], 0)) == {"all-reduce": pytest.approx(2 * each)}
    assert sent(plan(KNOWN["a100"], 1)) == {
        "reduce-scatter": pytest.approx(each),
        "all-gather": pytest.approx(each),
    }


def test_on_cpu_the_whole_sum_is_made_first():
    weight = 512 * 512 * 4
    assert sent(plan(KNOWN["cpu"], 1)) == {
        "all-reduce": pytest.approx(weight * 7 / 4),
        "all-gather": pytest.approx(weight * 7 / 8),
    }
