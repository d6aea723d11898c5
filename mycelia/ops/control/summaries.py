"""Summary operators, which publish values as events for training logs."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from mycelia._engine.core.checks import check_instance
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.events import has_listeners, publish
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.handlers import guarded_fact, run_effect
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import TensorProtocol, type_of


class Summary(Primitive):
    """Base class of summaries: publishes `name` and `value` as an event of its kind."""

    kind: ClassVar[str] = ""
    expected: ClassVar[str] = ""

    @staticmethod
    def fits(shape: Shape) -> bool:
        """Whether values of this shape can be published."""
        raise NotImplementedError

    def __call__(self, name: str, value: Any) -> None:
        if not check_instance(self.name, "name", name, str):
            raise wrong_value(self.name, "name", name, "a non-empty str")
        check_instance(self.name, "value", value, TensorProtocol)
        if not self.fits(value.shape):
            raise problem(
                ValueError,
                f"{self.name}: the value has the wrong shape",
                got=str(type_of(value)),
                expected=self.expected,
            )
        if guarded_fact(has_listeners, self.kind):
            run_effect(lambda tensor: publish(self.kind, name=name, value=tensor), self.name, value)


class ScalarSummary(Summary):
    """Publishes a scalar."""

    kind = "scalar"
    expected = "one element and at most one dimension"

    @staticmethod
    def fits(shape: Shape) -> bool:
        return len(shape) <= 1 and prod(shape) == 1


class TensorSummary(Summary):
    """Publishes a tensor."""

    kind = "tensor"
    expected = "one dimension or more"

    @staticmethod
    def fits(shape: Shape) -> bool:
        return len(shape) >= 1


class HistogramSummary(TensorSummary):
    """Publishes a tensor as a histogram."""

    kind = "histogram"


class ImageSummary(Summary):
    """Publishes images of shape (N, C, H, W)."""

    kind = "image"
    expected = "four dimensions (N, C, H, W)"

    @staticmethod
    def fits(shape: Shape) -> bool:
        return len(shape) == 4
