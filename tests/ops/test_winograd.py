"""3x3 convolutions with fewer products: the same numbers, chosen where they are faster."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.core.shape import Shape
from mycelia._engine.kernels import winograd
from mycelia._engine.kernels.convolution import ConvolutionAlgorithm, ConvolutionResult
from mycelia._engine.kernels.convolution_nhwc import (
    convolve,
    input_gradient,
    way_of,
    weight_gradient,
)
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.operators.window import Window, read_window
from mycelia._engine.runtime.xla.compile import options

SAME = read_window("", 2, 3, 1, pad_mode="same")


def _operands(shape: Shape, outputs: int, window: Window, dtype: Any = np.float64) -> list[Any]:
    random = np.random.default_rng(7)
    dout = (shape[0], *window.output(shape[1:3]), outputs)
    shapes = (shape, (outputs, 3, 3, shape[-1]), dout)
    return [random.normal(size=s).astype(dtype) for s in shapes]


def _everything(x: Any, weight: Any, dout: Any, window: Window) -> list[np.ndarray]:
    found = (
        convolve(x, weight, window, 1),
        input_gradient(dout, weight, window, 1, x.shape),
        weight_gradient(dout, x, window, 1, weight.shape),
    )
    return [np.asarray(f) for f in found]


def _fewer(x: Any, weight: Any, dout: Any, window: Window) -> list[np.ndarray]:
    pads = window.padding(x.shape[1:3])
    found = (
        winograd.convolve(x, weight, pads),
        winograd.input_gradient(dout, weight, pads),
        winograd.weight_gradient(dout, x, pads),
    )
    return [np.asarray(f) for f in found]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(3, 9)] * 2),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    channels=st.tuples(*[st.integers(1, 3)] * 2),
)
def test_any_sizes_and_paddings_give_the_numbers_of_a_plain_convolution(
    sizes: Shape, pads: Any, channels: Any
):
    _assert_same_numbers(sizes, pads, channels)


@pytest.mark.parametrize(("sizes", "pads"), [((7, 4), (1, 1, 1, 1)), ((5, 6), (0, 2, 1, 0))])
def test_the_numbers_are_those_of_a_plain_convolution(sizes: Shape, pads: Any):
    _assert_same_numbers(sizes, pads, (3, 2))


def _assert_same_numbers(sizes: Shape, pads: Any, channels: Any) -> None:
    window = read_window("", 2, 3, 1, 1, "pad", pads)
    operands = _operands((2, *sizes, channels[0]), channels[1], window)
    with reference_implementations():
        plain = _everything(*operands, window)
    for found, wanted in zip(_fewer(*operands, window), plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("channels", [128, pytest.param(256, marks=pytest.mark.slow)])
def test_results_are_nearly_as_exact_as_plain_ones(channels: int):
    x, weight, dout = _operands((8, 14, 14, channels), channels, SAME)
    with reference_implementations():
        exact = _everything(x, weight, dout, SAME)
        narrow = [a.astype(np.float32) for a in (x, weight, dout)]
        plain = _everything(*narrow, SAME)
    chosen = _everything(*narrow, SAME)
    for found, other, wanted in zip(chosen, plain, exact, strict=True):
        assert found.dtype == np.float32
        assert _error(found, wanted) < 3 * _error(other, wanted)


def _error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - wanted) ** 2)) / wanted.std())


def test_half_precision_goes_in_and_comes_out():
    operands = _operands((8, 14, 14, 128), 128, SAME, np.float16)
    with reference_implementations():
        plain = _everything(*operands, SAME)
    for found, wanted in zip(_everything(*operands, SAME), plain, strict=True):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=0.1)


@pytest.mark.parametrize(
    ("shape", "outputs", "window", "way"),
    [
        ((8, 14, 14, 256), 256, SAME, ConvolutionAlgorithm.SUMS_FIRST),
        ((8, 56, 56, 64), 64, SAME, ConvolutionAlgorithm.SUMS_FIRST),
        ((64, 32, 32, 64), 64, SAME, ConvolutionAlgorithm.SUMS_FIRST),
        ((8, 56, 56, 32), 64, SAME, ConvolutionAlgorithm.PLAIN),
        ((1, 7, 7, 512), 512, SAME, ConvolutionAlgorithm.PLAIN),
        ((1, 28, 28, 128), 128, SAME, ConvolutionAlgorithm.PLAIN),
        (
            (8, 28, 28, 128),
            128,
            read_window("", 2, 3, 2, pad_mode="same"),
            ConvolutionAlgorithm.PLAIN,
        ),
        ((8, 28, 28, 128), 128, read_window("", 2, 3, 1, 2), ConvolutionAlgorithm.PLAIN),
        ((8, 28, 28, 128), 128, read_window("", 2, 3, 1, 1, "pad", 3), ConvolutionAlgorithm.PLAIN),
        ((8, 28, 28, 128), 128, read_window("", 2, 5, 1), ConvolutionAlgorithm.PLAIN),
        ((8, 28, 28, 128), 128, read_window("", 2, 1, 1), ConvolutionAlgorithm.POINTWISE),
    ],
)
def test_it_is_taken_where_it_was_measured_to_be_faster(
    shape: Shape, outputs: int, window: Window, way: ConvolutionAlgorithm
):
    weight = (outputs, *window.kernel, shape[-1])
    assert way_of(shape, weight, window, 1, ConvolutionResult.OUTPUT, np.float32) is way
    with reference_implementations():
        assert (
            way_of(shape, weight, window, 1, ConvolutionResult.OUTPUT, np.float32)
            is ConvolutionAlgorithm.PLAIN
        )


def test_the_gradient_of_a_weight_needs_more_channels():
    shape, weight = (8, 56, 56, 64), (64, 3, 3, 64)
    assert (
        way_of(shape, weight, SAME, 1, ConvolutionResult.WEIGHT_GRADIENT, np.float32)
        is not ConvolutionAlgorithm.SUMS_FIRST
    )
    assert (
        way_of(shape, weight, SAME, 1, ConvolutionResult.INPUT_GRADIENT, np.float32)
        is ConvolutionAlgorithm.SUMS_FIRST
    )


def test_groups_are_counted_each():
    shape = (8, 56, 56, 256)
    assert (
        way_of(shape, (256, 3, 3, 64), SAME, 4, ConvolutionResult.OUTPUT, np.float32)
        is ConvolutionAlgorithm.SUMS_FIRST
    )
    assert (
        way_of(shape, (256, 3, 3, 32), SAME, 8, ConvolutionResult.OUTPUT, np.float32)
        is ConvolutionAlgorithm.PLAIN
    )
    assert (
        way_of(shape, (256, 3, 3, 1), SAME, 256, ConvolutionResult.OUTPUT, np.float32)
        is ConvolutionAlgorithm.SHIFTED
    )


class _Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(128, 128, 3, weight_init="normal")
        self.second = nn.Conv2d(128, 128, 3, weight_init="normal")

    def construct(self, x: Any) -> Any:
        return x + self.second(ops.relu(self.first(x)))


@pytest.mark.usefixtures("graph_mode")
def test_a_network_trains_to_the_same_numbers_and_explains_itself():
    x = Tensor(np.random.default_rng(2).normal(size=(8, 128, 14, 14)).astype(np.float32))

    def trained(selects: bool) -> tuple[list[float], Any]:
        ms.set_seed(1)
        ms.set_context(kernel_selection=selects)
        net = nn.WithLossCell(_Block(), lambda out, _: (out * out).mean())
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 1e-4, 0.9))
        losses = [float(step(x, x)) for _ in range(5)]
        return losses, ms.jit.explain(step).choices[0]

    plain, _ = trained(selects=False)
    chosen, choices = trained(selects=True)
    np.testing.assert_allclose(chosen, plain, rtol=1e-5)
    for name in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"):
        assert choices[f"{name} as Winograd's algorithm"] > 0


def test_forward_and_backward_pass_share_the_sums_of_the_kernel():
    x, weight, dout = _operands((8, 14, 14, 128), 128, SAME, np.float32)
    pads = SAME.padding(x.shape[1:3])

    def both(x: Any, weight: Any, dout: Any) -> Any:
        first = winograd.convolve(x, weight, pads)
        return first, winograd.input_gradient(dout * first[0, 0, 0, 0], weight, pads)

    def sums_of_kernels(run: Any, *args: Any) -> int:
        text = jax.jit(run, compiler_options=options()).lower(*args).compile().as_text()
        entry = text[text.index("ENTRY") :]
        return len(re.findall(r" = f32\[4,128,128\]\S* fusion", entry))

    alone = sums_of_kernels(lambda x, w: winograd.convolve(x, w, pads), x, weight)
    assert sums_of_kernels(both, x, weight, dout) == alone == 4


def test_large_batches_are_computed_a_few_images_at_a_time(monkeypatch: pytest.MonkeyPatch):
    assert winograd._images_at_once(64, 16 * 16 * 64) == 8
    assert winograd._images_at_once(8, 28 * 28 * 64) == 8, "all: too few runs to be worth it"
    x, weight, dout = _operands((16, 6, 5, 3), 2, SAME)
    pads = SAME.padding(x.shape[1:3])
    at_once = _fewer(x, weight, dout, SAME)
    monkeypatch.setattr(winograd, "_LEAST", 2 * 3 * 3 * 3)
    steps = jax.make_jaxpr(lambda x: winograd.convolve(x, weight, pads))(x)
    assert "scan[" in str(steps)
    for found, wanted in zip(_fewer(x, weight, dout, SAME), at_once, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
