"""Error messages: problem, got, expected, fix, and the user's own line."""

from __future__ import annotations

import traceback

import pytest

import mycelia as ms
from mycelia import Tensor, ops


def test_a_wrong_shape_shows_the_users_line():
    with pytest.raises(ValueError) as caught:
        ops.matmul(Tensor([[1.0, 2.0, 3.0]]), Tensor([[1.0, 2.0]]))
    message = str(caught.value)
    assert "got:" in message and "expected:" in message
    assert "test_errors.py" in message
    assert "ops.matmul(Tensor([[1.0, 2.0, 3.0]]), Tensor([[1.0, 2.0]]))" in message
    assert "^^^^" in message


def test_errors_inside_a_cell_point_into_construct():
    class Net(ms.nn.Cell):
        def construct(self, x):
            return x + Tensor([1.0, 2.0])

    with pytest.raises(ValueError) as caught:
        Net()(Tensor([1.0, 2.0, 3.0]))
    assert "in construct" in str(caught.value)
    assert "return x + Tensor([1.0, 2.0])" in str(caught.value)


def test_large_tensors_give_the_same_errors_as_small_ones():
    small, large = Tensor([1.0, 2.0, 3.0]), ops.ones((100, 300), ms.float32)
    for x in (small, large):
        with pytest.raises(ValueError, match="do not broadcast"):
            x + Tensor([1.0, 2.0])


def test_errors_name_the_innermost_cell():
    net = ms.nn.SequentialCell(ms.nn.Dense(3, 4), ms.nn.SequentialCell(ms.nn.Dense(5, 2)))
    with pytest.raises(ValueError) as caught:
        net(Tensor([[1.0, 2.0, 3.0]]))
    (note,) = caught.value.__notes__
    assert "while running Dense(input_channels=5, output_channels=2, has_bias=True)" in note


def test_errors_show_no_frames_of_the_engine():
    with pytest.raises(ValueError) as caught:
        ops.ones((100, 300), ms.float32) @ ops.ones((100, 300), ms.float32)
    shown = "".join(traceback.format_exception(caught.value))
    assert "JAX" not in shown and "site-packages/jax" not in shown
    assert len(traceback.extract_tb(caught.tb)) < 10


def test_arguments_that_are_no_tensors():
    with pytest.raises(TypeError, match="not a Tensor"):
        ops.ReLU()(3)
    with pytest.raises(TypeError, match="wrong arguments"):
        ops.ReLU()()
    with pytest.raises(TypeError, match="wrong arguments"):
        ops.ReLU()(Tensor(1.0), Tensor(1.0))


def test_nan_and_inf_flow_through():
    x = Tensor([1.0, 0.0, -1.0])
    found = (x / 0).asnumpy()
    assert found[0] == float("inf") and found[1] != found[1] and found[2] == -float("inf")
