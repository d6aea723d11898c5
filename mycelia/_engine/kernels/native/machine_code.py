"""The processor's features, and machine code for it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache

from llvmlite import binding, ir

_SPLITTING = "prefer-256-bit"  # with this feature, LLVM halves the widest vectors
_MOST = 8  # parts: with more, each would have too little work
_SPEED = 2  # LLVM's optimization level


@dataclass(frozen=True)
class ProcessorFeatures:
    """The number of float32 values per register, and the number of registers."""

    lanes: int
    registers: int
    name: str
    features: str


@cache
def processor() -> ProcessorFeatures | None:
    """The features of this machine, or None if kernels were not tested on its kind."""
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
    """The number of parts into which the work of a kernel is divided."""
    return min(len(os.sched_getaffinity(0)), _MOST)


class MachineCode:
    """An LLVM module as functions in memory, for the lifetime of the process."""

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
        """The address of a function."""
        result: int = self._engine.get_function_address(name)
        return result
