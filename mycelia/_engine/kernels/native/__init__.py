"""Kernels of our own, as machine code for the processor at hand, called from XLA's programs.

This is the door to them. What is behind it needs LLVM, and is imported when a kernel may be called.
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
FORM = "a kernel of its own"
MADE: dict[str, Any] = {}  # machine code that XLA may call, by the names of targets


def lanes() -> int:
    """How many float32 a register holds; 0 if there are no kernels for this processor."""
    found = None if _LLVM is None else machine_code.processor()
    return 0 if found is None else found.lanes


def parts() -> int:
    """How many parts the work of a kernel is cut into."""
    return machine_code.cores()


def call(name: str, results: Sequence[Any], *arrays: Array) -> list[Array]:
    """The results (of such shapes and dtypes) of a kernel, where there are any."""
    processor = machine_code.processor()
    assert processor is not None, "no kernels for this processor"
    return ffi_targets.call(name, processor, results, *arrays)


def arrays(*shapes: Shape) -> list[Any]:
    """Results of such shapes; all kernels are for float32."""
    return [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]


def differentiated_as(plain: Callable[..., Any], fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, with the derivatives of `plain`, which computes the same."""
    found = jax.custom_jvp(fn)
    found.defjvp(lambda given, changes: jax.jvp(plain, given, changes))
    return found


def called_by(lowered: Any) -> list[str]:
    """The targets that a program (of jax) calls."""
    text = lowered.as_text() if MADE else ""
    return [target for target in MADE if f"@{target}(" in text]


def are_ready(wanted: Collection[str]) -> bool:
    """Make the kernels that a kept program calls; False if it was made for another processor."""
    if not wanted:
        return True
    return bool(lanes()) and ffi_targets.are_ready(wanted)
