"""The gradient of the input of a convolution with steps, phase by phase: the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mycelia.core.shape import Shape
from mycelia.ops import phases
from mycelia.ops.convolving import Found, Way
from mycelia.ops.convolving_last import input_gradient, way_of
from mycelia.ops.device import plain_forms
from mycelia.ops.window import read_window


@settings(max_examples=6, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(4, 9)] * 2),
    kernel=st.tuples(*[st.integers(1, 5)] * 2),
    strides=st.tuples(*[st.integers(1, 3)] * 2),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
)
def test_any_sizes_give_the_numbers_of_the_plain_form(
    sizes: Shape, kernel: Shape, strides: Shape, pads: Any
):
    window = read_window("", 2, kernel, strides, 1, "pad", pads)
    assume(phases.is_faster(window) and min(window.output(sizes)) > 0)
    random = np.random.default_rng(7)
    dout = random.normal(size=(2, *window.output(sizes), 3))
    weight, shape = random.normal(size=(3, *kernel, 2)), (2, *sizes, 2)
    with plain_forms():
        wanted = input_gradient(dout, weight, window, 1, shape)
    found = phases.input_gradient(dout, weight, window, shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    kernels, dout = weight[:2, ..., :1], dout[..., :2]
    with plain_forms():
        wanted = input_gradient(dout, kernels, window, 2, shape)
    found = phases.depthwise_input_gradient(dout, kernels, window, shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "way"),
    [(3, 2, 1, Way.PHASES), (4, 2, 1, Way.PHASES), (3, 2, 2, Way.PLAIN), (2, 3, 1, Way.PLAIN)],
)
def test_it_is_taken_for_steps_that_leave_nothing_out(kernel, stride, dilation, way):
    window = read_window("", 2, kernel, stride, dilation)
    shape, weight = (2, 16, 16, 32), (32, kernel, kernel, 32)
    assert way_of(shape, weight, window, 1, Found.INPUT_GRADIENT, np.float32) is way
    assert way_of(shape, weight, window, 1, Found.OUTPUT, np.float32) is Way.PLAIN
    with plain_forms():
        assert way_of(shape, weight, window, 1, Found.INPUT_GRADIENT, np.float32) is Way.PLAIN
