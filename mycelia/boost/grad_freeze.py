"""Training with layer freezing: each step updates one group of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.ir.handlers import call_user_function
from mycelia.boost.freeze_schedule import planned_turns
from mycelia.boost.grad_accumulation import GradientAccumulation
from mycelia.boost.optimizer_process import OptimizerProcess
from mycelia.boost.parameter_process import ParameterProcess, without_empty
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Identity
from mycelia.nn.layer.container import CellList
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.wrap.cell_wrapper import scaled_gradients
from mycelia.nn.wrap.grad_reducer import DistributedGradReducer
from mycelia.ops.shapes.creation import full_like
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

# A group starts at a layer, with at least this many parameters between two starts.
_LEAST_BETWEEN_STARTS = 3


class FreezeOpt(Cell):
    """Optimizers like `opt` in `opts`, one for each group of parameters.

    `train_strategy` lists the group of each step; without it, groups take turns. A list of
    learning rates that is at most as long as the strategy is divided: each group gets those of its
    steps.
    """

    def __init__(
        self, opt: Any, train_parameter_groups: Any = None, train_strategy: Any = None
    ) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(opt, Optimizer):
            raise problem(
                TypeError, "FreezeOpt: 'opt' must be an Optimizer", got=type(opt).__name__
            )
        if train_parameter_groups is None and train_strategy is not None:
            raise problem(ValueError, "FreezeOpt: 'train_strategy' needs 'train_parameter_groups'")
        groups = _checked_groups(opt, train_parameter_groups)
        self.parameters = opt.parameters
        self.opt_class = type(opt)
        self.groups_num = len(groups)
        self.train_strategy = _as_turns(train_strategy)
        turns = _checked_turns(self.train_strategy, self.groups_num)
        optimizers = [
            _optimizer_for(opt, group, turns, index) for index, group in enumerate(groups)
        ]
        self.opts = CellList(optimizers, auto_prefix=False)


class GradientFreeze(CheckedKeywords):
    """Chooses the groups and the steps of training with layer freezing.

    `freeze_p` is the share of steps that train the whole network.
    """

    def __init__(
        self, param_groups: int, freeze_type: int, freeze_p: float, total_steps: int
    ) -> None:
        self._group_count = param_groups
        self._strategy = freeze_type
        self._share = freeze_p
        self._steps = total_steps

    def split_parameters_groups(
        self, net: Cell, freeze_para_groups_number: int
    ) -> list[list[Parameter]]:
        """Groups from different layers to the last one; the first is the whole network.

        If a network has too few layers for the number of groups, each group is the whole network.
        """
        parameters = net.trainable_params()
        starts = _possible_starts(parameters)
        stride = len(starts) // freeze_para_groups_number
        return [parameters[starts[n * stride] :] for n in range(freeze_para_groups_number)]

    def generate_freeze_index_sequence(
        self, parameter_groups_number: int, freeze_strategy: int, freeze_p: float, total_steps: int
    ) -> list[int]:
        """The index of the group to train, for each step."""
        return planned_turns(parameter_groups_number, freeze_strategy, freeze_p, total_steps)

    def freeze_generate(self, network: Cell, optimizer: Any) -> tuple[Cell, FreezeOpt]:
        """The network unchanged, and a FreezeOpt like `optimizer` for it."""
        groups = self.split_parameters_groups(network, self._group_count)
        turns = planned_turns(self._group_count, self._strategy, self._share, self._steps)
        return network, FreezeOpt(optimizer, groups, turns)


def freeze_cell(
    reducer_flag: bool,
    network: Any,
    optimizer: Any,
    sens: Any,
    grad: Any,
    use_grad_accumulation: bool,
    mean: bool | None = None,
    degree: int | None = None,
    max_accumulation_step: int = 1,
) -> tuple[Cell, ...]:
    """Training steps for the groups of a FreezeOpt; each returns the loss.

    `grad` computes the gradients of parameters, as `GradOperation(get_by_list=True)` does; None
    means the gradients of `sens` times the loss.
    """
    steps = []
    for single in optimizer.opts:
        reducer: Cell = Identity()
        if reducer_flag:
            reducer = DistributedGradReducer(tuple(single.parameters), mean, degree)
        count = max_accumulation_step if use_grad_accumulation else None
        steps.append(_GroupStep(network, single, sens, grad, reducer, count))
    return tuple(steps)


class _GroupStep(Cell):
    """One step for the parameters of one optimizer; with a count, gradients are accumulated."""

    def __init__(
        self, network: Any, optimizer: Any, sens: Any, grad: Any, reducer: Cell, count: int | None
    ) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.grad_reducer = reducer
        self._sens, self._grad = sens, grad
        self._gathers = count is not None
        self._gathering: Any = None
        if count is not None:
            self._gathering = GradientAccumulation(count, optimizer)

    def construct(self, *inputs: Any) -> Any:
        loss, gradients = self._loss_and_gradients(inputs)
        gradients = self.grad_reducer(gradients)
        if self._gathers:
            return self._gathering(loss, gradients)
        self.optimizer(gradients)
        return loss

    def _loss_and_gradients(self, inputs: tuple[Any, ...]) -> tuple[Any, Any]:
        weights = self.optimizer.parameters
        if self._grad is None:
            return scaled_gradients(self.network, weights, self._sens, inputs)
        loss = call_user_function(self.network, *inputs)
        gradients_of = self._grad(self.network, weights)
        if not self._grad.sens_param:
            return loss, gradients_of(*inputs)
        return loss, gradients_of(
            *inputs, full_like(loss, 1.0 if self._sens is None else self._sens)
        )


def _checked_groups(opt: Optimizer, groups: Any) -> list[Sequence[Parameter]]:
    """The groups of parameters; by default, a single group with all parameters."""
    if groups is None:
        return [opt.parameters]
    if not isinstance(groups, (tuple, list)):
        raise problem(
            TypeError,
            "FreezeOpt: 'train_parameter_groups' must be a tuple or list",
            got=type(groups).__name__,
        )
    for group in groups:
        if not isinstance(group, (tuple, list)):
            raise problem(
                TypeError,
                "FreezeOpt: a group of parameters must be a tuple or a list",
                got=type(group).__name__,
            )
    return list(groups)


def _as_turns(strategy: Any) -> Tensor | None:
    """The group of each step as a tensor, or None if groups take turns."""
    if strategy is None:
        return None
    if isinstance(strategy, Tensor):
        if strategy.ndim != 1 or strategy.dtype != dtypes.int32:
            raise problem(
                ValueError,
                "FreezeOpt: a Tensor as 'train_strategy' must have one int32 for each step",
                got=f"shape {strategy.shape} of {strategy.dtype}",
            )
        return strategy
    if not isinstance(strategy, (tuple, list)):
        raise problem(
            TypeError,
            "FreezeOpt: 'train_strategy' must be a tuple, list, or Tensor",
            got=type(strategy).__name__,
        )
    if not all(is_int(turn) for turn in strategy):
        raise problem(
            ValueError,
            "FreezeOpt: 'train_strategy' must have an int for each step",
            got=repr(strategy),
        )
    return Tensor(list(strategy), dtypes.int32)


def _checked_turns(strategy: Tensor | None, groups: int) -> np.ndarray | None:
    """The values of a strategy, which must be valid indices of groups."""
    if strategy is None:
        return None
    turns = strategy.asnumpy()
    if not turns.size or turns.min() < 0 or turns.max() >= groups:
        raise problem(
            ValueError,
            "FreezeOpt: 'train_strategy' must contain valid indices of groups",
            got=str(sorted(set(turns.tolist()))),
            expected=f"numbers below {groups}",
        )
    return turns


def _optimizer_for(
    opt: Optimizer, group: Sequence[Parameter], turns: np.ndarray | None, index: int
) -> Any:
    """An optimizer like `opt` for one group, with unique names for its states."""
    process = OptimizerProcess(opt)
    process.learning_rate = _rates_of_group(process.learning_rate, turns, index)
    process.origin_params = list(group)
    if opt.is_group:
        process.origin_params = _settings_of_group(opt, group, turns, index)
    optimizer = process.generate_new_optimizer()
    weights = {id(weight) for weight in optimizer.parameters}
    for parameter in optimizer.get_parameters():
        if id(parameter) not in weights:
            parameter.name = f"boost_{index}{parameter.name}"
    return optimizer


def _settings_of_group(
    opt: Optimizer, group: Sequence[Parameter], turns: np.ndarray | None, index: int
) -> list[dict[str, Any]]:
    origin = OptimizerProcess(opt).origin_params
    groups = without_empty(ParameterProcess.generate_group_params(group, origin))
    return [
        {**settings, "lr": _rates_of_group(settings["lr"], turns, index)}
        if "lr" in settings
        else settings
        for settings in groups
    ]


def _rates_of_group(rate: Any, turns: np.ndarray | None, index: int) -> Any:
    """From a list of rates, those of the steps that train the group `index`.

    A group without a turn gets the whole list, as do all groups if the strategy is shorter than
    the list.
    """
    if turns is None or not isinstance(rate, Tensor) or not rate.ndim or rate.size > turns.size:
        return rate
    rates = rate.asnumpy()
    own = rates[turns[: rates.size] == index]
    return own.tolist() if own.size else rate


def _possible_starts(parameters: Sequence[Parameter]) -> list[int]:
    """Indices where a group may start: never at a bias, whose layer starts before it."""
    starts = [0]
    for index, parameter in enumerate(parameters):
        if index - starts[-1] >= _LEAST_BETWEEN_STARTS and not parameter.name.endswith("bias"):
            starts.append(index)
    return starts
