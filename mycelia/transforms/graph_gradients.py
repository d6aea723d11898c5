"""Eager gradients, of any order, through compiled graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia._engine.compiler.autodiff.activity import wanted_operands
from mycelia._engine.compiler.autodiff.control_flow import ControlFlowGradients
from mycelia._engine.compiler.autodiff.joint_graph import JointGraph, build_joint_graph
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.compiler.passes.pipeline import optimize
from mycelia._engine.core.pending_checks import poll_checks
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.program_copy import copy_program
from mycelia._engine.runtime.eager.thread_mode import recording_on_tape, thread_mode
from mycelia._engine.runtime.executor import LoopStackOverflow
from mycelia._engine.runtime.xla.compile import compile, without_engine_frames
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia._engine.runtime.xla.materialization import runtime_one
from mycelia.tensor.tensor import Tensor


class DifferentiableGraph:
    """A closed graph, returning a tuple of arrays, that eager mode can differentiate.

    Under an active tape, it runs a version that also returns the residuals. Its backward pass is a
    differentiable graph, too. Gradients start from the first `seeded` results.
    """

    def __init__(self, graph: Graph, seeded: int, capacity: int) -> None:
        self.graph = graph
        self.seeded = seeded
        self.capacity = capacity
        self._plain = _GraphRunner(optimize(copy_program(graph)))
        self._forward: _GraphRunner | None = None

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        recording = thread_mode.recording
        arrays = [t._data for t in inputs]
        if recording is None or not any(m is not None for m in map(recording.mark_of, inputs)):
            return [Tensor._wrap(a) for a in self._plain(arrays)]
        if self._forward is None:
            self._prepare()
        assert self._forward is not None
        found = self._forward(arrays)
        count = len(self.graph.output.type)
        outputs = [Tensor._wrap(a) for a in found[:count]]
        rest = found[count:]
        if self._has_needed:
            if int(rest[-1]) > self.capacity:
                raise LoopStackOverflow(int(rest[-1]))
            rest = rest[:-1]
        kept = [Tensor._wrap(a) for a in rest]
        watched = tuple([inputs[i] for i in self._wanted])
        recording.record_custom(
            watched, tuple(outputs[: self.seeded]), lambda dout: self._pull(inputs, kept, dout)
        )
        return outputs

    def _pull(self, inputs: Sequence[Tensor], kept: list[Tensor], dout: Any) -> tuple[Any, ...]:
        """The gradients of the wanted inputs.

        Residuals are constants here. Inside another gradient they depend on the inputs, so there
        the whole graph is differentiated again from the inputs.
        """
        seeds = [dout[i] for i in self._seeds]
        if thread_mode.recording is None:
            return tuple(self._backward([*inputs, *kept, *seeds]))
        found = self._whole([*inputs, *seeds])
        if self._has_needed and int(found[-1]._data) > self.capacity:
            raise LoopStackOverflow(int(found[-1]._data))
        return tuple(found[: len(self._wanted)])

    def _prepare(self) -> None:
        """Split the graph into a forward graph with residuals and a backward graph."""
        seeds = dict(enumerate(self.graph.output.type[: self.seeded]))
        parameters = self.graph.parameters
        self._wanted = wanted_operands([self.graph], parameters, set(parameters), seeds)
        tracer = Tracer("gradient", self.capacity)
        with tracer.active(_no_calls, _no_numbers), recording_on_tape(None):
            part = build_joint_graph(
                tracer, self.graph, self._wanted, ControlFlowGradients(tracer), seeds
            )
            forward, backward = _forward_graph(part), _backward_graph(tracer, part, self._wanted)
            whole = _backward_graph(tracer, part, self._wanted, keeps=False)
        optimize(forward)
        self._has_needed = part.needed is not None
        self._seeds = sorted(part.seeds)
        self._forward = _GraphRunner(forward)
        self._backward = DifferentiableGraph(backward, len(self._wanted), self.capacity)
        self._whole = DifferentiableGraph(whole, len(self._wanted), self.capacity)


def _forward_graph(part: JointGraph) -> Graph:
    builder = GraphBuilder(f"{part.builder.graph.name}_forward")
    mapping: dict[GraphNode, GraphNode] = {
        p: builder.parameter(p.name, p.type) for p in part.parameters
    }
    extra = [] if part.needed is None else [part.needed]
    outputs = copy_nodes([*part.outputs, *part.residuals, *extra], builder.graph, mapping)
    builder.finish(builder.tuple(tuple(outputs)))
    return builder.graph


def _backward_graph(
    tracer: Tracer, part: JointGraph, wanted: list[int], keeps: bool = True
) -> Graph:
    """From inputs, residuals, and seeds to gradients; without `keeps` it recomputes residuals."""
    builder = GraphBuilder(f"{part.builder.graph.name}_backward")
    mapping: dict[GraphNode, GraphNode] = {
        p: builder.parameter(p.name, p.type) for p in part.parameters
    }
    for node in part.residuals if keeps else ():
        mapping[node] = builder.parameter("kept", node.type)
    for place in sorted(part.seeds):
        seed = part.seeds[place]
        mapping[seed] = builder.parameter(seed.name, seed.type)
    with tracer.building(builder):
        grads = ControlFlowGradients(tracer).gradients(part, builder, mapping, wanted)
        if part.needed is not None and not keeps:
            grads += copy_nodes([part.needed], builder.graph, mapping)
        builder.finish(builder.tuple(tuple(grads)))
    return builder.graph


class _GraphRunner:
    """A graph compiled for its first arguments; its index checks are deferred."""

    def __init__(self, graph: Graph) -> None:
        self._lowered = LoweredGraph(graph)
        self._program = compile(self._lowered)

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        poll_checks()
        try:
            found = self._program(*arrays, runtime_one())
        except Exception as error:
            raise without_engine_frames(error) from None
        return self._lowered.noted(found)


def _no_calls(fn: Any, args: Any, kwargs: Any) -> Any:
    return fn(*args, **kwargs)


def _no_numbers(node: GraphNode) -> np.ndarray:
    raise GraphBreak(node, "a gradient rule needs the value of a tensor")
