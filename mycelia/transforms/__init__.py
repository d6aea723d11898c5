"""Functions that take functions: gradients, Jacobians."""

from mycelia.transforms.grad import GradOperation as GradOperation
from mycelia.transforms.grad import get_grad as get_grad
from mycelia.transforms.grad import grad as grad
from mycelia.transforms.grad import value_and_grad as value_and_grad
from mycelia.transforms.jacobian import jacfwd as jacfwd
from mycelia.transforms.jacobian import jacrev as jacrev
from mycelia.transforms.jacobian import jvp as jvp
from mycelia.transforms.jacobian import vjp as vjp

__all__ = [
    "GradOperation",
    "get_grad",
    "grad",
    "jacfwd",
    "jacrev",
    "jvp",
    "value_and_grad",
    "vjp",
]
