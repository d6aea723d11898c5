"""Gradients of functions: forms of grad, any order, weights, sens, auxiliary outputs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import Parameter, Tensor, ops


def cube(x):
    return x * x * x


def test_gradients_of_any_order():
    x = Tensor([2.0, 3.0])
    assert ms.grad(cube)(x).asnumpy().tolist() == [12, 27]
    assert ms.grad(ms.grad(cube))(x).asnumpy().tolist() == [12, 18]
    assert ms.grad(ms.grad(ms.grad(cube)))(x).asnumpy().tolist() == [6, 6]
    assert ms.grad(ms.grad(ms.grad(ms.grad(cube))))(x).asnumpy().tolist() == [0, 0]


def test_nested_gradients_are_not_confused():
    def outer(x):
        return x * ms.grad(lambda y: x + y)(x)

    assert float(ms.grad(outer)(Tensor(3.0))) == 1


def test_the_gradient_inside_a_loop_of_gradients():
    def inner_descent(x):
        y = x
        for _ in range(3):
            y = y - 0.1 * ms.grad(cube)(y)
        return y

    at = Tensor(0.7)
    step = 1e-3
    numeric = (inner_descent(Tensor(0.7 + step)) - inner_descent(Tensor(0.7 - step))) / (2 * step)
    assert float(ms.grad(inner_descent)(at)) == pytest.approx(float(numeric), rel=1e-3)


def test_positions():
    def f(x, y, z):
        return x * y + z

    x, y, z = Tensor(2.0), Tensor(3.0), Tensor(4.0)
    assert float(ms.grad(f)(x, y, z)) == 3
    assert [float(g) for g in ms.grad(f, (0, 2))(x, y, z)] == [3, 1]
    value, g = ms.value_and_grad(f, (1,))(x, y, z)  # one position: no tuple around it
    assert float(value) == 10 and float(g) == 2


def test_weights():
    w, b = Parameter(Tensor(2.0), name="w"), Parameter(Tensor(1.0), name="b")

    def f(x):
        return w * x * x + b

    x = Tensor(3.0)
    assert [float(g) for g in ms.grad(f, None, [w, b])(x)] == [9, 1]
    by_x, by_weight = ms.grad(f, 0, [w, b])(x)
    assert float(by_x) == 12 and [float(g) for g in by_weight] == [9, 1]
    assert float(ms.grad(f, None, w)(x)) == 9


def test_the_hessian_of_weights():
    w = Parameter(Tensor([1.0, 2.0]), name="w")

    def loss():
        return (w * w * w).sum()

    def slope():
        (g,) = ms.grad(loss, None, [w])()
        return g.sum()

    (second,) = ms.grad(slope, None, [w])()
    assert second.asnumpy().tolist() == [6, 12]


def test_auxiliary_outputs_are_not_differentiated():
    def f(x):
        return x * 2, x * 100

    (value, extra), g = ms.value_and_grad(f, has_aux=True)(Tensor(3.0))
    assert (float(value), float(extra), float(g)) == (6, 300, 2)
    g, (extra,) = ms.grad(f, has_aux=True)(Tensor(3.0))
    assert float(g) == 2 and float(extra) == 300


def test_several_outputs_count_by_their_sum():
    assert float(ms.grad(lambda x: (x * 2, x * 3))(Tensor(1.0))) == 5


def test_return_ids():
    w = Parameter(Tensor(2.0), name="w")
    grads = ms.grad(lambda x: x * w, 0, [w], return_ids=True)(Tensor(3.0))
    assert float(ms.get_grad(grads, 0)) == 2
    assert float(ms.get_grad(grads, w)) == 3


def test_grad_operation_forms():
    w = Parameter(Tensor(2.0), name="w")

    def f(x, y):
        return w * x * y

    x, y = Tensor(3.0), Tensor(5.0)
    assert float(ops.GradOperation()(f)(x, y)) == 10
    assert [float(g) for g in ops.GradOperation(get_all=True)(f)(x, y)] == [10, 6]
    assert [float(g) for g in ops.GradOperation(get_by_list=True)(f, [w])(x, y)] == [15]
    inputs, weights = ops.GradOperation(get_all=True, get_by_list=True)(f, [w])(x, y)
    assert [float(g) for g in inputs] == [10, 6] and [float(g) for g in weights] == [15]
    assert float(ops.GradOperation(sens_param=True)(f)(x, y, Tensor(2.0))) == 20


def test_stop_gradient():
    assert float(ms.grad(lambda x: x * ops.stop_gradient(x))(Tensor(3.0))) == 3


def test_values_that_do_not_matter_get_zeros():
    by_x, by_y = ms.grad(lambda x, y: x * 2, (0, 1))(Tensor(1.0), Tensor([1.0, 2.0]))
    assert float(by_x) == 2 and by_y.asnumpy().tolist() == [0, 0]


def test_a_python_number_has_no_gradient(modes, caplog):
    assert ms.grad(lambda x, k: x * k, 1)(Tensor(1.0), 2.0) == ()
    assert "argument 1 has no gradient" in caplog.text


def test_tuples_as_inputs():
    def f(pair):
        return pair[0] * pair[1]

    by_first, by_second = ms.grad(f)((Tensor(2.0), Tensor(5.0)))
    assert (float(by_first), float(by_second)) == (5, 2)


def test_gradients_flow_through_subscript_assignment():
    def f(x, v):
        y = x * 2
        y[0] = v * 3
        return (y * y).sum()

    by_x, by_v = ms.grad(f, (0, 1))(Tensor([1.0, 2.0]), Tensor(1.0))
    assert by_x.asnumpy().tolist() == [0, 16] and float(by_v) == 18


def test_tensor_hooks_change_gradients():
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g)) or g * 10)
        return y * 3

    assert float(ms.grad(f)(Tensor(1.0))) == 60
    assert seen == [3.0]


def test_parameter_hooks():
    w = Parameter(Tensor(2.0), name="w")
    handle = w.register_hook(lambda g: g * 100)
    assert float(ms.grad(lambda x: x * w, None, w)(Tensor(3.0))) == 300
    handle.remove()
    assert float(ms.grad(lambda x: x * w, None, w)(Tensor(3.0))) == 3


def test_the_wrong_forms_are_refused():
    with pytest.raises(ValueError, match="can not be None at the same time"):
        ms.grad(cube, None)
    with pytest.raises(RuntimeError, match="Position index 5 is exceed input size"):
        ms.grad(cube, 5)(Tensor(1.0))
    with pytest.raises(TypeError):
        ms.grad(cube, "0")
    with pytest.raises(TypeError):
        ms.grad(cube, [0])
    with pytest.raises(ValueError, match="duplicate positions"):
        ms.grad(lambda x, y: x * y, (0, 0))
    with pytest.raises(RuntimeError, match="should not be empty"):
        ms.grad(cube, ())(Tensor(1.0))
    with pytest.raises(ValueError, match="several outputs"):
        ms.grad(lambda x: (x,), has_aux=True)(Tensor(1.0))


def test_a_missing_argument_is_an_index_error_in_graph_mode(graph_mode):
    with pytest.raises(IndexError, match="Position index 0 is exceed input size"):
        ms.grad(cube, 0)()


@pytest.mark.parametrize("result", [3, 2.5, None, (2, 3)])
def test_what_does_not_depend_on_the_argument_has_the_gradient_zero(modes, result):
    value, gradient = ms.value_and_grad(lambda x: result)(Tensor([1.0, 2.0]))
    assert value == result and gradient.asnumpy().tolist() == [0, 0]


def test_a_parameter_returned_as_it_is_has_a_gradient(modes):
    w = Parameter(Tensor([3.0, 4.0]), name="w")
    (by_w,) = ms.grad(lambda x: (x * w, w), None, [w])(Tensor([3.0, 5.0]))
    assert by_w.asnumpy().tolist() == [4, 6]
    (by_w,) = ms.grad(lambda x: w, None, [w])(Tensor([3.0, 5.0]))
    assert by_w.asnumpy().tolist() == [1, 1]


def test_a_frozen_parameter_has_the_gradient_zero(modes):
    w = Parameter(Tensor([3.0, 4.0]), name="w", requires_grad=False)
    by_weights = ops.GradOperation(get_by_list=True)(lambda x: x * w, [w])
    assert by_weights(Tensor([1.0, 2.0]))[0].asnumpy().tolist() == [0, 0]
    w.requires_grad = True  # compiled programs notice
    assert by_weights(Tensor([1.0, 2.0]))[0].asnumpy().tolist() == [1, 2]


def test_a_write_to_the_argument_is_differentiated(modes):
    def f(x):
        x[0] = x[1] * 2
        return x * x

    assert ms.grad(f)(Tensor([3.0, 5.0])).asnumpy().tolist() == [0, 50]


def test_the_gradient_of_the_output_may_be_called_sens(modes):
    gradient = ops.GradOperation(sens_param=True)(cube)(Tensor([1.0]), sens=Tensor([10.0]))
    assert gradient.asnumpy().tolist() == [30]


def test_the_gradient_of_the_output_must_match_it():
    pull = ops.GradOperation(sens_param=True)(cube)
    with pytest.raises(TypeError, match="does not match"):
        pull(Tensor([1.0]), Tensor([1], ms.int32))
    with pytest.raises(ValueError, match="does not match"):
        pull(Tensor([1.0]), Tensor([1.0, 2.0]))


def test_dicts_and_lists_as_inputs(modes):
    given = {"a": Tensor(2.0), "b": [Tensor(5.0), 7]}
    gradient = ms.grad(lambda d: d["a"] * d["b"][0] * d["b"][1])(given)
    assert (float(gradient["a"]), float(gradient["b"][0])) == (35, 14)
    assert gradient["b"][1] == ()


def test_constants_leave_no_gap_among_the_gradients(modes):
    by_x = ms.grad(lambda x, k: x * k, (0, 1))(Tensor([1.0, 2.0]), 3.0)
    assert by_x.asnumpy().tolist() == [3, 3]


def test_memory_is_freed_when_the_step_ends():
    big = []

    def f(x):
        y = ops.exp(x)
        big.append(weakref.ref(y))
        return (y * y).sum()

    value, _ = ms.value_and_grad(f)(Tensor(np.ones((100, 100), np.float32)))
    gc.collect()
    assert big[0]() is None
    assert value is not None


def test_the_backward_pass_is_compiled_once(monkeypatch):
    from mycelia._engine.runtime.eager import backward

    def f(x):
        return (ops.exp(x) * x).sum()

    ms.grad(f)(Tensor([1.0, 2.0]))
    before = len(backward._programs)
    for _ in range(3):
        ms.grad(f)(Tensor([3.0, 4.0]))
    assert len(backward._programs) == before


def test_vjp_and_jvp():
    def f(x, y):
        return x * y, x + y

    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    (product, total), pull = ms.vjp(f, x, y)
    by_x, by_y = pull(Tensor([1.0, 0.0]), Tensor([0.0, 1.0]))
    assert by_x.asnumpy().tolist() == [3, 1] and by_y.asnumpy().tolist() == [1, 1]
    (product, total), (d_product, d_total) = ms.jvp(
        f, (x, y), (Tensor([1.0, 0.0]), Tensor([0.0, 1.0]))
    )
    assert d_product.asnumpy().tolist() == [3, 2] and d_total.asnumpy().tolist() == [1, 1]
    assert product.asnumpy().tolist() == [3, 8]


def test_one_input_has_a_tuple_of_one_gradient():
    _, pull = ms.vjp(cube, Tensor([1.0, 2.0]))
    (gradient,) = pull(Tensor([1.0, 1.0]))
    assert gradient.asnumpy().tolist() == [3, 12]


def test_one_auxiliary_output_comes_without_a_tuple(modes):
    def f(x):
        return x * x, x + 1

    x, one = Tensor([1.0, 2.0]), Tensor([1.0, 1.0])
    results = (
        ms.jvp(f, x, one, has_aux=True),
        ms.vjp(f, x, has_aux=True),
        ms.jacfwd(f, has_aux=True)(x),
        ms.jacrev(f, has_aux=True)(x),
    )
    for *_, auxiliary in results:
        assert auxiliary.asnumpy().tolist() == [2, 3]


def test_jacobians():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)

    def f(x):
        return ops.matmul(Tensor(matrix), x * x)

    x = Tensor([1.0, 2.0, 3.0])
    wanted = matrix * 2 * x.asnumpy()
    np.testing.assert_allclose(ms.jacrev(f)(x).asnumpy(), wanted)
    np.testing.assert_allclose(ms.jacfwd(f)(x).asnumpy(), wanted)
    hessian = ms.jacfwd(ms.grad(lambda x: cube(x).sum()))(x)
    np.testing.assert_allclose(hessian.asnumpy(), np.diag(6 * x.asnumpy()))


UNARY = (ops.sin, ops.exp, ops.tanh, lambda x: x * x, lambda x: x + 1.5, lambda x: 2 / (x * x + 1))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(range(len(UNARY))), min_size=1, max_size=5), st.integers(0, 3))
def test_random_compositions_match_finite_differences(choices, seed):
    def f(x):
        y = x
        for choice in choices:
            y = UNARY[choice](y) * 0.5 + x * 0.1
        return y.sum()

    point = np.random.default_rng(seed).uniform(-1, 1, 3)
    found = ms.grad(f)(Tensor(point)).asnumpy()
    for place in range(3):
        step = np.zeros(3)
        step[place] = 1e-6
        numeric = (float(f(Tensor(point + step))) - float(f(Tensor(point - step)))) / 2e-6
        assert found[place] == pytest.approx(numeric, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.sort(x)[0],
        lambda x: ops.topk(x, 2)[0],
        lambda x: ops.max(x, 0)[0],
        lambda x: ops.cummax(x, 0)[0],
        lambda x: ops.median(x, 0)[0],
    ],
    ids=["sort", "topk", "max", "cummax", "median"],
)
def test_second_derivatives_through_operators_that_also_give_positions(modes, function):
    x = Tensor(np.array([3.0, 1.0, 2.0], np.float32))
    value, tangent = ms.jvp(function, x, x)  # each is linear in scalings of x
    np.testing.assert_allclose(tangent.asnumpy(), value.asnumpy())
    np.testing.assert_allclose(ms.jacfwd(function)(x).asnumpy(), ms.jacrev(function)(x).asnumpy())


def test_arguments_of_gradients_that_are_refused(modes):
    def square(x):
        return x * x

    x = Tensor([1.0])
    with pytest.raises(TypeError, match="has_aux"):
        ms.grad(square, has_aux=1)
    with pytest.raises(TypeError, match="must be tensors"):
        ms.jvp(square, x, 1)
    with pytest.raises(RuntimeError, match="have the wrong shapes"):
        ms.vjp(square, x)[1]()
    for jacobian in (ms.jacfwd, ms.jacrev):
        with pytest.raises(ValueError, match="grad_position is out of range"):
            jacobian(square, 5)(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_derivative_that_xla_lacks_is_refused_by_name(compiled):
    def slope(x):
        return ms.grad(lambda a: ops.igamma(a, x).sum())(x)

    second = ms.grad(lambda x: slope(x).sum())
    with pytest.raises(NotImplementedError, match="Igamma: a derivative of order 2") as caught:
        (ms.jit(second) if compiled else second)(Tensor([1.5, 2.5]))
    assert "test_grad.py" in str(caught.value)
