"""The linear sum assignment problem: the pairing of rows and columns with the least cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import int64
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype


class LinearSumAssignment(Op):
    """Row and column indices of the best pairs among the first `dimension_limit` columns.

    If that leaves too few columns, the results are padded with -1.
    """

    differentiable = False
    maximize: bool = False
    examples = (case("f64[3,3]", "i64[]:<9"), case("f32[2,4]", "i64[]:<9", maximize=True))

    def infer(self, cost_matrix: TensorType, dimension_limit: TensorType) -> tuple[TensorType, ...]:
        if cost_matrix.ndim != 2:
            raise problem(
                ValueError, f"{self.name}: the cost_matrix rank must be 2", got=str(cost_matrix)
            )
        if cost_matrix.dtype.is_complex:
            raise unsupported_dtype(self.name, cost_matrix, "a tensor of real numbers")
        if dimension_limit.dtype is not int64 or dimension_limit.shape != ():
            raise problem(
                TypeError,
                f"{self.name}: the dimension_limit must be one int64",
                got=str(dimension_limit),
            )
        found = TensorType(int64, (min(cost_matrix.shape),))
        return found, found

    def lower(self, cost_matrix: Array, dimension_limit: Array) -> tuple[Array, ...]:
        shape = jax.ShapeDtypeStruct((min(cost_matrix.shape),), jnp.int64)
        return jax.pure_callback(self._assigned, (shape, shape), cost_matrix, dimension_limit)

    def _assigned(self, cost: Any, limit: Any) -> tuple[np.ndarray, np.ndarray]:
        pairs = min(cost.shape)
        costs = np.asarray(cost, np.float64)[:, : max(int(limit), 0)]
        rows, columns = assigned(-costs if self.maximize else costs)
        padding = (0, pairs - len(rows))
        return (
            np.pad(rows, padding, constant_values=-1).astype(np.int64),
            np.pad(columns, padding, constant_values=-1).astype(np.int64),
        )


def assigned(cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of least total cost, by shortest augmenting paths (Jonker and Volgenant, 1987)."""
    if cost.shape[0] > cost.shape[1]:
        columns, rows = assigned(cost.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    count, width = cost.shape
    row_price, column_price = np.zeros(count), np.zeros(width)
    column_of, row_of = np.full(count, -1), np.full(width, -1)
    for start in range(count):
        before, end = _shortest_path(cost, start, row_price, column_price, row_of)
        while True:
            row = before[end]
            row_of[end] = row
            column_of[row], end = end, column_of[row]
            if row == start:
                break
    return np.arange(count), column_of


def _shortest_path(
    cost: np.ndarray,
    start: int,
    row_price: np.ndarray,
    column_price: np.ndarray,
    row_of: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Cheapest path from a row to a free column; updates the dual prices of both sides."""
    width = cost.shape[1]
    distance, before = np.full(width, np.inf), np.full(width, -1)
    done = np.zeros(width, bool)
    rows_seen, row, reached, end = [start], start, 0.0, -1
    while end < 0:
        through = reached + cost[row] - row_price[row] - column_price
        shorter = ~done & (through < distance)
        distance[shorter], before[shorter] = through[shorter], row
        column = int(np.argmin(np.where(done, np.inf, distance)))
        reached = distance[column]
        if not np.isfinite(reached):
            raise problem(ValueError, "LinearSumAssignment: the cost matrix is infeasible")
        done[column] = True
        if row_of[column] < 0:
            end = column
        else:
            row = row_of[column]
            rows_seen.append(row)
    row_price[start] += reached
    for seen in rows_seen[1:]:
        row_price[seen] += reached - distance[np.flatnonzero(row_of == seen)[0]]
    column_price[done] -= reached - distance[done]
    return before, end
