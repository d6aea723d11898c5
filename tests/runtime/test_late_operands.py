"""What a gradient rearranges is rearranged in the backward pass, and not held twice until then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia.ops.convolution.convolution import Conv2DBackpropFilter, Conv2DBackpropInput

pytestmark = pytest.mark.usefixtures("graph_mode")


class _Chain(nn.Cell):
    def __init__(self, channels: int, count: int) -> None:
        super().__init__()
        layers = [nn.Conv2d(channels, channels, 3, weight_init="normal") for _ in range(count)]
        self.layers = nn.CellList(layers)

    def construct(self, x: Any) -> Any:
        for layer in self.layers:
            x = ops.relu(layer(x))
        return x.mean()


@pytest.mark.parametrize("channels", [32, pytest.param(128, marks=pytest.mark.slow)])
def test_activations_are_not_held_in_two_orders(channels: int, monkeypatch: pytest.MonkeyPatch):
    x = Tensor(np.random.default_rng(0).normal(size=(8, channels, 16, 16)).astype(np.float32))

    def gradients() -> tuple[Any, int]:
        ms.set_seed(3)
        net = _Chain(channels, 4)
        differentiate = ms.grad(net, None, net.trainable_params())
        found = [g.asnumpy() for g in ms.jit(differentiate)(x)]
        return found, ms.runtime.memory_report(differentiate, x).temporary

    found, held_back = gradients()
    for op in (Conv2DBackpropFilter, Conv2DBackpropInput):
        monkeypatch.setattr(op, "late", lambda self: {})
    wanted, at_once = gradients()
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    assert held_back < 0.8 * at_once


def test_a_product_takes_its_operand_as_it_is():
    assert Conv2DBackpropFilter.of(8, 1).late() == {}
    assert Conv2DBackpropFilter.of(8, 3).late() == {1: 0}


def test_only_large_weights_are_rearranged_again_in_the_backward_pass():
    assert Conv2DBackpropInput.of(256, 3).late() == {}
    assert Conv2DBackpropInput.of(512, 3).late() == {1: 0}
    assert Conv2DBackpropInput.of(512, 1).late() == {}
