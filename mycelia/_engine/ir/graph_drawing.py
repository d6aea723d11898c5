"""Graph drawings: Graphviz text, and SVG with a built-in layout.

Every box shows what the text of the graph shows (`_engine/ir/printer.py`), with the same names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.control_flow import graphs_of, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.printer import show, show_type

_WIDEST = 56  # characters per line in a box
_CHARACTER, _LINE = 7.2, 16  # the width of a monospaced character, and the line height
_MARGIN, _GAP, _BETWEEN_LAYERS = 24, 28, 44
_SWEEPS = 4  # over the layers, which move boxes close to their neighbors
_COLORS = {"input": "#e8f1fb", "operator": "#ffffff", "control": "#fdf1dc", "return": "#e9f7ea"}


@dataclass(eq=False)
class _NodeBox:
    """One element of a drawing: a parameter, an application, or the result of a graph.

    A box of kind "gap" is the space in a layer through which an edge passes.
    """

    number: int
    kind: str
    lines: list[str]
    source: str = ""
    uses: list[_NodeBox] = field(default_factory=list)
    graphs: list[Graph] = field(default_factory=list)
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    passed: float = 0.0  # the height of the layer

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * _CHARACTER + 20 if self.lines else 0.0

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 12

    @property
    def bottom(self) -> float:
        return self.y + (self.height if self.lines else self.passed)


@dataclass(eq=False)
class _GraphFrame:
    """One graph of a drawing with its boxes, inputs before users, the result last."""

    title: str
    boxes: list[_NodeBox]


def dot(root: Graph) -> str:
    """All graphs reachable from `root` as Graphviz text, each in a separate cluster."""
    frames = _frames(root)
    numbers = {graph: number for number, graph in enumerate(frames)}
    rows = [
        f"digraph {_quoted(root.name)} {{",
        "  compound=true;",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10];',
    ]
    for number, frame in enumerate(frames.values()):
        rows += [f"  subgraph cluster_{number} {{", f"    label={_quoted(frame.title)};"]
        rows += [f"    {_dot_box(box)}" for box in frame.boxes]
        rows.append("  }")
    for frame in frames.values():
        for box in frame.boxes:
            rows += [f"  n{used.number} -> n{box.number};" for used in box.uses]
            for graph in box.graphs:
                first = frames[graph].boxes[0].number
                target = f"lhead=cluster_{numbers[graph]}, style=dashed"
                rows.append(f"  n{box.number} -> n{first} [{target}];")
    return "\n".join([*rows, "}", ""])


def svg(root: Graph) -> str:
    """All graphs reachable from `root` as one SVG picture, one below the other."""
    parts: list[str] = []
    y, right = float(_MARGIN), 0.0
    for frame in _frames(root).values():
        boxes, width, height = _arrange(frame.boxes)
        width = max(width, len(frame.title) * _CHARACTER)
        parts.append(_text(_MARGIN, y + _LINE, frame.title, "title"))
        parts += _svg_frame(boxes, _MARGIN, y + 2 * _LINE)
        y += 2 * _LINE + height + 2 * _MARGIN
        right = max(right, width)
    size = f'width="{right + 2 * _MARGIN:.0f}" height="{y:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace">'
    return "\n".join([head, _STYLE, *parts, "</svg>", ""])


# ---- content ------------------------------------------------------------------------------------


def _frames(root: Graph) -> dict[Graph, _GraphFrame]:
    """The boxes of all graphs. The printed text has one row for each of them."""
    bodies = nodes_by_graph(root)
    sections = show(root).split("\n\n")
    boxes: dict[GraphNode, _NodeBox] = {}
    frames: dict[Graph, _GraphFrame] = {}
    numbers = iter(range(sum(len(g.parameters) + len(n) + 1 for g, n in bodies.items())))
    for (graph, nodes), section in zip(bodies.items(), sections, strict=True):
        head, *rows, result = section.split("\n")
        for parameter in graph.parameters:
            boxes[parameter] = _parameter_box(next(numbers), parameter)
        name = head.removeprefix("graph ").partition("(")[0]
        prefix = "" if graph is root else f"{name}."
        for node, row in zip(nodes, rows, strict=True):
            boxes[node] = _apply_box(next(numbers), node, row.strip(), prefix)
        last = _NodeBox(next(numbers), "return", [_cut(result.strip(), prefix)])
        last.uses = [boxes[graph.output]] if graph.output in boxes else []
        inner: list[GraphNode] = [*graph.parameters, *nodes]
        frames[graph] = _GraphFrame(
            name + _location(graph.span), [*(boxes[n] for n in inner), last]
        )
    for user, box in boxes.items():
        if isinstance(user, Apply):
            box.uses = [boxes[used] for used in dict.fromkeys(user.inputs) if used in boxes]
    return frames


def _parameter_box(number: int, node: GraphParameter) -> _NodeBox:
    type_ = [] if node.type is None else [_cut(show_type(node.type))]
    return _NodeBox(number, "input", [_cut(node.name), *type_], _source(node.span))


def _apply_box(number: int, node: Apply, row: str, prefix: str) -> _NodeBox:
    """The operator with its arguments, its fields, and the name and type of the result."""
    name, _, what = row.partition(" = ")
    function = _function_text(node)
    operator, bracket, fields = function.partition("[")
    lines = [operator + what[len(function) :], *([bracket + fields] if fields else []), name]
    kind = "control" if graphs_of(node) else "operator"
    shown = [_cut(line, prefix) for line in lines]
    return _NodeBox(number, kind, shown, _source(node.span), graphs=graphs_of(node))


def _function_text(node: Apply) -> str:
    """An operator with its fields as the printed graph shows it; empty for other functions."""
    if not isinstance(primitive_of(node), Primitive):
        return ""
    alone = Graph("alone")
    alone.output = alone.apply(node.fn)
    return show(alone).split("\n")[1].strip().partition(" = ")[2].removesuffix("()")


def _cut(text: str, prefix: str = "") -> str:
    """A line shortened to fit; inside a graph the names of its nodes need no prefix."""
    text = text.replace(prefix, "") if prefix else text
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def _source(span: Span | None) -> str:
    return "" if span is None else f"{_location(span).strip()} {span.text.strip()}".strip()


def _location(span: Span | None) -> str:
    return "" if span is None else f"  {Path(span.file).name}:{span.line}"


# ---- Graphviz -----------------------------------------------------------------------------------


def _dot_box(box: _NodeBox) -> str:
    label = _quoted("\n".join(box.lines))
    tooltip = _quoted(box.source or box.lines[0])
    return f'n{box.number} [label={label}, tooltip={tooltip}, fillcolor="{_COLORS[box.kind]}"];'


def _quoted(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'


# ---- SVG ----------------------------------------------------------------------------------------


def _arrange(boxes: list[_NodeBox]) -> tuple[list[_NodeBox], float, float]:
    """Position every box; returns all boxes, with the gaps for edges, and the width and height."""
    _set_layers(boxes)
    placed = [*boxes, *_edge_gaps(boxes)]
    layers: list[list[_NodeBox]] = [[] for _ in range(1 + max(box.layer for box in placed))]
    users: dict[_NodeBox, list[_NodeBox]] = {box: [] for box in placed}
    for box in placed:
        layers[box.layer].append(box)
        for used in box.uses:
            users[used].append(box)
    for layer in layers:
        _place_row(layer)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            layer.sort(key=lambda box: _center_of(box, box.uses if downwards else users[box]))
            _place_row(layer)
    return placed, _shift_right(placed), _place_below(layers)


def _set_layers(boxes: list[_NodeBox]) -> None:
    """A box's layer is the longest path to it; inputs are placed just above their first use."""
    known = set(boxes)
    first_use: dict[_NodeBox, int] = {}
    for box in boxes:
        box.uses = [used for used in box.uses if used in known]
        box.layer = 1 + max([used.layer for used in box.uses], default=-1)
        for used in box.uses:
            first_use[used] = min(first_use.get(used, box.layer), box.layer)
    for box in boxes:
        if box.kind == "input" and box in first_use:
            box.layer = first_use[box] - 1


