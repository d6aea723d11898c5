"""Pictures of graphs: all boxes and lines are there, apart from one another, and well formed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from mycelia import ops
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.control_flow import TUPLE, WHILE, Item
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.graph_drawing import dot, svg
from mycelia._engine.ir.types import parse_type

F32, TRUTH = parse_type("f32[]"), parse_type("bool[]")
SVG = "{http://www.w3.org/2000/svg}"


def loop() -> Graph:
    """Doubles x while it is small, then adds it to y."""
    graph, goes_on, step = Graph("loop"), Graph("goes_on"), Graph("step")
    x, y = graph.parameter("x", type=F32), graph.parameter("y", type=F32)
    a = goes_on.parameter("a", type=F32)
    goes_on.output = goes_on.apply(ops.Less.of(), a, np.float32(10), type=TRUTH)
    b = step.parameter("b", type=F32)
    doubled = step.apply(ops.Mul.of(), b, np.float32(2), type=F32)
    step.output = step.apply(TUPLE, doubled, type=(F32,))
    span = Span(__file__, 3, None, None, "construct")
    found = graph.apply(WHILE, goes_on, step, x, type=(F32,), span=span)
    last = graph.apply(Item(0), found, type=F32)
    graph.output = graph.apply(ops.Add.of(), last, y, type=F32)
    return graph


def texts(picture: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def boxes(picture: str) -> list[tuple[float, float, float, float]]:
    found = ElementTree.fromstring(picture).iter(f"{SVG}rect")
    sizes = [[float(e.get(k)) for k in ("x", "y", "width", "height")] for e in found]
    return [(x, y, x + width, y + height) for x, y, width, height in sizes]


def test_graphviz_text_of_one_graph():
    assert dot(loop()).split("\n")[:12] == [
        'digraph "loop" {',
        "  compound=true;",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10];',
        "  subgraph cluster_0 {",
        '    label="loop";',
        '    n0 [label="x\\nf32[]", tooltip="x", fillcolor="#e8f1fb"];',
        '    n1 [label="y\\nf32[]", tooltip="y", fillcolor="#e8f1fb"];',
        '    n2 [label="while(@goes_on, @step, x)\\n%1: (f32[],)", '
        'tooltip="test_draw.py:3 from __future__ import annotations", fillcolor="#fdf1dc"];',
        '    n3 [label="item(%1)\\n[index=0]\\n%2: f32[]", tooltip="item(%1)", '
        'fillcolor="#ffffff"];',
        '    n4 [label="Add(%2, y)\\n%3: f32[]", tooltip="Add(%2, y)", fillcolor="#ffffff"];',
        '    n5 [label="return %3", tooltip="return %3", fillcolor="#e9f7ea"];',
        "  }",
    ]


def test_graphviz_lines_follow_the_values_and_lead_to_inner_graphs():
    edges = re.findall(r"^  (n\d+ -> n\d+.*);$", dot(loop()), re.MULTILINE)
    assert edges == [
        "n0 -> n2",
        "n2 -> n6 [lhead=cluster_1, style=dashed]",
        "n2 -> n9 [lhead=cluster_2, style=dashed]",
        "n2 -> n3",
        "n3 -> n4",
        "n1 -> n4",
        "n4 -> n5",
        "n6 -> n7",
        "n7 -> n8",
        "n9 -> n10",
        "n10 -> n11",
        "n11 -> n12",
    ]


def test_inner_graphs_use_their_own_short_names():
    assert '"Mul(b, 2.0)\\n%1: f32[]"' in dot(loop())


def test_quotes_and_markup_are_escaped():
    graph = Graph('a "name" <b> & \\ more')
    graph.output = graph.parameter('x"<&>\\\x01', type=F32)
    assert '"x\\"<&>\\\\\x01\\nf32[]"' in dot(graph)
    assert texts(svg(graph))[:2] == ['a "name" <b> & \\ more', 'x"<&>\\ ']


def test_the_svg_picture_has_a_box_for_everything():
    assert texts(svg(loop())) == [
        "loop", "x", "f32[]", "y", "f32[]", "while(@goes_on, @step, x)", "%1: (f32[],)",
        "item(%1)", "[index=0]", "%2: f32[]", "Add(%2, y)", "%3: f32[]", "return %3",
        "goes_on", "a", "f32[]", "Less(a, 10.0)", "%1: bool[]", "return %1",
        "step", "b", "f32[]", "Mul(b, 2.0)", "%1: f32[]", "tuple(%1)", "%2: (f32[],)", "return %2",
    ]  # fmt: skip
    assert len(boxes(svg(loop()))) == 13


def test_the_svg_picture_tells_the_users_lines():
    tips = [e.text for e in ElementTree.fromstring(svg(loop())).iter(f"{SVG}title")]
    assert tips == ["test_draw.py:3 from __future__ import annotations"]


def test_inputs_stand_just_above_their_first_use():
    x, y, _, item, add, *_ = boxes(svg(loop()))
    assert x[1] < y[1]
    assert y[1] == item[1] < add[1]


def wide(count: int) -> Graph:
    """A chain with a value that everything after it uses, and several inputs."""
    graph = Graph("wide")
    inputs = [graph.parameter(f"x{i}", type=F32) for i in range(count)]
    first = value = graph.apply(ops.Add.of(), inputs[0], inputs[1], type=F32)
    for other in inputs[2:]:
        value = graph.apply(ops.Mul.of(), value, other, type=F32)
        value = graph.apply(ops.Add.of(), value, first, type=F32)
    graph.output = value
    return graph


def test_boxes_do_not_overlap():
    for graph in (loop(), wide(9)):
        found = boxes(svg(graph))
        for number, (left, top, right, bottom) in enumerate(found):
            for x, y, x2, y2 in found[number + 1 :]:
                assert right <= x or x2 <= left or bottom <= y or y2 <= top


def test_lines_do_not_run_behind_boxes():
    picture = svg(wide(9))
    found = ElementTree.fromstring(picture).iter(f"{SVG}line")
    lines = [[float(e.get(k)) for k in ("x1", "y1", "x2", "y2")] for e in found]
    assert len(lines) > 30
    for x1, y1, x2, y2 in lines:
        assert y1 <= y2
        for left, top, right, bottom in boxes(picture):
            for share in (0.25, 0.5, 0.75):
                x, y = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
                assert not (left < x < right and top < y < bottom)


def test_everything_lies_inside_of_the_picture():
    root = ElementTree.fromstring(svg(wide(9)))
    width, height = float(root.get("width")), float(root.get("height"))
    for left, top, right, bottom in boxes(svg(wide(9))):
        assert left > 0 and top > 0 and right < width and bottom < height


def test_long_lines_of_text_are_cut():
    graph = Graph("long")
    inputs = [graph.parameter(f"a_long_name_{i}", type=F32) for i in range(9)]
    graph.output = graph.apply(TUPLE, *inputs, type=(F32,) * 9)
    assert max(map(len, texts(svg(graph)))) == 56


def test_a_graph_without_nodes():
    graph = Graph("same")
    graph.output = graph.parameter("x")
    assert texts(svg(graph)) == ["same", "x", "return x"]


def test_pictures_repeat():
    assert svg(wide(9)) == svg(wide(9))
    assert dot(loop()) == dot(loop())
