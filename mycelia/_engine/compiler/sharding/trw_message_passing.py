"""Sequential tree-reweighted message passing (TRW-S; Kolmogorov, 2006) on cyclic cost graphs.

Variables are ordered, every monotonic path is a chain with its share of the costs, and each pass
does dynamic programming on all chains together. The shares are adjusted until the chains agree, or
nearly. The total of the chains' optima is a lower bound on the cost of any assignment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mycelia._engine.compiler.sharding.cost_table import CostGraph

MAX_ITERATIONS = 200
PATIENCE = 6  # passes without a better bound or assignment
OPTIMALITY_GAP = 1e-3  # accepted excess of an assignment over the bound, relative


@dataclass(frozen=True)
class MessagePassingResult:
    """The best assignment found, and the lower bound."""

    chosen: list[int]
    cost: float
    bound: float


def pass_messages(choices: CostGraph) -> MessagePassingResult:
    """Pass messages until the chains agree or nothing improves."""
    passing = _MessagePassing(choices)
    best, best_cost, bound, idle = [0] * len(choices.costs), np.inf, -np.inf, 0
    for _ in range(MAX_ITERATIONS):
        chosen = passing.forward()
        cost = choices.total(chosen)
        lower = passing.backward()
        better = cost < best_cost * (1 - 1e-9) or lower > bound + abs(bound) * 1e-5
        if cost < best_cost:
            best, best_cost = chosen, cost
        bound = max(bound, lower)
        idle = 0 if better else idle + 1
        if idle >= PATIENCE or best_cost - bound <= OPTIMALITY_GAP * abs(bound):
            break
    return MessagePassingResult(best, float(best_cost), float(bound))


class _MessagePassing:
    """The current messages; variables are ordered by number."""

    def __init__(self, choices: CostGraph) -> None:
        self.costs = choices.costs
        count = len(choices.costs)
        self.before: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(count)]
        self.after: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(count)]
        for (one, other), table in sorted(choices.links.items(), key=lambda item: item[0]):
            self.after[one].append((other, table))
            self.before[other].append((one, np.ascontiguousarray(table.T)))
        self.share = [
            1.0 / max(len(a), len(b), 1) for a, b in zip(self.after, self.before, strict=True)
        ]
        self.message: dict[tuple[int, int], np.ndarray] = {}
        for one, other in choices.links:
            self.message[one, other] = np.zeros(choices.costs[other].size)
            self.message[other, one] = np.zeros(choices.costs[one].size)

    def _total(self, variable: int) -> np.ndarray:
        total = self.costs[variable].copy()
        for other, _ in self.before[variable]:
            total += self.message[other, variable]
        for other, _ in self.after[variable]:
            total += self.message[other, variable]
        return total

    def forward(self) -> list[int]:
        """Send messages to later variables, and choose each variable given the earlier ones."""
        chosen: list[int] = []
        for variable in range(len(self.costs)):
            total = self._total(variable)
            decided = self.costs[variable].copy()
            for other, table in self.before[variable]:
                decided += table[:, chosen[other]]
            for other, _ in self.after[variable]:
                decided += self.message[other, variable]
            chosen.append(int(decided.argmin()))
            part = total * self.share[variable]
            for other, table in self.after[variable]:
                new = (table + (part - self.message[other, variable])[:, None]).min(0)
                self.message[variable, other] = new - new.min()
        return chosen

    def backward(self) -> float:
        """Send messages to earlier variables; returns the lower bound."""
        bound = 0.0
        for variable in reversed(range(len(self.costs))):
            total = self._total(variable)
            least = float(total.min())
            bound += least
            part = (total - least) * self.share[variable]
            for other, table in self.before[variable]:
                new = (table + (part - self.message[other, variable])[:, None]).min(0)
                least = float(new.min())
                bound += least
                self.message[variable, other] = new - least
        return bound
