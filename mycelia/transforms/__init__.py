"""Function transforms: `jit`, `grad`, `vmap`, Jacobians, recomputation, and sharding."""

from mycelia.transforms.compile_markers import JitConfig as JitConfig
from mycelia.transforms.compile_markers import constexpr as constexpr
from mycelia.transforms.compile_markers import jit_class as jit_class
from mycelia.transforms.compile_markers import lazy_inline as lazy_inline
from mycelia.transforms.compile_markers import mutable as mutable
from mycelia.transforms.explain import explain as explain
from mycelia.transforms.grad import GradOperation as GradOperation
from mycelia.transforms.grad import get_grad as get_grad
from mycelia.transforms.grad import grad as grad
from mycelia.transforms.grad import value_and_grad as value_and_grad
from mycelia.transforms.jacobian import jacfwd as jacfwd
from mycelia.transforms.jacobian import jacrev as jacrev
from mycelia.transforms.jacobian import jvp as jvp
from mycelia.transforms.jacobian import vjp as vjp
from mycelia.transforms.jit import jit as jit
from mycelia.transforms.jit import ms_function as ms_function
from mycelia.transforms.recompute import recompute as recompute
from mycelia.transforms.sink import data_sink as data_sink
from mycelia.transforms.vmap import vmap as vmap

__all__ = [
    "GradOperation",
    "constexpr",
    "get_grad",
    "grad",
    "jacfwd",
    "jacrev",
    "jvp",
    "value_and_grad",
    "vjp",
    "vmap",
]
