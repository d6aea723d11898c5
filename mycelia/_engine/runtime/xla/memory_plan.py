"""The bytes that a compiled XLA program needs on each device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes on one device: arguments, outputs, what both share, and what exists in between."""

    arguments: int
    outputs: int
    shared: int
    temporary: int

    @property
    def peak(self) -> int:
        """The most bytes in use at once. (XLA's own figure lacks the temporary ones on CPU.)"""
        return self.arguments + self.outputs - self.shared + self.temporary


def memory_plan(compiled: Any) -> MemoryPlan:
    """What `jax.jit(f).lower(...).compile()` needs."""
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise problem(RuntimeError, "the platform does not say how much memory a program needs")
    return MemoryPlan(
        arguments=analysis.argument_size_in_bytes,
        outputs=analysis.output_size_in_bytes,
        shared=analysis.alias_size_in_bytes,
        temporary=analysis.temp_size_in_bytes,
    )
