"""Optimizer steps over all parameters: rates for each, states written, what MindSpore documents."""

from __future__ import annotations

import numpy as np
import pytest

from mycelia import Tensor, ops
from mycelia.ops.optimizer.fused_updates import AdamUpdate, LambUpdate, LarsScale, MomentumUpdate

RANDOM = np.random.default_rng(0)


def tensors(*shapes: tuple[int, ...], dtype: type = np.float32) -> tuple[Tensor, ...]:
    return tuple(Tensor(RANDOM.standard_normal(s).astype(dtype)) for s in shapes)


def number(value: float) -> Tensor:
    return Tensor(np.float32(value))


def test_momentum_writes_parameters_and_moments():
    params, gradients = tensors((2, 3), (3,)), tensors((2, 3), (3,))
    moments = tuple(Tensor(np.zeros(p.shape, np.float32)) for p in params)
    before = [np.array(p) for p in params]
    result = MomentumUpdate()(params, moments, gradients, number(0.1), number(0.9))
    assert result is params
    for old, param, moment, gradient in zip(before, params, moments, gradients, strict=True):
        np.testing.assert_allclose(moment.asnumpy(), gradient.asnumpy(), rtol=1e-6)
        np.testing.assert_allclose(param.asnumpy(), old - 0.1 * gradient.asnumpy(), rtol=1e-6)


def test_each_parameter_may_have_its_own_rate_and_decay():
    params, gradients = tensors((3,), (3,)), tensors((3,), (3,))
    moments = tuple(Tensor(np.zeros(3, np.float32)) for _ in params)
    before = [np.array(p) for p in params]
    op = MomentumUpdate(weight_decay=(0.5, 0.0), loss_scale=2.0)
    op(params, moments, gradients, (number(0.1), number(0.2)), number(0.0))
    first = before[0] - 0.1 * (gradients[0].asnumpy() / 2 + 0.5 * before[0])
    second = before[1] - 0.2 * gradients[1].asnumpy() / 2
    np.testing.assert_allclose(params[0].asnumpy(), first, rtol=1e-6)
    np.testing.assert_allclose(params[1].asnumpy(), second, rtol=1e-6)


def test_decays_given_as_tensors_replace_the_fixed_ones():
    params, gradients = tensors((3,)), tensors((3,))
    moments = (Tensor(np.zeros(3, np.float32)),)
    before = np.array(params[0])
    op = MomentumUpdate(weight_decay=(9.0,))
    op(params, moments, gradients, number(1.0), number(0.0), (number(0.5),))
    expected = before - gradients[0].asnumpy() - 0.5 * before
    np.testing.assert_allclose(params[0].asnumpy(), expected, rtol=1e-5)


def test_half_parameters_are_updated_in_float32_and_stay_half():
    params, gradients = tensors((64,), dtype=np.float16), tensors((64,))
    moments = (Tensor(np.zeros(64, np.float16)),)
    before = np.array(params[0]).astype(np.float32)
    MomentumUpdate()(params, moments, gradients, number(0.1), number(0.9))
    assert params[0].dtype.name == "float16"
    expected = (before - np.float32(0.1) * gradients[0].asnumpy()).astype(np.float16)
    np.testing.assert_allclose(params[0].asnumpy(), expected, rtol=1e-3)


def test_adam_keeps_its_powers_and_its_first_step_is_as_long_as_the_rate():
    params, gradients = tensors((5,)), tensors((5,))
    zeros = [(Tensor(np.zeros(5, np.float32)),) for _ in range(2)]
    powers = number(1.0), number(1.0)
    before = np.array(params[0])
    AdamUpdate()(params, *zeros, (), *powers, gradients, number(0.1))
    assert [p.item() for p in powers] == [pytest.approx(0.9), pytest.approx(0.999)]
    step = before - params[0].asnumpy()
    np.testing.assert_allclose(step, 0.1 * np.sign(gradients[0].asnumpy()), rtol=1e-3)


def test_lamb_steps_are_as_long_as_the_parameter_times_the_rate():
    params, gradients = tensors((6,)), tensors((6,))
    zeros = [(Tensor(np.zeros(6, np.float32)),) for _ in range(2)]
    before = np.array(params[0])
    LambUpdate()(params, *zeros, gradients, number(0.1), Tensor(np.array([1], np.int32)))
    moved = np.linalg.norm(before - params[0].asnumpy())
    assert moved == pytest.approx(0.1 * np.linalg.norm(before), rel=1e-4)


def test_lars_scales_the_chosen_gradients_only():
    params, gradients = tensors((4,), (4,)), tensors((4,), (4,))
    op = LarsScale(epsilon=0.0, coefficient=0.5, chosen=(True, False))
    scaled = op(params, gradients, number(0.1))
    ratio = np.linalg.norm(params[0].asnumpy()) / np.linalg.norm(gradients[0].asnumpy())
    np.testing.assert_allclose(scaled[0].asnumpy(), 0.5 * ratio * gradients[0].asnumpy(), rtol=1e-5)
    np.testing.assert_array_equal(scaled[1].asnumpy(), gradients[1].asnumpy())


def test_apply_momentum_takes_numbers_and_writes_both_arguments():
    variable, accumulation = Tensor(np.ones(2, np.float32)), Tensor(np.full(2, 0.5, np.float32))
    result = ops.ApplyMomentum()(
        variable, accumulation, 0.1, Tensor(np.full(2, 3, np.float32)), 0.9
    )
    assert result is variable
    np.testing.assert_allclose(variable.asnumpy(), 0.655, rtol=1e-6)
    np.testing.assert_allclose(accumulation.asnumpy(), 3.45, rtol=1e-6)


def test_sgd_refuses_nesterov_with_dampening():
    with pytest.raises(ValueError, match="nesterov"):
        ops.SGD(dampening=0.1, nesterov=True)
