"""Tracing training steps that contain a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.compiler.autodiff.reverse_mode import zeros_of
from mycelia._engine.compiler.frontend.hooks import after_hooks
from mycelia._engine.compiler.frontend.mutation_journal import VariableLocation
from mycelia._engine.compiler.frontend.trace_function import TracedProgram, trace
from mycelia._engine.compiler.frontend.tracer import Tracer, active_tracer
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    MappingStructure,
    SequenceStructure,
    Structure,
    TensorStructure,
)
from mycelia._engine.core.errors import problem
from mycelia._engine.distributed.auto_parallel_settings import PipelineSettings, pipeline_settings
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import Named, primitive_of
from mycelia._engine.ir.handlers import guarded_fact
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.ir.tensor_protocol import type_of
from mycelia._engine.ir.types import TensorType
from mycelia.ops.collective.stage_boundary import marking
from mycelia.ops.shapes.reshape import broadcast_to, cast
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True, eq=False)
class PipelineCall:
    """A pipelined network, called for its gradients while a step is traced."""

    read: TracedProgram  # of the network, for one microbatch
    settings: PipelineSettings
    micro_batches: int
    arguments: int  # tensors of the call that are split into microbatches, or are 0-d
    differentiated: tuple[int, ...]  # inputs of the network's program
    first_draw: int
    keeps: bool  # store residuals; otherwise only the inputs of stages

    @property
    def network(self) -> Program:
        """The program of one microbatch, before any pass."""
        return self.read.plain


class PipelineRun(Named):
    """pipelinerun(*arguments, seed, *states): the result, gradients of states, written states.

    It cannot be lowered; the pipeline executor runs the step around it.
    """

    def __init__(self, call: PipelineCall) -> None:
        self.__dict__["call"] = call

    @property
    def attributes(self) -> dict[str, Any]:
        return {"call": id(self.call)}

    @property
    def call(self) -> PipelineCall:
        typed: PipelineCall = self.__dict__["call"]
        return typed

    def lower(self, *args: Any) -> Any:
        raise problem(
            RuntimeError,
            "a pipeline must run in a separate training step",
            fix="call the training step directly, not inside another compiled function",
        )


def pipeline_is_on() -> bool:
    """Whether the settings ask for a pipeline."""
    return guarded_fact(_is_on)


def _is_on() -> bool:
    return pipeline_settings().stages > 1


def _are(settings: PipelineSettings) -> bool:
    return pipeline_settings() == settings


def is_pipelined(fn: Any) -> bool:
    """Whether a pipeline computes the gradients of a function."""
    return getattr(fn, "is_pipeline", False) is True and pipeline_is_on()


def trace_gradients(
    cell: Any,
    weights: Sequence[Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sens: Any,
) -> tuple[Any, tuple[Any, ...]]:
    """The value of a pipelined cell and the gradients of weights, in the step being traced."""
    tracer = _step_tracer(kwargs)
    settings = pipeline_settings()
    tracer.guards.fact(_are, (settings,), True)
    given = [a for a in args if isinstance(a, Tensor)]
    with marking():
        found = trace(cell.network, type(cell.network).__name__, _forms(args, cell.micro_size))
    _check_network(found)
    tracer.guards.fact(found.guards.hold, (), True)
    drawn = tracer.world["<drawn>"]
    if not isinstance(drawn, int):
        raise _unsupported("random numbers in a loop before it")
    network = found.plain
    numbers = {
        id(g.which): i for i, g in enumerate(network.inputs) if g.source is InputSource.STATE
    }
    wanted = [numbers.get(id(weight)) for weight in weights]
    call = PipelineCall(
        found,
        settings,
        cell.micro_size,
        len(given),
        tuple([n for n in wanted if n is not None]),
        drawn,
        not cell.get_flags().get("recompute", False),
    )
    run = _run_node(tracer, call, given, sens)
    tracer.store.write(
        VariableLocation(tracer.world, "<drawn>"), drawn + cell.micro_size * (network.drawn or 0)
    )
    items = iter([tracer.builder.item(run, i) for i in range(len(run.type))])
    value = Tensor._wrap(next(items))
    gradients = tuple(
        [
            zeros_of(type_of(weight))
            if number is None
            else after_hooks(tracer, weight, Tensor._wrap(next(items)))
            for weight, number in zip(weights, wanted, strict=True)
        ]
    )
    for tensor in network.writes:
        tensor._replace(next(items))
    return value, gradients


def _run_node(tracer: Tracer, call: PipelineCall, given: list[Tensor], sens: Any) -> GraphNode:
    network = call.network
    result = network.graph.output.type[0]
    states = [tracer.data_node(g.which) for g in network.inputs if g.source is InputSource.STATE]
    for node in states:
        if not isinstance(node, GraphParameter) or node.graph is not tracer.root.graph:
            raise _unsupported("a parameter that the step changes before the pipeline runs")
    if sens is None:
        seed = Tensor._wrap(np.ones(result.shape, result.dtype.numpy))
    else:
        seed = broadcast_to(cast(sens, result.dtype), result.shape)
    inputs = network.inputs
    by_state = [network.graph.parameters[n].type for n in call.differentiated]
    numbers = {id(g.which): i for i, g in enumerate(inputs)}
    written = [network.graph.parameters[numbers[id(t)]].type for t in network.writes]
    nodes = (*map(tracer.data_node, given), tracer.data_node(seed), *states)
    return tracer.builder.apply(
        PipelineRun(call), nodes, (result, *by_state, *written), tracer.span
    )


def _step_tracer(kwargs: dict[str, Any]) -> Tracer:
    tracer = active_tracer()
    if tracer is None or tracer.materialized is not None:
        raise problem(
            RuntimeError,
            "a pipeline needs graph mode",
            got="a training step in eager mode",
            fix="mycelia.set_context(mode=mycelia.GRAPH_MODE), or jit the training step",
        )
    if tracer.builder is not tracer.root:
        raise _unsupported("a branch or loop around it")
    if kwargs:
        raise _unsupported(f"keyword arguments: {', '.join(kwargs)}")
    return tracer


def _forms(args: tuple[Any, ...], micro_batches: int) -> Structure:
    """The structure of the network's arguments for one microbatch."""
    found: list[Structure] = []
    for value in args:
        if not isinstance(value, Tensor):
            found.append(ConstantStructure(value))
            continue
        type_ = type_of(value)
        if type_.shape:
            if type_.shape[0] % micro_batches:
                raise problem(
                    ValueError,
                    f"the 0th dimension shape of input({type_.shape[0]}) must be divided by "
                    f"micro size({micro_batches})",
                )
            type_ = type_.with_shape((type_.shape[0] // micro_batches, *type_.shape[1:]))
        found.append(TensorStructure(type_))
    return SequenceStructure(
        tuple, (SequenceStructure(tuple, tuple(found)), MappingStructure(dict, (), ()))
    )


def _check_network(found: TracedProgram) -> None:
    program = found.plain
    outputs = program.graph.output.type
    if program.results != 1 or not isinstance(outputs[0], TensorType):
        raise problem(
            TypeError,
            "a pipelined network must return one tensor, its loss",
            got=f"{program.results} results",
            fix="include the loss: nn.WithLossCell(net, loss)",
        )
    if not outputs[0].dtype.is_inexact:
        raise problem(TypeError, "a pipelined network must return its loss", got=str(outputs[0]))
    if program.capacity is not None or program.drawn is None or program.unbound:
        raise _unsupported("a loop whose number of iterations depends on data")
    if len(outputs) != program.results + len(program.writes):
        raise _unsupported("printing, or other calls of Python at run time")
    if any(isinstance(which, int) for which in program.writes):
        raise _unsupported("writing to an argument")


def _unsupported(what: str) -> Exception:
    return problem(RuntimeError, f"a pipelined network does not support {what}")


def pipeline_in(program: Program) -> Apply | None:
    """The pipeline run in a step, if there is one."""
    found = [n for n in ordered(program.graph) if type(primitive_of(n)) is PipelineRun]
    if len(found) > 1:
        raise problem(
            RuntimeError,
            "a step can run only one pipeline",
            got=f"{len(found)} pipelines",
            expected="one: the network, in micro-batches",
        )
    return found[0] if found and isinstance(found[0], Apply) else None
