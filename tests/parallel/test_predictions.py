"""What a plan says it moves is what its compiled program moves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = """
import json, sys
import mycelia as ms
from mycelia import nn
from mycelia._engine.runtime.xla.memory_plan import memory_plan
from mycelia._engine.runtime.xla.collective_traffic import moved_bytes
from tests.parallel.networks import NETWORKS

ms.set_context(mode=ms.GRAPH_MODE)
found = []
for name, mode, search in json.loads(sys.argv[1]):
    ms.set_auto_parallel_context(parallel_mode=mode, search_mode=search, full_batch=True)
    training = NETWORKS[name]
    network = training.network()
    step = nn.TrainOneStepCell(network, training.optimizer(network)).set_train()
    batch = training.batch(0)
    entry = step._compiled().entry(batch, {})
    compiled = entry.executable._lowered_for(list(batch)).compile()
    (plan,) = ms.parallel.plans_of(step)
    sent = moved_bytes(compiled.as_text())
    found.append([plan.moved, sent, plan.stays, memory_plan(compiled).arguments])
print(json.dumps(found))
"""
JOINED = """
import json
import numpy as np
import mycelia as ms
from mycelia import nn
from mycelia._engine.runtime.xla.memory_plan import memory_plan

ms.set_context(mode=ms.GRAPH_MODE)
x = ms.Tensor(np.ones((16, 256), np.float32))
found = []
for mode in ("auto", "size"):
    fusion = {"allreduce": {"mode": mode, "config": 64}}
    ms.set_auto_parallel_context(parallel_mode="data_parallel", comm_fusion=fusion)
    net = nn.SequentialCell(*[nn.Dense(256, 256) for _ in range(6)])
    loss = nn.WithLossCell(net, nn.MSELoss())
    step = nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    executable = step._compiled().entry((x, x), {}).executable
    compiled = executable._lowered_for([x, x]).compile()
    sums = compiled.as_text().count(" all-reduce(")
    found.append([sums, memory_plan(compiled).peak, float(step(x, x).asnumpy())])
print(json.dumps(found))
"""
CASES = [
    ("mlp", "data_parallel", "recursive_programming"),
    ("mlp", "auto_parallel", "dynamic_programming"),
    ("gpt", "data_parallel", "recursive_programming"),
    ("gpt", "auto_parallel", "recursive_programming"),
]
SLOW = [
    ("bert", "auto_parallel", "dynamic_programming"),
    ("resnet", "data_parallel", "recursive_programming"),
    ("resnet", "auto_parallel", "recursive_programming"),
]


def measured(cases, devices, worker=WORKER):
    root = Path(__file__).resolve().parents[2]
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
    done = subprocess.run(
        [sys.executable, "-c", worker, json.dumps(cases)],
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def check(cases, devices):
    for case, (moved, sent, stays, arguments) in zip(cases, measured(cases, devices)):
        assert sent > 0, case
        assert moved == pytest.approx(sent, rel=0.05), case
        assert stays == pytest.approx(arguments, rel=0.01), case


def test_bytes_moved_and_kept_are_as_predicted():
    check(CASES, 8)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [4, 6, 8])
def test_bytes_of_larger_networks_are_as_predicted(devices):
    check(SLOW, devices)


def test_sums_of_gradients_are_made_apart_or_joined_as_asked():
    (apart, less, _), (joined, more, _) = measured([], 8, JOINED)
    assert apart > 12 > 3 > joined
    assert less < more - 4 * 256 * 256 * 4
