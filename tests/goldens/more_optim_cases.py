"""Optimizers of few users, run by the real MindSpore for goldens and by ours in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from tests.goldens.optim_cases import RATES, STEPS, Case, gradients, parameters
except ImportError:  # run as a script, beside it
    from optim_cases import RATES, STEPS, Case, gradients, parameters

CASES: dict[str, Case] = {
    "rprop": lambda nn, p: nn.Rprop(p),
    "rprop_narrow": lambda nn, p: nn.Rprop(p, 0.01, (0.4, 1.3), (1e-3, 0.02), 0.1),
    "rprop_list": lambda nn, p: nn.Rprop(p, RATES),
    "rprop_groups": lambda nn, p: nn.Rprop([{"params": p[:1], "lr": 0.3}, {"params": p[1:]}]),
    "asgd": lambda nn, p: nn.ASGD(p),
    "asgd_averaged": lambda nn, p: nn.ASGD(p, 0.05, 0.1, 0.5, 2.0, 0.1),
    "asgd_list": lambda nn, p: nn.ASGD(p, RATES, t0=3.0),
    "asgd_groups": lambda nn, p: nn.ASGD([{"params": p[:1], "lr": 0.3}, {"params": p[1:]}]),
    "adafactor": lambda nn, p: nn.AdaFactor(p),
    "adafactor_warmup": lambda nn, p: nn.AdaFactor(p, warmup_init=True, beta1=0.5),
    "adafactor_own_rate": lambda nn, p: nn.AdaFactor(
        p, 0.1, (1e-20, 1e-2), 0.5, 0.7, relative_step=False, weight_decay=0.1, loss_scale=4.0
    ),
    "adafactor_unscaled": lambda nn, p: nn.AdaFactor(
        p, RATES, scale_parameter=False, relative_step=False
    ),
}


def run(ms: Any, case: str) -> dict[str, np.ndarray]:
    """All parameters and states, by name, after `STEPS` steps."""
    optimizer = CASES[case](ms.nn, parameters(ms))
    for step in range(STEPS):
        optimizer(gradients(ms, optimizer, step))
    return {parameter.name: parameter.asnumpy() for parameter in optimizer.get_parameters()}
