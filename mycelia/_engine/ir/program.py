"""A program: what the compiler hands to the runtime, and the runtime runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from mycelia._engine.core.source_location import Span
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.ir.graph import Graph


class InputSource(Enum):
    """Where the runtime takes an input of a program from."""

    ARGUMENT = "argument"  # a leaf of the call's arguments, by its number
    STATE = "state"  # the array of a tensor that outlives the call
    RANDOM = "random"  # the random state of the process


@dataclass(frozen=True, eq=False)
class ProgramInput:
    """One input: its source, and which one (a number, a tensor, nothing)."""

    source: InputSource
    which: Any = None


@dataclass(frozen=True, eq=False)
class ProgramSharding:
    """Where a program's inputs and the tensors it writes lie on a mesh of devices.

    `parts` says which inputs are arguments of which every process brings its own part.
    """

    mesh: Mesh
    inputs: tuple[Placement, ...]
    writes: tuple[Placement, ...]
    parts: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Program:
    """A closed graph with what its inputs and outputs stand for.

    The graph gives a tuple: first `results` values for the caller, then one new array for each
    tensor in `writes` (an int names an argument); then how many random keys were drawn, if `drawn`
    does not say; how large its stacks had to be, if it has stacks of some `capacity`; which of the
    uses in `unbound` met a variable without a value, counted from 1, or 0; a token of effects.
    A program for several devices says in `spread` where its inputs lie; its graph says the rest.
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
        """Which output is the new array of which input."""
        inputs = {
            id(g.which): i for i, g in enumerate(self.inputs) if g.source is InputSource.STATE
        }
        places = enumerate(self.writes, self.results)
        return {place: inputs[id(w)] for place, w in places if id(w) in inputs}

    @property
    def replaced(self) -> dict[int, int]:
        """Which output is written over which input: a tensor of the state or of the arguments."""
        numbers = {
            g.which: i for i, g in enumerate(self.inputs) if g.source is InputSource.ARGUMENT
        }
        places = enumerate(self.writes, self.results)
        return self.in_place | {p: numbers[w] for p, w in places if isinstance(w, int)}

    @property
    def keeps_types(self) -> bool:
        """Whether all that is written keeps its shape and dtype."""
        types, parameters = self.graph.output.type, self.graph.parameters
        return all(types[p] == parameters[i].type for p, i in self.replaced.items())

    @property
    def name(self) -> str:
        return self.graph.name