def _edge_gaps(boxes: list[_NodeBox]) -> list[_NodeBox]:
    """Gaps for edges that cross a layer, so that they do not run behind its boxes."""
    gaps: dict[tuple[_NodeBox, int], _NodeBox] = {}
    for box in boxes:
        for index, used in enumerate(box.uses):
            nearest = used
            for layer in range(used.layer + 1, box.layer):
                gap = gaps.setdefault((used, layer), _NodeBox(-1, "gap", [], layer=layer))
                gap.uses = [nearest]
                nearest = gap
            box.uses[index] = nearest
    return list(gaps.values())


def _center_of(box: _NodeBox, joined: list[_NodeBox]) -> float:
    return sum(neighbor.x for neighbor in joined) / len(joined) if joined else box.x


def _place_row(layer: list[_NodeBox]) -> None:
    """Place boxes side by side, centered, in their order."""
    x = -(sum(box.width for box in layer) + _GAP * (len(layer) - 1)) / 2
    for box in layer:
        box.x = x + box.width / 2
        x += box.width + _GAP


def _shift_right(boxes: list[_NodeBox]) -> float:
    """Move the leftmost box to 0; returns the right edge of the rightmost box."""
    left = min(box.x - box.width / 2 for box in boxes)
    for box in boxes:
        box.x -= left
    return max(box.x + box.width / 2 for box in boxes)


def _place_below(layers: list[list[_NodeBox]]) -> float:
    """Place the layers below each other; returns the bottom of the last."""
    y = 0.0
    for layer in layers:
        height = max(box.height for box in layer)
        for box in layer:
            box.y, box.passed = y, height
        y += height + _BETWEEN_LAYERS
    return y - _BETWEEN_LAYERS


def _svg_frame(boxes: list[_NodeBox], left: float, top: float) -> list[str]:
    parts = []
    for box in boxes:
        for used in box.uses:
            parts.append(_line(left + used.x, top + used.bottom, left + box.x, top + box.y))
        if box.kind == "gap":
            parts.append(_line(left + box.x, top + box.y, left + box.x, top + box.bottom))
    for box in boxes:
        if box.kind != "gap":
            parts += _svg_box(box, left + box.x - box.width / 2, top + box.y)
    return parts


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _svg_box(box: _NodeBox, left: float, top: float) -> list[str]:
    size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
    position = f'x="{left:.1f}" y="{top:.1f}"'
    rows = [
        _text(left + 10, top + (number + 1) * _LINE, line, "type" if number else "")
        for number, line in enumerate(box.lines)
    ]
    tip = f"<title>{_safe(box.source)}</title>" if box.source else ""
    return [f'<g>{tip}<rect {position} {size} rx="5" fill="{_COLORS[box.kind]}"/>', *rows, "</g>"]


def _text(x: float, y: float, text: str, kind: str) -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attribute}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Text escaped for XML."""
    return escape("".join(c if c >= " " and c not in "\x7f\ufffe\uffff" else " " for c in text))


_STYLE = """<style>
rect { stroke: #5a6b7b; }
line { stroke: #9aa7b3; }
text { font-size: 12px; fill: #1b2733; white-space: pre; }
text.type { fill: #4f6375; }
text.title { font-size: 14px; font-weight: bold; }
</style>"""
