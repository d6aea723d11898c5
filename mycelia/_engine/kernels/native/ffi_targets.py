"""The native kernels that XLA programs can call; each is compiled on first use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir

from mycelia._engine.jax_setup import Array, jax
from mycelia._engine.kernels.native import MADE, convolution, recurrent
from mycelia._engine.kernels.native.ffi_handler import KernelSignature, write_handler
from mycelia._engine.kernels.native.machine_code import (
    MachineCode,
    ProcessorFeatures,
    cores,
    processor,
)


class NativeKernel(NamedTuple):
    """A kernel's signature, and the function that writes it."""

    signature: Callable[[int], KernelSignature]
    write: Callable[[ir.Module, str, ProcessorFeatures, KernelSignature], ir.Function]


KERNELS = {
    "convolution_weight_gradient": NativeKernel(
        convolution.weight_gradient, convolution.write_weight_gradient
    ),
    "lstm_forward": NativeKernel(recurrent.lstm_forward, recurrent.write_lstm_forward),
    "lstm_backward": NativeKernel(recurrent.lstm_backward, recurrent.write_lstm_backward),
}


def call(
    name: str, processor: ProcessorFeatures, results: Sequence[Any], *arrays: Array
) -> list[Array]:
    """The results (of these shapes and dtypes) of a kernel."""
    kernel = jax.ffi.ffi_call(target(name, processor), results, vmap_method="sequential")
    return list(kernel(*arrays))


@cache
def target(name: str, processor: ProcessorFeatures) -> str:
    """The name under which XLA knows a kernel, which is compiled now."""
    public = _public(name, processor)
    signature = KERNELS[name].signature(cores())
    module = ir.Module(public)
    kernel = KERNELS[name].write(module, f"{name}.part", processor, signature)
    write_handler(module, public, kernel, signature)
    code = MADE[public] = MachineCode(module, processor)
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(public))
    jax.ffi.register_ffi_target(public, jax.ffi.pycapsule(handler), platform="cpu")
    return public


def are_ready(wanted: Collection[str]) -> bool:
    """Create the kernels of these targets; False if one is for another processor.

    The name of a target contains everything that its machine code depends on.
    """
    here = processor()
    assert here is not None, "no kernels for this processor"
    known = {_public(name, here): name for name in KERNELS}
    if not known.keys() >= set(wanted):
        return False
    for public in wanted:
        target(known[public], here)
    return True


def _public(name: str, processor: ProcessorFeatures) -> str:
    return f"mycelia_{name}_{processor.lanes}x{cores()}"
