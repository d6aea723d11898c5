"""Weights that lie as the operators read them of which users said how they are cut.

A hint speaks of an operator. In a stage a weight is read again and again between two updates, so
it is kept as the hint wants it, though a cut of a whole copy would cost nothing in one run.
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
    """Where hints want states of a program, by their numbers, if all that speak of one agree."""
    if request.mode == ParallelMode.DATA_PARALLEL:
        return {}
    program = replace(program, graph=with_output_hints(program.graph))
    problem = build_problem(program)
    wishes = LayoutHints(program, problem, request.arguments)
    mesh = wishes.mesh(request.cluster.devices)
    pins = wishes.pins(mesh)
    wanted: dict[OperatorInstance, set[Placement]] = {}
    for work, (strategy,) in pins.items():
        for leaf, placement in zip(work.inputs, strategy.inputs(work), strict=True):
            if leaf is not None:
                source, there = _followed(leaf, placement)
                wanted.setdefault(source, set()).add(there)
    found = {}
    for number, (work, given) in enumerate(zip(problem.inputs, program.inputs, strict=True)):
        if (
            given.source is InputSource.STATE
            and work not in pins
            and len(wanted.get(work, ())) == 1
        ):
            (placement,) = wanted[work]
            if _fits(work, placement, mesh):
                found[number] = placement
    return found


def _followed(leaf: InstanceOutput, placement: Placement) -> tuple[OperatorInstance, Placement]:
    """The work a tensor comes from, through those that only change its form, and how it lay."""
    source = leaf.source
    while not source.is_input and len(source.inputs) == len(source.outputs) == 1:
        before = source.inputs[0]
        if before is None:
            break
        cuts = [next((placement.dims[dim] for _, dim in axis.outputs), ()) for axis in source.axes]
        placement = Strategy(tuple(cuts)).inputs(source)[0]
        source = before.source
    return source, placement


def _fits(work: OperatorInstance, placement: Placement, mesh: Mesh) -> bool:
    return placement.is_even(work.output_types[0].shape, mesh)
