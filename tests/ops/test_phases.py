"""The gradient of the input of a convolution with steps, phase by phase: the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mycelia._engine.core.shape import Shape
from mycelia._engine.kernels import strided_convolution_gradient
from mycelia._engine.kernels.convolution import ConvolutionAlgorithm, ConvolutionResult
from mycelia._engine.kernels.convolution_nhwc import input_gradient, way_of
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.operators.window import read_window


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
    assume(strided_convolution_gradient.is_faster(window) and min(window.output(sizes)) > 0)
    random = np.random.default_rng(7)
    dout = random.normal(size=(2, *window.output(sizes), 3))
    weight, shape = random.normal(size=(3, *kernel, 2)), (2, *sizes, 2)
    with reference_implementations():
        wanted = input_gradient(dout, weight, window, 1, shape)
    found = strided_convolution_gradient.input_gradient(dout, weight, window, shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    kernels, dout = weight[:2, ..., :1], dout[..., :2]
    with reference_implementations():
        wanted = input_gradient(dout, kernels, window, 2, shape)
    found = strided_convolution_gradient.depthwise_input_gradient(dout, kernels, window, shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "way"),
    [
        (3, 2, 1, ConvolutionAlgorithm.PHASES),
        (4, 2, 1, ConvolutionAlgorithm.PHASES),
        (3, 2, 2, ConvolutionAlgorithm.PLAIN),
        (2, 3, 1, ConvolutionAlgorithm.PLAIN),
    ],
)
def test_it_is_taken_for_steps_that_leave_nothing_out(kernel, stride, dilation, way):
    window = read_window("", 2, kernel, stride, dilation)
    shape, weight = (2, 16, 16, 32), (32, kernel, kernel, 32)
    assert way_of(shape, weight, window, 1, ConvolutionResult.INPUT_GRADIENT, np.float32) is way
    assert (
        way_of(shape, weight, window, 1, ConvolutionResult.OUTPUT, np.float32)
        is ConvolutionAlgorithm.PLAIN
    )
    with reference_implementations():
        assert (
            way_of(shape, weight, window, 1, ConvolutionResult.INPUT_GRADIENT, np.float32)
            is ConvolutionAlgorithm.PLAIN
        )
