"""Sparse matrices: iterative solvers of linear systems."""

from mycelia.scipy.sparse import linalg as linalg
