"""Learning rate schedulers of optimizers with parameter groups."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.dtype import float32, int32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.ir.handlers import call_user_function, handlers
from mycelia.experimental.optim.optimizer import Optimizer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class LRScheduler(CheckedKeywords):
    """Base class of learning rate schedulers; a subclass defines the rates in `rate_at`.

    Creating a scheduler sets the rates of the first epoch; each `step` sets those of the next. The
    epoch is a Parameter, so that a compiled program advances it with each call.
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise problem(TypeError, f"{type(optimizer).__name__} is not an Optimizer")
        if not is_int(last_epoch):
            raise wrong_type(type(self).__name__, "last_epoch", last_epoch, "int")
        self.optimizer, self.last_epoch = optimizer, _epoch_parameter(self, last_epoch)
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", float(group["lr"]))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        """Learning rate in an epoch of the group at `index`, whose initial rate is `base`.

        While a function is traced, the epoch is a Tensor, and so is the rate.
        """
        raise problem(
            NotImplementedError,
            f"{type(self).__name__} does not define its rates",
            fix="define get_lr(self), or rate_at(self, epoch, base, index)",
        )

    def get_lr(self) -> list[Any]:
        """Learning rates of this epoch, one per group."""
        epoch = _known(self.last_epoch)
        return [self.rate_at(epoch, base, index) for index, base in enumerate(self.base_lrs)]

    def get_last_lr(self) -> list[Any]:
        """Current learning rates of the optimizer."""
        return [group["lr"].value() for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to a given one."""
        ops.assign(self.last_epoch, self.last_epoch + 1 if epoch is None else epoch)
        self._set(call_user_function(self.get_lr))

    def _set(self, rates: Sequence[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _set_rate(group, rate)


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs."""

    def __init__(
        self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not is_int(step_size):
            raise wrong_type("StepLR", "step_size", step_size, "int")
        self.step_size, self.gamma = step_size, _float("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each milestone."""

    def __init__(
        self, optimizer: Any, milestones: Any, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        for milestone in milestones:
            if not is_int(milestone):
                raise wrong_type("MultiStepLR", "milestones", milestone, "a list of int")
        self.milestones, self.gamma = Counter(milestones), _float("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        return base * self.gamma ** sum(n * (epoch >= at) for at, n in self.milestones.items())


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = _float("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        return base * self.gamma**epoch


class PolynomialLR(LRScheduler):
    """Polynomial decay of the rate to 0 in `total_iters` epochs."""

    def __init__(
        self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        if not is_int(total_iters):
            raise wrong_type("PolynomialLR", "total_iters", total_iters, "int")
        self.total_iters, self.power = total_iters, _float("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        done = _least(epoch, self.total_iters) / self.total_iters
        return base * (1.0 - done) ** self.power


class LinearLR(LRScheduler):
    """Multiplies the rate by a factor that changes linearly over `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0.0 < start_factor <= 1.0:
            raise problem(
                ValueError,
                "Starting multiplicative factor expected to be greater than 0 and less than or "
                "equal to 1.",
                got=str(start_factor),
            )
        if not 0.0 <= end_factor <= 1.0:
            raise problem(
                ValueError,
                "Ending multiplicative factor expected to be between 0 and 1.",
                got=str(end_factor),
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        done = _least(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class ConstantLR(LRScheduler):
    """Multiplies the rate by `factor` for the first `total_iters` epochs."""

    def __init__(
        self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0.0 <= factor <= 1.0:
            raise problem(
                ValueError,
                "Constant multiplicative factor expected to be between 0 and 1.",
                got=str(factor),
            )
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        return base * self.factor ** (epoch < self.total_iters)


class CosineAnnealingLR(LRScheduler):
    """Cosine annealing of the rate to `eta_min` and back (Loshchilov and Hutter, 2017)."""

    def __init__(
        self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not is_int(T_max):
            raise wrong_type("CosineAnnealingLR", "T_max", T_max, "int")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        return _cosine(base, self.eta_min, epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing with warm restarts; each cycle is `T_mult` times as long as the last."""

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not is_int(value) or value < 1:
                raise problem(ValueError, f"{name} should be an integer from 1, but got {value}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        length = self.T_0
        while epoch >= length:
            epoch -= length
            length *= self.T_mult
        return _cosine(base, self.eta_min, epoch / length)


class CyclicLR(LRScheduler):
    """Cyclical rate between `base_lr` and `max_lr` (Smith, 2017)."""

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
    ) -> None:
        if mode not in _SCALES and scale_fn is None:
            raise problem(
                ValueError, "mode is invalid and scale_fn is None", expected=", ".join(_SCALES)
            )
        count = len(optimizer.param_groups) if isinstance(optimizer, Optimizer) else 1
        self.low, self.high = _each("base_lr", base_lr, count), _each("max_lr", max_lr, count)
        self.up = float(step_size_up)
        self.total = self.up + float(step_size_up if step_size_down is None else step_size_down)
        self.gamma, self.scale_mode = gamma, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_fn = scale_fn or _SCALES.get(mode)
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        cycle = 1 + epoch // self.total
        within = epoch / self.total - (cycle - 1)
        share = self.up / self.total
        height = _least(within / share, (1 - within) / (1 - share) if share < 1 else math.inf)
        counted = cycle if self.scale_mode == "cycle" else epoch
        low, high = self.low[index], self.high[index]
        return low + (high - low) * height * self._scale(counted)

    def _scale(self, counted: Any) -> Any:
        return (
            self.gamma**counted
            if self.scale_fn is None
            else call_user_function(self.scale_fn, counted)
        )


# Amplitude of each cycle; exp_range counts epochs, with the scheduler's gamma.
_SCALES: dict[str, Callable[[float], float] | None] = {
    "triangular": lambda cycle: 1.0,
    "triangular2": lambda cycle: 0.5 ** (cycle - 1),
    "exp_range": None,
}


class LambdaLR(LRScheduler):
    """Multiplies the initial rate by a function of the epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions("LambdaLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def rate_at(self, epoch: Any, base: float, index: int) -> Any:
        return base * call_user_function(self.lr_lambdas[index], epoch)


class MultiplicativeLR(LRScheduler):
    """Multiplies the current rate by a function of the epoch, in each epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions("MultiplicativeLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch = _known(self.last_epoch)
        rates = [group["lr"].value() for group in self.optimizer.param_groups]
        if isinstance(epoch, int) and epoch <= 0:
            return rates
        factors = [call_user_function(factor, epoch) ** (epoch > 0) for factor in self.lr_lambdas]
        return [rate * factor for rate, factor in zip(rates, factors, strict=True)]


class SequentialLR(CheckedKeywords):
    """Runs schedulers one after another, switching at the milestones."""

    def __init__(
        self, optimizer: Any, schedulers: Any, milestones: Any, last_epoch: int = -1
    ) -> None:
        for scheduler in schedulers:
            if scheduler.optimizer is not optimizer:
                raise problem(ValueError, "the schedulers belong to another optimizer")
        if len(schedulers) != len(milestones) + 1:
            raise problem(
                ValueError,
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones {len(milestones)}",
            )
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self._milestones, self.last_epoch = list(milestones), _epoch_parameter(self, last_epoch)
        for group in optimizer.param_groups:
            _set_rate(group, group["initial_lr"])
        self.step()

    def step(self) -> None:
        """Advance to the next epoch."""
        ops.assign(self.last_epoch, self.last_epoch + 1)
        epoch = int(self.last_epoch)
        index = bisect_right(self._milestones, epoch)
        start = self._milestones[index - 1] if index else 0
        self._schedulers[index].step(epoch - start)

    def get_last_lr(self) -> list[Any]:
        """Current learning rates of the optimizer."""
        return [group["lr"].value() for group in self.optimizer.param_groups]


class ReduceLROnPlateau(CheckedKeywords):
    """Multiplies the rate by `factor` if a metric has not improved for `patience` epochs."""

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise problem(TypeError, f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise problem(ValueError, f"`mode` should be 'min' or 'max', but got {mode}.")
        if threshold_mode not in ("rel", "abs"):
            raise problem(
                ValueError, f"`threshold mode` should be 'rel' or 'abs', but got {threshold_mode}."
            )
        if factor >= 1.0:
            raise problem(ValueError, "The lr factor should be less than 1.0.", got=str(factor))
        self.optimizer, self.mode, self.factor = optimizer, mode, factor
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.min_lrs = _each("min_lr", min_lr, len(optimizer.param_groups))
        self.best = math.inf if mode == "min" else -math.inf
        self.wait = self.cooldown_counter = 0
        self.last_epoch = _epoch_parameter(self, 0)

    @property
    def in_cooldown(self) -> bool:
        """Whether the scheduler is in the cooldown after a reduction of the rate."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any) -> bool:
        """Report the metric of an epoch, and reduce the rates if it has stopped improving."""
        ops.assign(self.last_epoch, self.last_epoch + 1)
        int(self.last_epoch)  # marks this step for compiled programs, which run it with each call
        value = float(metrics)
        if self._is_better(value):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.wait > self.patience:
            self._lower()
            self.cooldown_counter, self.wait = self.cooldown, 0
        return True

    def get_last_lr(self) -> list[Any]:
        """Current learning rates of the optimizer."""
        return [group["lr"].value() for group in self.optimizer.param_groups]

    def _is_better(self, value: float) -> bool:
        if self.threshold_mode == "abs":
            margin = self.threshold
        else:
            margin = abs(self.best) * self.threshold if math.isfinite(self.best) else 0.0
        return value < self.best - margin if self.mode == "min" else value > self.best + margin

    def _lower(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                _set_rate(group, after)


def _epoch_parameter(scheduler: Any, epoch: int) -> Parameter:
    name = f"last_epoch_{type(scheduler).__name__}"
    return Parameter(Tensor(epoch, int32), name, requires_grad=False)


def _known(epoch: Parameter) -> Any:
    """The epoch as a number; while a function is traced, as a Tensor."""
    return int(epoch) if handlers.force is None else epoch.value()


def _set_rate(group: dict[str, Any], rate: Any) -> None:
    new = rate if isinstance(rate, Tensor) else Tensor(float(rate))
    ops.assign(group["lr"], new.astype(group["lr"].dtype))


def _least(one: Any, other: Any) -> Any:
    return ops.minimum(one, other) if isinstance(one, Tensor) else min(one, other)


def _cosine(high: float, low: float, done: Any) -> Any:
    angle = math.pi * done
    height = ops.cos(angle.astype(float32)) if isinstance(angle, Tensor) else math.cos(angle)
    return low + (high - low) * (1.0 + height) / 2.0


def _float(owner: str, argument: str, value: Any) -> float:
    if not is_number(value):
        raise wrong_type(owner, argument, value, "float")
    return float(value)


def _each(argument: str, value: Any, count: int) -> list[float]:
    """One number per group, from one number for all or a list."""
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise problem(
            ValueError,
            f"the number of {argument} must be the number of parameter groups",
            got=f"{len(values)} for {count} groups",
        )
    return [float(one) for one in values]


def _functions(owner: str, optimizer: Any, given: Any) -> list[Callable[[int], float]]:
    if not isinstance(optimizer, Optimizer):
        raise problem(TypeError, f"{type(optimizer).__name__} is not an Optimizer")
    count = len(optimizer.param_groups)
    functions = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(functions) != count:
        raise problem(
            ValueError,
            f"{owner}: there must be one function per parameter group",
            got=f"{len(functions)} for {count} groups",
        )
    for function in functions:
        if not callable(function):
            raise wrong_type(owner, "lr_lambda", function, "function")
    return functions
