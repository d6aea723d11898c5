"""Learning rate schedules: cells that compute the rate from the step number."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.float_checks import non_negative_float, positive_float
from mycelia.ops.elementwise.arithmetic import add, div, maximum, minimum, mul, sub
from mycelia.ops.elementwise.exponential import exp
from mycelia.ops.elementwise.power import pow
from mycelia.ops.elementwise.rounding import ceil, floor
from mycelia.ops.elementwise.trigonometry import cos


class LearningRateSchedule(Cell):
    """Base class of schedules: subclasses compute the rate in `construct(self, global_step)`."""

    def construct(self, global_step: Any) -> Any:
        raise problem(
            NotImplementedError,
            f"{type(self).__name__} does not define the learning rate",
            fix="define construct(self, global_step), which returns a Tensor",
        )


class _Decay(LearningRateSchedule):
    """The base of schedules with one initial rate and one decay factor."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.learning_rate = positive_float(owner, "learning_rate", learning_rate)
        self.decay_rate = positive_float(owner, "decay_rate", decay_rate)
        self.decay_steps = check_positive_int(owner, "decay_steps", decay_steps)
        self.is_stair = check_bool(owner, "is_stair", is_stair)

    def progress(self, global_step: Any) -> Any:
        """The number of decay periods so far; with `is_stair`, only whole periods count."""
        passed = div(global_step, self.decay_steps)
        return floor(passed) if self.is_stair else passed


class ExponentialDecayLR(_Decay):
    """Exponential decay: multiplied by `decay_rate` every `decay_steps` steps."""

    def construct(self, global_step: Any) -> Any:
        return mul(pow(self.decay_rate, self.progress(global_step)), self.learning_rate)


class NaturalExpDecayLR(_Decay):
    """Natural exponential decay: lr * exp(-decay_rate * step), stepwise if `is_stair`."""

    def construct(self, global_step: Any) -> Any:
        steps = global_step
        if self.is_stair:
            steps = mul(self.progress(global_step), self.decay_steps)
        return mul(exp(mul(steps, -self.decay_rate)), self.learning_rate)


class InverseDecayLR(_Decay):
    """Inverse time decay: lr / (1 + decay_rate * step / decay_steps)."""

    def construct(self, global_step: Any) -> Any:
        return div(self.learning_rate, add(mul(self.progress(global_step), self.decay_rate), 1.0))


class CosineDecayLR(LearningRateSchedule):
    """Cosine decay from `max_lr` to `min_lr` within `decay_steps` steps."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        owner = type(self).__name__
        self.min_lr = non_negative_float(owner, "min_lr", min_lr)
        self.max_lr = positive_float(owner, "max_lr", max_lr)
        self.decay_steps = check_positive_int(owner, "decay_steps", decay_steps)
        if min_lr >= max_lr:
            raise problem(
                ValueError,
                f"For '{owner}', the 'max_lr' must be greater than the 'min_lr'",
                got=f"max_lr={max_lr} and min_lr={min_lr}",
            )

    def construct(self, global_step: Any) -> Any:
        angle = mul(div(minimum(global_step, self.decay_steps), self.decay_steps), math.pi)
        wave = mul(add(cos(angle), 1.0), 0.5 * (self.max_lr - self.min_lr))
        return add(wave, self.min_lr)


class PolynomialDecayLR(LearningRateSchedule):
    """Polynomial decay from `learning_rate` to `end_learning_rate` in `decay_steps` steps.

    `update_decay_steps` extends the decay by `decay_steps` steps whenever its end is reached.
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.learning_rate = positive_float(owner, "learning_rate", learning_rate)
        self.end_learning_rate = non_negative_float(owner, "end_learning_rate", end_learning_rate)
        self.decay_steps = check_positive_int(owner, "decay_steps", decay_steps)
        self.power = positive_float(owner, "power", power)
        self.update_decay_steps = check_bool(owner, "update_decay_steps", update_decay_steps)

    def construct(self, global_step: Any) -> Any:
        span: Any = self.decay_steps
        if self.update_decay_steps:
            rounds = maximum(ceil(div(global_step, self.decay_steps)), 1.0)
            span = mul(rounds, self.decay_steps)
        left = sub(1.0, div(minimum(global_step, span), span))
        gone = mul(pow(left, self.power), self.learning_rate - self.end_learning_rate)
        return add(gone, self.end_learning_rate)


class WarmUpLR(LearningRateSchedule):
    """Linear warmup from 0 to `learning_rate` in `warmup_steps` steps."""

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        owner = type(self).__name__
        self.learning_rate = non_negative_float(owner, "learning_rate", learning_rate)
        self.warmup_steps = check_positive_int(owner, "warmup_steps", warmup_steps)

    def construct(self, global_step: Any) -> Any:
        passed = div(minimum(global_step, self.warmup_steps), self.warmup_steps)
        return mul(passed, self.learning_rate)
