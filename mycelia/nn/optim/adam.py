"""The Adam optimizer and its variants."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import did_you_mean, problem
from mycelia.nn.float_checks import open_unit_float, positive_float
from mycelia.nn.optim.optimizer import Optimizer, checked_target
from mycelia.ops.optimizer.fused_updates import AdamUpdate, AdamWeightDecayUpdate
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

_ARGUMENTS = """
learning_rate beta1 beta2 eps use_locking use_nesterov weight_decay loss_scale use_amsgrad use_lazy
use_offload
""".split()


class Adam(Optimizer):
    """The Adam optimizer (Kingma and Ba, 2015).

    `use_amsgrad` keeps the maximum of all second moments (Reddi et al., 2018). `use_lazy` and
    `use_offload` select other implementations in MindSpore; here they have no effect.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_implementation(use_amsgrad, kwargs)
        self.use_locking = check_bool("Adam", "use_locking", use_locking)
        self.use_nesterov = check_bool("Adam", "use_nesterov", use_nesterov)
        self.use_amsgrad = check_bool("Adam", "use_amsgrad", use_amsgrad)
        self.update = AdamUpdate(
            **self.update_fields(),
            beta1=open_unit_float("Adam", "beta1", beta1),
            beta2=open_unit_float("Adam", "beta2", beta2),
            epsilon=positive_float("Adam", "eps", eps),
            use_nesterov=use_nesterov,
        )
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.beta1_power = Parameter(Tensor(1.0, dtypes.float32), name="beta1_power")
        self.beta2_power = Parameter(Tensor(1.0, dtypes.float32), name="beta2_power")
        self.moment1 = self.parameters.clone("moment1", "zeros")
        self.moment2 = self.parameters.clone("moment2", "zeros")
        self.vhat = self.parameters.clone("vhat", "zeros") if use_amsgrad else ()

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moment1,
            self.moment2,
            self.vhat,
            self.beta1_power,
            self.beta2_power,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()

    def _set_target(self, value: str) -> None:
        self._target = checked_target("Adam", value, ("CPU",))


class LazyAdam(Optimizer):
    """Adam for sparse gradients; with dense gradients it computes the same values as Adam."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        owner = "LazyAdam"
        self.use_locking = check_bool(owner, "use_locking", use_locking)
        self.use_nesterov = check_bool(owner, "use_nesterov", use_nesterov)
        self.update = AdamUpdate(
            **self.update_fields(),
            beta1=open_unit_float(owner, "beta1", beta1),
            beta2=open_unit_float(owner, "beta2", beta2),
            epsilon=positive_float(owner, "eps", eps),
            use_nesterov=use_nesterov,
        )
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.beta1_power = Parameter(Tensor([1.0], dtypes.float32), name="beta1_power")
        self.beta2_power = Parameter(Tensor([1.0], dtypes.float32), name="beta2_power")
        self.moment1 = self.parameters.clone("moment1", "zeros")
        self.moment2 = self.parameters.clone("moment2", "zeros")

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moment1,
            self.moment2,
            (),
            self.beta1_power,
            self.beta2_power,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()

    def _set_target(self, value: str) -> None:
        self._target = checked_target("LazyAdam", value, ("CPU",))


class AdamWeightDecay(Optimizer):
    """Adam with decoupled weight decay and without bias correction."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        owner = "AdamWeightDecay"
        self.update = AdamWeightDecayUpdate(
            **self.update_fields(),
            beta1=open_unit_float(owner, "beta1", beta1),
            beta2=open_unit_float(owner, "beta2", beta2),
            epsilon=positive_float(owner, "eps", eps),
        )
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.moments1 = self.parameters.clone("adam_m", "zeros")
        self.moments2 = self.parameters.clone("adam_v", "zeros")

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moments1,
            self.moments2,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()


def _check_implementation(use_amsgrad: bool, options: dict[str, Any]) -> None:
    """Check the keyword arguments that select between equivalent implementations of Adam."""
    unknown = sorted(set(options) - {"use_lazy", "use_offload"})
    if unknown:
        raise problem(
            KeyError,
            "Adam: unknown keyword arguments",
            got=", ".join(unknown),
            expected="use_lazy or use_offload",
            fix=did_you_mean(unknown[0], _ARGUMENTS),
        )
    chosen = [name for name, wanted in options.items() if check_bool("Adam", name, wanted)]
    if len(chosen) > 1:
        raise problem(ValueError, "Adam: 'use_lazy' and 'use_offload' exclude each other")
    if chosen and use_amsgrad:
        raise problem(ValueError, f"Adam: 'use_amsgrad' and '{chosen[0]}' exclude each other")
