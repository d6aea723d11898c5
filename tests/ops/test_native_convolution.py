"""Gradients of convolutions' weights by a kernel of our own: the numbers of XLA's form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.kernels import convolution_nhwc, native
from mycelia._engine.kernels.convolution import ConvolutionAlgorithm, ConvolutionResult
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.operators.window import Window, read_window

pytestmark = pytest.mark.skipif(not native.lanes(), reason="no kernels for this processor")

CASES = {
    "a stem": ((2, 40, 36, 3), 64, read_window("", 2, 7, 2, 1, "pad", 3)),
    "every point": ((3, 17, 19, 8), 64, read_window("", 2, 3, 1, 1, "pad", 1)),
    "whole windows": ((1, 20, 18, 5), 128, read_window("", 2, 3, 1)),
    "steps that do not fit": ((2, 50, 53, 4), 64, read_window("", 2, 3, 3)),
    "uneven": ((2, 9, 20, 2), 64, read_window("", 2, (2, 5), 1, 1, "pad", (1, 2, 0, 3))),
    "one point": ((2, 20, 17, 64), 40, read_window("", 2, 1, 1)),
    "one point, with steps": ((4, 21, 17, 64), 6, read_window("", 2, 1, 2)),
    "steps wider than the kernel": ((2, 12, 52, 2), 64, read_window("", 2, (1, 2), 3)),
}


@pytest.fixture(params=["own", "narrow"])
def processor(request: Any, monkeypatch: Any) -> Any:
    """This machine's processor, and one with half as wide registers and half as many."""
    found = native.machine_code.processor()
    if request.param == "narrow":
        found = replace(found, lanes=8, registers=16)
    monkeypatch.setattr("mycelia._engine.kernels.native.machine_code.processor", lambda: found)
    return found


def arrays(shape: Any, outputs: int, window: Window) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    back = (shape[0], *window.output(shape[1:-1]), outputs)
    dout, x = (random.normal(size=s).astype(np.float32) for s in (back, shape))
    return dout, x, (outputs, *window.kernel, shape[-1])


def way(shape: Any, weight: Any, window: Window, dtype: Any = np.float32) -> ConvolutionAlgorithm:
    return convolution_nhwc.way_of(
        shape, weight, window, 1, ConvolutionResult.WEIGHT_GRADIENT, dtype
    )


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_gives_the_numbers_of_the_plain_form(name: str, processor: Any):
    shape, outputs, window = CASES[name]
    dout, x, weight = arrays(shape, outputs, window)
    assert way(shape, weight, window) is ConvolutionAlgorithm.OWN
    found = convolution_nhwc.weight_gradient(dout, x, window, 1, weight)
    with reference_implementations():
        wanted = convolution_nhwc.weight_gradient(dout, x, window, 1, weight)
    np.testing.assert_allclose(found, wanted, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["a stem", "every point", "one point, with steps"])
def test_it_can_be_differentiated_and_mapped(name: str):
    shape, outputs, window = CASES[name]
    dout, x, weight = arrays(shape, outputs, window)

    def gradient(dout: Any, x: Any) -> Any:
        return convolution_nhwc.weight_gradient(dout, x, window, 1, weight)

    def loss(dout: Any, x: Any) -> Any:
        return (gradient(dout, x) ** 2).sum()

    found = jax.grad(loss, (0, 1))(dout, x)
    mapped = jax.vmap(gradient)(np.stack([dout, 2 * dout]), np.stack([x, x]))
    np.testing.assert_allclose(mapped[1], 2 * mapped[0], rtol=1e-6)
    with reference_implementations():
        wanted = jax.grad(loss, (0, 1))(dout, x)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 * np.abs(b).max())


@pytest.mark.parametrize(
    ("shape", "weight", "window", "dtype"),
    [
        ((2, 40, 36, 3), (64, 7, 7, 3), read_window("", 2, 7, 2), np.float64),
        ((2, 40, 36, 3), (60, 7, 7, 3), read_window("", 2, 7, 2), np.float32),
        ((2, 40, 36, 3), (64, 3, 3, 3), read_window("", 2, 3, 1, 2), np.float32),
        ((2, 40, 36, 3), (64, 3, 3, 3), read_window("", 2, 3, (1, 2)), np.float32),
        ((2, 16, 16, 3), (64, 7, 7, 3), read_window("", 2, 7, 2), np.float32),
        ((2, 40, 40, 256), (256, 3, 3, 256), read_window("", 2, 3, 2), np.float32),
    ],
)
def test_what_it_is_not_for_stays_with_xla(shape: Any, weight: Any, window: Window, dtype: Any):
    assert way(shape, weight, window, dtype) is ConvolutionAlgorithm.PLAIN


@pytest.mark.parametrize("shape", [(1, 7, 7, 64), (2, 11, 11, 60), (0, 20, 17, 64)])
def test_few_points_or_broken_tiles_are_a_product_of_xla(shape: Any):
    assert (
        way(shape, (8, 1, 1, shape[-1]), read_window("", 2, 1, 1)) is ConvolutionAlgorithm.POINTWISE
    )


def test_a_network_says_where_it_is_used():
    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.SequentialCell(nn.Conv2d(16, 64, 3), nn.ReLU(), nn.Flatten(), nn.Dense(64 * 400, 2))
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    step = nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
    x = Tensor(np.random.default_rng(0).normal(size=(4, 16, 20, 20)).astype(np.float32))
    step(x, Tensor(np.array([0, 1, 1, 0], np.int32)))
    assert native.FORM in str(ms.jit.explain(step))
