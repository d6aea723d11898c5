"""Optimization: minimization, line search, assignment."""

from mycelia.scipy.optimize.line_search import line_search as line_search
from mycelia.scipy.optimize.linear_sum_assignment import (
    linear_sum_assignment as linear_sum_assignment,
)
from mycelia.scipy.optimize.minimize import minimize as minimize
