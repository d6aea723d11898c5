"""Running a graph on tensors so that eager gradients flow through it, of any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.compiler.autodiff.control import Rules
from mycelia.compiler.autodiff.joint import Split, split
from mycelia.compiler.autodiff.paths import wanted_operands
from mycelia.compiler.building import Builder
from mycelia.compiler.passes.pipeline import optimize
from mycelia.compiler.symbolic import ValueNeeded
from mycelia.compiler.tracer import Tracer
from mycelia.core.pending import poll
from mycelia.ir.clone import copy_nodes
from mycelia.ir.graph import Graph
from mycelia.ir.node import Node
from mycelia.ir.snapshot import snapshot
from mycelia.runtime.eager.mode import mode, recording_into
from mycelia.runtime.executor import Overflow
from mycelia.runtime.xla.compile import compile, without_engine_frames
from mycelia.runtime.xla.keeping import one
from mycelia.runtime.xla.lower import Lowered
from mycelia.tensor.tensor import Tensor


class DifferentiableGraph:
    """A closed graph with a tuple of arrays as its result.

    Called while gradients are recorded, it runs a version that also gives what its backward needs;
    the backward is such a graph, too. Gradients start from the first `seeded` results.
    """

    def __init__(self, graph: Graph, seeded: int, capacity: int) -> None:
        self.graph = graph
        self.seeded = seeded
        self.capacity = capacity
        self._plain = _Runner(optimize(snapshot(graph)))
        self._forward: _Runner | None = None

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        recording = mode.recording
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
                raise Overflow(int(rest[-1]))
            rest = rest[:-1]
        kept = [Tensor._wrap(a) for a in rest]
        watched = tuple([inputs[i] for i in self._wanted])
        recording.record_custom(
            watched, tuple(outputs[: self.seeded]), lambda dout: self._pull(inputs, kept, dout)
        )
        return outputs

    def _pull(self, inputs: Sequence[Tensor], kept: list[Tensor], dout: Any) -> tuple[Any, ...]:
        """The gradients of the wanted inputs.

        What was kept is a constant here; inside another gradient it depends on the inputs, so
        there the whole graph is differentiated again from them.
        """
        seeds = [dout[i] for i in self._seeds]
        if mode.recording is None:
            return tuple(self._backward([*inputs, *kept, *seeds]))
        found = self._whole([*inputs, *seeds])
        if self._has_needed and int(found[-1]._data) > self.capacity:
            raise Overflow(int(found[-1]._data))
        return tuple(found[: len(self._wanted)])

    def _prepare(self) -> None:
        """Take the graph apart into a forward that remembers and a backward."""
        seeds = dict(enumerate(self.graph.output.type[: self.seeded]))
        parameters = self.graph.parameters
        self._wanted = wanted_operands([self.graph], parameters, set(parameters), seeds)
        tracer = Tracer("gradient", self.capacity)
        with tracer.active(_no_calls, _no_numbers), recording_into(None):
            part = split(tracer, self.graph, self._wanted, Rules(tracer), seeds)
            forward, backward = _forward_graph(part), _backward_graph(tracer, part, self._wanted)
            whole = _backward_graph(tracer, part, self._wanted, keeps=False)
        optimize(forward)
        self._has_needed = part.needed is not None
        self._seeds = sorted(part.seeds)
        self._forward = _Runner(forward)
        self._backward = DifferentiableGraph(backward, len(self._wanted), self.capacity)
        self._whole = DifferentiableGraph(whole, len(self._wanted), self.capacity)


def _forward_graph(part: Split) -> Graph:
    builder = Builder(f"{part.builder.graph.name}_forward")
    mapping: dict[Node, Node] = {p: builder.parameter(p.name, p.type) for p in part.parameters}
    extra = [] if part.needed is None else [part.needed]
    outputs = copy_nodes([*part.outputs, *part.residuals, *extra], builder.graph, mapping)
    builder.finish(builder.tuple(tuple(outputs)))
    return builder.graph


def _backward_graph(tracer: Tracer, part: Split, wanted: list[int], keeps: bool = True) -> Graph:
    """From inputs, what was kept, and seeds to gradients; without `keeps` all is computed again."""
    builder = Builder(f"{part.builder.graph.name}_backward")
    mapping: dict[Node, Node] = {p: builder.parameter(p.name, p.type) for p in part.parameters}
    for node in part.residuals if keeps else ():
        mapping[node] = builder.parameter("kept", node.type)
    for place in sorted(part.seeds):
        seed = part.seeds[place]
        mapping[seed] = builder.parameter(seed.name, seed.type)
    with tracer.building(builder):
        grads = Rules(tracer).gradients(part, builder, mapping, wanted)
        if part.needed is not None and not keeps:
            grads += copy_nodes([part.needed], builder.graph, mapping)
        builder.finish(builder.tuple(tuple(grads)))
    return builder.graph


class _Runner:
    """A graph compiled for what it is first given; its checks of indices wait to be asked."""

    def __init__(self, graph: Graph) -> None:
        self._lowered = Lowered(graph)
        self._program = compile(self._lowered)

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        poll()
        try:
            found = self._program(*arrays, one())
        except Exception as error:
            raise without_engine_frames(error) from None
        return self._lowered.noted(found)


def _no_calls(fn: Any, args: Any, kwargs: Any) -> Any:
    return fn(*args, **kwargs)


def _no_numbers(node: Node) -> np.ndarray:
    raise ValueNeeded(node, "a gradient rule needs the number of a tensor")
