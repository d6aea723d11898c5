"""Eager gradients of compiled functions: what stops or replaces a gradient still does."""

from collections.abc import Callable

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops


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


def _gradients(f: Callable[[Tensor], Tensor], x: list[float]) -> np.ndarray:
    """The gradient in eager mode, checked against that of a compiled gradient."""
    eager = ms.grad(f)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(ms.jit(ms.grad(f))(Tensor(x)).asnumpy(), eager, rtol=1e-6)
    return eager


@pytest.mark.parametrize("is_view", [False, True])
def test_gradients_flow_through_arguments_that_are_written(is_view: bool):
    def write(y):
        y[0] = y[1] * 3
        y.mul_(y)
        return y

    def with_call(write: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def f(x):
            y = x * 1
            z = write(y[1:] if is_view else y)
            return (y * y).sum() + z.sum()

        return f

    wanted = _gradients(with_call(write), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(_gradients(with_call(ms.jit(write)), [1.0, 2.0, 3.0]), wanted)


def test_what_is_written_after_a_call_does_not_show_in_its_gradient():
    square = ms.jit(lambda y: y * y)

    def f(x):
        y = x * 1
        z = square(y)
        y[0] = 100.0
        return z.sum()

    np.testing.assert_array_equal(_gradients(f, [1.0, 2.0]), [2.0, 4.0])


def test_gradients_of_second_order_flow_through_written_arguments():
    def write(y):
        y[0] = y[1] * y[1] * y[0]

    def second(write: Callable[[Tensor], None]) -> np.ndarray:
        def f(x):
            y = x * x
            write(y)
            return y.sum()

        return ms.grad(lambda x: ms.grad(f)(x).sum())(Tensor([2.0, 3.0])).asnumpy()

    np.testing.assert_allclose(second(write), [594.0, 866.0])
    np.testing.assert_allclose(second(ms.jit(write)), second(write))


_WRITES = {
    "an attribute": lambda net, v: setattr(net, "p", v),
    "assign": lambda net, v: ops.assign(net.p, v),
    "assign_add": lambda net, v: ops.assign_add(net.p, v),
    "set_data": lambda net, v: net.p.set_data(v),
    "a subscript": lambda net, v: net.p.__setitem__(slice(0, 3), v),
    "mul_": lambda net, v: net.p.mul_(v),
}


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES.keys())
def test_gradients_through_written_parameters_are_those_of_eager_mode(write: Callable[..., None]):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = Parameter(Tensor([1.0, 1.0, 1.0]), name="p")

        def construct(self, x):
            write(self, x * x)
            return (self.p * x).sum()

    x = Tensor([1.0, 2.0, 3.0])

    def gradients(compiled: bool) -> list[np.ndarray]:
        net = Net()
        gradient = ms.grad(lambda x: net(x), 0, net.trainable_params())
        of_x, of_p = (ms.jit(gradient) if compiled else gradient)(x)
        return [of_x.asnumpy(), of_p[0].asnumpy() if isinstance(of_p, tuple) else of_p.asnumpy()]

    np.testing.assert_array_equal(gradients(compiled=True), gradients(compiled=False))

    def inner(x):
        net = Net()
        return ms.grad(ms.jit(lambda x: net(x)))(x).asnumpy()

    np.testing.assert_array_equal(inner(x), gradients(compiled=False)[0])
