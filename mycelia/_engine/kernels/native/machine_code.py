"""The processor that kernels are made for, and its machine code."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache

from llvmlite import binding, ir

_SPLITTING = "prefer-256-bit"  # a feature by which LLVM halves the largest vectors
_MOST = 8  # parts: with more, each would have too little to do
_SPEED = 2  # of LLVM's levels of optimisation


@dataclass(frozen=True)
class ProcessorFeatures:
    """How many float32 a register holds, and how many registers there are."""

    lanes: int
    registers: int
    name: str
    features: str


@cache
def processor() -> ProcessorFeatures | None:
    """This machine's, or None if it is of a kind that no kernel was tried on."""
    if not (sys.platform == "linux" and binding.get_process_triple().startswith("x86_64")):
        return None
    known = binding.get_host_cpu_features()
    known[_SPLITTING] = False
    about = binding.get_host_cpu_name(), known.flatten()
    if known.get("avx512f") and known.get("avx512vl"):
        return ProcessorFeatures(16, 32, *about)
    if known.get("avx2") and known.get("fma"):
        return ProcessorFeatures(8, 16, *about)
    return None


@cache
def cores() -> int:
    """How many parts the work of a kernel is cut into."""
    return min(len(os.sched_getaffinity(0)), _MOST)


class MachineCode:
    """A module of LLVM's as functions in memory, for as long as the process lives."""

    def __init__(self, module: ir.Module, processor: ProcessorFeatures) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=processor.name, features=processor.features, opt=_SPEED, jit=True
        )
        parsed = binding.parse_assembly(str(module))
        parsed.verify()
        options = binding.create_pipeline_tuning_options(speed_level=_SPEED)
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(parsed, builder)
        self._engine = binding.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function lies."""
        return self._engine.get_function_address(name)
