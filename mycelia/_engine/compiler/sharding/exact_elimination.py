"""Variable elimination on a cost graph (dynamic programming), followed by local search.

Eliminating a variable with one neighbour adds a unary cost to it; with two neighbours, a pairwise
table between them: both steps are exact (Scholz and Eckstein, 2002). The remaining core, in which
each variable has at least three neighbours, is solved by message passing. Local search then tries
moves of single variables and of linked pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mycelia._engine.compiler.sharding.cost_table import CostGraph
from mycelia._engine.compiler.sharding.trw_message_passing import pass_messages


def eliminate(choices: CostGraph) -> list[int]:
    """Find an assignment of low cost; it is optimal if all steps were exact."""
    reduction = _CostGraphReduction(choices)
    return improve(choices, reduction.solve())


def improve(choices: CostGraph, chosen: Sequence[int], rounds: int = 50) -> list[int]:
    """Improve an assignment by moves of one or two variables until none makes it cheaper."""
    now = list(chosen)
    around = _neighbours(choices)
    for _ in range(rounds):
        moved = False
        for variable in range(len(now)):
            moved |= _move_one(choices, around, now, variable)
        if not moved:
            for one, other in choices.links:
                moved |= _move_two(choices, around, now, one, other)
        if not moved:
            break
    return now


Around = list[dict[int, np.ndarray]]


def _neighbours(choices: CostGraph) -> Around:
    """For each variable, its pairwise tables, with its own options as rows."""
    around: Around = [{} for _ in choices.costs]
    for (one, other), table in choices.links.items():
        around[one][other] = table
        around[other][one] = table.T
    return around


def _local(choices: CostGraph, around: Around, now: list[int], variable: int) -> np.ndarray:
    """The cost of each option of a variable, with all others fixed."""
    cost = choices.costs[variable].copy()
    for other, table in around[variable].items():
        cost += table[:, now[other]]
    return cost


_LESS = 1e-12  # relative improvement that a move must make


def _is_less(new: float, old: float) -> bool:
    return new < old - abs(old) * _LESS


def _move_one(choices: CostGraph, around: Around, now: list[int], variable: int) -> bool:
    cost = _local(choices, around, now, variable)
    best = int(cost.argmin())
    if _is_less(cost[best], cost[now[variable]]):
        now[variable] = best
        return True
    return False


def _move_two(choices: CostGraph, around: Around, now: list[int], one: int, other: int) -> bool:
    between = around[one][other]
    first = _local(choices, around, now, one) - between[:, now[other]]
    second = _local(choices, around, now, other) - between[now[one], :]
    cost = first[:, None] + second[None, :] + between
    a, b = np.unravel_index(int(cost.argmin()), cost.shape)
    if _is_less(cost[a, b], cost[now[one], now[other]]):
        now[one], now[other] = int(a), int(b)
        return True
    return False


class _CostGraphReduction:
    """The remaining variables, and the choices of the eliminated ones for back substitution."""

    def __init__(self, choices: CostGraph) -> None:
        self.costs = [cost.astype(float) for cost in choices.costs]
        self.around = _neighbours(choices)
        self.left = set(range(len(self.costs)))
        self.gone: list[tuple[int, list[int], np.ndarray]] = []

    def solve(self) -> list[int]:
        self._reduce()
        chosen = [0] * len(self.costs)
        for variable, option in self._core():
            chosen[variable] = option
        for variable, others, best in reversed(self.gone):
            chosen[variable] = int(best[tuple([chosen[o] for o in others])])
        return chosen

    def _reduce(self) -> None:
        """Eliminate variables with at most two neighbours until there are none."""
        waiting = sorted(self.left, reverse=True)
        while waiting:
            variable = waiting.pop()
            if variable in self.left and len(self.around[variable]) <= 2:
                touched = list(self.around[variable])
                self._remove(variable)
                waiting += touched

    def _core(self) -> Iterator[tuple[int, int]]:
        """Choose an option for each remaining variable."""
        order = sorted(self.left)
        number = {variable: i for i, variable in enumerate(order)}
        core = CostGraph([self.costs[v] for v in order])
        for one in order:
            for other, table in self.around[one].items():
                if one < other:
                    core.link(number[one], number[other], table)
        found = improve(core, pass_messages(core).chosen) if order else []
        yield from zip(order, found, strict=True)

    def _remove(self, variable: int) -> None:
        others = list(self.around[variable])
        cost = self.costs[variable]
        if not others:
            best: np.ndarray = np.asarray(cost.argmin())
        elif len(others) == 1:
            table = cost[:, None] + self.around[variable][others[0]]
            best = table.argmin(0)
            self.costs[others[0]] = self.costs[others[0]] + table.min(0)
        else:
            one, other = others
            cube = (
                cost[:, None, None]
                + self.around[variable][one][:, :, None]
                + self.around[variable][other][:, None, :]
            )
            best = cube.argmin(0)
            self._link(one, other, cube.min(0))
        self._forget(variable, others, best)

    def _link(self, one: int, other: int, table: np.ndarray) -> None:
        if other in self.around[one]:
            table = table + self.around[one][other]
        self.around[one][other], self.around[other][one] = table, table.T

    def _forget(self, variable: int, others: list[int], best: np.ndarray) -> None:
        for other in self.around[variable]:
            del self.around[other][variable]
        self.around[variable] = {}
        self.left.discard(variable)
        self.gone.append((variable, others, best))
