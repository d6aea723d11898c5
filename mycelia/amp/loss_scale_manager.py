"""Loss scale managers: how `Model` scales the loss, to avoid underflow in half precision."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.nn.cell import Cell
from mycelia.nn.wrap.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

_MOST_OVERFLOWS = 1000  # consecutive overflows after which training has failed


class LossScaleManager(CheckedKeywords):
    """Base class: a loss scale, its update after a step, and the cell that updates it."""

    def get_loss_scale(self) -> Any:
        """The loss scale."""

    def update_loss_scale(self, overflow: bool) -> None:
        """Update the loss scale after a step."""

    def get_update_cell(self) -> Cell | None:
        """The cell that updates the scale in the training step, or None."""


class FixedLossScaleManager(LossScaleManager):
    """A constant loss scale; `drop_overflow_update` skips steps whose gradients overflow."""

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        self._loss_scale = check_scale("FixedLossScaleManager", "loss_scale", loss_scale)
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> float:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps whose gradients overflow are skipped."""
        return self._drop_overflow_update

    def get_update_cell(self) -> Cell | None:
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale divided by `scale_factor` on overflow, multiplied after `scale_window` good steps."""

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000
    ) -> None:
        owner = "DynamicLossScaleManager"
        self.loss_scale = check_scale(owner, "init_loss_scale", init_loss_scale)
        if scale_factor <= 0:
            raise problem(
                ValueError, f"{owner}: scale_factor must be positive", got=str(scale_factor)
            )
        self.scale_factor = scale_factor
        self.scale_window = check_positive_int(owner, "scale_window", scale_window)
        self._overflows = False  # whether the latest steps overflowed
        self._alike = 0  # consecutive steps with the same outcome

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Steps whose gradients overflow are always skipped."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        self._alike = self._alike + 1 if bool(overflow) == self._overflows else 1
        self._overflows = bool(overflow)
        if self._overflows:
            self._shrink()
        elif self._alike % self.scale_window == 0:
            self.loss_scale *= self.scale_factor

    def _shrink(self) -> None:
        self.loss_scale = max(self.loss_scale / self.scale_factor, 1)
        if self._alike > _MOST_OVERFLOWS:
            raise problem(
                RuntimeError,
                "DynamicLossScaleManager: the gradients keep overflowing",
                got=f"{self._alike} steps with overflow in a row",
                fix="look for non-finite values in the data or the network",
            )

    def get_update_cell(self) -> Cell:
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


def check_scale(owner: str, argument: str, scale: float) -> float:
    """Check a loss scale; values below 1 would shrink gradients."""
    if scale < 1:
        raise problem(
            ValueError,
            f"{owner}: a loss scale must be at least 1",
            got=f"{argument}={scale}",
            expected="1 or more",
        )
    return scale
