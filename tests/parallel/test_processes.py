"""Parallel modes over several real processes: the numbers of one, and an end if one is killed."""

import os
import re
import signal
import time

import pytest

from tests.launch.jobs import Running

TRAIN = """
import sys
import numpy as np
import mycelia as ms
from mycelia import nn
from mycelia.communication import get_group_size, get_rank, init

init()
rank, size = get_rank(), get_group_size()
ms.set_context(mode=ms.GRAPH_MODE)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(48, 96)).astype(np.float32), rng.integers(0, 10, 48).astype(np.int32)
part = slice(rank * 48 // size, (rank + 1) * 48 // size)


def train(mode, full_batch, steps):
    ms.set_auto_parallel_context(parallel_mode=mode, full_batch=full_batch)
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(96, 240), nn.ReLU(), nn.Dense(240, 10))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
    rows = slice(None) if full_batch else part
    losses = [float(step(ms.Tensor(x[rows]), ms.Tensor(y[rows])).asnumpy()) for _ in range(steps)]
    weights = np.concatenate([p.asnumpy().ravel() for p in net.trainable_params()])
    return np.array(losses), weights


if "forever" in sys.argv:
    print("started", flush=True)
    train("data_parallel", False, 1_000_000)
modes = ("data_parallel", "semi_auto_parallel", "auto_parallel")
alone = train("stand_alone", True, 5)
for mode in modes:
    for full_batch in (False, True):
        found = train(mode, full_batch, 5)
        for a, b in zip(alone, found):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
print("equal", size)
"""


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_give_the_numbers_of_one(tmp_path, count):
    code, output, errors = Running(tmp_path, ["-n", str(count)], TRAIN).end()
    assert code == 0, errors
    assert output.count(f"equal {count}") == count


def test_a_killed_process_ends_the_training_of_all(tmp_path):
    job = Running(tmp_path, ["-n", "2"], TRAIN, "forever")
    for line in job.process.stdout:
        if "started" in line:
            break
    time.sleep(3)
    os.kill(job.ranks()[1], signal.SIGKILL)
    began = time.monotonic()
    code, _, errors = job.end()
    assert time.monotonic() - began < 30
    assert code == 128 + signal.SIGKILL
    assert re.search(r"rank 1 .*was killed by signal 9", errors), errors
    assert not job.left()
