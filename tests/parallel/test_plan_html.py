"""Plans as pages: well formed, whole in one file, and safe with any text in them."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from mycelia._engine.distributed.mesh import Mesh
from mycelia._engine.distributed.plan.row_folding import folded
from mycelia._engine.distributed.plan.scaling_curve import Scaling
from mycelia._engine.distributed.plan.svg import flow, mesh_picture
from tests.parallel.test_plans import GATHER, REDUCE, made, row

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('\"&')</script>"
EMPTY = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """The elements of a page; every element must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.opened.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def pictures(text: str) -> list[ElementTree.Element]:
    return [
        ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    ]


def a_plan():
    blocks = [
        row(2 * n + k, ("MatMul", "ReLU")[k], at=f"net.py:{k}") for n in range(4) for k in (0, 1)
    ]
    return made(
        [
            replace(row(100, "weight", compute=0.0, at="", stays=9), inputs=()),
            *blocks,
            row(8, "Add", moves=[REDUCE, GATHER]),
            row(9, "Last", tensor="f32[48,64] (-, b)", pinned=True),
        ]
    )


@pytest.fixture
def text(tmp_path):
    a_plan().to_html(tmp_path / "plan.html")
    return (tmp_path / "plan.html").read_text()


def test_the_page_has_a_line_for_each_folded_work_with_its_source(text):
    page = Page(text)
    rows = [entry for entry in page.all("tr") if "id" in entry]
    assert [entry["id"] for entry in rows] == [
        *("work-100", "work-0", "work-1", "work-8", "work-9"),
    ]
    assert [entry["data-moves"] for entry in rows] == ["0", "0", "0", "2", "0"]
    assert "net.py:3  y = layer(x)" in page.words
    assert " x4" in page.words and " pinned" in page.words
    assert any("the time" in words for words in page.words)


def test_links_lead_to_lines_of_the_table(text):
    page = Page(text)
    targets = {f"#{entry['id']}" for entry in page.all("tr") if "id" in entry}
    links = {entry["href"] for entry in page.all("a")}
    assert links and links <= targets


