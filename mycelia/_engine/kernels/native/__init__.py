"""Native kernels: machine code for this processor, which XLA programs call.

This module is the interface. The implementation needs LLVM, and is imported when a kernel may be
called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from mycelia._engine.core.lazy_import import LazyModule, optional_module
from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jax, jnp

if TYPE_CHECKING:
    from mycelia._engine.kernels.native import ffi_targets, machine_code
else:
    machine_code = LazyModule("mycelia._engine.kernels.native.machine_code")
    ffi_targets = LazyModule("mycelia._engine.kernels.native.ffi_targets")

_LLVM = optional_module("llvmlite")
FORM = "a native kernel"
MADE: dict[str, Any] = {}  # machine code that XLA may call, by target name


def lanes() -> int:
    """The number of float32 values in a register; 0 if this processor is not supported."""
    features = None if _LLVM is None else machine_code.processor()
    return 0 if features is None else features.lanes


def parts() -> int:
    """The number of parts into which the work of a kernel is divided."""
    return machine_code.cores()


def call(name: str, results: Sequence[Any], *arrays: Array) -> list[Array]:
    """The results (of these shapes and dtypes) of calling a kernel."""
    processor = machine_code.processor()
    assert processor is not None, "no kernels for this processor"
    return ffi_targets.call(name, processor, results, *arrays)


def arrays(*shapes: Shape) -> list[Any]:
    """Result types of these shapes; all kernels use float32."""
    return [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]


def differentiated_as(plain: Callable[..., Any], fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` with the derivatives of `plain`, which computes the same values."""
    differentiable = jax.custom_jvp(fn)
    differentiable.defjvp(lambda primals, tangents: jax.jvp(plain, primals, tangents))
    return differentiable


def called_by(lowered: Any) -> list[str]:
    """The targets that a (jax) program calls."""
    text = lowered.as_text() if MADE else ""
    return [target for target in MADE if f"@{target}(" in text]


def are_ready(wanted: Collection[str]) -> bool:
    """Create the kernels that a cached program calls; False if it is for another processor."""
    if not wanted:
        return True
    return bool(lanes()) and ffi_targets.are_ready(wanted)
