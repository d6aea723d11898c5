"""Learning-rate schedules and lists, built with whichever framework is passed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 50)

SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "exponential": lambda nn: nn.ExponentialDecayLR(0.1, 0.9, 4),
    "exponential_stair": lambda nn: nn.ExponentialDecayLR(0.1, 0.9, 4, True),
    "natural": lambda nn: nn.NaturalExpDecayLR(0.1, 0.3, 4),
    "natural_stair": lambda nn: nn.NaturalExpDecayLR(0.1, 0.3, 4, True),
    "inverse": lambda nn: nn.InverseDecayLR(0.1, 0.5, 4),
    "inverse_stair": lambda nn: nn.InverseDecayLR(0.1, 0.5, 4, True),
    "cosine": lambda nn: nn.CosineDecayLR(0.01, 0.1, 8),
    "polynomial": lambda nn: nn.PolynomialDecayLR(0.1, 0.01, 8, 0.5),
    "polynomial_growing": lambda nn: nn.PolynomialDecayLR(0.1, 0.01, 4, 2.0, True),
    "warm_up": lambda nn: nn.WarmUpLR(0.1, 8),
}

LISTS: dict[str, Callable[[Any], list[float]]] = {
    "piecewise": lambda nn: nn.piecewise_constant_lr([2, 5, 10], [0.1, 0.05, 0.01]),
    "piecewise_idle": lambda nn: nn.piecewise_constant_lr((2, 2, 3), (0.1, 0.05, 0.0)),
    "exponential": lambda nn: nn.exponential_decay_lr(0.1, 0.9, 13, 2, 2),
    "exponential_stair": lambda nn: nn.exponential_decay_lr(0.1, 0.9, 13, 2, 2, True),
    "natural": lambda nn: nn.natural_exp_decay_lr(0.1, 0.3, 13, 2, 2),
    "natural_stair": lambda nn: nn.natural_exp_decay_lr(0.1, 0.3, 13, 2, 2, True),
    "inverse": lambda nn: nn.inverse_decay_lr(0.1, 0.5, 13, 2, 2),
    "inverse_stair": lambda nn: nn.inverse_decay_lr(0.1, 0.5, 13, 2, 2, True),
    "cosine": lambda nn: nn.cosine_decay_lr(0.01, 0.1, 13, 2, 4),
    "polynomial": lambda nn: nn.polynomial_decay_lr(0.1, 0.01, 13, 2, 4, 0.5),
    "polynomial_growing": lambda nn: nn.polynomial_decay_lr(0.1, 0.01, 33, 2, 2, 2.0, True),
    "warmup": lambda nn: nn.warmup_lr(0.1, 13, 2, 4),
}


def schedule_values(ms: Any, case: str) -> np.ndarray:
    """What the schedule gives at each of `STEPS`."""
    schedule = SCHEDULES[case](ms.nn)
    steps = [ms.Tensor(np.array([step], np.int32)) for step in STEPS]
    return np.concatenate([schedule(step).asnumpy() for step in steps])
