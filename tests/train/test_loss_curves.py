"""Fifty training steps give the same losses with measured kernels and with XLA's plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia._engine.operators.device import on_cpu
from mycelia.benchmark.workers.cell_nets import build
from mycelia.benchmark.workloads import ADAM, MOMENTUM

STEPS = 50
TOLERANCE = 1e-4  # of any loss, relative to the first one

SLOWLY = MOMENTUM  # rates with which rounding does not grow from step to step
QUICKLY = MOMENTUM | {"rate": 1e-2}
IMAGES = {"inputs": [8, 3, 16, 16], "classes": 10, "labels": 8}
NETS = {
    "lenet": SLOWLY
    | {"net": "lenet", "features": 256, "classes": 10}
    | {"inputs": [8, 1, 28, 28], "labels": 8},
    "resnet": QUICKLY
    | IMAGES
    | {"net": "resnet", "bottleneck": False, "large_stem": False}
    | {"stages": [[16, 1, 1], [32, 1, 2]]},  # width, blocks, stride
    "wide resnet": SLOWLY
    | IMAGES
    | {"net": "resnet", "bottleneck": False, "large_stem": False}
    | {"stages": [[128, 1, 1]]},  # convolutions with fewer products
    "mobilenet": QUICKLY
    | IMAGES
    | {"net": "mobilenet", "stem": 8, "features": 32}
    | {"stages": [[1, 8, 1, 1], [4, 16, 2, 1]]},  # expansion, channels, blocks, stride
    "gpt": ADAM
    | {"net": "gpt", "width": 64, "layers": 2, "heads": 4, "length": 32, "vocabulary": 100}
    | {"classes": 100, "inputs": [8, 32], "labels": 8 * 32},
    "bert": ADAM
    | {"net": "bert", "width": 64, "layers": 2, "heads": 4, "length": 32, "vocabulary": 100}
    | {"classes": 2, "inputs": [16, 32], "labels": 16},
    "lstm": QUICKLY
    | {"net": "lstm", "width": 32, "classes": 4, "inputs": [16, 16, 32], "labels": 16},
}
ALWAYS = ("lenet",)
NAMES = [n if n in ALWAYS else pytest.param(n, marks=pytest.mark.slow) for n in NETS]


@pytest.mark.parametrize("name", NAMES)
def test_kernels_do_not_change_the_losses_of_training(name: str):
    plain, selected = (losses(NETS[name], kernel_selection=choice) for choice in (False, True))
    np.testing.assert_allclose(selected, plain, rtol=0, atol=TOLERANCE * plain[0])
    assert selected[-1] < 0.9 * selected[0]


def losses(sizes: dict[str, Any], *, kernel_selection: bool) -> list[float]:
    """The losses of training in graph mode, from weights and data that depend on `sizes` alone."""
    ms.set_context(mode=ms.GRAPH_MODE, kernel_selection=kernel_selection)
    assert on_cpu() is kernel_selection
    job = build(sizes)
    return [job.run() for _ in range(STEPS)]
