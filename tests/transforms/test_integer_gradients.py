"""Gradients of integers: as in MindSpore, they are integers that wrap around."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

WHOLE = (ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.uint16, ms.uint32, ms.uint64)


def shown(value):
    """A gradient as its dtype and its numbers, in the structure it has."""
    if isinstance(value, (tuple, list)):
        return tuple(map(shown, value))
    return str(value.dtype), value.asnumpy().tolist()


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_the_gradient_of_an_integer_has_its_dtype(modes, dtype):
    assert shown(ms.grad(lambda x: 2 * x)(Tensor([1, 2], dtype))) == (str(dtype), [2, 2])
    assert shown(ms.grad(lambda x: x * x)(Tensor([1, 2], dtype))) == (str(dtype), [2, 4])


def test_the_gradient_of_a_bool_is_a_bool(modes):
    assert shown(ms.grad(lambda x: 2 * x)(Tensor([True, False]))) == ("Bool", [True, True])


def test_integer_gradients_wrap_around(modes):
    assert shown(ms.grad(lambda x: x * x)(Tensor([100], ms.int8))) == ("Int8", [-56])
    assert shown(ms.grad(lambda x: -x)(Tensor([1], ms.uint8))) == ("UInt8", [255])


def test_each_input_has_a_gradient_of_its_own_dtype(modes):
    given = Tensor([1, 2], ms.int32), Tensor([3.0, 4.0])
    gradients = ms.grad(lambda x, y: x * y, (0, 1))(*given)
    assert shown(gradients) == (("Int32", [3, 4]), ("Float32", [1, 2]))


@pytest.mark.parametrize("mixed", [ms.float16, ms.float64, ms.int8, ms.complex64], ids=str)
def test_a_tensor_of_another_dtype_does_not_change_that(modes, mixed):
    given = Tensor([2.0], ms.float32), Tensor([3], mixed)
    by_x, by_y = ms.grad(lambda x, y: x * y, (0, 1))(*given)
    assert (by_x.dtype, by_y.dtype) == (ms.float32, mixed)


def test_true_division_of_an_integer_has_a_gradient_with_fractions(modes):
    assert shown(ms.grad(lambda x: x / 2)(Tensor([1, 2]))) == ("Float32", [0.5, 0.5])


@pytest.mark.parametrize(
    "fn",
    [lambda x: x == 2, lambda x: x.argmax(), lambda x: x // 2, lambda x: x & 3, lambda x: x > 1],
)
def test_what_is_flat_has_the_gradient_zero(modes, fn):
    assert shown(ms.grad(fn)(Tensor([1, 2], ms.int32))) == ("Int32", [0, 0])


def test_a_cast_lets_gradients_through(modes):
    def f(x):
        return x.astype(ms.int32) * 2

    assert shown(ms.grad(f)(Tensor([1.5, 2.5]))) == ("Float32", [2, 2])


@pytest.mark.parametrize(
    ("fn", "wanted"),
    [
        (lambda x: x.prod(), [6, 3, 2]),
        (lambda x: ops.cumprod(x, 0), [9, 4, 2]),
        (lambda x: ops.sort(x)[0] * Tensor([1, 2, 3], ms.int32), [1, 2, 3]),
        (lambda x: ops.topk(x, 2)[0], [0, 1, 1]),
        (lambda x: x.max(), [0, 0, 1]),
        (lambda x: ops.square(x), [2, 4, 6]),
        (lambda x: x**3, [3, 12, 27]),
        (lambda x: ops.maximum(x, Tensor([2, 2, 2], ms.int32)), [0, 0, 1]),
        (lambda x: x[1:] * 3, [0, 3, 3]),
    ],
)
def test_operators_have_integer_gradients(modes, fn, wanted):
    assert shown(ms.grad(fn)(Tensor([1, 2, 3], ms.int32))) == ("Int32", wanted)


def test_integer_gradients_of_higher_order(modes):
    def cube(x):
        return x * x * x

    x = Tensor([1, 2], ms.int32)
    assert shown(ms.grad(ms.grad(cube))(x)) == ("Int32", [6, 12])
    assert shown(ms.grad(ms.grad(ms.grad(cube)))(x)) == ("Int32", [6, 6])


def test_directional_derivatives_of_integers(modes):
    x, one = Tensor([1, 2], ms.int32), Tensor([1, 1], ms.int32)
    assert shown(ms.jvp(lambda x: x * x, x, one)) == (("Int32", [1, 4]), ("Int32", [2, 4]))
    assert shown(ms.vjp(lambda x: x * x, x)[1](one)) == (("Int32", [2, 4]),)
    with pytest.raises(TypeError, match="have the wrong dtype"):
        ms.jvp(lambda x: x * x, x, Tensor([1.0, 1.0]))
    with pytest.raises(TypeError, match="have the wrong dtype"):
        ms.vjp(lambda x: x * x, x)[1](Tensor([1.0, 1.0]))


def test_jacobians_of_integers(modes):
    x = Tensor([1, 2], ms.int32)
    assert shown(ms.jacrev(lambda x: x * x)(x)) == ("Int32", [[2, 0], [0, 4]])
    assert shown(ms.jacfwd(lambda x: x * x)(x)) == ("Int32", [[2, 0], [0, 4]])


def powers(x, n):
    y = x
    i = Tensor(0, ms.int32)
    while i < n:
        y = y * x
        i = i + 1
    return y


def chosen(x, n):
    return x * 3 if n > 1 else x * x


def counted(x, n):
    total = x * 0
    while n > 0:
        total = total * n + x
        n = n - 1
    return total


def halved(x, n):
    y = x
    while n > 0:
        y = y + y
        n = n - 1
    return y / 4


@pytest.mark.parametrize(("fn", "wanted"), [(powers, [4, 32]), (chosen, [3, 3]), (counted, [4, 4])])
def test_integers_are_differentiated_through_branches_and_loops(modes, fn, wanted):
    x, n = Tensor([1, 2], ms.int32), Tensor(3, ms.int32)
    by_x, _ = ms.grad(fn, (0, 1))(x, n)
    assert shown(by_x) == ("Int32", wanted)
    by_x = ms.grad(fn)(Tensor([1.0, 2.0]), n)
    assert shown(by_x) == ("Float32", wanted)


def test_fractions_may_come_back_into_a_loop_of_integers(modes):
    x, n = Tensor([1, 2], ms.int32), Tensor(1, ms.int32)
    assert shown(ms.grad(halved)(x, n)) == ("Float32", [0.5, 0.5])


def test_a_compiled_function_has_integer_gradients_in_eager_mode():
    compiled = ms.jit(powers)
    x, n = Tensor([1, 2], ms.int32), Tensor(3, ms.int32)
    assert shown(ms.grad(compiled)(x, n)) == ("Int32", [4, 32])


def test_indices_get_the_gradient_zero(modes):
    table = Tensor(np.arange(6.0).reshape(3, 2), ms.float32)
    gradient = ms.grad(lambda i: ops.gather(table, i, 0))(Tensor([2, 0], ms.int32))
    assert shown(gradient) == ("Int32", [0, 0])


def test_integers_of_a_recomputed_part_have_gradients(modes):
    cell = ms.nn.SequentialCell([Squared()])
    cell.recompute()
    assert shown(ms.grad(cell)(Tensor([1, 2], ms.int32))) == ("Int32", [2, 4])


class Squared(ms.nn.Cell):
    def construct(self, x):
        return x * x
