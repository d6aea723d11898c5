"""Distributions and bijectors give the numbers, dtypes and shapes of the real MindSpore 2.10."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
import mycelia.nn.probability.bijector as msb
import mycelia.nn.probability.distribution as msd
from tests.goldens.probability_cases import cases

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "probability.npz")
CASES = {name: ask for name, ask in cases().items() if name in GOLDENS}
COMPILED = [name for name in CASES if name.endswith(("log_prob", ".cdf", "kl_loss", ".inverse"))]


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str):
    found, expected = CASES[name](ms, msd, msb).asnumpy(), GOLDENS[name]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-6, strict=True)


def test_there_are_enough_of_them():
    assert len(CASES) > 200


@pytest.mark.parametrize("name", COMPILED[::8])
def test_the_same_in_graph_mode(name: str):
    ask = CASES[name]

    class Asking(ms.nn.Cell):
        def construct(self, zero):
            return ask(ms, msd, msb) + zero

    eager = ask(ms, msd, msb).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    found = Asking()(ms.Tensor(0.0)).asnumpy()
    np.testing.assert_allclose(found, eager, rtol=1e-5, atol=1e-6)
