"""Exponential moving average of weights, for evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, is_number
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.ops.elementwise.arithmetic import minimum
from mycelia.ops.indexing.assign import assign
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class ExponentialMovingAverage(Cell):
    """Optimizer wrapper that also averages its parameters (Polyak and Juditsky, 1992).

    Pass it instead of the optimizer to `Model`, `TrainOneStepCell`, or a custom training function.
    Each step runs the optimizer, then updates the mean, in one program. Other attributes, such as
    `learning_rate`, are the optimizer's. If constructed from parameters instead of an optimizer, it
    updates their mean whenever `update` is called. Checkpoints contain the means.

    The mean decays by `decay` in each step; with `warm_up`, by at most (1 + n) / (10 + n) after n
    steps, which quickly forgets the initial weights.
    """

    def __init__(self, optimizer: Any, decay: float = 0.999, warm_up: bool = True) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        if not is_number(decay):
            raise wrong_type(owner, "decay", decay, "float")
        if not 0.0 <= decay < 1.0:
            raise problem(
                ValueError,
                f"{owner}: 'decay' is out of range",
                got=str(decay),
                expected="a number in [0, 1)",
            )
        self.decay, self.warm_up = float(decay), check_bool(owner, "warm_up", warm_up)
        if isinstance(optimizer, Cell):
            self.optimizer = optimizer
        self.parameters = _averaged_parameters(owner, optimizer)
        self.averages = self.parameters.clone("average")
        for average in self.averages:
            average.requires_grad = False
        self.updates = Parameter(
            Tensor(0.0, dtypes.float32), name="average_updates", requires_grad=False
        )

    def construct(self, gradients: Any) -> Any:
        result = self.optimizer(gradients)
        self.update()
        return result

    def update(self) -> None:
        """Update the mean with the current weights."""
        count = assign(self.updates, self.updates + 1.0)
        kept = minimum((1.0 + count) / (10.0 + count), self.decay) if self.warm_up else self.decay
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            moved = average + (parameter - average) * (1.0 - kept)
            assign(average, cast(moved, average.dtype))

    def swap(self) -> None:
        """Swap weights and means; a second call swaps them back."""
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            weight = Tensor(parameter.asnumpy().copy())
            parameter.set_data(Tensor(average.asnumpy().copy()))
            average.set_data(weight)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Context manager in which the network uses the means as weights."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "optimizer" not in self.__dict__:
                raise
            return getattr(self.__dict__["optimizer"], name)


def _averaged_parameters(owner: str, optimizer: Any) -> ParameterTuple:
    """Parameters of an optimizer, or the given parameters."""
    if isinstance(optimizer, Cell) and hasattr(optimizer, "parameters"):
        return ParameterTuple(optimizer.parameters)
    if isinstance(optimizer, (list, tuple)) and optimizer:
        return ParameterTuple(optimizer)
    raise wrong_type(owner, "optimizer", optimizer, "an optimizer, or a list of Parameters")
