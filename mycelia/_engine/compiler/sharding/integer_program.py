"""The exact optimum of a cost graph, as an integer program solved by HiGHS.

It is slower than the other searches, but exact, and serves as the reference for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from mycelia._engine.compiler.sharding.cost_table import CostGraph
from mycelia._engine.core.errors import problem


@dataclass(frozen=True)
class Optimum:
    """The assignment, its cost, and a lower bound on the cost of any assignment."""

    chosen: list[int]
    cost: float
    bound: float


def solve_integer_program(choices: CostGraph, seconds: float = 300.0) -> Optimum:
    """Find the cheapest assignment: one binary variable per option and per pair with a cost."""
    starts = np.cumsum([0, *(cost.size for cost in choices.costs)])
    links = [(i, j, table) for (i, j), table in choices.links.items() if _matters(table)]
    pair_starts = np.cumsum([0, *(table.size for _, _, table in links)]) + starts[-1]
    scale = max(float(np.concatenate(choices.costs).max(initial=0.0)), 1e-30)
    objective = np.concatenate([*choices.costs, *(table.ravel() for _, _, table in links)]) / scale
    rows = _ConstraintRows()
    for variable, cost in enumerate(choices.costs):
        rows.add([(starts[variable] + k, 1.0) for k in range(cost.size)], 1.0)
    for number, (i, j, table) in enumerate(links):
        first = pair_starts[number]
        height, width = table.shape
        for a in range(height):
            entries = [(first + a * width + b, 1.0) for b in range(width)]
            rows.add([*entries, (starts[i] + a, -1.0)], 0.0)
        for b in range(width):
            entries = [(first + a * width + b, 1.0) for a in range(height)]
            rows.add([*entries, (starts[j] + b, -1.0)], 0.0)
    whole = np.zeros(objective.size)
    whole[: starts[-1]] = 1
    found = milp(
        objective,
        integrality=whole,
        bounds=Bounds(0, 1),
        constraints=rows.constraint(objective.size),
        options={"time_limit": seconds, "mip_rel_gap": 1e-6},
    )
    if found.x is None:
        raise problem(RuntimeError, "the integer program was not solved", got=str(found.message))
    chosen = [int(found.x[starts[v] : starts[v + 1]].argmax()) for v in range(len(choices.costs))]
    bound = found.fun if found.mip_dual_bound is None else found.mip_dual_bound
    return Optimum(chosen, choices.total(chosen), float(bound) * scale)


def _matters(table: np.ndarray) -> bool:
    return bool(table.any())


class _ConstraintRows:
    """Linear equations, collected as sparse (value, row, column) triples."""

    def __init__(self) -> None:
        self._data: list[float] = []
        self._row: list[int] = []
        self._column: list[int] = []
        self._right: list[float] = []

    def add(self, entries: list[tuple[int, float]], right: float) -> None:
        number = len(self._right)
        for column, value in entries:
            self._row.append(number)
            self._column.append(int(column))
            self._data.append(value)
        self._right.append(right)

    def constraint(self, width: int) -> LinearConstraint:
        shape = (len(self._right), width)
        matrix = coo_array((self._data, (self._row, self._column)), shape=shape).tocsr()
        return LinearConstraint(matrix, self._right, self._right)
