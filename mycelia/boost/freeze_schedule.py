"""Schedules of layer freezing: which group of parameters is trained at which step."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mycelia._engine.core.checks import check_range
from mycelia._engine.core.errors import problem

_OWNER = "GradientFreeze"


def planned_turns(groups: int, strategy: int, share: float, steps: int) -> list[int]:
    """The group for each step: group 0, the whole network, gets about `share` of them.

    Strategy 0 repeats one cycle, strategy 1 distributes the other groups evenly and draws them.
    """
    if groups <= 1:
        return [0] * steps
    if strategy not in _STRATEGIES:
        raise problem(
            ValueError,
            f"{_OWNER}: unknown freezing strategy",
            got=repr(strategy),
            expected=f"one of {list(_STRATEGIES)}",
        )
    return _STRATEGIES[strategy](groups, share, steps)


def _cycled(groups: int, share: float, steps: int) -> list[int]:
    """Group 0 as often as its share requires, then each other group once, repeated."""
    share = check_range(_OWNER, "freeze_p", share, 0, 1, closed="left")
    others = list(range(1, groups))
    cycle = [0] * int(share * len(others) // (1 - share)) + others
    return cycle * math.ceil(steps / len(cycle))


def _drawn(groups: int, share: float, steps: int) -> list[int]:
    """Other groups whenever they are below their share, drawn with odds by their length.

    There is one extra turn per hundred steps, for training runs that are slightly longer.
    """
    share = check_range(_OWNER, "freeze_p", share, 0, 1)
    turns = np.zeros(steps + steps // 100, np.int64)
    due = np.ceil((1 - share) * np.arange(turns.size))
    falls_to_others = np.diff(due, prepend=0) > 0
    odds = np.arange(groups - 1, 0, -1)
    turns[falls_to_others] = np.random.choice(
        np.arange(1, groups), np.count_nonzero(falls_to_others), p=odds / odds.sum()
    )
    return turns.tolist()


_STRATEGIES: dict[int, Callable[[int, float, int], list[int]]] = {0: _cycled, 1: _drawn}
