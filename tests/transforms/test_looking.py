"""Looking inside: the text of what a function becomes, and the files of its stages."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.ir.graph import Graph
from mycelia.transforms.ir_dump import write_stages
from mycelia.transforms.show import show, trace_for


def double(x, n):
    while x.sum() < n:
        x = x * 2
    return x


DOUBLED = f"# test_looking.py:{double.__code__.co_firstlineno + 2} x = x * 2"


# ---- show ---------------------------------------------------------------------------------------


def test_a_function_is_shown_as_a_graph():
    text = show(lambda x: ops.relu(x) + 1, Tensor([1.0]), lines=False)
    assert text.split("\n") == [
        "graph <lambda>(x0: f32[1]):",
        "  %1: f32[1] = ReLU(x0)",
        "  %2: f32[1] = Add(%1, 1.0)",
        "  %3: (f32[1],) = tuple(%2)",
        "  return %3",
    ]


def test_the_users_lines_stand_beside_it():
    text = show(double, Tensor([1.0]), 10)
    assert "x1: i64[]" in text
    assert "while(@goes_on, @step" in text
    assert DOUBLED in text
    assert "#" not in show(double, Tensor([1.0]), 10, lines=False)


def test_a_cell_is_shown_with_its_parameters_and_not_run():
    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(Tensor([0.0]), name="count")

        def construct(self, x):
            self.count += x
            return self.count * 2

    net = Counter()
    assert "graph Counter(x0: f32[1], count: f32[1]):" in show(net, Tensor([1.0]))
    assert net.count.asnumpy().tolist() == [0]


def test_compiled_functions_and_gradients_can_be_shown():
    assert "ReLU(x0)" in show(ms.jit(ops.relu), Tensor([1.0]))
    assert "graph" in show(ms.grad(lambda x: (x * x * x).sum()), Tensor([1.0]))


def test_numbers_that_decide_are_constants():
    text = show(lambda x, n: x.reshape((n, 2)), Tensor([1.0, 2.0]), 1, lines=False)
    assert "Reshape(x0, (1, 2))" in text


def test_what_xla_is_given_can_be_shown():
    assert "stablehlo" in show(double, Tensor([1.0]), 10, stage="xla")


def test_functions_that_are_no_single_program_say_why():
    with pytest.raises(RuntimeError, match="not compile to a single program: .*runtime values"):
        show(lambda x: ops.nonzero(x), Tensor([1.0, 0.0]))


def test_wrong_questions_are_answered():
    with pytest.raises(ValueError, match="'stage' must be one of read, optimized, xla"):
        show(double, Tensor([1.0]), 1, stage="parsed")
    with pytest.raises(TypeError, match="a function or a Cell"):
        show(3, Tensor([1.0]))


def test_errors_of_the_function_come_through():
    with pytest.raises(ValueError, match="inner|shape|size"):
        show(lambda x, y: ops.matmul(x, y), Tensor(np.ones((2, 3))), Tensor(np.ones((4, 5))))


def test_show_is_at_hand_in_mycelia_ir():
    assert ms.ir.show is show


# ---- files of stages ----------------------------------------------------------------------------


def graph() -> Graph:
    return trace_for(double, (Tensor([1.0]), 10)).read.program.graph


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_nothing_is_written_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_stages("net", 0, [("read", graph()), ("optimized", graph())])
    assert files(tmp_path) == []


FINAL = ["net_7_1_optimized.dot", "net_7_1_optimized.ir", "net_7_1_optimized.svg"]
FIRST = ["net_7_0_read.dot", "net_7_0_read.ir"]


@pytest.mark.parametrize(
    "level, expected",
    [(1, FINAL), (2, FIRST + FINAL), (3, [*FIRST, "net_7_0_read.svg", *FINAL]), (False, [])],
)
def test_the_level_says_what_is_written(tmp_path: Path, level: int, expected: list[str]):
    ms.set_context(save_graphs=level, save_graphs_path=str(tmp_path / "new"))
    write_stages("net", 7, [("read", graph()), ("optimized", graph())])
    assert files(tmp_path) == [f"new/graphs/{name}" for name in expected]


def test_the_files_hold_text_with_lines_and_pictures(tmp_path: Path):
    ms.set_context(save_graphs=1, save_graphs_path=str(tmp_path))
    write_stages("double", 0, [("optimized", graph())])
    stem = tmp_path / "graphs" / "double_0_0_optimized"
    assert DOUBLED in stem.with_suffix(".ir").read_text()
    assert stem.with_suffix(".dot").read_text().startswith('digraph "double" {')
    ElementTree.fromstring(stem.with_suffix(".svg").read_text())


def test_names_become_names_of_files(tmp_path: Path):
    ms.set_context(save_graphs=1, save_graphs_path=str(tmp_path))
    write_stages("../<lambda>", 0, [("a/b", graph())])
    assert files(tmp_path)[1] == "graphs/.._lambda__0_0_a_b.ir"


def test_a_compilation_writes_its_stages_if_asked(tmp_path):
    def f(x):
        return (x * 1 + 0 * x).sum() if x.sum() > 0 else x.sum()

    before = ms.get_context("save_graphs"), ms.get_context("save_graphs_path")
    ms.set_context(save_graphs=3, save_graphs_path=str(tmp_path))
    try:
        ms.jit(f)(Tensor([1.0, 2.0]))
    finally:
        ms.set_context(save_graphs=before[0], save_graphs_path=before[1])
    names = sorted(p.name for p in (tmp_path / "graphs").iterdir())
    assert names[0].startswith("f_1_0_read")
    assert any("optimized.svg" in n for n in names)
    assert any("optimized.ir" in n for n in names)
