"""The linear sum assignment problem."""

from __future__ import annotations

import sys
from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import wrong_type
from mycelia.ops.linalg.linear_sum_assignment import LinearSumAssignment
from mycelia.tensor.tensor import Tensor

ALL_COLUMNS = Tensor(sys.maxsize)


def linear_sum_assignment(
    cost_matrix: Any, maximize: bool, dimension_limit: Any = ALL_COLUMNS
) -> tuple[Any, Any]:
    """The row and column indices of an assignment with minimum (or maximum) total cost.

    Columns from `dimension_limit` on are ignored; pairs that are missing because of it are -1.
    """
    check_bool("linear_sum_assignment", "maximize", maximize)
    for name, value in (("cost_matrix", cost_matrix), ("dimension_limit", dimension_limit)):
        if not isinstance(value, Tensor):
            raise wrong_type("linear_sum_assignment", name, value, "Tensor")
    return LinearSumAssignment.of(maximize)(cost_matrix, dimension_limit)
