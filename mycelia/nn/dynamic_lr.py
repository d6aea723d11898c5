"""Learning rates as lists, with one rate for each step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance, check_positive_int
from mycelia._engine.core.errors import problem
from mycelia.nn.float_checks import non_negative_float, positive_float


def piecewise_constant_lr(milestone: Any, learning_rates: Any) -> list[float]:
    """Piecewise constant: `learning_rates[i]` up to step `milestone[i]`."""
    owner = "piecewise_constant_lr"
    check_instance(owner, "milestone", milestone, (tuple, list))
    check_instance(owner, "learning_rates", learning_rates, (tuple, list))
    if len(milestone) != len(learning_rates):
        raise problem(
            ValueError,
            f"{owner}: 'milestone' and 'learning_rates' differ in length",
            got=f"{len(milestone)} milestones and {len(learning_rates)} learning rates",
            expected="one learning rate for each milestone",
        )
    rates: list[float] = []
    for index, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        check_positive_int(owner, f"milestone[{index}]", end)
        check_instance(owner, f"learning_rates[{index}]", rate, float)
        if end < len(rates):
            raise problem(
                ValueError,
                f"{owner}: the milestones must increase",
                got=f"milestone[{index}] is {end} after {len(rates)}",
            )
        rates += [rate] * (end - len(rates))
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Exponential decay: multiplied by `decay_rate` every `decay_epoch` epochs."""
    owner = "exponential_decay_lr"
    _check_decay(owner, learning_rate, decay_rate, is_stair)

    def rate(epoch: int) -> float:
        progress = epoch / decay_epoch
        return learning_rate * decay_rate ** (math.floor(progress) if is_stair else progress)

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Natural exponential decay: lr * exp(-decay_rate * epoch), stepwise if `is_stair`."""
    owner = "natural_exp_decay_lr"
    _check_decay(owner, learning_rate, decay_rate, is_stair)

    def rate(epoch: int) -> float:
        counted = epoch // decay_epoch * decay_epoch if is_stair else epoch
        return learning_rate * math.exp(-decay_rate * counted)

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Inverse time decay: lr / (1 + decay_rate * epoch / decay_epoch)."""
    owner = "inverse_decay_lr"
    _check_decay(owner, learning_rate, decay_rate, is_stair)

    def rate(epoch: int) -> float:
        progress = epoch / decay_epoch
        return learning_rate / (1 + decay_rate * (math.floor(progress) if is_stair else progress))

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """Cosine decay from `max_lr` to `min_lr` within `decay_epoch` epochs."""
    owner = "cosine_decay_lr"
    non_negative_float(owner, "min_lr", min_lr)
    positive_float(owner, "max_lr", max_lr)
    if min_lr >= max_lr:
        raise problem(
            ValueError,
            f"{owner}: 'max_lr' must be greater than 'min_lr'",
            got=f"max_lr={max_lr} and min_lr={min_lr}",
        )

    def rate(epoch: int) -> float:
        wave = 1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch)
        return min_lr + 0.5 * (max_lr - min_lr) * wave

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """Polynomial decay from `learning_rate` to `end_learning_rate` in `decay_epoch` epochs.

    `update_decay_epoch` extends the decay by `decay_epoch` epochs whenever its end is reached.
    """
    owner = "polynomial_decay_lr"
    positive_float(owner, "learning_rate", learning_rate)
    non_negative_float(owner, "end_learning_rate", end_learning_rate)
    positive_float(owner, "power", power)
    check_bool(owner, "update_decay_epoch", update_decay_epoch)

    def rate(epoch: int) -> float:
        span = decay_epoch
        if update_decay_epoch:
            span = decay_epoch * max(math.ceil(epoch / decay_epoch), 1)
        left = 1 - min(epoch, span) / span
        return (learning_rate - end_learning_rate) * left**power + end_learning_rate

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def warmup_lr(
    learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int
) -> list[float]:
    """Linear warmup from 0 to `learning_rate` in `warmup_epoch` epochs."""
    owner = "warmup_lr"
    non_negative_float(owner, "learning_rate", learning_rate)

    def rate(epoch: int) -> float:
        return learning_rate * min(epoch, warmup_epoch) / warmup_epoch

    return _by_epoch(owner, rate, total_step, step_per_epoch, warmup_epoch=warmup_epoch)


def _check_decay(owner: str, learning_rate: Any, decay_rate: Any, is_stair: Any) -> None:
    positive_float(owner, "learning_rate", learning_rate)
    positive_float(owner, "decay_rate", decay_rate)
    check_bool(owner, "is_stair", is_stair)


def _by_epoch(
    owner: str,
    rate: Callable[[int], float],
    total_step: Any,
    step_per_epoch: Any,
    **epochs: Any,
) -> list[float]:
    """The rates of all steps, from a function of the epoch."""
    check_positive_int(owner, "total_step", total_step)
    check_positive_int(owner, "step_per_epoch", step_per_epoch)
    for argument, value in epochs.items():
        check_positive_int(owner, argument, value)
    return [rate(step // step_per_epoch) for step in range(total_step)]
