"""Drawings of plans as SVG: the time bar, the device mesh, and the flow of operators."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mycelia._engine.distributed.plan.html_page import svg, text
from mycelia._engine.distributed.plan.row_folding import FoldedRows
from mycelia._engine.distributed.plan.text import place, reason, results
from mycelia._engine.distributed.plan.units import axis_letters, duration, share, volume

if TYPE_CHECKING:
    from mycelia._engine.distributed.plan.plan import Plan, PlanCollective, PlanRow

KINDS = {
    "all-reduce": "#d6453d",
    "all-gather": "#e08a1e",
    "reduce-scatter": "#b8539e",
    "all-to-all": "#7a5cc9",
    "collective-permute": "#2f8f9d",
}
_OTHER_KIND = "#8a6d3b"
_COMPUTE = "#4f8a4c"
_WHOLE = "#98a2b3"  # replicated: every device holds the whole tensor
_LAYOUTS = ("#3b7dd8", "#44a35c", "#d6a21e", "#a35ec4", "#d9734f", "#2f9fa8", "#c2528b", "#7d8f2f")

_BOX_WIDTH, _BOX_HEIGHT, _GAP, _MARK = 380, 26, 14, 18
_LEFT, _WIDTH = 40, 1000
_MOST_BOXES = 400
_CHARACTER = 7.3
_MOST_SQUARES = 1024  # the most devices that are drawn


def kind_color(kind: str) -> str:
    return KINDS.get(kind, _OTHER_KIND)


def layout(row: PlanRow) -> str:
    """The placement of the first result of a row, as `"(a, -)"`; `"whole"` if it is replicated."""
    if not row.outputs:
        return "whole"
    written = row.outputs[0].partition(" ")[2]
    return written if any(letter.isalpha() for letter in written) else "whole"


def layout_colors(plan: Plan) -> dict[str, str]:
    """A color for each layout, in order of appearance."""
    found = {"whole": _WHOLE}
    for row in plan.rows:
        found.setdefault(layout(row), _LAYOUTS[(len(found) - 1) % len(_LAYOUTS)])
    return found


def time_colors(plan: Plan) -> dict[str, str]:
    """A color for computation and one for each kind of collective."""
    kinds = dict.fromkeys(move.kind for row in plan.rows for move in row.moves)
    return {"compute": _COMPUTE, **{kind: kind_color(kind) for kind in kinds}}


def time_bar(plan: Plan) -> str:
    """One bar: computation, then each kind of collective, with widths in proportion to time."""
    parts: dict[str, float] = {"compute": plan.compute}
    for row in plan.rows:
        for move in row.moves:
            parts[move.kind] = parts.get(move.kind, 0.0) + move.seconds
    colors, drawn, x = time_colors(plan), [], 0.0
    for name, seconds in parts.items():
        width = _WIDTH * seconds / plan.seconds if plan.seconds else 0.0
        words = f"{name} {duration(seconds)} ({share(seconds, plan.seconds)})"
        drawn.append(
            f'<g><title>{escape(words)}</title><rect x="{x:.2f}" y="0" width="{width:.2f}" '
            f'height="34" fill="{colors[name]}"/></g>'
        )
        if len(words) * _CHARACTER < width - 12:
            drawn.append(f'<g style="--fore:#fff">{text(x + 6, 22, words)}</g>')
        x += width
    return svg(_WIDTH, 34, "time per run", drawn)


def mesh_picture(plan: Plan) -> str:
    """The devices as a grid: the last axis is horizontal, the one before it vertical."""
    sizes = plan.mesh
    if plan.devices > _MOST_SQUARES:
        words = f"{plan.devices} devices are too many to draw"
        return svg(_WIDTH, 24, "the mesh", [text(0, 16, words, kind="dim")])
    columns = sizes[-1] if sizes else 1
    rows = sizes[-2] if len(sizes) > 1 else 1
    grids = plan.devices // (columns * rows)
    side, down = 34, len(sizes) - 2
    grid_width = columns * side + 40
    across = max(1, min(grids, int(_WIDTH // grid_width)))
    height = -(-grids // across) * (rows * side + 44)
    parts = []
    for device in range(plan.devices):
        grid, inside = divmod(device, columns * rows)
        left = 30 + grid % across * grid_width
        top = 24 + grid // across * (rows * side + 44)
        row, column = divmod(inside, columns)
        if inside == 0:
            parts += _axis_names(sizes, grid, left, top, columns * side, rows * side, down)
        x, y = left + column * side, top + row * side
        host = device // plan.cluster.devices_per_host
        parts.append(
            f'<g><title>device {device}, host {host}</title><rect x="{x}" y="{y}" '
            f'width="{side - 4}" height="{side - 4}" rx="4" fill="{_host_color(host)}" '
            f'fill-opacity="0.35" stroke="{_host_color(host)}"/></g>'
            + text(x + (side - 4) / 2, y + 20, str(device), anchor="middle")
        )
    return svg(max(across * grid_width + 30, 240), height, "the mesh of devices", parts)


def _axis_names(
    sizes: tuple[int, ...],
    grid: int,
    left: float,
    top: float,
    width: float,
    height: float,
    down: int,
) -> list[str]:
    """The letters next to a grid, and its indices along the other axes."""
    last = len(sizes) - 1
    indices: list[str] = []
    rest = grid
    for axis in range(down - 1, -1, -1):
        rest, index = divmod(rest, sizes[axis])
        indices.insert(0, f"{axis_letters((axis,))}={index}")
    words = f"{axis_letters((max(last, 0),))} \u2192"
    found = [text(left + width / 2, top - 8, words, anchor="middle", kind="dim")]
    if down >= 0:
        letter = axis_letters((last - 1,))
        found.append(text(left - 10, top + height / 2, f"{letter}\u2193", anchor="end", kind="dim"))
    if indices:
        found.append(text(left, top + height + 12, ", ".join(indices), kind="dim"))
    return found


def _host_color(host: int) -> str:
    return _LAYOUTS[host % len(_LAYOUTS)]


def flow(plan: Plan, lines: list[FoldedRows]) -> str:
    """The operators from top to bottom, colored by layout, with collectives on the edges."""
    colors = layout_colors(plan)
    inputs = [row for row in plan.rows if row.is_input]
    drawn_lines = [line for line in lines if not line.row.is_input]
    # inputs that the program updates: their new values are written at the end
    drawn_lines += [line for line in lines if line.row.is_input and line.moves]
    parts = [_box(0, f"{len(inputs)} inputs, {volume(plan.stays)}", _WHOLE, "", None)]
    y, frames = float(_BOX_HEIGHT), _BlockFrames()
    for line in drawn_lines[:_MOST_BOXES]:
        arriving = [moves for moves in line.moves if not _is_inner(moves[0])]
        leaving = [moves for moves in line.moves if _is_inner(moves[0])]
        y, drawn = _edge(y, line, arriving)
        frames.at(line, y)
        row = line.row
        name = f"new value of {line.name}" if row.is_input else line.name
        words = f"{row.number} {name}  {results(row)}"
        tip = f"{place(row)}  {row.line.strip()}" if row.where else row.name
        parts += [*drawn, _box(y, words, colors[layout(row)], tip, row.number, row.pinned)]
        y += _BOX_HEIGHT
        if leaving:
            y, drawn = _edge(y, line, leaving)
            parts += drawn
    parts += frames.drawn()
    if len(drawn_lines) > _MOST_BOXES:
        y += 24
        parts.append(
            text(_LEFT, y, f"{len(drawn_lines) - _MOST_BOXES} more in the table", kind="dim")
        )
    return svg(_WIDTH, y + 12, "operators and collectives", parts)


class _BlockFrames:
    """The frames around repeated blocks."""

    def __init__(self) -> None:
        self._found: dict[int, list[float]] = {}
        self._times: dict[int, int] = {}

    def at(self, line: FoldedRows, y: float) -> None:
        if line.block is not None:
            self._found.setdefault(line.block, []).append(y)
            self._times[line.block] = line.times

    def drawn(self) -> list[str]:
        found = []
        for block, tops in self._found.items():
            top, bottom = tops[0] - 5, tops[-1] + _BOX_HEIGHT + 5
            found.append(
                f'<rect class="frame" fill="none" x="{_LEFT - 8}" y="{top:g}" '
                f'width="{_BOX_WIDTH + 16}" height="{bottom - top:g}" rx="6"/>'
                + text(_LEFT - 12, (top + bottom) / 2 + 4, f"x{self._times[block]}", anchor="end")
            )
        return found


def _is_inner(move: PlanCollective) -> bool:
    """Whether a collective combines partial results, as opposed to resharding an input."""
    return not move.why.startswith("input") and move.why != "new value"


def _box(
    y: float, words: str, color: str, tip: str, number: int | None, pinned: bool = False
) -> str:
    widest = int((_BOX_WIDTH - 16) / _CHARACTER)
    shown = words if len(words) <= widest else words[: widest - 1] + "\u2026"
    thick = 3 if pinned else 1
    inner = (
        f"<title>{escape(f'{words}. {tip}' if tip else words)}</title>"
        f'<rect x="{_LEFT}" y="{y:g}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="4" '
        f'fill="{color}" fill-opacity="0.3" stroke="{color}" stroke-width="{thick}"/>'
        + text(_LEFT + 8, y + 17, shown)
    )
    return f"<g>{inner}</g>" if number is None else f'<a href="#work-{number}">{inner}</a>'


def _edge(y: float, line: FoldedRows, moves: list[list[PlanCollective]]) -> tuple[float, list[str]]:
    """A line down from `y` with a diamond for each collective; returns the end and the drawing."""
    middle = _LEFT + _BOX_WIDTH / 2
    end = y + _GAP + _MARK * len(moves)
    parts = [f'<line class="edge" x1="{middle:g}" y1="{y:g}" x2="{middle:g}" y2="{end:g}"/>']
    for number, equal in enumerate(moves):
        at, move = y + _GAP / 2 + _MARK * (number + 0.5), equal[0]
        moved, seconds = sum(m.moved for m in equal), sum(m.seconds for m in equal)
        why = reason(line.row, move)
        words = f"{move.kind} {axis_letters(move.axes)} {volume(moved)} {duration(seconds)}"
        shown = f"{words}: {why}"
        widest = int((_WIDTH - middle - 24) / _CHARACTER)
        parts.append(
            f'<g><title>{escape(shown)}</title><path d="M{middle:g} {at - 7:g}l7 7l-7 7l-7 -7z" '
            f'fill="{kind_color(move.kind)}"/>'
            + text(
                middle + 14,
                at + 4,
                shown if len(shown) <= widest else shown[: widest - 1] + "\u2026",
            )
            + "</g>"
        )
    return end, parts
