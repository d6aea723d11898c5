"""Programs: what the compiler passes to the runtime for execution."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from mycelia._engine.core.source_location import Span
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.ir.graph import Graph


class InputSource(Enum):
    """The source of a program input."""

    ARGUMENT = "argument"  # a leaf of the call's arguments, by index
    STATE = "state"  # the array of a tensor that outlives the call
    RANDOM = "random"  # the random state of the process


@dataclass(frozen=True, eq=False)
class ProgramInput:
    """One input: its source, and which one (an index, a tensor, nothing)."""

    source: InputSource
    which: Any = None


@dataclass(frozen=True, eq=False)
class ProgramSharding:
    """The placement of a program's inputs and of the tensors it writes on a device mesh.

    `parts` are the inputs that are arguments of which every process supplies its own shard.
    """

    mesh: Mesh
    inputs: tuple[Placement, ...]
    writes: tuple[Placement, ...]
    parts: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Program:
    """A closed graph with the meaning of its inputs and outputs.

    The graph returns a tuple: first `results` values for the caller, then a new array for each
    tensor in `writes` (an int is the index of an argument). Then follow, as far as they apply: the
    number of random keys drawn, if `drawn` is None; the stack size that was needed, if the program
    has stacks of some `capacity`; which use in `unbound` met a variable without a value, counted
    from 1, or 0; an effect token. For a program for several devices, `spread` says where its inputs
    are placed; its graph says the rest.
    """

    graph: Graph
    inputs: tuple[ProgramInput, ...]
    results: int
    writes: tuple[Any, ...]
    drawn: int | None
    capacity: int | None
    unbound: tuple[tuple[str, Span | None], ...] = ()
    spread: ProgramSharding | None = None

    @property
    def in_place(self) -> dict[int, int]:
        """Output index -> index of the state input that it replaces."""
        inputs = {
            id(g.which): i for i, g in enumerate(self.inputs) if g.source is InputSource.STATE
        }
        outputs = enumerate(self.writes, self.results)
        return {position: inputs[id(w)] for position, w in outputs if id(w) in inputs}

    @property
    def replaced(self) -> dict[int, int]:
        """Output index -> index of the input (state or argument) that it overwrites."""
        numbers = {
            g.which: i for i, g in enumerate(self.inputs) if g.source is InputSource.ARGUMENT
        }
        outputs = enumerate(self.writes, self.results)
        return self.in_place | {p: numbers[w] for p, w in outputs if isinstance(w, int)}

    @property
    def keeps_types(self) -> bool:
        """Whether every written tensor keeps its shape and dtype."""
        types, parameters = self.graph.output.type, self.graph.parameters
        return all(types[p] == parameters[i].type for p, i in self.replaced.items())

    @property
    def name(self) -> str:
        return self.graph.name
