"""The ASGD optimizer: gradient descent with averaged parameters."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.optim.per_parameter_rate import each_rate
from mycelia.ops.elementwise.arithmetic import add, div, maximum, mul, sub
from mycelia.ops.elementwise.comparison import equal
from mycelia.ops.elementwise.power import pow
from mycelia.ops.elementwise.where import where
from mycelia.ops.indexing.assign import assign
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class ASGD(Optimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

    `ax` holds the mean of the parameters since step `t0`. The learning rate falls as
    lr / (1 + lambd * lr * step)^alpha.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd = check_instance("ASGD", "lambd", lambd, float)
        self.alpha = check_instance("ASGD", "alpha", alpha, float)
        self.t0 = check_instance("ASGD", "t0", t0, float)
        self.mu = self._scalars("mu", 1.0)
        self.eta = self._scalars("eta", 0.0)
        self.ax = self.parameters.clone("ax_", "zeros")

    def _scalars(self, prefix: str, start: float) -> ParameterTuple:
        """One scalar for each parameter."""
        return ParameterTuple(
            Parameter(Tensor(start, dtypes.float32), name=f"{prefix}_{parameter.name}")
            for parameter in self.parameters
        )

    def construct(self, gradients: Any) -> Any:
        gradients = self.gradients_centralization(self.decay_weight(self.checked(gradients)))
        rates = each_rate(self.get_lr(), self.param_length)
        step = cast(add(self.global_step, 1), dtypes.float32).reshape(())
        states = self.parameters, self.mu, self.eta, self.ax
        for parameter, mu, eta, mean, gradient, rate in zip(*states, gradients, rates, strict=True):
            used = where(equal(step, 1.0), rate, eta)
            shrunk = mul(cast(parameter, dtypes.float32), sub(1.0, mul(used, self.lambd)))
            new = sub(shrunk, mul(cast(gradient, dtypes.float32), used))
            moved = add(mean, mul(sub(new, mean), mu))
            assign(mean, cast(where(equal(mu, 1.0), new, moved), mean.dtype))
            assign(parameter, cast(new, parameter.dtype))
            slower = pow(add(mul(mul(rate, step), self.lambd), 1.0), self.alpha)
            assign(eta, div(rate, slower))
            assign(mu, div(1.0, maximum(sub(step, self.t0), 1.0)))
        return self.finish_step()
