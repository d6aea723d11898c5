"""Layouts of weights from the hints of the operators that read them.

A hint describes an operator. A stage reads a weight many times between two updates, so the weight
is stored as the hint asks, although slicing a replicated copy would be free in one run.
"""

from __future__ import annotations

from dataclasses import replace

from mycelia._engine.compiler.sharding.hints import LayoutHints
from mycelia._engine.compiler.sharding.output_hints import with_output_hints
from mycelia._engine.compiler.sharding.problem import (
    InstanceOutput,
    OperatorInstance,
    build_problem,
)
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.ir.program import InputSource, Program


def hinted_weights(program: Program, request: PlanRequest) -> dict[int, Placement]:
    """The placements of states that hints ask for, by input index, if all hints agree."""
    if request.mode == ParallelMode.DATA_PARALLEL:
        return {}
    program = replace(program, graph=with_output_hints(program.graph))
    problem = build_problem(program)
    layout_hints = LayoutHints(program, problem, request.arguments)
    mesh = layout_hints.mesh(request.cluster.devices)
    pins = layout_hints.pins(mesh)
    wanted: dict[OperatorInstance, set[Placement]] = {}
    for instance, (strategy,) in pins.items():
        for leaf, placement in zip(instance.inputs, strategy.inputs(instance), strict=True):
            if leaf is not None:
                source, there = _followed(leaf, placement)
                wanted.setdefault(source, set()).add(there)
    found = {}
    for number, (instance, given) in enumerate(zip(problem.inputs, program.inputs, strict=True)):
        if (
            given.source is InputSource.STATE
            and instance not in pins
            and len(wanted.get(instance, ())) == 1
        ):
            (placement,) = wanted[instance]
            if _fits(instance, placement, mesh):
                found[number] = placement
    return found


def _followed(leaf: InstanceOutput, placement: Placement) -> tuple[OperatorInstance, Placement]:
    """The source of a tensor, through operators that only reshape it, and its placement there."""
    source = leaf.source
    while not source.is_input and len(source.inputs) == len(source.outputs) == 1:
        before = source.inputs[0]
        if before is None:
            break
        cuts = [next((placement.dims[dim] for _, dim in axis.outputs), ()) for axis in source.axes]
        placement = Strategy(tuple(cuts)).inputs(source)[0]
        source = before.source
    return source, placement


def _fits(instance: OperatorInstance, placement: Placement, mesh: Mesh) -> bool:
    return placement.is_even(instance.output_types[0].shape, mesh)
