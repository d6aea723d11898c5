"""Converting a planned program to the public `Plan`, with the user's source lines."""

from __future__ import annotations

from mycelia._engine.compiler.sharding.fingerprint import fingerprint
from mycelia._engine.compiler.sharding.memory import activation_bytes
from mycelia._engine.compiler.sharding.plan_costs import OperatorCost, operator_costs
from mycelia._engine.compiler.sharding.planner import PlannedProgram
from mycelia._engine.compiler.sharding.problem import OperatorInstance
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.distributed.plan.plan import Plan, PlanCollective, PlanRow
from mycelia._engine.operators.axes import Axis


def report(planned: PlannedProgram) -> Plan:
    """The `Plan` of a planned program, with costs."""
    found = operator_costs(planned.problem, planned.chosen, planned.placements, planned.prices)
    rows = tuple(
        [
            _row(number, account, planned)
            for number, account in enumerate(found)
            if not account.instance.is_edge or account.movements
        ]
    )
    return Plan(
        planned.program.name,
        fingerprint(planned.problem),
        planned.request.mode,
        planned.request.search,
        planned.prices.mesh.sizes,
        planned.request.cluster,
        rows,
        activation_bytes(planned.problem, planned.placements, planned.prices),
        planned.searched,
        planned.seconds,
    )


def _row(number: int, account: OperatorCost, planned: PlannedProgram) -> PlanRow:
    instance, prices = account.instance, planned.prices
    span = instance.node.span
    moves = tuple(
        [
            PlanCollective(
                m.transfer.kind,
                m.times * m.transfer.moved(prices.mesh),
                m.times * m.transfer.seconds(prices.mesh, prices.cluster),
                m.transfer.axes,
                m.times,
                m.why,
            )
            for m in account.movements
        ]
    )
    return PlanRow(
        number,
        instance.name,
        "" if span is None else f"{span.file}:{span.line}",
        "" if span is None else span.text,
        tuple([_axis(axis) for axis in instance.axes]),
        account.strategy.cuts,
        _tensors(instance, account.strategy, inputs=True),
        _tensors(instance, account.strategy, inputs=False),
        moves,
        account.compute,
        prices.bytes(instance.output_types[0], planned.placements.outputs(instance)[0])
        if instance.is_input
        else 0,
        instance in planned.pinned,
    )


def _axis(axis: Axis) -> str:
    places = [f"input {leaf} dim {dim}" for leaf, dim in axis.inputs]
    places += [f"result {leaf} dim {dim}" for leaf, dim in axis.outputs]
    return f"{axis.size} ({', '.join(places)})"


def _tensors(instance: OperatorInstance, strategy: Strategy, *, inputs: bool) -> tuple[str, ...]:
    types = instance.input_types if inputs else instance.output_types
    placements = strategy.inputs(instance) if inputs else strategy.outputs(instance)
    return tuple([f"{t} {p}" for t, p in zip(types, placements, strict=True)])
