"""Eager gradients of compiled functions: what stops or replaces a gradient still does."""

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops


def test_stop_gradient_holds():
    def f(x):
        return (ops.stop_gradient(x) * x).sum()

    x = Tensor([1.0, 2.0])
    np.testing.assert_array_equal(ms.grad(ms.jit(f))(x).asnumpy(), [1.0, 2.0])


class Rounding(nn.Cell):
    def construct(self, x):
        return ops.round(x)

    def bprop(self, x, out, dout):
        return (dout * 3,)


def test_a_cell_keeps_its_own_gradient():
    cell, x = Rounding(), Tensor([1.2, 2.7])
    for gradient in (
        ms.grad(ms.jit(lambda x: cell(x).sum())),
        ms.jit(ms.grad(lambda x: cell(x).sum())),
        ms.grad(lambda x: cell(x).sum()),
    ):
        np.testing.assert_array_equal(gradient(x).asnumpy(), [3.0, 3.0])


def test_a_number_made_from_a_tensor_is_a_constant():
    def f(x):
        return float(x) * x

    x = Tensor(3.0)
    assert float(ms.grad(f)(x)) == float(ms.grad(ms.jit(f))(x)) == 3.0
