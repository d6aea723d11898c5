"""Training steps with the algorithms of AutoBoost."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.handlers import run_if
from mycelia.boost.boost import AutoBoost
from mycelia.boost.grad_accumulation import GradientAccumulation
from mycelia.boost.grad_freeze import FreezeOpt, freeze_cell
from mycelia.nn.wrap.cell_wrapper import TrainOneStepCell, scaled_gradients
from mycelia.nn.wrap.loss_scale import TrainOneStepWithLossScaleCell
from mycelia.ops.elementwise.comparison import logical_not
from mycelia.ops.elementwise.remainder import floor_mod
from mycelia.ops.indexing.assign import assign_add
from mycelia.ops.indexing.gather import gather
from mycelia.ops.shapes.reshape import cast, identity
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class BoostTrainOneStepCell(TrainOneStepCell):
    """One training step, with layer freezing for a FreezeOpt, or gradient accumulation."""

    def __init__(self, network: Any, optimizer: Any, sens: Any = None) -> None:
        super().__init__(network, optimizer, sens)
        self.auto_boost = AutoBoost()
        config = self.auto_boost.boost_config
        self.use_grad_accumulation = config["grad_accumulation"]
        self.max_accumulation_step = (
            self.auto_boost.grad_accumulation_step if self.use_grad_accumulation else 1
        )
        self.freeze = isinstance(optimizer, FreezeOpt)
        self.enable_adasum = self.check_adasum_enable()
        self.enable_dim_reduce = self.check_dim_reduce_enable()
        self._freezing: Any = None
        self._gathering: Any = None
        if self.freeze:
            self._freezing = _FreezingSteps(self)
        elif self.use_grad_accumulation:
            self._gathering = GradientAccumulation(self.max_accumulation_step, optimizer)

    def construct(self, *inputs: Any) -> Any:
        if self.freeze:
            return self.gradient_freeze_process(*inputs)
        sens = self.sens if self.sense_flag else None
        loss, gradients = scaled_gradients(self.network, self.weights, sens, inputs)
        gradients = self.grad_reducer(gradients)
        if self.use_grad_accumulation:
            return self.gradient_accumulation_process(loss, gradients, sens, *inputs)
        self.optimizer(gradients)
        return loss

    def gradient_freeze_process(self, *inputs: Any) -> Any:
        """One step of the optimizer whose turn it is; returns the loss."""
        return self._freezing(*inputs)

    def gradient_accumulation_process(self, loss: Any, grads: Any, sens: Any, *inputs: Any) -> Any:
        """Accumulate the gradients of this step; returns the loss."""
        return self._gathering(loss, grads)

    def check_adasum_enable(self) -> bool:
        """Whether gradients of several processes are summed by AdaSum; not supported here."""
        return False

    def check_dim_reduce_enable(self) -> bool:
        """Whether training steps use dimension reduction."""
        if self.auto_boost.boost_config["dim_reduce"]:
            raise problem(
                NotImplementedError, "BoostTrainOneStepCell: 'dim_reduce' is not supported"
            )
        return False


class _FreezingSteps(TrainOneStepCell):
    """The steps of a FreezeOpt, in the order of its strategy, which is repeated."""

    def __init__(self, owner: BoostTrainOneStepCell) -> None:
        optimizer = owner.optimizer
        super().__init__(owner.network, optimizer)
        self.freeze_nets = freeze_cell(
            False,
            owner.network,
            optimizer,
            owner.sens if owner.sense_flag else None,
            None,
            owner.use_grad_accumulation,
            max_accumulation_step=owner.max_accumulation_step,
        )
        turns = optimizer.train_strategy
        if turns is None:
            turns = Tensor(list(range(optimizer.groups_num)), dtypes.int32)
        self._turns, self._length = turns, turns.shape[0]
        self.step = Parameter(Tensor(0, dtypes.int32), name="step")

    def construct(self, *inputs: Any) -> Any:
        index = floor_mod(identity(self.step), self._length)
        turn = gather(self._turns, index, 0)
        assign_add(self.step, 1)
        for number, cell in enumerate(self.freeze_nets[:-1]):
            if turn == number:
                return cell(*inputs)
        return self.freeze_nets[-1](*inputs)


class BoostTrainOneStepWithLossScaleCell(BoostTrainOneStepCell, TrainOneStepWithLossScaleCell):
    """A boosted training step on a scaled loss; the result is `(loss, overflow, scale)`.

    If a gradient is not finite, nothing is updated or accumulated.
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        if isinstance(optimizer, FreezeOpt):
            raise problem(
                TypeError,
                "BoostTrainOneStepWithLossScaleCell: FreezeOpt does not support loss scaling",
                fix="use BoostTrainOneStepCell",
            )
        super().__init__(network, optimizer, scale_sense)

    def construct(self, *inputs: Any) -> tuple[Any, Any, Any]:
        scale = identity(self.scale_sense)
        loss, gradients = scaled_gradients(self.network, self.weights, scale, inputs)
        gradients = self.grad_reducer(self._unscaled(gradients, scale))
        overflow = self.process_loss_scale(self.get_overflow_status(None, gradients))
        run_if(
            logical_not(cast(overflow, dtypes.bool_)),
            lambda: (
                self._gathering(loss, gradients)
                if self.use_grad_accumulation
                else self.optimizer(gradients)
            ),
        )
        return loss, overflow, scale
