"""Functions that take functions: gradients, Jacobians."""
