"""Options of a training step together: clipping, gathering, centralising, freezing, rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, boost, nn, ops
from mycelia.experimental import optim

RNG = np.random.default_rng(5)
BATCHES = [
    (RNG.standard_normal((8, 3)).astype(np.float32), RNG.standard_normal((8, 2)).astype(np.float32))
    for _ in range(6)
]
WEIGHT = np.linspace(-1, 1, 6).reshape(2, 3).astype(np.float32)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


def _network() -> nn.Dense:
    return nn.Dense(3, 2, weight_init=Tensor(WEIGHT), bias_init="zeros")


def _gradients(weight: np.ndarray, bias: np.ndarray, batch: Any) -> tuple[np.ndarray, ...]:
    """Those of the mean square of a linear layer's error."""
    x, y = batch
    error = 2 * (x @ weight.T + bias - y) / y.size
    return error.T @ x, error.sum(0)


def _clipped_globally(gradients: Any, most: float) -> tuple[np.ndarray, ...]:
    length = np.sqrt(sum((g**2).sum() for g in gradients))
    return tuple(g * min(1.0, most / length) for g in gradients)


CLIPPINGS: dict[str, tuple[Callable, Callable]] = {
    "none": (lambda g: g, lambda g: g),
    "value": (
        lambda g: tuple(ops.clip_by_value(each, -0.1, 0.1) for each in g),
        lambda g: tuple(np.clip(each, -0.1, 0.1) for each in g),
    ),
    "norm": (
        lambda g: ops.clip_by_norm(g, 0.3),
        lambda g: _clipped_globally(g, 0.3),
    ),
    "global norm": (
        lambda g: ops.clip_by_global_norm(g, 0.3),
        lambda g: _clipped_globally(g, 0.3),
    ),
}


def _grouped(network: nn.Dense) -> nn.Optimizer:
    groups = [
        {"params": [network.weight], "lr": 0.1, "weight_decay": 0.01, "grad_centralization": True},
        {"params": [network.bias], "lr": 0.5},
    ]
    return nn.Momentum(groups, 0.2, 0.9)


def _reference(clip: Callable, gathered: int) -> tuple[np.ndarray, np.ndarray]:
    """What `_grouped` comes to, when it updates after every `gathered` batches."""
    values = [WEIGHT.astype(np.float64), np.zeros(2)]
    speeds, sums = [np.zeros((2, 3)), np.zeros(2)], [np.zeros((2, 3)), np.zeros(2)]
    for number, batch in enumerate(BATCHES, 1):
        for total, g in zip(sums, clip(_gradients(*values, batch)), strict=True):
            total += g / gathered
        if number % gathered:
            continue
        decayed = sums[0] + 0.01 * values[0]
        ready = (decayed - decayed.mean(1, keepdims=True), sums[1])
        for i, (rate, g) in enumerate(zip((0.1, 0.5), ready, strict=True)):
            speeds[i] = 0.9 * speeds[i] + g
            values[i] = values[i] - rate * speeds[i]
        sums = [np.zeros((2, 3)), np.zeros(2)]
    return values[0], values[1]


