"""The ways convolutions are computed: which is chosen, and that all give the same numbers."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from mycelia._engine.core.shape import Shape
from mycelia._engine.kernels import convolution, convolution_nhwc, tiled_convolution
from mycelia._engine.kernels.convolution import (
    ConvolutionAlgorithm,
    choose_algorithm,
    convolve,
    input_gradient,
    weight_gradient,
)
from mycelia._engine.operators.window import Window, read_window
from mycelia._engine.runtime.xla.compile import options
from mycelia.ops.linalg.matmul import BiasAddGrad
from mycelia.tensor.tensor import Tensor

FIVE = read_window("", 2, 5, 1)
CASES = {
    "lenet's second": ((8, 6, 12, 12), 16, FIVE),
    "one channel, examples a page apart": ((8, 1, 32, 32), 6, FIVE),
    "odd sizes, same padding": ((9, 3, 7, 5), 4, read_window("", 2, 3, 1, pad_mode="same")),
    "uneven padding": ((8, 2, 6, 9), 5, read_window("", 2, (4, 2), 1, 1, "pad", (1, 2, 0, 3))),
    "a kernel of one row": ((8, 2, 3, 8), 3, read_window("", 2, (1, 3), 1)),
    "an image smaller than the kernel": ((8, 2, 2, 2), 3, read_window("", 2, 3, 1, 1, "same")),
    "three spatial axes": ((8, 2, 4, 5, 3), 3, read_window("", 3, 2, 1)),
    "one spatial axis": ((8, 4, 11), 2, read_window("", 1, 4, 1, 1, "pad", 2)),
}


def _operands(shape: Shape, outputs: int, window: Window, dtype: Any = np.float64) -> list[Any]:
    random = np.random.default_rng(3)
    sizes = window.output(shape[2:])
    shapes = (shape, (outputs, shape[1], *window.kernel), (shape[0], outputs, *sizes))
    return [random.normal(size=s).astype(dtype) for s in shapes]


def _everything(x: Any, weight: Any, dout: Any, window: Window, groups: int = 1) -> list[Any]:
    """The convolution and its two gradients."""
    return [
        convolve(x, weight, window, groups),
        input_gradient(dout, weight, window, groups, x.shape),
        weight_gradient(dout, x, window, groups, weight.shape),
    ]


def _assert_alike(found: list[Any], wanted: list[Any], tolerance: float = 1e-12) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("way", [ConvolutionAlgorithm.TILES, ConvolutionAlgorithm.COLUMNS])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (i > 1)) for i, n in enumerate(CASES)]
)
def test_every_way_gives_the_numbers_of_a_plain_convolution(
    name: str, way: ConvolutionAlgorithm, monkeypatch: pytest.MonkeyPatch
):
    shape, outputs, window = CASES[name]
    x, weight, dout = _operands(shape, outputs, window)
    monkeypatch.setattr(convolution, "choose_algorithm", lambda *_: ConvolutionAlgorithm.PLAIN)
    plain = _everything(x, weight, dout, window)
    monkeypatch.setattr(convolution, "choose_algorithm", lambda *_: way)
    _assert_alike(_everything(x, weight, dout, window), plain)


@pytest.mark.parametrize("name", CASES)
def test_small_images_take_tiles(name: str):
    assert choose_algorithm(*CASES[name]) is ConvolutionAlgorithm.TILES


def test_tiles_keep_half_precision_in_and_out(monkeypatch: pytest.MonkeyPatch):
    shape, outputs, window = CASES["lenet's second"]
    x, weight, dout = _operands(shape, outputs, window, np.float16)
    found = _everything(x, weight, dout, window)
    monkeypatch.setattr(convolution, "choose_algorithm", lambda *_: ConvolutionAlgorithm.PLAIN)
    _assert_alike(found, _everything(x, weight, dout, window), 1e-3)


@pytest.mark.parametrize(
    ("shape", "outputs", "window", "way"),
    [
        (
            (32, 64, 56, 56),
            64,
            read_window("", 2, 3, 1, pad_mode="same"),
            ConvolutionAlgorithm.PLAIN,
        ),
        ((32, 64, 56, 56), 64, read_window("", 2, 1, 2), ConvolutionAlgorithm.POINTWISE),
        (
            (32, 3, 32, 32),
            32,
            read_window("", 2, 3, 1, pad_mode="same"),
            ConvolutionAlgorithm.COLUMNS,
        ),
        ((1, 1, 28, 28), 6, FIVE, ConvolutionAlgorithm.COLUMNS),
        ((32, 6, 12, 12), 16, read_window("", 2, 5, 2), ConvolutionAlgorithm.PLAIN),
        ((32, 6, 12, 12), 16, read_window("", 2, 3, 1, 2), ConvolutionAlgorithm.PLAIN),
        (
            (8, 3, 224, 224),
            64,
            read_window("", 2, 7, 2, pad_mode="same"),
            ConvolutionAlgorithm.PLAIN,
        ),
    ],
)
def test_other_sizes_take_the_way_measured_to_be_best(
    shape: Shape, outputs: int, window: Window, way: ConvolutionAlgorithm
):
    assert choose_algorithm(shape, outputs, window) is way


@pytest.mark.parametrize(("shape", "outputs", "window"), CASES.values(), ids=list(CASES))
def test_other_devices_get_plain_convolutions(
    shape: Shape, outputs: int, window: Window, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert choose_algorithm(shape, outputs, window) is ConvolutionAlgorithm.PLAIN


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_on_other_devices_give_the_same_numbers(
    groups: int, monkeypatch: pytest.MonkeyPatch
):
    window = read_window("", 2, 3, 2, pad_mode="same")
    random = np.random.default_rng(5)
    x = random.normal(size=(2, 4, 7, 6))
    weight = random.normal(size=(8, 4 // groups, 3, 3))
    dout = random.normal(size=(2, 8, 4, 3))
    here = _everything(x, weight, dout, window, groups)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    _assert_alike(_everything(x, weight, dout, window, groups), here)


@pytest.mark.parametrize("shape", [(8, 3, 4, 6), (9, 2, 5, 7), (8, 16, 3), (8, 1, 3, 2, 5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_gradient_of_a_bias_is_a_sum_however_it_is_taken(shape: Shape, dtype: Any):
    dout = np.random.default_rng(1).normal(size=shape).astype(dtype)
    others = tuple(i for i in range(len(shape)) if i != 1)
    found = BiasAddGrad()(Tensor(dout)).asnumpy()
    wanted = dout.astype(np.float64).sum(others)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=20 * np.finfo(dtype).eps, atol=1e-2)


def test_the_count_of_copies_is_known_before_they_are_made():
    shape, _, window = CASES["odd sizes, same padding"]
    axes = tiled_convolution._axes(window, shape[2:])
    patches = jax.eval_shape(lambda x: tiled_convolution._patches(x, axes), np.zeros(shape))
    assert tiled_convolution.patches_size(shape, window) == patches.size


@pytest.mark.parametrize(("batch", "at_once"), [(16, 9), (4, 3)])
def test_a_depthwise_gradient_sums_several_points_of_the_kernel_in_one_loop(
    batch: int, at_once: int
):
    """All of them where the input is too large for the caches, else those of a row."""
    window = read_window("", 2, 3, 1, pad_mode="same")
    images = jax.ShapeDtypeStruct((batch, 96, 96, 32), np.float32)

    def run(dout: Any, x: Any) -> Any:
        return convolution_nhwc.weight_gradient(dout, x, window, 32, (32, 3, 3, 1))

    text = jax.jit(run, compiler_options=options()).lower(images, images).compile().as_text()
    entry = text[text.index("ENTRY") :]
    loops = [
        line.split(" fusion(")[0].count("f32[") for line in entry.splitlines() if " = (" in line
    ]
    assert loops == [at_once] * (9 // at_once)
