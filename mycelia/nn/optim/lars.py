"""The LARS optimizer wrapper, which scales gradients to the norm of each parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_instance
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.optimizer.fused_updates import LarsScale
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


def _is_weight(parameter: Parameter) -> bool:
    return "LayerNorm" not in parameter.name and "bias" not in parameter.name


class LARS(Optimizer):
    """Wraps an optimizer and scales its gradients layer by layer (You et al., 2017).

    `lars_filter` selects the parameters that are scaled. The wrapped optimizer's weight decay is
    applied here instead, to the scaled parameters.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-05,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _is_weight,
    ) -> None:
        super().__init__(0.0, [Parameter(Tensor(0.0, dtypes.float32), name="fake_param")])
        check_instance("LARS", "optimizer", optimizer, Optimizer)
        check_instance("LARS", "epsilon", epsilon, float)
        check_instance("LARS", "coefficient", coefficient, float)
        self.use_clip = check_bool("LARS", "use_clip", use_clip)
        self.learning_rate = Parameter(Tensor(0.0, dtypes.float32), name="fake_lr")
        self.lars_flag = tuple(bool(lars_filter(parameter)) for parameter in optimizer.parameters)
        self._take_over(optimizer)
        # Gradients still carry the loss scale here, and the wrapped optimizer divides it out. With
        # every constant multiplied by the scale, the result is the scaled gradient times the scale.
        self.update = LarsScale(
            epsilon * self.loss_scale,
            coefficient * self.loss_scale,
            self.use_clip,
            tuple(decay * self.loss_scale for decay in self.fixed_decays()),
            self.lars_flag,
        )
        self.opt = optimizer

    def _take_over(self, optimizer: Optimizer) -> None:
        """Use the parameters and the weight decay of `optimizer`."""
        self.global_step = optimizer.global_step
        self.parameters = optimizer.parameters
        self.param_length = optimizer.param_length
        self.is_group = optimizer.is_group
        self.loss_scale = optimizer.loss_scale
        self.need_scale = optimizer.need_scale
        self.reciprocal_scale = optimizer.reciprocal_scale
        self.weight_decay = optimizer.weight_decay
        self.decay_flags = optimizer.decay_flags
        self._set_decays(optimizer.hand_over_decay())

    def construct(self, gradients: Any) -> Any:
        rates = self.opt.get_lr() if self.use_clip else self.learning_rate
        decays = self.decays_now()
        if decays is not None:
            decays = tuple(mul(decay, self.loss_scale) for decay in decays)
        return self.opt(self.update(self.parameters, self.checked(gradients), rates, decays))
