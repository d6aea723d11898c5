"""The network of MindSpore's slide on automatic parallelism, unchanged, on eight devices."""

import os
import subprocess
import sys
from pathlib import Path

WORKER = """
import numpy as np
import mycelia as ms
import mycelia.compat.mindspore
from mycelia import nn
from examples.dense_matmul import DenseNet

ms.set_context(mode=ms.GRAPH_MODE)
x = ms.Tensor(np.random.default_rng(0).normal(size=(256, 128)).astype(np.float32))


def train(mode):
    ms.set_auto_parallel_context(parallel_mode=mode)
    ms.set_seed(3)
    net = DenseNet(128, 512, 64)
    label = ms.Tensor(np.ones(net(x).shape, np.float32))
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    return [float(step(x, label).asnumpy()) for _ in range(5)], step


alone, _ = train("stand_alone")
together, step = train("auto_parallel")
(plan,) = ms.parallel.plans_of(step)
assert plan.devices == 8 and plan.moved > 0, plan
np.testing.assert_allclose(together, alone, rtol=1e-4)
"""


def test_it_trains_as_on_one_device():
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "PYTHONPATH": str(root),
    }
    done = subprocess.run(
        [sys.executable, "-c", WORKER], capture_output=True, text=True, env=environment, cwd=root
    )
    assert done.returncode == 0, done.stderr[-3000:]
