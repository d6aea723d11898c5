"""Plans that were made before: the program is laid out as they say."""

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
    """The mesh and the decisions of a plan of this program: the pinned ones, or all if none is."""
    own = fingerprint(problem)
    plan = next((p for p in request.plans if p.fingerprint == own), None)
    if plan is None:
        return None
    if plan.devices != request.cluster.devices:
        raise problem_error(
            ValueError,
            "the plan is for another number of devices",
            got=f"a plan for {plan.devices}, {request.cluster.devices} devices here",
            fix="set device_num, or leave strategy_ckpt_load_file out to plan anew",
        )
    return Mesh(plan.mesh), _pins(problem, plan)


def _pins(problem: ShardingProblem, plan: Plan) -> Pins:
    only_pinned = any(row.pinned for row in plan.rows)
    found: Pins = {}
    for row in plan.rows:
        work = problem.works[row.number]
        if row.pinned or not only_pinned:
            found[work] = (Strategy(row.cuts),)
    return found
