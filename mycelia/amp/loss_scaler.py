"""Loss scalers for custom training steps, to avoid underflow in half precision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from typing import Any

from mycelia._engine.core.checks import check_instance, check_positive_int
from mycelia._engine.core.dtype import bool_, float32, int32
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.amp.loss_scale_manager import check_scale
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.comparison import isfinite, logical_and
from mycelia.ops.elementwise.where import select
from mycelia.ops.indexing.assign import assign
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.compile_markers import jit_class


def all_finite(inputs: Any) -> Any:
    """Whether all elements of a tensor, or of a tuple or list of them, are finite."""
    tensors = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    if not tensors or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise problem(
            TypeError,
            "all_finite: expected a Tensor, or a tuple or list of Tensors",
            got=", ".join(type(tensor).__name__ for tensor in tensors) or "nothing",
        )
    return reduce(logical_and, [isfinite(tensor).all() for tensor in tensors])


@jit_class
class LossScaler(CheckedKeywords, ABC):
    """Base class: `scale` the loss, `unscale` the gradients, `adjust` after each step."""

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """Multiply tensors by the scale."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """Divide tensors by the scale."""

    @abstractmethod
    def adjust(self, grads_finite: Any) -> bool:
        """Update the scale after a step; returns whether it was adjusted."""


class StaticLossScaler(LossScaler):
    """A constant loss scale."""

    def __init__(self, scale_value: float) -> None:
        self.scale_value = _scale_parameter(type(self).__name__, scale_value)

    def scale(self, inputs: Any) -> Any:
        return _each(inputs, lambda x: x * cast(self.scale_value, x.dtype))

    def unscale(self, inputs: Any) -> Any:
        return _each(inputs, lambda x: x * cast(1.0 / self.scale_value, x.dtype))

    def adjust(self, grads_finite: Any) -> bool:
        return False


class DynamicLossScaler(StaticLossScaler):
    """A scale divided by `scale_factor` when gradients overflow, but never below 1.

    After `scale_window` steps without overflow, it is multiplied by `scale_factor`.
    """

    @entry_point
    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__(scale_value)
        owner = "DynamicLossScaler"
        self.scale_factor = check_positive_int(owner, "scale_factor", scale_factor)
        self.scale_window = check_positive_int(owner, "scale_window", scale_window)
        self.counter = Parameter(Tensor(0, int32), name="counter")  # good steps since an adjustment

    def adjust(self, grads_finite: Any) -> bool:
        is_good = cast(grads_finite, bool_)
        good_steps = select(is_good, self.counter + 1, 0)
        following = select(is_good, self._grown(good_steps), self._shrunk())
        assign(self.scale_value, following)
        assign(self.counter, good_steps % self.scale_window)
        return True

    def _grown(self, good_steps: Any) -> Any:
        """The scale after consecutive good steps: larger if there are enough."""
        larger = self.scale_value * self.scale_factor
        is_due = logical_and(good_steps == self.scale_window, isfinite(larger))
        return select(is_due, larger, self.scale_value)

    def _shrunk(self) -> Any:
        return maximum(self.scale_value / self.scale_factor, 1.0)


def _each(inputs: Any, change: Any) -> Any:
    if isinstance(inputs, (tuple, list)):
        return type(inputs)([_each(part, change) for part in inputs])
    return change(inputs)


def _scale_parameter(owner: str, scale_value: Any) -> Parameter:
    check_instance(owner, "scale_value", scale_value, (float, int))
    checked = check_scale(owner, "scale_value", scale_value)
    return Parameter(Tensor(checked, float32), name="scale_value")
