"""Plans of training with frozen layers: which group of parameters has its turn at which step."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mycelia._engine.core.checks import check_range
from mycelia._engine.core.errors import problem

_OWNER = "GradientFreeze"


def planned_turns(groups: int, strategy: int, share: float, steps: int) -> list[int]:
    """The group for each step: group 0, the whole network, gets about `share` of them.

    Strategy 0 repeats one cycle, strategy 1 spreads the other groups out and draws them.
    """
    if groups <= 1:
        return [0] * steps
    if strategy not in _STRATEGIES:
        raise problem(
            ValueError,
            f"{_OWNER}: unknown strategy of freezing",
            got=repr(strategy),
            expected=f"one of {list(_STRATEGIES)}",
        )
    return _STRATEGIES[strategy](groups, share, steps)


def _cycled(groups: int, share: float, steps: int) -> list[int]:
    """Group 0 so often that it has its share, then each other group once, and again."""
    share = check_range(_OWNER, "freeze_p", share, 0, 1, closed="left")
    others = list(range(1, groups))
    cycle = [0] * int(share * len(others) // (1 - share)) + others
    return cycle * math.ceil(steps / len(cycle))


def _drawn(groups: int, share: float, steps: int) -> list[int]:
    """Other groups as soon as they fell behind their share, the longer ones drawn more often.

    There is one turn more for each hundred steps, for a training that takes a little longer.
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
