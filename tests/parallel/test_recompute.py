"""Layers that are run again on several devices: the same training, in the memory of one layer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.parallel.recomputing import INNER, ROWS, WIDTH

WORKER = Path(__file__).with_name("recomputing.py")


def run(devices, *cases):
    root = Path(__file__).resolve().parents[2]
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
    return subprocess.run(
        [sys.executable, WORKER, json.dumps(cases)],
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(root)},
    )


def measured(devices, *cases):
    done = run(devices, *cases)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_layer_more_costs_its_weights_and_its_input():
    """Its weights and moments; its input, or its gradients when the input is not needed any more."""
    mode = "data_parallel"
    peaks, sent, losses = measured(
        8, (4, False, mode), (4, True, mode), (8, False, mode), (8, True, mode)
    )
    weights = 4 * (2 * WIDTH * INNER + WIDTH + INNER)
    rows = ROWS // 8 * 4
    theory = 2 * weights + max(weights, rows * WIDTH)
    assert (peaks[3] - peaks[1]) / 4 == pytest.approx(theory, rel=0.05)
    kept = theory + rows * INNER
    assert (peaks[2] - peaks[0]) / 4 == pytest.approx(kept, rel=0.05)
    assert sent[:2] == [sent[0], sent[0]] and sent[2:] == [sent[2], sent[2]]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


@pytest.mark.parametrize("devices", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_training_is_the_same(devices):
    modes = ["data_parallel", "auto_parallel"] if devices > 1 else ["stand_alone"]
    cases = [(3, again, mode) for mode in modes for again in (False, True)]
    losses = measured(devices, *cases)[2]
    assert losses[0][-1] < losses[0][0]
    for found in losses[1:]:
        np.testing.assert_allclose(found, losses[0], rtol=1e-5)


@pytest.mark.slow
def test_a_budget_is_met_by_running_again_and_by_cutting():
    """Enough for all; enough if layers are run again; only enough if weights are cut, too."""
    mode = "auto_parallel"
    cases = [(8, False, mode, gigabytes) for gigabytes in (1, 0.006, 0.004)]
    peaks, _, losses = measured(8, *cases)
    for (*_, gigabytes), peak in zip(cases, peaks, strict=True):
        assert peak <= gigabytes * 2**30
    assert peaks[0] > 1.3 * peaks[1] > 1.3 * peaks[2]
    for found in losses[1:]:
        np.testing.assert_allclose(found, losses[0], rtol=1e-5)


@pytest.mark.slow
def test_data_parallel_training_keeps_to_its_budget_or_says_so():
    """There are no layouts to choose from, only layers to run again."""
    (peak,), _, _ = measured(8, (8, False, "data_parallel", 0.006))
    assert peak <= 0.006 * 2**30
    refused = run(8, (8, False, "data_parallel", 0.003))
    assert refused.returncode
    assert "MemoryError: no layout fits into the memory of a device" in refused.stderr
