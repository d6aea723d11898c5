"""The Rprop optimizer: steps that depend on the signs of gradients only."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance, check_range
from mycelia._engine.core.errors import problem
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.optim.per_parameter_rate import each_rate
from mycelia.ops.elementwise.arithmetic import mul, sign, sub
from mycelia.ops.elementwise.comparison import equal, less
from mycelia.ops.elementwise.lerp import clamp
from mycelia.ops.elementwise.where import where
from mycelia.ops.indexing.assign import assign
from mycelia.ops.shapes.creation import zeros_like
from mycelia.ops.shapes.reshape import cast


class Rprop(Optimizer):
    """The Rprop optimizer (Riedmiller and Braun, 1993).

    Step sizes grow while a gradient keeps its sign, and shrink when the sign changes. `etas` are
    the factors for shrinking and growing, `step_sizes` the smallest and largest step; the
    learning rate is the initial step size.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.etas, self.step_sizes = etas, step_sizes
        self.etaminus, self.etaplus = _pair("etas", etas)
        self.step_size_min, self.step_size_max = _pair("step_sizes", step_sizes)
        _check_etas(self.etaminus, self.etaplus)
        _check_sizes(self.step_size_min, self.step_size_max)
        self.prev = self.parameters.clone("prev", "zeros")
        self.step_size = self.parameters.clone("step_size", "zeros")

    def construct(self, gradients: Any) -> Any:
        gradients = self.gradients_centralization(self.decay_weight(self.checked(gradients)))
        rates = each_rate(self.get_lr(), self.param_length)
        each = zip(self.parameters, self.prev, self.step_size, gradients, rates, strict=True)
        for parameter, before, size, gradient, rate in each:
            gradient = cast(gradient, parameter.dtype)
            turn = sign(mul(gradient, before))
            factor = where(
                less(turn, 0.0), self.etaminus, where(equal(turn, 0.0), 1.0, self.etaplus)
            )
            start = where(equal(self.global_step, 0), cast(rate, size.dtype), size)
            new = clamp(
                mul(start, cast(factor, size.dtype)), self.step_size_min, self.step_size_max
            )
            gradient = where(less(turn, 0.0), zeros_like(gradient), gradient)
            assign(parameter, sub(parameter, mul(sign(gradient), new)))
            assign(before, gradient)
            assign(size, new)
        return self.finish_step()


def _pair(name: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, tuple):
        raise problem(TypeError, f"Rprop: {name} must be a tuple", got=type(value).__name__)
    if len(value) != 2:
        raise problem(
            ValueError,
            f"Rprop: {name} must be a pair",
            got=repr(value),
        )
    return value[0], value[1]


def _check_etas(minus: Any, plus: Any) -> None:
    check_instance("Rprop", "etaminus", minus, float)
    check_instance("Rprop", "etaplus", plus, float)
    check_range("Rprop", "etaminus", minus, 0.0, 1.0, closed="none")
    if plus <= 1.0:
        raise problem(ValueError, "Rprop: etaplus must be above 1.0", got=f"etaplus {plus}")


def _check_sizes(smallest: Any, largest: Any) -> None:
    check_instance("Rprop", "min_step_sizes", smallest, float)
    check_instance("Rprop", "max_step_sizes", largest, float)
    if smallest > largest:
        raise problem(
            ValueError,
            "Rprop: the smallest step is larger than the largest",
            got=f"{smallest} > {largest}",
        )
