"""Optimizers against the real MindSpore: seven steps, all parameters, all states, all names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mycelia._engine.runtime.eager.dispatch  # noqa: F401
from mycelia.nn import learning_rate_schedule, optim
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from tests.goldens.optim_cases import CASES, STEPS, gradients, parameters, run

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "optim.npz")
NN = SimpleNamespace(**(vars(learning_rate_schedule) | vars(optim)))
MS = SimpleNamespace(nn=NN, Parameter=Parameter, Tensor=Tensor)


def goldens(case: str) -> dict[str, np.ndarray]:
    prefix = f"{case}:"
    return {
        key.removeprefix(prefix): GOLDENS[key] for key in GOLDENS.files if key.startswith(prefix)
    }


def tolerance(case: str, expected: np.ndarray) -> float:
    """How far a value may be off, by the largest value of its tensor.

    MindSpore's RMSProp takes reciprocal roots from a table with four good digits.
    """
    largest = float(np.max(np.abs(expected), initial=0.0))
    return largest * (5e-5 if case.startswith("rmsprop") else 1e-5)


@pytest.mark.parametrize("case", CASES)
def test_seven_steps_end_where_mindspore_ends(case: str):
    ours, expected = run(MS, case), goldens(case)
    assert list(ours) == list(expected)
    for name, value in ours.items():
        assert value.dtype == expected[name].dtype, name
        assert value.shape == expected[name].shape, name
        allowed = tolerance(case, expected[name])
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=allowed, err_msg=name)


def steps(optimizer: optim.Optimizer) -> list[list[np.ndarray]]:
    """The gradients of all steps as arrays, after running them."""
    used = []
    for step in range(STEPS):
        given = gradients(MS, optimizer, step)
        used.append([np.array(g, np.float64) for g in given])
        optimizer(given)
    return used


def arrays(params: list[Parameter]) -> list[np.ndarray]:
    return [np.array(p, np.float64) for p in params]


def test_nesterov_momentum_looks_one_step_ahead():
    params = parameters(MS)
    expected = arrays(params)
    optimizer = optim.Momentum(params, 0.1, 0.9, weight_decay=0.2, use_nesterov=True)
    moments = [np.zeros_like(p) for p in expected]
    for given in steps(optimizer):
        for i, (p, g) in enumerate(zip(expected, given, strict=True)):
            g = g + 0.2 * p if i < 2 else g
            moments[i] = 0.9 * moments[i] + g
            expected[i] = p - 0.1 * (g + 0.9 * moments[i])
    for ours, wanted in zip(params, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-4, atol=1e-6)


def test_adagrad_without_slots_keeps_its_accumulator():
    params = parameters(MS)
    expected = arrays(params)
    optimizer = optim.Adagrad(params, 0.3, 0.1, update_slots=False)
    for given in steps(optimizer):
        expected = [p - 0.1 * g / np.sqrt(0.3) for p, g in zip(expected, given, strict=True)]
    for ours, wanted in zip(params, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-4, atol=1e-6)
    assert np.all(optimizer.accum[0].asnumpy() == np.float32(0.3))


def test_ftrl_shrinks_small_parameters_to_zero():
    params = parameters(MS)
    expected = arrays(params)
    optimizer = optim.FTRL(params, 0.2, 0.1, l1=3.0, l2=0.1)
    squares = [np.full_like(p, 0.2) for p in expected]
    linears = [np.zeros_like(p) for p in expected]
    for given in steps(optimizer):
        for i, (p, g) in enumerate(zip(expected, given, strict=True)):
            grown = squares[i] + g * g
            linears[i] += g - (np.sqrt(grown) - np.sqrt(squares[i])) / 0.1 * p
            squares[i], rest = grown, np.sqrt(grown) / 0.1 + 0.2
            far = np.abs(linears[i]) > 3.0
            expected[i] = np.where(far, (np.sign(linears[i]) * 3.0 - linears[i]) / rest, 0)
    for ours, wanted in zip(params, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-4, atol=1e-6)
    assert any(np.any(p == 0) for p in expected)


def test_lamb_follows_its_formula():
    params = parameters(MS)
    expected = arrays(params)
    optimizer = optim.Lamb(params, 0.02, weight_decay=0.1)
    first = [np.zeros_like(p) for p in expected]
    second = [np.zeros_like(p) for p in expected]
    for count, given in enumerate(steps(optimizer), 1):
        for i, (p, g) in enumerate(zip(expected, given, strict=True)):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g * g
            mean, square = first[i] / (1 - 0.9**count), second[i] / (1 - 0.999**count)
            step = mean / (np.sqrt(square) + 1e-6) + (0.1 * p if i < 2 else 0)
            ratio = min(np.linalg.norm(p) / np.linalg.norm(step), 10)
            expected[i] = p - 0.02 * ratio * step
    for ours, wanted in zip(params, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("use_clip", [False, True])
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_lars_follows_its_formula(use_clip: bool, scale: float):
    params = parameters(MS)
    expected = arrays(params)
    inner = optim.Momentum(params, 0.1, 0.9, weight_decay=0.2, loss_scale=scale)
    optimizer = optim.LARS(inner, coefficient=0.05, use_clip=use_clip)
    moments = [np.zeros_like(p) for p in expected]
    for given in steps(optimizer):
        for i, (p, scaled) in enumerate(zip(expected, given, strict=True)):
            g, decay = scaled / scale, 0.2 if i == 0 else 0.0
            if i != 1:
                size = np.linalg.norm(p)
                trust = 0.05 * size / (np.linalg.norm(g) + decay * size + 1e-5)
                g = (np.clip(trust / 0.1, 0, 1) if use_clip else trust) * (g + decay * p)
            moments[i] = 0.9 * moments[i] + g
            expected[i] = p - 0.1 * moments[i]
    for ours, wanted in zip(params, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-4, atol=1e-6)


def test_lars_takes_the_decay_of_its_optimizer():
    params = parameters(MS)
    inner = optim.Momentum(params, 0.1, 0.9, weight_decay=0.2)
    optimizer = optim.LARS(inner, lars_filter=lambda p: False)
    plain = parameters(MS)
    without = optim.Momentum(plain, 0.1, 0.9)
    optimizer(gradients(MS, optimizer, 0))
    without(gradients(MS, without, 0))
    assert inner.decay_flags == (False,) * 4
    for one, other in zip(params, plain, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_lars_keeps_mindspores_names():
    optimizer = optim.LARS(optim.Momentum(parameters(MS)[:1], 0.1, 0.9))
    found = [(path, p.name) for path, p in optimizer.parameters_and_names()]
    assert found == [
        ("global_step", "global_step"),
        ("learning_rate", "fake_lr"),
        ("fake_param", "fake_param"),
        ("fc.weight", "fc.weight"),
        ("opt.learning_rate", "learning_rate"),
        ("opt.momentum", "momentum"),
        ("opt.moments.fc.weight", "moments.fc.weight"),
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, 0.1, 0.9),
        lambda p: optim.Momentum(p, 0.1, 0.9),
        lambda p: optim.Adam(p, 0.1),
        lambda p: optim.AdamWeightDecay(p, 0.1),
        lambda p: optim.Adagrad(p),
        lambda p: optim.RMSProp(p, centered=True),
        lambda p: optim.Lamb(p, 0.1),
        lambda p: optim.FTRL(p),
        lambda p: optim.AdaMax(p),
        lambda p: optim.Adadelta(p),
        lambda p: optim.ProximalAdagrad(p),
        lambda p: optim.LazyAdam(p),
        lambda p: optim.LARS(optim.Momentum(p, 0.1, 0.9)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_states_and_parameters_keep_their_dtype(make, dtype):
    params = parameters(MS, dtype)
    optimizer = make(params)
    before = {p.name: (p.shape, p.dtype) for p in optimizer.get_parameters()}
    optimizer(gradients(MS, optimizer, 0))
    assert {p.name: (p.shape, p.dtype) for p in optimizer.get_parameters()} == before
    assert params[0].asnumpy().dtype == dtype
    assert all(np.all(np.isfinite(p.asnumpy())) for p in params)


def test_one_step_is_one_program():
    params = parameters(MS)
    optimizer = optim.Adam(params, 0.1)
    calls = []
    update = optimizer.update
    optimizer.update = lambda *args: calls.append(update(*args))
    optimizer(gradients(MS, optimizer, 0))
    assert len(calls) == 1


def test_centered_gradients_have_no_mean_by_row():
    params = parameters(MS)
    groups = [{"params": params[:2], "grad_centralization": True}, {"params": params[2:]}]
    optimizer = optim.Momentum(groups, 0.1, 0.9)
    given = gradients(MS, optimizer, 0)
    before = arrays(params)
    optimizer(given)
    moves = [b - p for b, p in zip(before, arrays(params), strict=True)]
    weight = np.array(given[0])
    centered = weight - weight.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(moves[0], 0.1 * centered, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(moves[1], 0.1 * np.array(given[1]), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        optimizer.gradients_centralization(given)[0].asnumpy(), centered, rtol=1e-4, atol=1e-6
    )
