"""Plans as text: totals, the most expensive collectives, and a table of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from mycelia._engine.core.errors import wrong_value
from mycelia._engine.distributed.plan.row_folding import FoldedRows, folded
from mycelia._engine.distributed.plan.units import axis_letters, duration, mesh_text, share, volume

if TYPE_CHECKING:
    from mycelia._engine.distributed.plan.plan import Plan, PlanCollective, PlanRow

_COSTS = 5  # most entries in the list of expensive collectives
_TITLES = ("no", "operator", "at", "result", "compute", "comm", "", "moves")
_RIGHT_ALIGNED = {0, 4, 5}  # columns of numbers
_WIDEST = 44  # characters of a cell, except for moves


def show(
    plan: Plan, limit: int | None = None, only: str | Callable[[PlanRow], bool] | None = None
) -> str:
    """Format a plan as text; see `Plan.show`."""
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise wrong_value("show", "limit", limit, "a number of lines, or None")
    lines = folded(chosen(plan.rows, only))
    costs = ["most expensive collectives", *_costs(plan)]
    return "\n".join([*header(plan), "", *costs, "", *_table(lines, limit)])


def chosen(rows: Sequence[PlanRow], only: str | Callable[[PlanRow], bool] | None) -> list[PlanRow]:
    """The rows whose operator or source position contains a text, or that a function accepts."""
    if only is None:
        return list(rows)
    if isinstance(only, str):
        return [row for row in rows if only in row.name or only in row.where]
    return [row for row in rows if only(row)]


def header(plan: Plan) -> list[str]:
    """The totals of a plan, as lines."""
    return [f"plan of {plan.name}"] + [f"  {name:<9} {text}" for name, text in totals(plan)]


def totals(plan: Plan) -> list[tuple[str, str]]:
    """The totals of a plan, as names and texts."""
    cluster = plan.cluster
    fits = "" if plan.memory <= cluster.memory else ": DOES NOT FIT"
    tried = ", ".join(f"{mesh} {duration(cost)}" for mesh, cost in plan.searched.items())
    sent = ", ".join(f"{kind} {volume(total)}" for kind, total in moved_by_kind(plan).items())
    return [
        ("devices", f"{plan.devices} as a mesh of {mesh_text(plan.mesh)}"),
        (
            "cluster",
            f"{cluster.name}: {cluster.hosts} x {cluster.devices_per_host} devices, "
            f"{cluster.flops:.3g} operations/s, links {volume(cluster.link)}/s, "
            f"between hosts {volume(cluster.link_between_hosts)}/s",
        ),
        (
            "search",
            f"{plan.search} in {duration(plan.seconds_to_search)}, mode {plan.mode}"
            + (f"; cost by mesh: {tried}" if tried else ""),
        ),
        (
            "time",
            f"{duration(plan.seconds)} predicted: compute {duration(plan.compute)} "
            f"({share(plan.compute, plan.seconds)}), communication {duration(plan.talk)} "
            f"({share(plan.talk, plan.seconds)})",
        ),
        ("sends", f"{volume(plan.moved)} per device" + (f": {sent}" if sent else "")),
        (
            "memory",
            f"{volume(plan.memory)} per device: {volume(plan.stays)} persistent, activations "
            f"{volume(plan.activations)} at most; capacity {volume(cluster.memory)}{fits}",
        ),
    ]


def moved_by_kind(plan: Plan) -> dict[str, float]:
    """The bytes a device sends, by kind of collective, largest first."""
    found: dict[str, float] = {}
    for row in plan.rows:
        for move in row.moves:
            found[move.kind] = found.get(move.kind, 0.0) + move.moved
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


@dataclass(frozen=True)
class CollectiveCost:
    """One collective at one source position, with all its repetitions."""

    row: PlanRow
    move: PlanCollective
    times: int
    moved: float
    seconds: float


def most_expensive(plan: Plan) -> list[CollectiveCost]:
    """The collectives of a plan, slowest first; repetitions are added up."""
    found: dict[object, list[tuple[PlanRow, PlanCollective]]] = {}
    for row in plan.rows:
        for move in row.moves:
            key = (row.name, row.where, row.outputs, move.kind, move.axes, reason(row, move))
            found.setdefault(key, []).append((row, move))
    costs = [
        CollectiveCost(
            *pairs[0],
            sum(move.times for _, move in pairs),
            sum(move.moved for _, move in pairs),
            sum(move.seconds for _, move in pairs),
        )
        for pairs in found.values()
    ]
    return sorted(costs, key=lambda cost: -cost.seconds)


def reason(row: PlanRow, move: PlanCollective) -> str:
    """Why a tensor is moved, with the required layout."""
    word, _, number = move.why.partition(" ")
    if word == "input" and number.isdigit() and int(number) < len(row.inputs):
        return f"{move.why} is needed as {row.inputs[int(number)]}"
    if move.why == "new value" and row.outputs:
        return f"the new value returns to {row.outputs[0]}"
    return move.why


def place(row: PlanRow) -> str:
    """The file name and line of a row."""
    return PurePath(row.where).name


def _costs(plan: Plan) -> list[str]:
    found = most_expensive(plan)
    if not found:
        return ["  no data moves between devices"]
    lines = []
    for number, cost in enumerate(found[:_COSTS], 1):
        row, move = cost.row, cost.move
        times = f", {cost.times} times" if cost.times > 1 else ""
        lines += [
            f"  {number}. {move.kind} along {axis_letters(move.axes)}: {volume(cost.moved)}, "
            f"{duration(cost.seconds)} ({share(cost.seconds, plan.seconds)} of the time){times}",
            f"     no {row.number} {row.name}: {reason(row, move)}",
        ]
        if row.where:
            lines.append(f"     {place(row)}  {row.line.strip()}")
    if len(found) > _COSTS:
        rest = sum(cost.seconds for cost in found[_COSTS:])
        lines.append(f"  and {len(found) - _COSTS} more: {duration(rest)}")
    return lines


def _table(lines: Sequence[FoldedRows], limit: int | None) -> list[str]:
    shown = lines if limit is None else lines[:limit]
    cells = [_TITLES, *[_cells(line) for line in shown]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_TITLES))]
    title = "operators in execution order (x12: repeated 12 times, with the sums of all 12)"
    table = [title, *_aligned(cells, widths)]
    if len(shown) < len(lines):
        hidden = sum(line.times for line in lines[len(shown) :])
        table.append(f"and {hidden} more operators")
    return table


def _aligned(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    return [
        "  ".join(
            text.rjust(width) if column in _RIGHT_ALIGNED else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _cells(line: FoldedRows) -> tuple[str, ...]:
    row = line.row
    marks = [f"x{line.times}"] * (line.times > 1) + ["pinned"] * row.pinned
    return (
        str(row.number),
        _cut_short(line.name),
        place(row),
        _cut_short(results(row)),
        duration(line.compute) if line.compute else "",
        duration(line.talk) if line.talk else "",
        " ".join(marks),
        moves_text(line),
    )


def results(row: PlanRow) -> str:
    """The results of a row with their layouts; equal ones are counted, as in "3 of f32[2] (a)"."""
    counts: dict[str, int] = {}
    for output in row.outputs:
        counts[output] = counts.get(output, 0) + 1
    return ", ".join(f"{n} of {text}" if n > 1 else text for text, n in counts.items())


def moves_text(line: FoldedRows) -> str:
    """The collectives of a line: kind, axes, bytes, and reason."""
    return "; ".join(
        f"{moves[0].kind} {axis_letters(moves[0].axes)} "
        f"{volume(sum(move.moved for move in moves))} ({reason(line.row, moves[0])})"
        for moves in line.moves
    )


def _cut_short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
