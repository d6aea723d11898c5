"""Profiling schedules: which steps are profiled."""

from __future__ import annotations

from enum import Enum

from mycelia import log
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.keyword_suggestions import CheckedKeywords


class ProfilerAction(Enum):
    """The action of the profiler in a step."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule(CheckedKeywords):
    """A function from step numbers to profiler actions.

    After `skip_first` steps, it repeats cycles of `wait` idle, `warmup`, and `active` recorded
    steps, the last of which is saved; `repeat` is the number of cycles, 0 for no limit.
    """

    def __init__(
        self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0
    ) -> None:
        self.wait = _at_least("wait", wait, 0)
        self.active = _at_least("active", active, 1)
        self.warmup = _at_least("warmup", warmup, 0)
        self.repeat = _at_least("repeat", repeat, 0)
        self.skip_first = _at_least("skip_first", skip_first, 0)

    def __call__(self, step: int) -> ProfilerAction:
        length = self.wait + self.warmup + self.active
        number, position = divmod(step - self.skip_first, length)
        if number < 0 or (self.repeat and number >= self.repeat) or position < self.wait:
            return ProfilerAction.NONE
        if position < self.wait + self.warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD_AND_SAVE if position == length - 1 else ProfilerAction.RECORD

    def to_dict(self) -> dict[str, int]:
        """The settings by name."""
        return dict(vars(self))

    def __repr__(self) -> str:
        return f"Schedule({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


schedule = Schedule


def _at_least(name: str, value: int, minimum: int) -> int:
    if is_int(value) and value >= minimum:
        return value
    log.warning(
        "schedule: %s=%r must be an int of at least %d; using %d", name, value, minimum, minimum
    )
    return minimum
