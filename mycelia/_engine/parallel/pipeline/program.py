"""The program of a pipelined training step: its stages, and the step around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.program import Program
from mycelia._engine.parallel.pipeline.schedule import PipelineSchedule


class StageInputKind(Enum):
    """The kinds of inputs of a stage."""

    STATE = "state"  # a weight, or another tensor that outlives the call: input of the network
    BATCH = "batch"  # a microbatch of an argument, by the input of the network
    WHOLE = "whole"  # an argument that is not split into microbatches
    RANDOM = "random"  # the random key of the microbatch
    CROSSING = "crossing"  # a value of an earlier stage, by its index


@dataclass(frozen=True)
class StageInput:
    """One input of a stage."""

    kind: StageInputKind
    number: int


@dataclass(frozen=True, eq=False)
class StageProgram:
    """One chunk of the network, forward and backward.

    `forward` maps `inputs` to the `crossing` values for later chunks, the network outputs with
    indices `results`, and `kept` residuals. `backward` takes the inputs with indices `again`, the
    residuals, a gradient for each of `cotangents` (a crossing value and the chunk that sends the
    gradient) and for each of the `seeded` results, and gradient sums; it returns gradients of the
    crossing values `pulled`, and new sums for the states `summed`.
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
    """A pipelined network.

    `network` is the program of one microbatch: its inputs, its result, and the states it writes.
    `differentiated` are the states (input indices) whose gradients are needed, `homes` the home
    stages of states; the step has drawn `first_draw` random keys before.
    """

    network: Program
    stages: tuple[StageProgram, ...]
    schedule: PipelineSchedule
    arguments: tuple[int, ...]  # for each network input, the argument index, or -1
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
    """A part of the step around the pipeline: its stage, inputs, and outputs.

    `inputs` and `outputs` are value numbers: parameters of the step first, then values between
    parts. `results` are the outputs of the step that its last outputs are.
    """

    stage: int
    graph: Graph
    inputs: tuple[int, ...]
    crossing: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StepProgram:
    """A training step around one pipeline.

    `program` is the whole step; `before` computes the arguments of the pipeline and the gradient
    of its result. The values of the step are its inputs, then the outputs of the pipeline (its
    result, the gradients of `differentiated`, the `written` states), then values between parts.
    States that only the step uses (such as moments) have the `placements` on the mesh of their
    stage, and are replicated by default.
    """

    program: Program
    pipeline: PipelineProgram
    states: tuple[int, ...]  # for each network input, the input of the step, or -1
    before: Graph
    parts: tuple[StepPartProgram, ...]
    passed: Mapping[int, int]
    homes: Mapping[int, int]  # of inputs of the step
    placements: Mapping[int, tuple[Mesh, Placement]] = field(default_factory=dict)
