"""Gradient accumulation: one update for the gradients of several steps."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance, check_positive_int
from mycelia._engine.ir.handlers import run_if
from mycelia.nn.cell import Cell
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.elementwise.arithmetic import div
from mycelia.ops.indexing.assign import assign, assign_add
from mycelia.ops.shapes.creation import zeros_like
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class GradientAccumulation(Cell):
    """Accumulates gradients; every `max_accumulation_step` calls, the optimizer runs.

    It receives the mean of the gradients since its last update. A call returns the loss.
    """

    def __init__(self, max_accumulation_step: int, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        owner = "GradientAccumulation"
        self._max_accumulation_step = check_positive_int(
            owner, "max_accumulation_step", max_accumulation_step
        )
        self.optimizer = check_instance(owner, "optimizer", optimizer, Optimizer)
        self.weights = optimizer.parameters
        self._grad_accumulation = self.weights.clone("grad_accumulation", "zeros")
        self._accumulation_step = Parameter(Tensor(0, dtypes.int32), name="accumulation_step")

    def construct(self, loss: Any, grads: Any) -> Any:
        steps = self._max_accumulation_step
        for sum_, gradient in zip(self._grad_accumulation, grads, strict=True):
            assign_add(sum_, div(gradient, steps))
        assign_add(self._accumulation_step, 1)
        run_if(self._accumulation_step >= steps, self._update)
        return loss

    def _update(self) -> None:
        self.optimizer(tuple(self._grad_accumulation))
        for sum_ in self._grad_accumulation:
            assign(sum_, zeros_like(sum_))
        assign(self._accumulation_step, 0)
