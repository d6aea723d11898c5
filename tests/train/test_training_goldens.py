"""Whole training runs against the losses of the real MindSpore 2.10."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from tests.goldens.training_networks import losses

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "training.npz")


LONG = (
    "resnet.adam",
    "resnet.momentum",
    "transformer.momentum",
)  # for slow runs: others show the same


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in GOLDENS.files]
)
def test_twenty_steps_give_the_same_losses(name: str):
    network, optimizer = name.split(".")
    ours = losses(ms, network, optimizer)
    # Processors round differently, and then a maximum of LeNet's pools lies elsewhere.
    rtol = 1e-3 if network == "lenet" else 1e-4
    np.testing.assert_allclose(ours, GOLDENS[name], rtol=rtol)
    assert ours[-1] < ours[0]
