"""A cache of stage plans: isomorphic stages are planned once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from mycelia._engine.compiler.sharding.boundary_layouts import BoundaryLayouts
from mycelia._engine.compiler.sharding.fingerprint import fingerprint
from mycelia._engine.compiler.sharding.hints import LayoutHints
from mycelia._engine.compiler.sharding.output_hints import with_output_hints
from mycelia._engine.compiler.sharding.plan_report import report
from mycelia._engine.compiler.sharding.planner import PlannedProgram, plan
from mycelia._engine.compiler.sharding.problem import InstanceOutput, ShardingProblem, build_problem
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode
from mycelia._engine.ir.program import Program


class StagePlanCache:
    """Plans by structure; a program isomorphic to an earlier one reuses its plan."""

    def __init__(self) -> None:
        self._found: dict[Hashable, PlannedProgram] = {}

    def plan(
        self, program: Program, request: PlanRequest, boundary: BoundaryLayouts
    ) -> PlannedProgram:
        """Plan a program, or reuse the plan of an isomorphic one."""
        if request.mode == ParallelMode.DATA_PARALLEL or request.plans:  # cheap to plan
            return plan(program, request, boundary)
        written = replace(program, graph=with_output_hints(program.graph))
        problem = build_problem(written)
        key = _likeness(written, problem, request, boundary)
        before = self._found.get(key)
        if before is None:
            self._found[key] = found = plan(program, request, boundary)
            return found
        own = replace(report(before), fingerprint=fingerprint(problem))  # names of weights differ
        following = replace(request, plans=(own,))
        found = plan(program, following, boundary)
        pairs = zip(found.problem.instances, before.problem.instances, strict=True)
        pinned = frozenset([new for new, old in pairs if old in before.pinned])
        return replace(found, request=request, searched=before.searched, pinned=pinned)


def _likeness(
    program: Program, problem: ShardingProblem, request: PlanRequest, boundary: BoundaryLayouts
) -> Hashable:
    """Everything that a plan depends on: operator instances, edges, hints, boundary layouts."""
    layout_hints = LayoutHints(program, problem, request.arguments)
    mesh = boundary.mesh or layout_hints.mesh(request.cluster.devices)
    pins = layout_hints.pins(mesh)
    numbers = {
        id(leaf): (number, leaf.index)
        for number, instance in enumerate(problem.instances)
        for leaf in instance.outputs
    }

    def number_of(leaf: InstanceOutput | None) -> tuple[int, int] | None:
        return None if leaf is None else numbers[id(leaf)]

    instances = tuple(
        [
            (
                instance.identity,
                instance.axes,
                instance.input_types,
                instance.output_types,
                instance.times,
                tuple(map(number_of, instance.inputs)),
                tuple([(number_of(leaf), times) for leaf, times in instance.returns]),
                pins.get(instance),
            )
            for instance in problem.instances
        ]
    )
    held = (boundary.placed, boundary.held_inputs, boundary.held_results)
    sources = tuple([given.source for given in program.inputs])
    return (
        mesh,
        request.cluster,
        request.memory,
        instances,
        sources,
        *[tuple(sorted(mapping.items(), key=lambda item: item[0])) for mapping in held],
    )
