"""Saved plans: fixing the strategies of a program to those of a plan."""

from __future__ import annotations

from mycelia._engine.compiler.sharding.fingerprint import fingerprint
from mycelia._engine.compiler.sharding.hints import Pins
from mycelia._engine.compiler.sharding.problem import ShardingProblem
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.core.errors import problem as problem_error
from mycelia._engine.distributed.mesh import Mesh
from mycelia._engine.distributed.plan.plan import Plan


def saved_plan_pins(problem: ShardingProblem, request: PlanRequest) -> tuple[Mesh, Pins] | None:
    """The mesh and decisions of this program's saved plan: the pinned rows, or all if none are."""
    own = fingerprint(problem)
    plan = next((p for p in request.plans if p.fingerprint == own), None)
    if plan is None:
        return None
    if plan.devices != request.cluster.devices:
        raise problem_error(
            ValueError,
            "the saved plan has a different number of devices",
            got=f"a plan for {plan.devices} devices, but {request.cluster.devices} are in use",
            fix="set device_num, or omit strategy_ckpt_load_file to search for a new plan",
        )
    return Mesh(plan.mesh), _pins(problem, plan)


def _pins(problem: ShardingProblem, plan: Plan) -> Pins:
    only_pinned = any(row.pinned for row in plan.rows)
    found: Pins = {}
    for row in plan.rows:
        instance = problem.instances[row.number]
        if row.pinned or not only_pinned:
            found[instance] = (Strategy(row.cuts),)
    return found
