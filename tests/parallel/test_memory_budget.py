"""Plans within the memory of a device."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import nn


def step_and_batch():
    net = nn.SequentialCell(nn.Dense(256, 1024), nn.ReLU(), nn.Dense(1024, 256))
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    x = ms.Tensor(np.zeros((4096, 256), np.float32))
    return step, (x, x)


def test_a_budget_makes_parameters_cut():
    step, batch = step_and_batch()
    free = ms.parallel.plan(step, *batch, devices=8)
    tight = ms.parallel.plan(step, *batch, devices=8, memory=free.memory * 0.8)
    assert tight.memory <= free.memory * 0.8
    assert tight.stays < free.stays
    assert tight.seconds >= free.seconds


def test_what_fits_nowhere_is_an_error():
    step, batch = step_and_batch()
    with pytest.raises(MemoryError, match="no layout fits"):
        ms.parallel.plan(step, *batch, devices=8, memory=1e5)
