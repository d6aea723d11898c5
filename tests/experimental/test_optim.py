"""Optimizers with parameter groups, against values of the real system."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from mycelia.experimental import optim
from tests.goldens.experimental_cases import OPTIMIZERS, gradients, title, weights

GOLDENS = np.load(Path(__file__).parents[1] / "goldens" / "experimental.npz")


def _parameters() -> list[Parameter]:
    return [Parameter(Tensor(w), name=f"p{i}") for i, w in enumerate(weights())]


def _grouped(name: str, options: dict, parameters: list[Parameter]) -> optim.Optimizer:
    groups = [{"params": [parameters[0]]}, {"params": [parameters[1]], "lr": 0.02}]
    return getattr(optim, name)(groups, **options)


@pytest.mark.parametrize(
    ("number", "name", "options"),
    [(i, name, options) for i, (name, options) in enumerate(OPTIMIZERS)],
    ids=[f"{i}-{name}" for i, (name, _) in enumerate(OPTIMIZERS)],
)
def test_weights_after_each_step_are_those_of_the_real_system(number, name, options):
    parameters = _parameters()
    optimizer = _grouped(name, options, parameters)
    for step, each in enumerate(gradients()):
        assert optimizer(tuple(Tensor(g) for g in each)) is True
        for i, parameter in enumerate(parameters):
            wanted = GOLDENS[f"{title(name, number)}-{step}-{i}"]
            np.testing.assert_allclose(parameter.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


EACH = [
    optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad, optim.Adadelta, optim.Adamax,
    optim.NAdam, optim.RAdam, optim.RMSprop, optim.Rprop, optim.ASGD,
]  # fmt: skip


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.Rprop])
def test_a_compiled_step_is_the_same_and_follows_the_rate(kind):
    ways = []
    for compiled in (False, True):
        parameters = _parameters()
        optimizer = kind(parameters, lr=0.1)
        step = ms.jit(lambda g, o=optimizer: o(g)) if compiled else optimizer
        for number, each in enumerate(gradients()):
            if number == 3:
                optimizer.param_groups[0]["lr"].set_data(Tensor(0.01, ms.float32))
            step(tuple(Tensor(g) for g in each))
        ways.append([p.asnumpy().copy() for p in parameters])
    for eager, graph in zip(*ways, strict=True):
        np.testing.assert_allclose(graph, eager, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", EACH, ids=lambda k: k.__name__)
def test_training_goes_down(kind):
    x, y = Tensor(np.eye(4, dtype=np.float32)), Tensor(np.arange(4, dtype=np.float32)[:, None])
    net = nn.Dense(4, 1)
    optimizer = kind(net.trainable_params(), lr=0.05 if kind is not optim.Adadelta else 5.0)
    run = ms.value_and_grad(lambda: ((net(x) - y) ** 2).mean(), None, optimizer.parameters)
    losses = []
    for _ in range(10):
        loss, grads = run()
        losses.append(float(loss))
        optimizer(grads)
    assert losses[-1] < losses[0] * 0.98


def test_groups_have_settings_of_their_own():
    parameters = _parameters()
    optimizer = optim.SGD([{"params": parameters[:1], "momentum": 0.5}], 0.1)
    optimizer.add_param_group({"params": parameters[1:], "lr": 0.2})
    first, second = optimizer.param_groups
    assert (first["momentum"], second["momentum"]) == (0.5, 0)
    assert [round(float(g["lr"]), 6) for g in optimizer.param_groups] == [0.1, 0.2]
    assert [p.name for p in optimizer.parameters] == ["p0", "p1"]
    before = [p.asnumpy().copy() for p in parameters]
    each = gradients()[0]
    optimizer(tuple(Tensor(g) for g in each))
    for p, w, g, lr in zip(parameters, before, each, (0.1, 0.2), strict=True):
        np.testing.assert_allclose(p.asnumpy(), w - lr * g, rtol=1e-5)
    assert repr(optimizer).startswith("SGD (\nParameter Group 0\n    dampening: 0\n    lr: 0.1")


def test_an_optimizer_of_ones_own():
    class Signs(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr, "weight_decay": 0.0})

        def update(self, index, gradient, group, step):
            self.move(index, -group["lr"] * ms.ops.sign(gradient))

    parameters = _parameters()
    before = parameters[0].asnumpy().copy()
    each = gradients()[0]
    Signs(parameters, 0.5)(tuple(Tensor(g) for g in each))
    np.testing.assert_allclose(parameters[0].asnumpy(), before - 0.5 * np.sign(each[0]), rtol=1e-6)
    with pytest.raises(NotImplementedError):
        optim.Optimizer(parameters, {"lr": 0.1})(tuple(Tensor(g) for g in each))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: optim.SGD(p, -1.0), ValueError, "Invalid learning rate"),
        (lambda p: optim.SGD(p, "a"), TypeError, "type of 'lr'"),
        (lambda p: optim.SGD([], 0.1), ValueError, "no parameters"),
        (lambda p: optim.SGD(3, 0.1), TypeError, "Iterable"),
        (lambda p: optim.SGD(p, 0.1, momentum=-1.0), ValueError, "Invalid momentum"),
        (lambda p: optim.SGD(p, 0.1, nesterov=True), ValueError, "nesterov"),
        (lambda p: optim.Adam(p, betas=(2.0, 0.9)), ValueError, "index 0: 2.0"),
        (lambda p: optim.Adam(p, eps=-1.0), ValueError, "Invalid epsilon"),
        (lambda p: optim.AdamW(p, weight_decay=-1.0), ValueError, "Invalid weight_decay"),
        (lambda p: optim.Adadelta(p, rho=2.0), ValueError, "Invalid rho"),
        (lambda p: optim.Rprop(p, etas=(2.0, 1.2)), ValueError, "Invalid eta"),
        (lambda p: optim.SGD([{"params": p}, {"params": p}], 0.1), ValueError, "more than one"),
        (lambda p: optim.SGD([Tensor([1.0])], 0.1), TypeError, "Parameters"),
    ],
)
def test_wrong_settings(make, error, message):
    with pytest.raises(error, match=message):
        make(_parameters())


def test_wrong_gradients():
    optimizer = optim.SGD(_parameters(), 0.1)
    with pytest.raises(ValueError, match="one gradient for each"):
        optimizer((Tensor([1.0]),))
    with pytest.raises(ValueError, match="shape of another"):
        optimizer((Tensor([1.0]), Tensor([1.0])))
    with pytest.raises(TypeError, match="tuple"):
        optimizer(Tensor([1.0]))
