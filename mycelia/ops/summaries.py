"""Summary operators: they publish values, as events, for whoever records the training."""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia.core.checks import check_instance
from mycelia.core.errors import problem
from mycelia.core.events import publish
from mycelia.ir.primitive import Primitive
from mycelia.ir.slot import effect
from mycelia.ir.value import Value, type_of


class Summary(Primitive):
    """Publishes `name` and `value` as an event of its kind; the value has a fitting rank."""

    kind: ClassVar[str] = ""
    ranks: ClassVar[tuple[int, float]] = (0, float("inf"))

    def __call__(self, name: str, value: Any) -> None:
        check_instance(self.name, "name", name, str)
        check_instance(self.name, "value", value, Value)
        low, high = self.ranks
        if not low <= len(value.shape) <= high:
            raise problem(
                ValueError,
                f"{self.name}: the value has a wrong number of dimensions",
                got=str(type_of(value)),
                expected=f"{low} to {high} dimensions",
            )
        effect(lambda tensor: publish(self.kind, name=name, value=tensor), self.name, value)


class ScalarSummary(Summary):
    """Publishes one number."""

    kind = "scalar"
    ranks = (0, 1)


class TensorSummary(Summary):
    """Publishes a whole tensor."""

    kind = "tensor"
    ranks = (1, float("inf"))


class HistogramSummary(Summary):
    """Publishes a tensor of which the distribution matters."""

    kind = "histogram"
    ranks = (1, float("inf"))


class ImageSummary(Summary):
    """Publishes images of shape (N, C, H, W)."""

    kind = "image"
    ranks = (4, 4)
