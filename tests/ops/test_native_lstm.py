"""LSTM layers by kernels of our own: the same numbers as XLA's form, in whatever surroundings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.kernels import native
from mycelia._engine.kernels.native import FORM

pytestmark = pytest.mark.skipif(not native.lanes(), reason="no kernels for this processor")


@pytest.fixture(autouse=True)
def _selected() -> Any:
    yield
    ms.set_context(kernel_selection=True)


@pytest.fixture(params=["own", "narrow"])
def processor(request: Any, monkeypatch: Any) -> Any:
    """This machine's processor, and one with half as wide registers and half as many."""
    found = native.machine_code.processor()
    if request.param == "narrow":
        found = replace(found, lanes=8, registers=16)
    monkeypatch.setattr("mycelia._engine.kernels.native.machine_code.processor", lambda: found)
    return found


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def in_both_forms(run: Any) -> tuple[Any, Any]:
    """What `run` gives with kernels and without."""
    found = run()
    ms.set_context(kernel_selection=False)
    plain = run()
    ms.set_context(kernel_selection=True)
    return found, plain


def assert_close(found: list[Any], wanted: list[Any], tolerance: float = 2e-5) -> None:
    for a, b in zip(found, wanted, strict=True):
        scale = max(1.0, float(np.abs(b.asnumpy()).max()))
        np.testing.assert_allclose(a.asnumpy() / scale, b.asnumpy() / scale, atol=tolerance)


def forms(step: Any) -> str:
    return str(ms.jit.explain(step))


@pytest.mark.parametrize(
    ("moments", "batch", "inputs", "features"),
    [(3, 32, 20, 64), (1, 33, 1, 16), (5, 47, 7, 80), (2, 64, 16, 128)],
)
@pytest.mark.parametrize("has_bias", [True, False])
def test_numbers_and_gradients(processor, moments, batch, inputs, features, has_bias) -> None:
    x = Tensor(numbers(moments, batch, inputs))
    start = tuple(Tensor(numbers(1, batch, features, seed=seed)) for seed in (1, 2))
    weight = Tensor(numbers(moments, batch, features, seed=3))

    def run() -> Any:
        ms.set_seed(1)
        net = nn.LSTM(inputs, features, has_bias=has_bias)

        def loss(x: Any, h: Any, c: Any) -> Any:
            outputs, (hidden, cell) = net(x, (h, c))
            return (outputs * weight).sum() + (hidden * cell).sum(), outputs, hidden, cell

        step = ms.jit(ms.value_and_grad(loss, (0, 1, 2), net.trainable_params(), has_aux=True))
        values, (gradients, by_weight) = step(x, *start)
        return [*values, *gradients, *by_weight], forms(step)

    (found, text), (plain, plain_text) = in_both_forms(run)
    assert f"LSTMLayer as {FORM}" in text and f"LSTMLayerGrad as {FORM}" in text
    assert FORM not in plain_text
    assert_close(found, plain)


@pytest.mark.parametrize(
    ("batch", "features", "dtype", "why"),
    [
        (4 * native.parts() - 1, 64, ms.float32, "too few sequences for all cores"),
        (64, 60, ms.float32, "features do not fill registers"),
        (64, 64, ms.float16, "another dtype"),
    ],
)
def test_other_layers_keep_the_form_of_xla(batch, features, dtype, why) -> None:
    net = nn.LSTM(5, features)
    step = ms.jit(lambda x: net(x)[0])
    step(Tensor(numbers(2, batch, 5)).astype(dtype))
    assert FORM not in forms(step), why


def test_without_llvm_there_is_the_form_of_xla(monkeypatch) -> None:
    net, x = nn.LSTM(5, 64), Tensor(numbers(3, 64, 5))
    step = ms.jit(lambda x: net(x)[0])
    wanted = step(x)
    monkeypatch.setattr(native, "_LLVM", None)
    other = ms.jit(lambda x: net(x)[0])
    found = other(x)
    assert FORM in forms(step) and FORM not in forms(other)
    assert_close([found], [wanted])


def test_eager_is_graph() -> None:
    net, x = nn.LSTM(6, 64, num_layers=2, bidirectional=True), Tensor(numbers(4, 40, 6))

    def loss(x: Any) -> Any:
        return (net(x)[0] ** 2).sum()

    def run(grad: Any) -> list[Any]:
        dx, weights = grad(x)
        return [dx, *weights]

    grad = ms.grad(loss, 0, net.trainable_params())
    assert_close(run(grad), run(ms.jit(grad)))


def test_second_gradients() -> None:
    x = Tensor(numbers(3, 32, 5))

    def run() -> list[Any]:
        ms.set_seed(1)
        net = nn.LSTM(5, 64)

        def loss(x: Any) -> Any:
            return (net(x)[0] ** 2).sum()

        def slope(x: Any) -> Any:
            return (ms.grad(loss)(x) ** 2).sum()

        dx, weights = ms.jit(ms.grad(slope, 0, net.trainable_params()))(x)
        return [dx, *weights]

    assert_close(*in_both_forms(run), tolerance=1e-4)


def test_forward_mode() -> None:
    x, change = Tensor(numbers(3, 32, 5)), Tensor(numbers(3, 32, 5, seed=1))

    def run() -> list[Any]:
        ms.set_seed(1)
        net = nn.LSTM(5, 64)
        return list(ms.jvp(lambda x: net(x)[0], x, change))

    assert_close(*in_both_forms(run))


def test_vmap_over_batches() -> None:
    net, x = nn.LSTM(5, 64), Tensor(numbers(3, 4, 32, 5))
    together = ms.vmap(lambda x: net(x)[0], in_axes=1, out_axes=1)(x)
    apart = [net(x[:, i])[0] for i in range(4)]
    assert_close([together[:, i] for i in range(4)], apart)


def test_what_is_not_a_number_stays_in_its_sequence() -> None:
    net, x = nn.LSTM(5, 64), numbers(4, 32, 5)
    wanted = net(Tensor(x))[0].asnumpy()
    x[1, 3, 0], x[0, 5, 0], x[0, 6, 0] = np.nan, np.inf, 1e30
    found = net(Tensor(x))[0].asnumpy()
    np.testing.assert_array_equal(found[0, 3], wanted[0, 3])
    assert np.isnan(found[1:, 3]).all()
    assert np.isfinite(found[:, [5, 6]]).all()  # gates are open or shut
    others = [i for i in range(32) if i not in (3, 5, 6)]
    np.testing.assert_array_equal(found[:, others], wanted[:, others])


def test_many_threads_at_once() -> None:
    """Kernels share XLA's threads: no call waits for one that waits for it."""
    net, x = nn.LSTM(8, 64, bidirectional=True), Tensor(numbers(6, 32, 8))
    step = ms.jit(ms.grad(lambda x: (net(x)[0] ** 2).sum()))
    wanted = step(x).asnumpy()
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: step(x).asnumpy(), range(200)):
            np.testing.assert_array_equal(found, wanted)


def test_programs_for_another_processor_are_not_run() -> None:
    assert native.are_ready([])
    assert not native.are_ready(["mycelia_lstm_forward_1x1"])
