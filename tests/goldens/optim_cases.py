"""Optimizers, their parameters and gradients, built with whichever framework is passed in.

The same source runs on the real MindSpore (to make the goldens) and on Mycelia (to compare with
them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 7
SHAPES = {"fc.weight": (3, 4), "fc.bias": (3,), "bn.gamma": (4,), "bn.beta": (4,)}
RATES = [0.1, 0.2, 0.05, 0.1, 0.3, 0.02, 0.1, 0.2]


def _grouped(p: list[Any], **first: Any) -> list[dict[str, Any]]:
    return [{"params": p[:1], **first}, {"params": p[1:]}]


def _ordered(p: list[Any]) -> list[dict[str, Any]]:
    by_kind = [{"params": [p[3], p[0]], "lr": 0.3, "weight_decay": 0.2}, {"params": [p[2], p[1]]}]
    return [*by_kind, {"order_params": p}]


Case = Callable[[Any, list[Any]], Any]
CASES: dict[str, Case] = {
    "sgd": lambda nn, p: nn.SGD(p),
    "sgd_decay_scale": lambda nn, p: nn.SGD(p, 0.05, weight_decay=0.1, loss_scale=8.0),
    "sgd_momentum": lambda nn, p: nn.SGD(p, 0.05, momentum=0.9, weight_decay=0.1),
    "sgd_dampening": lambda nn, p: nn.SGD(p, 0.05, momentum=0.8, dampening=0.3),
    "sgd_nesterov": lambda nn, p: nn.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=0.1),
    "sgd_rates": lambda nn, p: nn.SGD(p, RATES, momentum=0.9),
    "sgd_groups": lambda nn, p: nn.SGD(_grouped(p, lr=0.2, weight_decay=0.3), 0.05, 0.9),
    "momentum": lambda nn, p: nn.Momentum(p, 0.1, 0.9),
    "momentum_decay_scale": lambda nn, p: nn.Momentum(p, 0.1, 0.9, 0.1, 128.0),
    "momentum_rates": lambda nn, p: nn.Momentum(p, RATES, 0.9, 0.1),
    "momentum_schedule": lambda nn, p: nn.Momentum(p, nn.ExponentialDecayLR(0.1, 0.5, 2), 0.9),
    "momentum_warmup": lambda nn, p: nn.Momentum(p, nn.WarmUpLR(0.1, 4), 0.9),
    "momentum_decay_schedule": lambda nn, p: nn.Momentum(
        p, 0.1, 0.9, nn.ExponentialDecayLR(0.1, 0.5, 2), 4.0
    ),
    "momentum_groups": lambda nn, p: nn.Momentum(_grouped(p, lr=0.3), 0.1, 0.9, 0.1),
    "momentum_group_decay": lambda nn, p: nn.Momentum(_grouped(p, weight_decay=0.3), 0.1, 0.9, 0.1),
    "momentum_group_rates": lambda nn, p: nn.Momentum(_grouped(p, lr=RATES), 0.1, 0.9),
    "momentum_group_schedule": lambda nn, p: nn.Momentum(
        _grouped(p, lr=nn.CosineDecayLR(0.01, 0.1, 5)), RATES, 0.9
    ),
    "momentum_group_decay_schedule": lambda nn, p: nn.Momentum(
        _grouped(p, weight_decay=nn.InverseDecayLR(0.1, 0.5, 2)), 0.1, 0.9, 0.1, 2.0
    ),
    "momentum_ordered": lambda nn, p: nn.Momentum(_ordered(p), 0.1, 0.9, 0.1),
    "adam": lambda nn, p: nn.Adam(p),
    "adam_decay_scale": lambda nn, p: nn.Adam(p, 0.05, weight_decay=0.1, loss_scale=16.0),
    "adam_betas": lambda nn, p: nn.Adam(p, 0.05, 0.8, 0.95, 1e-4),
    "adam_nesterov": lambda nn, p: nn.Adam(p, 0.05, use_nesterov=True, weight_decay=0.1),
    "adam_amsgrad": lambda nn, p: nn.Adam(p, 0.05, use_amsgrad=True, weight_decay=0.1),
    "adam_rates": lambda nn, p: nn.Adam(p, RATES),
    "adam_schedule": lambda nn, p: nn.Adam(p, nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5)),
    "adam_groups": lambda nn, p: nn.Adam(_ordered(p), 0.05, weight_decay=0.1),
    "adam_weight_decay": lambda nn, p: nn.AdamWeightDecay(p, 0.05, weight_decay=0.1),
    "adam_weight_decay_plain": lambda nn, p: nn.AdamWeightDecay(p, 0.05),
    "adam_weight_decay_groups": lambda nn, p: nn.AdamWeightDecay(_ordered(p), RATES),
    "adagrad": lambda nn, p: nn.Adagrad(p, learning_rate=0.1),
    "adagrad_decay_scale": lambda nn, p: nn.Adagrad(p, 0.5, 0.1, True, 4.0, 0.1),
    "adagrad_groups": lambda nn, p: nn.Adagrad(_grouped(p, lr=0.2, weight_decay=0.1)),
    "rmsprop": lambda nn, p: nn.RMSProp(p),
    "rmsprop_momentum": lambda nn, p: nn.RMSProp(p, 0.05, 0.8, 0.5, 1e-4, weight_decay=0.1),
    "rmsprop_centered": lambda nn, p: nn.RMSProp(p, 0.05, 0.8, 0.5, 1e-4, centered=True),
    "rmsprop_scale": lambda nn, p: nn.RMSProp(p, 0.05, loss_scale=8.0, weight_decay=0.1),
    "rmsprop_groups": lambda nn, p: nn.RMSProp(_grouped(p, lr=RATES), 0.05, centered=True),
    "ftrl": lambda nn, p: nn.FTRL(p, learning_rate=0.1),
    "ftrl_shrinking": lambda nn, p: nn.FTRL(p, 0.2, 0.1, -0.6, l2=0.1),
    "ftrl_decay_scale": lambda nn, p: nn.FTRL(p, 0.2, 0.1, loss_scale=4.0, weight_decay=0.1),
    "adamax": lambda nn, p: nn.AdaMax(p, 0.05),
    "adamax_decay_scale": lambda nn, p: nn.AdaMax(p, 0.05, 0.8, 0.9, 1e-4, 0.1, 8.0),
    "adadelta": lambda nn, p: nn.Adadelta(p),
    "adadelta_decay_scale": lambda nn, p: nn.Adadelta(p, 0.5, 0.8, 1e-3, 8.0, 0.1),
    "proximal_adagrad": lambda nn, p: nn.ProximalAdagrad(p, learning_rate=0.1),
    "proximal_adagrad_shrinking": lambda nn, p: nn.ProximalAdagrad(
        p, 0.3, RATES, 0.1, 0.2, loss_scale=4.0, weight_decay=0.1
    ),
    "lazy_adam": lambda nn, p: nn.LazyAdam(p, 0.05),
    "lazy_adam_groups": lambda nn, p: nn.LazyAdam(_ordered(p), 0.05, weight_decay=0.1),
    "ftrl_groups": lambda nn, p: nn.FTRL(_grouped(p, weight_decay=0.3)),
}


def parameters(ms: Any, dtype: Any = np.float32) -> list[Any]:
    random = np.random.RandomState(7)
    return [
        ms.Parameter(ms.Tensor(random.randn(*shape).astype(dtype)), name=name)
        for name, shape in SHAPES.items()
    ]


def gradients(ms: Any, optimizer: Any, step: int) -> tuple[Any, ...]:
    """The gradients of one step, in the order in which the optimizer wants them."""
    random = np.random.RandomState(100 + step)
    arrays = {name: random.randn(*shape).astype(np.float32) for name, shape in SHAPES.items()}
    return tuple(ms.Tensor(arrays[parameter.name]) for parameter in optimizer.parameters)


def run(ms: Any, case: str) -> dict[str, np.ndarray]:
    """All parameters and states, by name, after `STEPS` steps."""
    optimizer = CASES[case](ms.nn, parameters(ms))
    for step in range(STEPS):
        optimizer(gradients(ms, optimizer, step))
    return {parameter.name: parameter.asnumpy() for parameter in optimizer.get_parameters()}
