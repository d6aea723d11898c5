"""Plans as one HTML page: totals, expensive collectives, drawings, and a searchable table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mycelia._engine.distributed.plan.html_page import framed, legend, named_values
from mycelia._engine.distributed.plan.row_folding import FoldedRows, folded
from mycelia._engine.distributed.plan.svg import (
    flow,
    kind_color,
    layout,
    layout_colors,
    mesh_picture,
    time_bar,
    time_colors,
)
from mycelia._engine.distributed.plan.text import most_expensive, place, reason, totals
from mycelia._engine.distributed.plan.units import axis_letters, duration, share, volume

if TYPE_CHECKING:
    from mycelia._engine.distributed.plan.plan import Plan

_COSTS = 10
_TITLES = (
    *("no", "operator and source line", "required inputs", "result", "collectives"),
    *("sent", "compute", "communication"),
)
_SCRIPT = """
const body = document.querySelector("#works tbody");
const rows = Array.from(body.rows);
const search = document.getElementById("search");
const moving = document.getElementById("moving");
const count = document.getElementById("count");
function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const kept = words.every(w => text.includes(w)) && (!moving.checked || row.dataset.moves > 0);
    row.hidden = !kept;
    shown += kept ? 1 : 0;
  }
  count.textContent = shown + " of " + rows.length + " lines";
}
function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
}
document.querySelectorAll("#works th").forEach((title, column) => {
  title.querySelector("button").addEventListener("click", () => {
    const numeric = rows.length > 0 && rows[0].cells[column].dataset.value !== undefined;
    const first = numeric && column > 0 ? "descending" : "ascending";
    const last = title.getAttribute("aria-sort");
    const order = last === null ? first : last === "ascending" ? "descending" : "ascending";
    document.querySelectorAll("#works th").forEach(other => other.removeAttribute("aria-sort"));
    title.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      const x = value(a, column), y = value(b, column);
      return sign * (numeric ? x - y : x.localeCompare(y));
    });
    body.append(...rows);
  });
});
search.addEventListener("input", filter);
moving.addEventListener("change", filter);
filter();
"""


def page(plan: Plan) -> str:
    """The complete page of a plan."""
    lines = folded(plan.rows)
    parts = [
        f"<h1>Plan of {escape(plan.name)}</h1>",
        named_values(totals(plan)),
        "<h2>Time per run</h2>",
        time_bar(plan),
        legend(time_colors(plan)),
        "<h2>Most expensive collectives</h2>",
        _costs(plan),
        "<h2>Devices</h2>",
        "<p>Letters are mesh axes; colors are hosts.</p>",
        mesh_picture(plan),
        "<h2>Operators and collectives</h2>",
        "<p>Boxes are operators in execution order, colored by the layout of the first result; a "
        "diamond is a collective. Repeated blocks are drawn once. Click a box to go to its line "
        "in the table.</p>",
        legend(layout_colors(plan)),
        f'<div class="scroll">{flow(plan, lines)}</div>',
        "<h2>All operators</h2>",
        _table(plan, lines),
    ]
    return framed(f"Plan of {plan.name}", "\n".join(parts), _SCRIPT)


def _costs(plan: Plan) -> str:
    found = most_expensive(plan)
    if not found:
        return "<p>No data moves between devices.</p>"
    entries = []
    for cost in found[:_COSTS]:
        row, move = cost.row, cost.move
        times = f", {cost.times} times" if cost.times > 1 else ""
        source = f"<pre>{escape(place(row))}  {escape(row.line.strip())}</pre>" if row.where else ""
        entries.append(
            f"<li><b>{escape(move.kind)}</b> along {axis_letters(move.axes)}: "
            f"{volume(cost.moved)}, {duration(cost.seconds)} "
            f"({share(cost.seconds, plan.seconds)} of the time){times}<br>"
            f'<a href="#work-{row.number}">{row.number} {escape(row.name)}</a>: '
            f"{escape(reason(row, move))}{source}</li>"
        )
    more = f"<p>and {len(found) - _COSTS} more</p>" if len(found) > _COSTS else ""
    return f'<ol class="costs">{"".join(entries)}</ol>{more}'


def _table(plan: Plan, lines: list[FoldedRows]) -> str:
    titles = "".join(f'<th><button type="button">{title}</button></th>' for title in _TITLES)
    colors = layout_colors(plan)
    rows = "\n".join(_row(line, colors[layout(line.row)]) for line in lines)
    return (
        '<div class="tools"><input type="search" id="search" '
        'placeholder="operator, file, layout ..." aria-label="search the operators">'
        '<label><input type="checkbox" id="moving"> only operators with collectives</label>'
        '<span id="count"></span></div>\n'
        f'<div class="scroll"><table id="works"><thead><tr>{titles}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(line: FoldedRows, color: str) -> str:
    row = line.row
    numbers = ", ".join(str(each.number) for each in line.rows)
    marks = f" x{line.times}" * (line.times > 1) + " pinned" * row.pinned
    source = f"{place(row)}  {row.line.strip()}" if row.where else ""
    cells = [
        f'<td class="number" data-value="{row.number}" title="{numbers}">{row.number}</td>',
        f'<td title="{escape(row.where)}">{escape(line.name)}<b>{marks}</b>'
        f'<span class="source">{escape(source)}</span></td>',
        f'<td class="code">{_listed(row.inputs)}</td>',
        f'<td class="code" style="border-left:4px solid {color}">{_listed(row.outputs)}</td>',
        f"<td>{_moves(line)}</td>",
        f'<td class="number" data-value="{line.moved!r}">{volume(line.moved)}</td>',
        f'<td class="number" data-value="{line.compute!r}">{duration(line.compute)}</td>',
        f'<td class="number" data-value="{line.talk!r}">{duration(line.talk)}</td>',
    ]
    return f'<tr id="work-{row.number}" data-moves="{len(row.moves)}">{"".join(cells)}</tr>'


def _listed(texts: tuple[str, ...]) -> str:
    return "<br>".join(map(escape, texts))


def _moves(line: FoldedRows) -> str:
    return "<br>".join(
        f'<b style="color:{kind_color(moves[0].kind)}">{escape(moves[0].kind)}</b> '
        f"{axis_letters(moves[0].axes)} {volume(sum(move.moved for move in moves))}: "
        f"{escape(reason(line.row, moves[0]))}"
        for moves in line.moves
    )
