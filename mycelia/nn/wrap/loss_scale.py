"""Training with loss scaling, which keeps small gradients from underflowing in float16."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.handlers import run_if
from mycelia.nn.cell import Cell
from mycelia.nn.wrap.cell_wrapper import TrainOneStepCell, scaled_gradients
from mycelia.ops.control.composite import HyperMap
from mycelia.ops.elementwise.arithmetic import addn, div, maximum, mul, reciprocal, sub
from mycelia.ops.elementwise.comparison import (
    FloatStatus,
    greater,
    greater_equal,
    logical_not,
    logical_or,
)
from mycelia.ops.elementwise.where import select
from mycelia.ops.indexing.assign import assign, assign_add
from mycelia.ops.reduction.reduction import reduce_sum
from mycelia.ops.shapes.reshape import cast, identity, reshape
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class FixedLossScaleUpdateCell(Cell):
    """A constant loss scale."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The initial loss scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """A dynamic loss scale: divided by `scale_factor` on overflow, but never below 1.

    After `scale_window` steps without overflow, it is multiplied by `scale_factor`.
    """

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value
        self.scale_factor = Tensor(scale_factor, dtypes.float32)
        self.scale_window = Tensor(scale_window, dtypes.int32)
        self.cur_iter = Parameter(Tensor(1, dtypes.int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(
            Tensor(0, dtypes.int32), name="last_overflow_iterator_step"
        )

    def get_loss_scale(self) -> float:
        """The initial loss scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        step, last_change = self.cur_iter, self.last_overflow_iter
        overflowed = cast(overflow, dtypes.bool_)
        long_enough = greater_equal(sub(step, last_change), self.scale_window)
        grown = select(long_enough, mul(loss_scale, self.scale_factor), loss_scale)
        shrunk = maximum(div(loss_scale, self.scale_factor), 1.0)
        assign(loss_scale, select(overflowed, shrunk, grown))
        changed = logical_or(overflowed, long_enough)
        assign(last_change, select(changed, step, last_change))
        assign_add(step, Tensor(1, dtypes.int32))
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """A training step on a scaled loss; skips the update if a gradient is not finite.

    `scale_sense` is the loss scale, or an update cell that provides and adjusts it. The result is
    `(loss, overflow, scale)`. Subclasses may call the parts of the step separately.
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer, sens=None)
        self.hyper_map = HyperMap()
        self.loss_scaling_manager = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            start = Tensor(scale_sense.get_loss_scale(), dtypes.float32)
            self.scale_sense = Parameter(start, name="scale_sense")
        elif isinstance(scale_sense, Tensor):
            if scale_sense.shape not in ((), (1,)):
                raise problem(
                    ValueError,
                    "For 'TrainOneStepWithLossScaleCell', the shape of 'scale_sense' must be "
                    "(1,) or ()",
                    got=f"{scale_sense.shape}",
                )
            self.scale_sense = Parameter(scale_sense, name="scale_sense")
        else:
            raise wrong_type(
                "TrainOneStepWithLossScaleCell", "scale_sense", scale_sense, "Cell or Tensor"
            )

    def construct(self, *inputs: Any) -> tuple[Any, Any, Any]:
        scale = identity(self.scale_sense)
        loss, gradients = scaled_gradients(self.network, self.weights, scale, inputs)
        gradients = self._unscaled(gradients, scale)
        gradients = self.grad_reducer(gradients)
        overflow = self.process_loss_scale(self.get_overflow_status(None, gradients))
        run_if(logical_not(cast(overflow, dtypes.bool_)), lambda: self.optimizer(gradients))
        return loss, overflow, scale

    def _unscaled(self, gradients: tuple[Any, ...], scale: Any) -> tuple[Any, ...]:
        factor = reshape(reciprocal(scale), ())
        return tuple(mul(gradient, cast(factor, gradient.dtype)) for gradient in gradients)

    def set_sense_scale(self, sens: Any) -> None:
        """Set the loss scale, if there is no update cell."""
        if not isinstance(sens, Tensor):
            raise wrong_type("TrainOneStepWithLossScaleCell", "sens", sens, "Tensor")
        self.scale_sense.set_data(sens, slice_shape=True)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Any, Any]:
        """Start watching for overflow: no effect here, where gradients are checked afterwards."""
        return Tensor(False), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Any:
        """Whether any gradient is not finite, as a bool Tensor."""
        statuses = self.hyper_map(FloatStatus.of(), compute_output)
        return greater(reduce_sum(addn(statuses)), 0.0)

    def process_loss_scale(self, overflow: Any) -> Any:
        """Let the update cell, if there is one, adjust the scale; returns `overflow`."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow
