"""Hooks on tensors, parameters, and cells: part of the backward pass in both modes."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

X = np.array([1.0, 2.0], np.float32)


def double(gradient):
    return gradient * 2


def keep(gradient):
    pass


class Scale(nn.Cell):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.w = Parameter(Tensor([3.0, 4.0]), name=name)

    def construct(self, x):
        return x * self.w


class Chain(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Scale("first"), Scale("second")

    def construct(self, x):
        return self.second(self.first(x * 2))


class Pair(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y


class UsesPair(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()

    def construct(self, x):
        product, total = self.pair(x, x * 3)
        return product + 2 * total


def gradients(net, wanted=(0,)):
    """The gradients of the input and of the weights, as lists."""
    by_x, by_weights = ms.grad(net, 0, net.trainable_params())(Tensor(X))
    return by_x.asnumpy().tolist(), [g.asnumpy().tolist() for g in by_weights]


PLAIN = ([18, 32], [[6, 16], [6, 16]])


# ---- tensors ------------------------------------------------------------------------------------


def with_hooks(*hooks):
    def fn(x):
        y = x * x
        for hook in hooks:
            y.register_hook(hook)
        return y * 3

    return fn


@pytest.mark.parametrize(
    ("hooks", "wanted"),
    [
        ((double,), [12, 24]),
        ((double, double), [24, 48]),
        ((keep,), [6, 12]),
        ((lambda gradient: gradient + 1,), [8, 16]),
        ((double, lambda gradient: gradient + 1), [14, 28]),
    ],
)
def test_a_tensor_hook_changes_the_gradient(modes, hooks, wanted):
    assert ms.grad(with_hooks(*hooks))(Tensor(X)).asnumpy().tolist() == wanted


def test_a_hook_sees_the_whole_gradient_of_its_tensor(modes):
    def fn(x):
        y = x * x
        before = y * 3
        y.register_hook(double)
        return before + y

    assert ms.grad(fn)(Tensor(X)).asnumpy().tolist() == [16, 32]


def test_a_hook_on_an_argument_and_on_a_result(modes):
    def on_argument(x):
        x.register_hook(double)
        return x * 3

    def on_result(x):
        y = x * x
        y.register_hook(double)
        return y

    assert ms.grad(on_argument)(Tensor(X)).asnumpy().tolist() == [6, 6]
    assert ms.grad(on_result)(Tensor(X)).asnumpy().tolist() == [4, 8]


def test_a_removed_hook_does_nothing(modes):
    def fn(x):
        y = x * x
        handle = y.register_hook(double)
        y.register_hook(lambda gradient: gradient + 1)
        handle.remove()
        return y * 3

    assert ms.grad(fn)(Tensor(X)).asnumpy().tolist() == [8, 16]


def test_hooks_on_a_tensor_made_outside(modes):
    def square(x):
        return x * x

    gradient, x = ms.grad(square), Tensor(X)
    assert gradient(x).asnumpy().tolist() == [2, 4]
    handle = x.register_hook(double)
    assert gradient(x).asnumpy().tolist() == [4, 8]
    assert gradient(Tensor(X)).asnumpy().tolist() == [2, 4]
    handle.remove()
    assert gradient(x).asnumpy().tolist() == [2, 4]


def test_a_hook_may_decide_by_the_gradient(modes):
    def clip(gradient):
        if gradient.sum() > 5:
            return gradient / 6
        return gradient

    assert ms.grad(with_hooks(clip))(Tensor(X)).asnumpy().tolist() == [1, 2]


def test_hooks_in_branches_and_loops(modes):
    def fn(x, n):
        while n > 0:
            y = x * 2
            y.register_hook(double)
            x = y
            n = n - 1
        return x

    assert ms.grad(fn)(Tensor(X), Tensor(3)).asnumpy().tolist() == [64, 64]


def test_a_hook_of_one_branch_on_a_tensor_from_outside_is_refused(graph_mode):
    def fn(x, n):
        y = x * x
        if n > 0:
            y.register_hook(double)
        return y

    with pytest.raises(RuntimeError, match="created outside this branch"):
        ms.grad(fn)(Tensor(X), Tensor(1))


def test_hooks_of_a_compiled_function_in_eager_mode():
    compiled = ms.jit(with_hooks(double))
    assert ms.grad(compiled)(Tensor(X)).asnumpy().tolist() == [12, 24]


def test_hooks_under_second_derivatives(modes):
    fn = with_hooks(double)  # the first derivative is 2 * 3 * 2x, and its derivative 2 * 3 * 2
    second = ms.grad(lambda x: ms.grad(fn)(x).sum())(Tensor(X))
    assert second.asnumpy().tolist() == [12, 12]


# ---- parameters ---------------------------------------------------------------------------------


def test_a_parameter_hook_can_be_added_and_removed_between_runs(modes):
    net = Chain()
    assert gradients(net) == PLAIN
    handle = net.first.w.register_hook(double)
    assert gradients(net) == ([18, 32], [[12, 32], [6, 16]])
    handle.remove()
    assert gradients(net) == PLAIN


def test_a_parameter_hook_acts_in_a_training_step(modes):
    net = Scale("w")
    net.w.register_hook(lambda gradient: gradient * 0)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    step.set_train()(Tensor(X))
    assert net.w.asnumpy().tolist() == [3, 4]


# ---- cells: forward -----------------------------------------------------------------------------


def test_forward_hooks_replace_inputs_and_outputs(modes):
    net = Chain()
    before = net.first.register_forward_pre_hook(lambda cell, inputs: (inputs[0] * 10,))
    after = net.first.register_forward_hook(lambda cell, inputs, output: output * 100)
    assert net(Tensor(X)).asnumpy().tolist() == [18000, 64000]
    assert gradients(net) == ([18000, 32000], [[6000, 16000], [6000, 16000]])
    before.remove()
    assert net(Tensor(X)).asnumpy().tolist() == [1800, 6400]
    after.remove()
    assert net(Tensor(X)).asnumpy().tolist() == [18, 64]


def test_forward_hooks_may_return_nothing_or_one_value(modes):
    net = Chain()
    net.first.register_forward_pre_hook(lambda cell, inputs: None)
    net.first.register_forward_hook(lambda cell, inputs, output: None)
    net.second.register_forward_pre_hook(lambda cell, inputs: inputs[0] * 2)
    assert net(Tensor(X)).asnumpy().tolist() == [36, 128]


def test_a_forward_hook_may_branch_on_numbers(modes):
    def halve_large(cell, inputs, output):
        if output.max() > 10:
            return output / 2
        return output

    net = Scale("w")
    net.register_forward_hook(halve_large)
    assert net(Tensor(X)).asnumpy().tolist() == [3, 8]
    assert net(Tensor(X * 2)).asnumpy().tolist() == [3, 8]


# ---- cells: backward ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hooks", "wanted"),
    [
        ({"backward": lambda cell, grad_input, grad_output: None}, PLAIN),
        (
            {"backward": lambda cell, grad_input, grad_output: (grad_input[0] * 7,)},
            ([126, 224], [[6, 16], [6, 16]]),
        ),
        (
            {"backward": lambda cell, grad_input, grad_output: grad_output[0]},
            ([6, 8], [[6, 16], [6, 16]]),
        ),
        ({"backward_pre": lambda cell, grad_output: None}, PLAIN),
        (
            {"backward_pre": lambda cell, grad_output: grad_output[0] * 5},
            ([90, 160], [[30, 80], [6, 16]]),
        ),
        (
            {
                "backward_pre": lambda cell, grad_output: (grad_output[0] * 5,),
                "backward": lambda cell, grad_input, grad_output: (grad_output[0] * 2,),
            },
            ([60, 80], [[30, 80], [6, 16]]),
        ),
    ],
)
def test_backward_hooks_change_gradients_until_they_are_removed(modes, hooks, wanted):
    net = Chain()
    handles = [getattr(net.first, f"register_{kind}_hook")(fn) for kind, fn in hooks.items()]
    assert gradients(net) == wanted
    for handle in handles:
        handle.remove()
    assert gradients(net) == PLAIN


def test_several_backward_hooks_run_in_order(modes):
    net = Chain()
    for factor in (7, 7):
        net.first.register_backward_hook(lambda cell, gi, go, factor=factor: (gi[0] * factor,))
    assert gradients(net)[0] == [882, 1568]


def test_backward_hooks_of_a_cell_with_several_inputs_and_outputs(modes):
    net = UsesPair()
    net.pair.register_backward_pre_hook(lambda cell, grads: (grads[0] * 2, grads[1] * 3))
    net.pair.register_backward_hook(lambda cell, gi, go: (gi[0] * 2, gi[1] * 3))
    assert ms.grad(net)(Tensor(X)).asnumpy().tolist() == [96, 126]


def test_the_hook_of_the_first_cell_runs_without_a_gradient_of_its_input(modes, capfd):
    def show(cell, grad_input, grad_output):
        print("hook", grad_input[0] is None, grad_output[0])

    net = Chain()
    net.register_backward_hook(show)
    by_weights = ms.grad(net, None, net.trainable_params())(Tensor(X))
    ms.runtime.synchronize()
    assert capfd.readouterr().out == "hook True [1. 1.]\n"
    assert [g.asnumpy().tolist() for g in by_weights] == PLAIN[1]


def test_a_hook_that_needs_a_missing_gradient_fails_loudly(modes):
    net = Scale("w")
    net.register_backward_hook(lambda cell, gi, go: (gi[0] * 2,))
    with pytest.raises(TypeError):
        ms.grad(net, None, net.trainable_params())(Tensor(X))


def test_the_wrong_number_of_gradients_is_refused(modes):
    net = Scale("w")
    net.register_backward_pre_hook(lambda cell, grads: grads * 5)
    with pytest.raises(TypeError, match="wrong number of gradients"):
        ms.grad(net)(Tensor(X))


def test_hooks_on_containers(modes):
    net = nn.SequentialCell([Scale("a"), nn.ReLU()])
    net.register_backward_hook(lambda cell, gi, go: (gi[0] * 10,))
    net[1].register_backward_hook(lambda cell, gi, go: (gi[0] * 2,))
    assert ms.grad(net)(Tensor(X)).asnumpy().tolist() == [60, 80]


def test_hooks_of_a_recomputed_cell(modes):
    net = Chain()
    net.first.recompute()
    net.first.register_backward_hook(lambda cell, gi, go: (gi[0] * 7,))
    assert gradients(net)[0] == [126, 224]


def test_hooks_of_a_cell_called_in_a_loop(modes):
    class Looped(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Scale("w")

        def construct(self, x, n):
            while n > 0:
                x = self.scale(x)
                n = n - 1
            return x

    net = Looped()
    net.scale.register_backward_hook(lambda cell, gi, go: (gi[0] * 10,))
    assert ms.grad(net)(Tensor(X), Tensor(2)).asnumpy().tolist() == [900, 1600]


def test_a_hook_may_print_when_the_program_runs(graph_mode, capfd):
    net = Scale("w")

    def show(cell, grad_input, grad_output):
        print("gradient", grad_output[0])

    net.register_backward_hook(show)
    gradient = ms.grad(net)
    for _ in range(2):
        gradient(Tensor(X))
    ms.runtime.synchronize()
    assert capfd.readouterr().out.count("gradient [1. 1.]") == 2


def test_a_hook_in_a_compiled_loop_that_prints_is_refused(graph_mode):
    def show(gradient):
        print(gradient)

    def fn(x, n):
        while n > 0:
            x = x * 2
            x.register_hook(show)
            n = n - 1
        return x

    with pytest.raises(RuntimeError, match="prints"):
        ms.grad(fn)(Tensor(X), Tensor(2))


def test_hooks_in_sink_mode_and_after_it():
    net = Scale("w")
    handle = net.w.register_hook(lambda gradient: gradient * 0)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5)).set_train()
    data = ms.dataset.NumpySlicesDataset([X, X], ["x"], shuffle=False)
    sunk = ms.data_sink(step, data, sink_size=2)
    sunk()
    assert net.w.asnumpy().tolist() == [3, 4]
    handle.remove()
    sunk()
    assert net.w.asnumpy().tolist() == [2, 2]


# ---- operators and bprop ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "wanted"),
    [
        (lambda gradients: (gradients[0] * 2,), [12, 24]),
        (lambda gradients: gradients[0] * 2, [12, 24]),
        (lambda gradients: None, [6, 12]),
    ],
)
def test_hook_backward(modes, hook, wanted):
    seen = ops.HookBackward(hook)
    assert ms.grad(lambda x: seen(x * x) * 3)(Tensor(X)).asnumpy().tolist() == wanted


@pytest.mark.parametrize(
    ("hook", "wanted"),
    [
        (lambda gradients: (gradients[0] * 10, gradients[1] * 100), [[20, 30], [100, 200]]),
        (lambda gradients: None, [[2, 3], [1, 2]]),
        (lambda gradients: (gradients[1], gradients[0]), [[1, 2], [2, 3]]),
    ],
)
def test_hook_backward_of_several_values(modes, hook, wanted):
    seen = ops.HookBackward(hook)

    def product(x, y):
        x, y = seen(x, y)
        return x * y

    found = ms.grad(product, (0, 1))(Tensor([1.0, 2.0]), Tensor([2.0, 3.0]))
    assert [g.asnumpy().tolist() for g in found] == wanted


def test_hook_backward_gives_as_many_gradients_as_it_got(modes):
    seen = ops.HookBackward(lambda gradients: gradients[0])
    with pytest.raises(TypeError, match="number of gradients"):
        ms.grad(lambda x: ops.add(*seen(x, x * 2)))(Tensor([1.0]))


class Times(nn.Cell):
    def construct(self, x, factor=1):
        return x * factor


def test_a_hook_before_the_call_may_replace_arguments_and_keywords(modes):
    cell = Times()
    cell.register_forward_pre_hook(
        lambda cell, args, kwargs: ((args[0] + 1,), {"factor": 3}), with_kwargs=True
    )
    assert cell(Tensor([1.0]), factor=2).asnumpy().tolist() == [6]


def test_a_hook_before_the_call_with_keywords_returns_both_or_nothing(modes):
    cell = Times()
    handle = cell.register_forward_pre_hook(lambda cell, args, kwargs: None, with_kwargs=True)
    assert cell(Tensor([1.0]), factor=2).asnumpy().tolist() == [2]
    handle.remove()
    cell.register_forward_pre_hook(lambda cell, args, kwargs: args[0] + 1, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"\(args, kwargs\)"):
        cell(Tensor([1.0]), factor=2)


def test_insert_gradient_of_may_branch_on_numbers(modes):
    def clip(gradient):
        if gradient > 0.5:
            return Tensor(0.5)
        return gradient

    clipped = ops.InsertGradientOf(clip)
    assert float(ms.grad(lambda x: clipped(x * x) * 3)(Tensor(2.0))) == 2


class Broad(nn.Cell):
    def __init__(self, first, second) -> None:
        super().__init__()
        self.first, self.second = first, second

    def construct(self, x, y):
        return x + y

    def bprop(self, x, y, out, dout):
        return self.first, self.second


def test_gradients_of_bprop_are_brought_to_the_shape_and_dtype_of_the_inputs(modes):
    net = Broad(ops.ones((3, 3), ms.int64), ops.ones((3, 3), ms.float32))
    by_x, by_y = ms.grad(net, (0, 1))(Tensor(np.ones(3, np.float32)), ops.ones((3, 3)))
    assert by_x.asnumpy().tolist() == [3, 3, 3] and by_x.dtype is ms.float32
    assert by_y.shape == (3, 3)


def test_gradients_of_bprop_that_do_not_fit_are_refused(modes):
    net = Broad(ops.ones((5,), ms.float32), ops.ones((3,), ms.float32))
    with pytest.raises(RuntimeError, match="does not have the shape of its input"):
        ms.grad(net, (0, 1))(ops.ones((3,)), ops.ones((3,)))
