"""On several devices, too, a step with an index out of range writes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = """
import sys
import numpy as np
import mycelia as ms
from mycelia import Tensor, nn

mode = sys.argv[1]
stages = 2 if mode == "pipeline" else 1
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_auto_parallel_context(
    parallel_mode="semi_auto_parallel" if stages > 1 else mode, device_num=4, pipeline_stages=stages
)
ms.set_seed(0)


class Words(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(64, 16), nn.Dense(16, 8)
        self.table.pipeline_stage, self.head.pipeline_stage = 0, 1

    def construct(self, words):
        return self.head(self.table(words))


def batch(word, label):
    return [Tensor(np.array([1, 2, 3, n] * 2, np.int32)) for n in (word, label)]


def state():
    return {p.name: p.asnumpy().copy() for p in step.get_parameters()}


net = Words()
loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
loss = nn.PipelineCell(loss, 2) if stages > 1 else loss
step = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.1)).set_train()
first = float(step(*batch(4, 4)))
before = state()
for word, label in ((64, 4), (4, 8)):
    try:
        step(*batch(word, label))
        for _ in range(3):
            step(*batch(4, 4))
        ms.hal.synchronize()
    except IndexError:
        after = state()
        assert before.keys() == after.keys()
        for name, array in before.items():
            np.testing.assert_array_equal(after[name], array, name)
    else:
        raise AssertionError("no error")
assert float(step(*batch(4, 4))) < first
"""


@pytest.mark.parametrize("mode", ["data_parallel", "auto_parallel", "pipeline"])
def test_the_state_is_that_after_the_last_whole_step(mode: str, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "PYTHONPATH": str(root),
    }
    done = subprocess.run(
        [sys.executable, str(script), mode],
        capture_output=True,
        text=True,
        env=environment,
        cwd=root,
    )
    assert done.returncode == 0, done.stderr[-3000:]
