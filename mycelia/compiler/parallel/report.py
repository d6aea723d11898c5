"""From a planned program to a `Plan` that users read: rows with the user's own lines."""

from __future__ import annotations

from mycelia.compiler.parallel.accounting import Account, accounts
from mycelia.compiler.parallel.fingerprint import fingerprint
from mycelia.compiler.parallel.memory import activation_bytes
from mycelia.compiler.parallel.planning import Planned
from mycelia.compiler.parallel.problem import Work
from mycelia.compiler.parallel.strategies import Strategy
from mycelia.ops.axes import Axis
from mycelia.parallel.plans import Move, Plan, Row


def report(planned: Planned) -> Plan:
    """The plan of a program, priced."""
    found = accounts(planned.problem, planned.chosen, planned.placements, planned.prices)
    rows = tuple(
        [
            _row(number, account, planned)
            for number, account in enumerate(found)
            if not account.work.is_edge or account.movements
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


def _row(number: int, account: Account, planned: Planned) -> Row:
    work, prices = account.work, planned.prices
    span = work.node.span
    moves = tuple(
        [
            Move(
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
    return Row(
        number,
        work.name,
        "" if span is None else f"{span.file}:{span.line}",
        "" if span is None else span.text,
        tuple([_axis(axis) for axis in work.axes]),
        account.strategy.cuts,
        _tensors(work, account.strategy, inputs=True),
        _tensors(work, account.strategy, inputs=False),
        moves,
        account.compute,
        prices.bytes(work.output_types[0], planned.placements.outputs(work)[0])
        if work.is_input
        else 0,
        work in planned.pinned,
    )


def _axis(axis: Axis) -> str:
    places = [f"input {leaf} dim {dim}" for leaf, dim in axis.inputs]
    places += [f"result {leaf} dim {dim}" for leaf, dim in axis.outputs]
    return f"{axis.size} ({', '.join(places)})"


def _tensors(work: Work, strategy: Strategy, *, inputs: bool) -> tuple[str, ...]:
    types = work.input_types if inputs else work.output_types
    placements = strategy.inputs(work) if inputs else strategy.outputs(work)
    return tuple([f"{t} {p}" for t, p in zip(types, placements, strict=True)])
