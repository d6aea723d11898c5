"""Pooling over windows: all forms of it, for every device and layout, give the same numbers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mycelia._engine.core.shape import Shape
from mycelia._engine.kernels import max_pooling
from mycelia._engine.kernels.average_pooling import average, average_gradient
from mycelia._engine.kernels.max_pooling import largest, largest_gradient
from mycelia._engine.operators.window import Window, read_window

CUT = {
    "two by two": ((8, 6, 4, 6), read_window("", 2, 2, 2)),
    "a rest at the edges": ((9, 3, 7, 5), read_window("", 2, (3, 2), (3, 2))),
    "one axis": ((8, 2, 9), read_window("", 1, 4, 4)),
    "three axes": ((8, 1, 4, 2, 6), read_window("", 3, 2, 2)),
}
OTHER = {
    "overlapping": ((2, 3, 7, 6), read_window("", 2, 3, 2, pad_mode="same")),
    "padded": ((2, 2, 5, 4), read_window("", 2, 2, 2, 1, "pad", 1)),
    "the last window only begins inside": ((2, 2, 5, 6), read_window("", 2, 3, 2, ceil=True)),
    "many channels": ((8, 17, 4, 4), read_window("", 2, 2, 2)),
}
ALL = CUT | OTHER


def _few_values(shape: Shape) -> np.ndarray:
    """Small whole numbers, so that windows hold equal largest numbers."""
    return np.random.default_rng(2).integers(-2, 3, shape).astype(np.float32)


def _dout(shape: Shape, window: Window) -> np.ndarray:
    sizes = (*shape[:2], *window.output(shape[2:]))
    return np.random.default_rng(4).normal(size=sizes).astype(np.float32)


@pytest.mark.parametrize(("shape", "window"), CUT.values(), ids=list(CUT))
def test_largest_numbers_with_the_batch_last_are_the_same(
    shape: Shape, window: Window, monkeypatch: pytest.MonkeyPatch
):
    x, dout = _few_values(shape), _dout(shape, window)
    assert max_pooling._is_tiled(shape, window)
    found = largest(x, window), largest_gradient(x, dout, window)
    monkeypatch.setattr(max_pooling, "prefers_batch_last", lambda _: False)
    np.testing.assert_array_equal(found[0], largest(x, window))
    np.testing.assert_array_equal(found[1], largest_gradient(x, dout, window))


@pytest.mark.parametrize(("shape", "window"), OTHER.values(), ids=list(OTHER))
def test_other_windows_keep_the_batch_first(shape: Shape, window: Window):
    assert not max_pooling._is_tiled(shape, window)


@pytest.mark.parametrize(("shape", "window"), ALL.values(), ids=list(ALL))
def test_largest_numbers_on_other_devices_are_the_same(
    shape: Shape, window: Window, monkeypatch: pytest.MonkeyPatch
):
    x, dout = _few_values(shape), _dout(shape, window)
    here = largest(x, window), largest_gradient(x, dout, window)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    np.testing.assert_array_equal(largest(x, window), here[0])
    np.testing.assert_allclose(largest_gradient(x, dout, window), here[1], rtol=1e-6)


@pytest.mark.parametrize(("shape", "window"), ALL.values(), ids=list(ALL))
def test_averages_on_other_devices_are_the_same(
    shape: Shape, window: Window, monkeypatch: pytest.MonkeyPatch
):
    x, dout = _few_values(shape), _dout(shape, window)
    here = average(x, window, False), average_gradient(dout, window, False, 0, shape)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    np.testing.assert_allclose(average(x, window, False), here[0], rtol=1e-6, atol=1e-6)
    there = average_gradient(dout, window, False, 0, shape)
    np.testing.assert_allclose(there, here[1], rtol=1e-5, atol=1e-6)


def test_the_batch_stays_first_where_it_can_be_cut_between_devices(
    monkeypatch: pytest.MonkeyPatch,
):
    shape, window = CUT["two by two"]
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    assert not max_pooling._is_tiled(shape, window)