def test_the_page_needs_nothing_else(text):
    page = Page(text)
    assert not page.all("link") and not page.all("img")
    assert all("src" not in attributes for _, attributes in page.found)
    assert set(re.findall(r"https?://[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in text


def test_pictures_are_well_formed_and_inside_their_frames(text):
    found = pictures(text)
    assert len(found) == 3
    for picture in found:
        width, height = float(picture.get("width")), float(picture.get("height"))
        assert picture.get("viewBox") == f"0 0 {width:g} {height:g}"
        for box in picture.iter(f"{SVG}rect"):
            x, y, w, h = [float(box.get(name)) for name in ("x", "y", "width", "height")]
            assert 0 <= x <= x + w <= width + 0.1 and 0 <= y <= y + h <= height
        for words in picture.iter(f"{SVG}text"):
            assert 0 <= float(words.get("x")) <= width and 0 <= float(words.get("y")) <= height


def test_the_bar_is_divided_as_the_time_is(text):
    plan, bar = a_plan(), pictures(text)[0]
    widths = [float(box.get("width")) for box in bar.iter(f"{SVG}rect")]
    parts = [plan.compute, REDUCE.seconds, GATHER.seconds]
    assert widths == pytest.approx([1000 * part / plan.seconds for part in parts], abs=0.01)


def test_works_do_not_overlap_and_moves_lie_between_them():
    plan = a_plan()
    picture = ElementTree.fromstring(flow(plan, folded(plan.rows)))
    boxes = [box for box in picture.iter(f"{SVG}rect") if box.get("class") != "frame"]
    tops = [float(box.get("y")) for box in boxes]
    bottoms = [top + float(box.get("height")) for top, box in zip(tops, boxes, strict=True)]
    assert len(boxes) == 5  # the inputs, a block of two, Add and Last
    assert all(bottom < top for bottom, top in zip(bottoms, tops[1:]))
    marks = [
        float(mark.get("d")[1:].split("l")[0].split()[1]) + 7 for mark in picture.iter(f"{SVG}path")
    ]
    assert bottoms[2] < marks[0] < tops[3] and bottoms[3] < marks[1] < tops[4]
    frames = [box for box in picture.iter(f"{SVG}rect") if box.get("class") == "frame"]
    assert len(frames) == 1
    assert float(frames[0].get("y")) < tops[1]
    assert bottoms[2] < float(frames[0].get("y")) + float(frames[0].get("height")) < tops[3]


def test_layouts_have_colors_of_their_own():
    plan = a_plan()
    picture = ElementTree.fromstring(flow(plan, folded(plan.rows)))
    colors = [b.get("fill") for b in picture.iter(f"{SVG}rect") if b.get("class") != "frame"]
    assert colors[1] == colors[2] == colors[3] != colors[4]
    assert colors[0] not in colors[1:]


@pytest.mark.parametrize("sizes", [(1,), (8,), (4, 2), (2, 3, 4), (2, 2, 2, 2, 2), (4096,)])
def test_the_mesh_shows_every_device_once(sizes):
    picture = ElementTree.fromstring(mesh_picture(made([row(0)], mesh=sizes)))
    words = [found.text for found in picture.iter(f"{SVG}text")]
    devices = Mesh(sizes).devices
    if devices > 1024:
        assert words == [f"{devices} devices are too many to draw"]
        return
    assert [w for w in words if w.isdigit()] == [str(n) for n in range(devices)]
    places = {(b.get("x"), b.get("y")) for b in picture.iter(f"{SVG}rect")}
    assert len(places) == devices


def test_hostile_names_and_lines_are_text(tmp_path):
    move = replace(REDUCE, kind=HOSTILE, why=HOSTILE)
    hostile = replace(
        row(0, HOSTILE, at=f"{HOSTILE}.py:3", moves=[move]),
        line=HOSTILE,
        inputs=(HOSTILE,),
        outputs=(HOSTILE,),
    )
    plan = made([hostile, replace(hostile, number=1, where='x" onclick="alert(1)')], name=HOSTILE)
    plan = replace(plan, cluster=replace(plan.cluster, name=HOSTILE), search=HOSTILE)
    plan.to_html(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text()
    page = Page(text)
    assert len(page.all("script")) == 1
    assert "<script>alert" not in text
    assert any(HOSTILE in words for words in page.words)
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
    assert all(ElementTree.iselement(picture) for picture in pictures(text))
    Scaling((plan,)).to_html(tmp_path / "scaling.html")
    assert "<script>" not in (tmp_path / "scaling.html").read_text()


def test_a_deep_plan_without_repetition_has_a_picture_of_bounded_size(tmp_path):
    plan = made([row(n, f"op{n}") for n in range(900)])
    plan.to_html(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text()
    assert "500 more in the table" in text
    assert len([e for e in Page(text).all("tr") if "id" in e]) == 900


def test_a_plan_of_nothing_has_a_page(tmp_path):
    made([], mesh=(1,)).to_html(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text()
    assert "No data moves between devices" in text
    assert len(pictures(text)) == 3
    Page(text)


def test_an_old_page_is_replaced_whole(tmp_path):
    path = tmp_path / "plan.html"
    path.write_text("old")
    a_plan().to_html(path)
    assert path.read_text().endswith("</html>\n")
    assert [p.name for p in tmp_path.iterdir()] == ["plan.html"]


def scaling_of(seconds: list[float], devices: list[int]) -> Scaling:
    return Scaling(
        tuple([made([row(0, compute=s)], mesh=(n,)) for s, n in zip(seconds, devices, strict=True)])
    )


def test_the_curve_of_ideal_scaling_lies_on_the_ideal_line():
    picture = ElementTree.fromstring(scaling_of([8.0, 4.0, 1.0], [1, 2, 8]).to_svg())
    ideal, predicted = [line.get("points") for line in picture.iter(f"{SVG}polyline")]
    assert ideal == predicted
    steps = [tuple(map(float, point.split(","))) for point in ideal.split()]
    assert steps[0][1] > steps[1][1] > steps[2][1]
    # 1 to 2 is a third of the way from 1 to 8: both axes double from mark to mark
    assert (steps[1][0] - steps[0][0]) * 3 == pytest.approx(steps[2][0] - steps[0][0], abs=0.5)
    assert (steps[1][1] - steps[0][1]) * 3 == pytest.approx(steps[2][1] - steps[0][1], abs=0.5)


def test_a_program_that_gets_slower_stays_in_the_picture(tmp_path):
    scaling = scaling_of([1.0, 3.0, 0.5], [1, 2, 4])
    picture = ElementTree.fromstring(scaling.to_svg())
    for mark in picture.iter(f"{SVG}circle"):
        assert 0 < float(mark.get("cx")) <= 720 and 0 < float(mark.get("cy")) < 420
    scaling.to_html(tmp_path / "scaling.html")
    text = (tmp_path / "scaling.html").read_text()
    assert len(Page(text).all("tr")) == 4
    assert "0.33" in text


def test_one_number_of_devices_is_a_curve_of_one_mark():
    picture = ElementTree.fromstring(scaling_of([1.0], [4]).to_svg())
    assert len(list(picture.iter(f"{SVG}circle"))) == 1
