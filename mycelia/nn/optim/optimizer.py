"""The base class of optimizers: learning rates, weight decay, and shared state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_positive_float
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.atomic_step import AtomicStep
from mycelia.nn.cell import Cell
from mycelia.nn.layer.container import CellList
from mycelia.nn.optim.groups import Decay, ParameterGroups, parameter_groups
from mycelia.nn.optim.learning_rates import ConstantRate, ListedRate
from mycelia.ops.control.composite import HyperMap, Map
from mycelia.ops.elementwise.arithmetic import add, mul, sub
from mycelia.ops.indexing.assign import AssignAdd
from mycelia.ops.reduction.reduction import mean
from mycelia.ops.shapes.reshape import cast, reshape
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class Optimizer(AtomicStep):
    """The base class of optimizers. Calling an optimizer with gradients updates its parameters.

    Built-in optimizers store in `update` one operator that updates all parameters in one program.
    Custom ones define `construct(self, gradients)` with `decay_weight`,
    `gradients_centralization`, `scale_grad`, and `get_lr`.
    """

    update: Any = None
    learning_rate: Any
    weight_decay: Any

    @entry_point
    def __init__(
        self,
        learning_rate: Any,
        parameters: Any,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        groups = parameter_groups(owner, parameters, learning_rate, weight_decay)
        self.loss_scale = check_positive_float(owner, "loss_scale", loss_scale)
        self.reciprocal_scale = Tensor(1.0 / self.loss_scale, dtypes.float32)
        self.need_scale = self.loss_scale != 1.0
        self.is_group = groups.grouped
        self.is_group_lr = groups.grouped_rates
        self.is_group_params_ordered = groups.ordered
        self.global_step = Parameter(Tensor([0], dtypes.int32), name="global_step")
        self._adopt_rates(groups)
        self.parameters = ParameterTuple(setting.parameter for setting in groups.settings)
        self._parameters = self.parameters
        self.param_length = len(self.parameters)
        self._adopt_decays(groups)
        self._centralize = tuple(setting.centralize for setting in groups.settings)
        self.grad_centralization = any(self._centralize)
        self._offer_tools()
        self._unique = True
        self._target = "CPU"

    def construct(self, gradients: Any) -> Any:
        raise problem(
            NotImplementedError,
            f"{type(self).__name__} does not define how to update parameters",
            fix="define construct(self, gradients)",
        )

    def _offer_tools(self) -> None:
        """Attributes that custom optimizers use in MindSpore: maps, a counter, flags."""
        self.map_, self.map_reverse = Map(), Map(None, True)
        self.hyper_map, self.hyper_map_reverse = HyperMap(), HyperMap(None, True)
        self.assignadd = AssignAdd()
        self.global_step_increase_tensor = Tensor([1], dtypes.int32)
        self.optim_filter = (True,) * self.param_length  # each device updates all parameters
        self.use_parallel, self.param_rank, self.dev_num = False, None, 1
        self.dynamic_decay_flags = self.dynamic_weight_decay

    # ---- learning rates ---------------------------------------------------------------------

    def _adopt_rates(self, groups: ParameterGroups) -> None:
        rates = [setting.rate for setting in groups.settings]
        self.dynamic_lr = any(isinstance(rate, Cell) for rate in rates)
        self._schedules: tuple[Any, ...] = ()
        self._schedule_indices: tuple[int, ...] = ()
        self._rate_of = {s.parameter.name: _shown_rate(s.rate) for s in groups.settings}
        if not self.is_group_lr:
            self.learning_rate = rates[0]
            self._schedules = (rates[0],)
        elif self.dynamic_lr:
            self._schedules, self._schedule_indices = _distinct(rates)
            self._schedules = tuple(
                rate if isinstance(rate, Cell) else ConstantRate(rate) for rate in self._schedules
            )
            cells = [self._schedules[index] for index in self._schedule_indices]
            self.learning_rate = CellList(cells, auto_prefix=False)
        else:
            for rate in rates:
                self.insert_param_to_cell(rate.name, rate)
            # A parameter may be called learning_rate, which is also the name of this attribute.
            object.__setattr__(self, "learning_rate", tuple(rates))

    def get_lr(self) -> Any:
        """The learning rate of this step; with grouped rates, a tuple with one per parameter."""
        if not self.dynamic_lr:
            return self.learning_rate
        values = tuple(reshape(rate(self.global_step), ()) for rate in self._schedules)
        if not self.is_group_lr:
            return values[0]
        return tuple(values[index] for index in self._schedule_indices)

    def get_lr_parameter(self, param: Any) -> Any:
        """The learning rate of a parameter, or a list of rates for a list of parameters."""
        if isinstance(param, list):
            return [self.get_lr_parameter(parameter) for parameter in param]
        if not isinstance(param, Parameter):
            raise wrong_type("get_lr_parameter", "param", param, "Parameter or list")
        if param.name not in self._rate_of:
            raise problem(
                ValueError,
                f"get_lr_parameter: the optimizer does not update {param.name!r}",
                expected=f"one of {', '.join(self._rate_of)}",
            )
        return self._rate_of[param.name]

    # ---- weight decay -----------------------------------------------------------------------

    def _may_decay(self, parameter: Parameter) -> bool:
        """Whether a weight decay set for all parameters applies to this one."""
        return "beta" not in parameter.name and "gamma" not in parameter.name

    def _adopt_decays(self, groups: ParameterGroups) -> None:
        decays = [setting.decay for setting in groups.settings]
        if groups.grouped:
            self.decay_flags = tuple(_decays(decay) for decay in decays)
            self.weight_decay = tuple(self._shown_decay(decay) for decay in decays)
        else:
            self.decay_flags = tuple(self._may_decay(s.parameter) for s in groups.settings)
            self.weight_decay = self._shown_decay(decays[0])
        flagged = zip(decays, self.decay_flags, strict=True)
        self._set_decays(tuple(decay if flag else 0.0 for decay, flag in flagged))

    def _set_decays(self, decays: tuple[Decay, ...]) -> None:
        self._decays = decays
        self.exec_weight_decay = any(_decays(decay) for decay in decays)
        self.dynamic_weight_decay = any(isinstance(decay, Cell) for decay in decays)
        sources, self._decay_indices = _distinct(decays)
        self._decay_sources = tuple(
            source if isinstance(source, Cell) else Tensor(source, dtypes.float32)
            for source in sources
        )

    def _shown_decay(self, decay: Decay) -> Any:
        """The decay as users see it: it applies to gradients that still carry the loss scale."""
        if isinstance(decay, Cell):
            return decay
        return Tensor(decay * self.loss_scale, dtypes.float32)

    def get_weight_decay(self) -> Any:
        """The weight decay of this step, times the loss scale; with groups, a tuple."""
        if not self.dynamic_weight_decay:
            return self.weight_decay
        if not self.is_group:
            return mul(self.weight_decay(self.global_step), self.loss_scale)
        return tuple(mul(decay, self.loss_scale) for decay in self.decays_now())

    def fixed_decays(self) -> tuple[float, ...]:
        """The weight decay of each parameter; empty if there is none or if it changes."""
        if not self.exec_weight_decay or self.dynamic_weight_decay:
            return ()
        return tuple(decay for decay in self._decays if isinstance(decay, float))

    def decays_now(self) -> Any:
        """The weight decay of each parameter at this step, or None if decays are fixed."""
        if not self.dynamic_weight_decay:
            return None
        values = [
            source(self.global_step) if isinstance(source, Cell) else source
            for source in self._decay_sources
        ]
        return tuple(values[index] for index in self._decay_indices)

    def hand_over_decay(self) -> tuple[Decay, ...]:
        """Leave the decay to a wrapper that processes the gradients first; returns the decays."""
        decays = self._decays
        self.decay_flags = (False,) * len(decays)
        self._set_decays((0.0,) * len(decays))
        if self.update is not None:
            self.update = self.update.with_fields(weight_decay=())
        return decays

    # ---- gradients --------------------------------------------------------------------------

    def decay_weight(self, gradients: Any) -> Any:
        """The gradients with weight decay added; they still carry the loss scale."""
        if not self.exec_weight_decay:
            return gradients
        decays = self.decays_now() if self.dynamic_weight_decay else self._decays
        each = zip(self.parameters, gradients, decays, self.decay_flags, strict=True)
        return tuple(
            add(gradient, cast(mul(mul(parameter, decay), self.loss_scale), gradient.dtype))
            if flag
            else gradient
            for parameter, gradient, decay, flag in each
        )

    def gradients_centralization(self, gradients: Any) -> Any:
        """Subtract the mean of each row from the gradients of groups with grad_centralization."""
        if not self.grad_centralization:
            return gradients
        return tuple(
            sub(gradient, mean(gradient, tuple(range(1, gradient.ndim)), True))
            if wanted and gradient.ndim > 1
            else gradient
            for gradient, wanted in zip(gradients, self._centralize, strict=True)
        )

    def scale_grad(self, gradients: Any) -> Any:
        """Divide the gradients by the loss scale."""
        if not self.need_scale:
            return gradients
        return tuple(mul(gradient, 1.0 / self.loss_scale) for gradient in gradients)

    def flatten_gradients(self, gradients: Any) -> Any:
        """Return the gradients unchanged: parameters are not flattened here."""
        return gradients

    def broadcast_params(self, optim_result: Any) -> Any:
        """Return the result unchanged: each device holds all parameters."""
        return optim_result

    # ---- steps ------------------------------------------------------------------------------

    def update_fields(self) -> dict[str, Any]:
        """The fields that all update operators share."""
        return {
            "weight_decay": self.fixed_decays(),
            "loss_scale": self.loss_scale,
            "centralize": self._centralize if self.grad_centralization else (),
        }

    def checked(self, gradients: Any) -> Any:
        """Check that there is one gradient of the right shape for each parameter."""
        if not isinstance(gradients, (tuple, list)):
            raise wrong_type(type(self).__name__, "gradients", gradients, "tuple of Tensors")
        if len(gradients) != self.param_length:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: the number of gradients is wrong",
                got=f"{len(gradients)} gradients",
                expected=f"{self.param_length}, one for each parameter",
            )
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if parameter.shape != gradient.shape:
                raise problem(
                    ValueError,
                    f"{type(self).__name__}: a gradient and its parameter differ in shape",
                    got=f"{gradient.shape} for {parameter.name}",
                    expected=f"{parameter.shape}",
                )
        return gradients

    def finish_step(self) -> tuple[bool, ...]:
        """Advance the step counter; returns True for each parameter."""
        self.global_step = add(self.global_step, 1)
        return (True,) * self.param_length

    # ---- properties -------------------------------------------------------------------------

    @property
    def target(self) -> str:
        """The device that updates the parameters."""
        return self._target

    @target.setter
    def target(self, value: str) -> None:
        self._set_target(value)

    def _set_target(self, value: str) -> None:
        raise problem(
            NotImplementedError,
            f"{type(self).__name__} updates parameters on their device: 'target' cannot be set",
        )

    @property
    def unique(self) -> bool:
        """Whether repeated rows of sparse gradients are summed before the update."""
        return self._unique

    @unique.setter
    def unique(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise wrong_type("Optimizer", "unique", value, "bool")
        self._unique = value


def checked_target(owner: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Check the name of the device that runs an optimizer."""
    if not isinstance(value, str):
        raise wrong_type(owner, "target", value, "str")
    if value not in allowed:
        raise wrong_value(owner, "target", value, f"one of {list(allowed)}")
    return value


def _decays(decay: Decay) -> bool:
    return isinstance(decay, Cell) or decay > 0


def _shown_rate(rate: Any) -> Any:
    return rate.learning_rate if isinstance(rate, ListedRate) else rate


def _distinct(values: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The distinct objects of `values`, and for each element its index among them."""
    indices: dict[int, int] = {}
    distinct: list[Any] = []
    for value in values:
        if id(value) not in indices:
            indices[id(value)] = len(distinct)
            distinct.append(value)
    return tuple(distinct), tuple(indices[id(value)] for value in values)