@pytest.mark.parametrize("gathered", [1, 2])
@pytest.mark.parametrize("clipping", CLIPPINGS)
def test_clipping_gathering_centralising_and_rates_of_groups_together(clipping, gathered, mode):
    network, loss = _network(), nn.MSELoss()
    optimizer = _grouped(network)
    clip, plain = CLIPPINGS[clipping]
    gather = boost.GradientAccumulation(gathered, optimizer)
    run = ms.value_and_grad(lambda x, y: loss(network(x), y), None, optimizer.parameters)

    def step(x, y):
        value, gradients = run(x, y)
        return gather(value, clip(gradients))

    compiled = ms.jit(step) if mode == ms.GRAPH_MODE else step
    for x, y in BATCHES:
        compiled(Tensor(x), Tensor(y))
    weight, bias = _reference(plain, gathered)
    np.testing.assert_allclose(network.weight.asnumpy(), weight, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(network.bias.asnumpy(), bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [optim.AdamW, optim.Muon, optim.Shampoo, optim.SOAP])
def test_optimizers_with_groups_take_clipped_gradients_in_one_program(kind):
    """A clipped step is the step of the clipped gradients, whatever makes it."""
    ends = []
    for compiled in (False, True):
        network, loss = _network(), nn.MSELoss()
        groups = [{"params": [network.weight], "lr": 0.1}, {"params": [network.bias], "lr": 0.5}]
        optimizer = kind(groups, lr=0.2)
        run = ms.value_and_grad(
            lambda x, y, n=network, f=loss: f(n(x), y), None, optimizer.parameters
        )

        def step(x, y, run=run, optimizer=optimizer):
            value, gradients = run(x, y)
            optimizer(ops.clip_by_global_norm(gradients, 0.3))
            return value

        if compiled:
            program = ms.jit(step)
            for x, y in BATCHES[:3]:
                program(Tensor(x), Tensor(y))
            assert ms.jit.explain(program).labels == ("xla",)
        else:
            for x, y in BATCHES[:3]:
                found = _gradients(network.weight.asnumpy(), network.bias.asnumpy(), (x, y))
                clipped = _clipped_globally(found, 0.3)
                optimizer(tuple(Tensor(g.astype(np.float32)) for g in clipped))
        ends.append((network.weight.asnumpy(), network.bias.asnumpy()))
    for one, two in zip(*ends, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_parameters_frozen_before_training_rest(mode):
    network = _network()
    network.weight.requires_grad = False
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9, weight_decay=0.1)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
    for x, y in BATCHES[:2]:
        step(Tensor(x), Tensor(y))
    np.testing.assert_array_equal(network.weight.asnumpy(), WEIGHT)
    assert np.abs(network.bias.asnumpy()).min() > 0


def test_parameters_frozen_midway_rest_under_a_new_optimizer(mode):
    network = _network()
    for turn in range(2):
        network.weight.requires_grad = turn == 0
        optimizer = nn.SGD(network.trainable_params(), 0.1)
        step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
        before = network.weight.asnumpy().copy(), network.bias.asnumpy().copy()
        step(Tensor(BATCHES[turn][0]), Tensor(BATCHES[turn][1]))
        moved = [
            not np.array_equal(p.asnumpy(), old)
            for p, old in zip((network.weight, network.bias), before, strict=True)
        ]
        assert moved == [turn == 0, True]


def test_gathering_with_a_mean_of_weights_and_a_rate_that_falls(mode):
    network = _network()
    rates = nn.exponential_decay_lr(0.2, 0.5, 3, 1, 1)
    optimizer = nn.SGD(network.trainable_params(), rates)
    gather = boost.GradientAccumulation(2, optimizer)
    average = optim.ExponentialMovingAverage(optimizer.parameters, decay=0.5, warm_up=False)
    loss = nn.MSELoss()
    run = ms.value_and_grad(lambda x, y: loss(network(x), y), None, optimizer.parameters)

    def step(x, y):
        value, gradients = run(x, y)
        result = gather(value, gradients)
        average.update()
        return result

    compiled = ms.jit(step) if mode == ms.GRAPH_MODE else step
    values = [WEIGHT.astype(np.float64), np.zeros(2)]
    means = [v.copy() for v in values]
    sums = [np.zeros((2, 3)), np.zeros(2)]
    for number, batch in enumerate(BATCHES, 1):
        compiled(Tensor(batch[0]), Tensor(batch[1]))
        sums = [s + g / 2 for s, g in zip(sums, _gradients(*values, batch), strict=True)]
        if number % 2 == 0:
            rate = rates[number // 2 - 1]
            values = [v - rate * s for v, s in zip(values, sums, strict=True)]
            sums = [np.zeros((2, 3)), np.zeros(2)]
        means = [(m + v) / 2 for m, v in zip(means, values, strict=True)]
    for got, wanted in zip(average.averages, means, strict=True):
        np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["scaled", "gathered", "boosted"])
def test_steps_that_may_leave_an_update_out_are_one_program(name):
    network = _network()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    with_loss = nn.WithLossCell(network, nn.MSELoss())
    scale = nn.DynamicLossScaleUpdateCell(2.0**10, 2, 3)
    if name == "scaled":
        step: nn.Cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, scale)
    elif name == "boosted":
        step = boost.BoostTrainOneStepWithLossScaleCell(with_loss, optimizer, scale)
    else:
        step = _Gathering(with_loss, optimizer)
    step.set_train()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for batch in BATCHES[:2]:
            step(*map(Tensor, batch))
        assert set(ms.jit.explain(step).labels) == {"xla"}
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


class _Gathering(nn.Cell):
    def __init__(self, network, optimizer):
        super().__init__()
        self.gradients = ms.value_and_grad(network, None, optimizer.parameters)
        self.gather = boost.GradientAccumulation(2, optimizer)

    def construct(self, x, y):
        loss, gradients = self.gradients(x, y)
        return self.gather(loss, gradients)
