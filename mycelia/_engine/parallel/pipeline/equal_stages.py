"""Stages that are alike are planned once: the same blocks in different stages."""

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
    """Plans so far; a program like an earlier one follows the plan of that."""

    def __init__(self) -> None:
        self._found: dict[Hashable, PlannedProgram] = {}

    def plan(
        self, program: Program, request: PlanRequest, settled: BoundaryLayouts
    ) -> PlannedProgram:
        """The plan of a program, searched for if there was none like it."""
        if request.mode == ParallelMode.DATA_PARALLEL or request.plans:  # little to search for
            return plan(program, request, settled)
        written = replace(program, graph=with_output_hints(program.graph))
        problem = build_problem(written)
        key = _likeness(written, problem, request, settled)
        before = self._found.get(key)
        if before is None:
            self._found[key] = found = plan(program, request, settled)
            return found
        own = replace(report(before), fingerprint=fingerprint(problem))  # names of weights differ
        following = replace(request, plans=(own,))
        found = plan(program, following, settled)
        pairs = zip(found.problem.works, before.problem.works, strict=True)
        pinned = frozenset([new for new, old in pairs if old in before.pinned])
        return replace(found, request=request, searched=before.searched, pinned=pinned)


def _likeness(
    program: Program, problem: ShardingProblem, request: PlanRequest, settled: BoundaryLayouts
) -> Hashable:
    """All that a plan depends on: works, how they hang together, wishes, what is settled."""
    wishes = LayoutHints(program, problem, request.arguments)
    mesh = settled.mesh or wishes.mesh(request.cluster.devices)
    pins = wishes.pins(mesh)
    numbers = {
        id(leaf): (number, leaf.place)
        for number, work in enumerate(problem.works)
        for leaf in work.outputs
    }

    def number_of(leaf: InstanceOutput | None) -> tuple[int, int] | None:
        return None if leaf is None else numbers[id(leaf)]

    works = tuple(
        [
            (
                work.identity,
                work.axes,
                work.input_types,
                work.output_types,
                work.times,
                tuple(map(number_of, work.inputs)),
                tuple([(number_of(leaf), times) for leaf, times in work.returns]),
                pins.get(work),
            )
            for work in problem.works
        ]
    )
    held = (settled.placed, settled.held_inputs, settled.held_results)
    sources = tuple([given.source for given in program.inputs])
    return (
        mesh,
        request.cluster,
        request.memory,
        works,
        sources,
        *[tuple(sorted(mapping.items(), key=lambda item: item[0])) for mapping in held],
    )
