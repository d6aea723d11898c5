"""Memory of a compiled XLA program on each device, in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes on one device: arguments, outputs, aliased buffers, and temporaries."""

    arguments: int
    outputs: int
    shared: int
    temporary: int

    @property
    def peak(self) -> int:
        """Peak memory in bytes. (XLA's own figure lacks temporaries on CPU.)"""
        return self.arguments + self.outputs - self.shared + self.temporary


def memory_plan(compiled: Any) -> MemoryPlan:
    """The memory plan of `jax.jit(f).lower(...).compile()`."""
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise problem(RuntimeError, "the platform does not report the memory of programs")
    return MemoryPlan(
        arguments=analysis.argument_size_in_bytes,
        outputs=analysis.output_size_in_bytes,
        shared=analysis.alias_size_in_bytes,
        temporary=analysis.temp_size_in_bytes,
    )
