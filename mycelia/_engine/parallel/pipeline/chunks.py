"""The chunks of a pipelined network: their inputs and outputs, forward and backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mycelia._engine.compiler.autodiff.accumulation import is_inexact
from mycelia._engine.compiler.passes.memory_estimate import type_bytes
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.parallel.pipeline.partition import StagedGraph, StageSubgraph, needing
from mycelia._engine.parallel.pipeline.program import StageInput, StageInputKind
from mycelia._engine.parallel.pipeline.stage_gradients import StageGraphs, differentiate_stage
from mycelia._engine.parallel.pipeline.stage_layouts import StageLayout
from mycelia._engine.parallel.pipeline.step_tracing import PipelineCall


@dataclass
class PipelineChunk:
    """A chunk of the network while its pipeline is being built."""

    part: StageSubgraph
    inputs: tuple[StageInput, ...]
    crossing: tuple[int, ...]
    active: tuple[int, ...]  # inputs whose gradients earlier chunks need
    trained: tuple[int, ...]  # inputs whose gradients are accumulated
    graphs: StageGraphs | None = None
    cotangents: tuple[tuple[int, int], ...] = ()
    seeded: tuple[int, ...] = ()
    layout: StageLayout | None = None

    @property
    def laid_out(self) -> StageLayout:
        """Its layout, once it is planned."""
        assert self.layout is not None
        return self.layout

    @property
    def number(self) -> int:
        result: int = self.part.place
        return result

    def pulled(self) -> tuple[int, ...]:
        """The crossing values whose gradients it computes."""
        assert self.graphs is not None
        return tuple([self.inputs[i].number for i in self.graphs.pulled])


def chunks_of(
    call: PipelineCall, placed: StagedGraph, parts: Sequence[StageSubgraph]
) -> list[PipelineChunk]:
    """The chunks of a partitioned network, before differentiation."""
    network = call.network
    numbers: dict[GraphNode, int] = {p: i for i, p in enumerate(placed.graph.parameters)}
    crossing: dict[GraphNode, int] = {}
    for part in parts:
        for node in part.crossing:
            crossing[node] = len(crossing)
    trained = set(call.differentiated)
    live: set[int] = set()  # crossing values that depend on weights
    found = []
    for part in parts:
        inputs = tuple([_given(network, numbers, crossing, node) for node in part.inputs])
        own = tuple(
            [
                i
                for i, g in enumerate(inputs)
                if g.kind is StageInputKind.STATE and g.number in trained
            ]
        )
        taken = tuple(
            [
                i
                for i, g in enumerate(inputs)
                if g.kind is StageInputKind.CROSSING and g.number in live
            ]
        )
        nodes = [n for n in ordered(part.graph) if isinstance(n, Apply)]
        touched = needing(nodes, {part.graph.parameters[i] for i in (*own, *taken)})
        assert isinstance(part.graph.output, Apply)
        for node, inner in zip(part.crossing, part.graph.output.args, strict=False):
            if inner in touched and is_inexact(inner.type):
                live.add(crossing[node])
        given = tuple([crossing[node] for node in part.crossing])
        found.append(PipelineChunk(part, inputs, given, taken, own))
    return found


def _given(
    network: Program,
    numbers: Mapping[GraphNode, int],
    crossing: Mapping[GraphNode, int],
    node: GraphNode,
) -> StageInput:
    if not isinstance(node, GraphParameter):
        return StageInput(StageInputKind.CROSSING, crossing[node])
    number = numbers[node]
    source = network.inputs[number].source
    if source is InputSource.STATE:
        return StageInput(StageInputKind.STATE, number)
    if source is InputSource.RANDOM:
        return StageInput(StageInputKind.RANDOM, number)
    return StageInput(StageInputKind.BATCH if node.type.shape else StageInputKind.WHOLE, number)


def check_writes(call: PipelineCall, chunks: Sequence[PipelineChunk]) -> None:
    """Raise unless each state that the network writes is read and written in only one stage."""
    network = call.network
    numbers = {id(g.which): i for i, g in enumerate(network.inputs)}
    for place, tensor in enumerate(network.writes, network.results):
        number = numbers[id(tensor)]
        readers = {
            c.part.place for c in chunks if StageInput(StageInputKind.STATE, number) in c.inputs
        }
        writers = {c.part.place for c in chunks if place in c.part.results}
        if len(readers | writers) > 1 or not writers:
            raise problem(
                RuntimeError,
                "the network updates a parameter in one pipeline stage and reads it in another",
                got=f"{getattr(tensor, 'name', 'a tensor')} in stages {sorted(readers | writers)}",
            )


def differentiate(call: PipelineCall, chunks: Sequence[PipelineChunk]) -> None:
    """Differentiate all chunks, last to first: later chunks determine which gradients arrive."""
    coming: dict[int, list[int]] = {}  # crossing value: the chunks that send its gradients
    for chunk in reversed(chunks):
        seeds: dict[int, int] = {}
        cotangents: list[tuple[int, int]] = []
        for place, number in enumerate(chunk.crossing):
            if number in coming:
                seeds[place] = len(coming[number])
                cotangents += [(number, reader) for reader in coming[number]]
        if 0 in chunk.part.results:
            seeds[len(chunk.crossing) + chunk.part.results.index(0)] = 1
            chunk.seeded = (0,)
        portable = [i for i, g in enumerate(chunk.inputs) if g.kind is StageInputKind.STATE]
        chunk.graphs = differentiate_stage(
            chunk.part.graph, seeds, chunk.active, chunk.trained, portable, call.keeps
        )
        chunk.cotangents = tuple(cotangents)
        for number in chunk.pulled():
            coming.setdefault(number, []).append(chunk.part.place)


def taken_bytes(chunk: PipelineChunk) -> int:
    """The bytes a chunk receives from other chunks per microbatch."""
    pairs = zip(chunk.inputs, chunk.part.graph.parameters, strict=True)
    return sum(type_bytes(p.type) for g, p in pairs if g.kind is StageInputKind.CROSSING)


def kept_bytes(chunk: PipelineChunk) -> int:
    """The bytes a chunk stores for the backward pass per microbatch, without states."""
    graphs = chunk.graphs
    assert graphs is not None
    if graphs.backward is None:
        return 0
    first = len(graphs.inputs)
    parameters = graphs.backward.parameters
    total = sum(type_bytes(p.type) for p in parameters[first : first + graphs.kept])
    for number, parameter in zip(graphs.inputs, parameters, strict=False):
        if chunk.inputs[number].kind not in (StageInputKind.STATE, StageInputKind.WHOLE):
            total += type_bytes(parameter.type)
    return total
