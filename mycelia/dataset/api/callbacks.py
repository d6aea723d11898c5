"""Callbacks of `map`."""

from __future__ import annotations

from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.dataset.api import arguments as check
from mycelia.dataset.runtime.map_callbacks import DSRunContext


class DSCallback(CheckedKeywords):
    """Base class of callbacks of `map`: called around the map, its epochs, and its rows.

    `ds_step_begin` and `ds_step_end` are called for every `step_size`-th row.
    """

    def __init__(self, step_size: int = 1) -> None:
        if check.integer("step_size", step_size) < 1:
            raise problem(ValueError, "step_size: must be at least 1", got=str(step_size))
        self.step_size = step_size

    def ds_begin(self, ds_run_context: DSRunContext) -> None:
        """Before the first row of the first epoch."""

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Before the first row of an epoch."""

    def ds_epoch_end(self, ds_run_context: DSRunContext) -> None:
        """After the last row of an epoch."""

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Before a row is processed."""

    def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        """After a row was processed."""
