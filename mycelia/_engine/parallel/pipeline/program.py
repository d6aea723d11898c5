"""What the runtime is given to run a pipeline: its stages, and the step around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.program import Program
from mycelia._engine.parallel.pipeline.schedule import PipelineSchedule


class StageInputKind(Enum):
    """What an input of a stage is."""

    STATE = "state"  # a weight, or another tensor that outlives the call: input of the network
    BATCH = "batch"  # a part of an argument, by the input of the network
    WHOLE = "whole"  # an argument that is not cut into micro-batches
    RANDOM = "random"  # the random key of the micro-batch
    CROSSING = "crossing"  # a value of an earlier stage, by its number


@dataclass(frozen=True)
class StageInput:
    """One input of a stage."""

    kind: StageInputKind
    number: int


@dataclass(frozen=True, eq=False)
class StageProgram:
    """One chunk of the network, forward and backward.

    `forward` takes `inputs`; it gives the values `crossing` for later chunks, then the network's
    outputs numbered in `results`, then `kept` arrays. `backward` takes those of the inputs numbered
    in `again`, what was kept, a gradient for each of `cotangents` (a crossing value and the chunk
    it comes from) and of `seeded` results, then sums of gradients; it gives gradients for the
    crossing values `pulled`, and the new sums of the states `summed`.
    """

    number: int
    mesh: Mesh
    forward: Graph
    backward: Graph | None
    inputs: tuple[StageInput, ...]
    placements: tuple[Placement, ...]  # of the inputs
    crossing: tuple[int, ...]
    results: tuple[int, ...]
    kept: int
    again: tuple[int, ...] = ()
    cotangents: tuple[tuple[int, int], ...] = ()
    seeded: tuple[int, ...] = ()
    pulled: tuple[int, ...] = ()
    summed: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class PipelineProgram:
    """A network in stages.

    `network` is the program for one micro-batch: its inputs, its one result, what it writes.
    `differentiated` are the states (numbers of inputs) whose gradients are wanted, `homes` the
    stages where states live; `first_draw` random keys were drawn before in the step.
    """

    network: Program
    stages: tuple[StageProgram, ...]
    schedule: PipelineSchedule
    arguments: tuple[int, ...]  # for each input of the network, which argument it is, or -1
    differentiated: tuple[int, ...]
    homes: Mapping[int, int]
    first_draw: int = 0

    @property
    def written(self) -> tuple[int, ...]:
        """The inputs that the network writes, in the order of its outputs."""
        numbers = {id(g.which): i for i, g in enumerate(self.network.inputs)}
        return tuple([numbers[id(tensor)] for tensor in self.network.writes])


@dataclass(frozen=True, eq=False)
class StepPartProgram:
    """A part of the step behind the pipeline: where it runs, what it takes and gives.

    `inputs` and `outputs` are names of values: parameters of the step by number, values between
    parts by names of their own. `results` says which outputs of the step are its last outputs.
    """

    stage: int
    graph: Graph
    inputs: tuple[int, ...]
    crossing: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StepProgram:
    """A step of training around one pipeline.

    `program` is the step as a whole; `before` gives the arguments of the pipeline and the gradient
    of its result. The values of the step are its inputs, then what the pipeline gives (its result,
    the gradients of `differentiated`, what is `written`), then what parts give each other.
    States of the step alone (moments) lie on the mesh of their stage as `placements` say, whole if
    it says nothing.
    """

    program: Program
    pipeline: PipelineProgram
    states: tuple[int, ...]  # for each input of the network: the input of the step it is, or -1
    before: Graph
    parts: tuple[StepPartProgram, ...]
    passed: Mapping[int, int]
    homes: Mapping[int, int]  # of inputs of the step
    placements: Mapping[int, tuple[Mesh, Placement]] = field(default_factory=dict)
