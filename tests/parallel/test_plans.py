"""Plans as data and as text: what they say, how they are kept, and how decisions are fixed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.compiler.sharding.plan_report import report
from mycelia._engine.compiler.sharding.planner import plan as plan_program
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.distributed.plan import plan as plans
from mycelia._engine.distributed.plan.plan import PlanCollective, PlanRow
from mycelia._engine.distributed.plan.row_folding import folded
from mycelia._engine.distributed.plan.scaling_curve import Scaling
from mycelia._engine.distributed.plan.units import duration, mesh_text, volume
from mycelia._engine.runtime.distributed.sharded_execution import all_devices
from mycelia.parallel import Cluster, Plan
from mycelia.transforms.show import trace_for

# Devices that compute slowly and talk fast, so that small networks are worth cutting.
CLUSTER = Cluster("toy", 2, 4, 1e9, 1e9, 1e10, 1e10, 1e9, 1e-6, 1e-5)


class Perceptron(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = ms.Parameter(Tensor(np.ones((64, 256), np.float32)), name="up")
        self.down = ms.Parameter(Tensor(np.ones((256, 64), np.float32)), name="down")

    def construct(self, x):
        hidden = ops.relu(ops.matmul(x, self.up))
        return ops.matmul(hidden, self.down)  # the sum


X = Tensor(np.ones((48, 64), np.float32))


@pytest.fixture(scope="module")
def found() -> Plan:
    return ms.parallel.plan(Perceptron(), X, devices=8, cluster=CLUSTER)


def row(number: int, name: str = "MatMul", *, at: str = "net.py:3", moves=(), **more) -> PlanRow:
    tensor = more.pop("tensor", "f32[48,64] (a, -)")
    return PlanRow(
        number,
        name,
        at,
        "    y = layer(x)",
        ("48 (input 0 dim 0, result 0 dim 0)", "64 (input 0 dim 1, result 0 dim 1)"),
        ((0,), ()),
        (tensor,),
        (tensor,),
        tuple(moves),
        **{"compute": 1e-6} | more,
    )


def made(rows: list[PlanRow], **more) -> Plan:
    first = Plan("net", "f00", "auto_parallel", "dynamic_programming", (4, 2), CLUSTER, tuple(rows))
    return replace(first, **more)


REDUCE = PlanCollective("all-reduce", 6000.0, 3e-6, (0,), 1, "partial results are combined")
GATHER = PlanCollective("all-gather", 2000.0, 9e-6, (1,), 1, "input 0")


def test_text_says_program_devices_time_bytes_and_memory(found):
    text = found.show()
    assert text.startswith("plan of Perceptron\n")
    assert f"8 as a mesh of {mesh_text(found.mesh)}" in text
    assert "toy: 2 x 4 devices" in text
    assert "dynamic_programming in" in text
    assert f"{duration(found.seconds)} predicted: compute {duration(found.compute)}" in text
    assert f"sends     {volume(found.moved)} per device" in text
    assert f"{volume(found.stays)} persistent, activations {volume(found.activations)}" in text
    assert str(found) == text


def test_every_work_has_its_source_line_and_layout(found):
    lines = found.show().splitlines()
    products = [line for line in lines if " MatMul " in line and "test_plans.py:" in line]
    assert len(products) == 2
    for shown, work in zip(products, [r for r in found.rows if r.name == "MatMul"], strict=True):
        assert work.outputs[0] in shown
        assert str(work.number) == shown.split()[0]
        assert duration(work.compute) in shown
    weights = [r for r in found.rows if r.name == "up"]
    assert any(line.split()[1:2] == ["up"] and weights[0].outputs[0] in line for line in lines)


def test_what_costs_most_is_first_with_the_users_line():
    plan = made([row(0, moves=[REDUCE]), row(1, moves=[GATHER], at="net.py:4")])
    text = plan.show()
    costs = text[
        text.index("most expensive") : text.index("operators in execution order")
    ].splitlines()
    assert costs[1] == "  1. all-gather along b: 2 kB, 9 us (64 % of the time)"
    assert costs[2] == "     no 1 MatMul: input 0 is needed as f32[48,64] (a, -)"
    assert costs[3] == "     net.py:4  y = layer(x)"
    assert costs[4].startswith("  2. all-reduce along a: 6 kB, 3 us")


def test_the_sum_of_a_real_plan_is_explained():
    def total(x, y):
        return ops.matmul(x, y).sum()

    x = Tensor(np.ones((256, 256), np.float32))
    text = ms.parallel.plan(total, x, x, devices=4, cluster=CLUSTER).show()
    assert "all-reduce along" in text
    assert "return ops.matmul(x, y).sum()" in text


def test_a_plan_without_moves_says_so():
    assert "no data moves between devices" in made([row(0)]).show()


def test_repeated_blocks_are_folded_and_their_times_added():
    blocks = [
        row(2 * n + k, ("MatMul", "ReLU")[k], at=f"net.py:{k}") for n in range(12) for k in (0, 1)
    ]
    plan = made([*blocks, row(24, "Add")])
    lines = folded(plan.rows)
    assert [(line.name, line.times) for line in lines] == [("MatMul", 12), ("ReLU", 12), ("Add", 1)]
    assert lines[0].block == lines[1].block == 0 and lines[2].block is None
    assert [r.number for r in lines[1].rows] == list(range(1, 24, 2))
    shown = [line for line in plan.show().splitlines() if " x12" in line and "net.py" in line]
    assert len(shown) == 2 and all(duration(12e-6) in line for line in shown)


def test_rows_of_another_layout_line_or_move_are_not_folded():
    others = [row(1, at="net.py:9"), row(2, moves=[REDUCE])]
    others += [replace(row(3), **{side: ("f32[48,64] (-, a)",)}) for side in ("inputs", "outputs")]
    for other in others:
        assert [line.times for line in folded([row(0), other])] == [1, 1]


def test_inputs_of_repeated_blocks_are_folded_under_one_name():
    names = [f"layers.{n}.{part}" for n in range(3) for part in ("weight", "bias")]
    inputs = [row(n, name, compute=0.0, at="") for n, name in enumerate(names)]
    inputs = [replace(r, inputs=()) for r in inputs]
    assert [(line.name, line.times) for line in folded(inputs)] == [
        ("layers.*.weight", 3),
        ("layers.*.bias", 3),
    ]
    arguments = [replace(r, name=f"x{r.number}") for r in inputs]
    assert all(line.times == 1 for line in folded(arguments))


def test_all_rows_are_kept_when_folding():
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = [row(n, "ABC"[rng.integers(3)]) for n in range(25)]
        kept = [r.number for line in folded(rows) for r in line.rows]
        assert sorted(kept) == list(range(25))
        assert all(len({r.name for r in line.rows}) == 1 for line in folded(rows))


def test_a_deep_plan_is_folded_to_one_block():
    rows = [row(n, f"op{n % 40}") for n in range(40 * 96)]
    assert len(folded(rows)) == 40


def test_limit_and_only_choose_lines():
    plan = made([row(0, "MatMul"), row(1, "ReLU", at="other.py:1"), row(2, "Add", moves=[REDUCE])])
    assert "and 1 more operators" in plan.show(limit=2)
    assert " Add " not in plan.show(limit=2).split("operators in execution order")[1]

    def operators(**how):
        return [
            line.split()[1]
            for line in plan.show(**how).split("operators in execution order")[1].splitlines()[2:]
        ]

    assert operators(only="ReLU") == ["ReLU"]
    assert operators(only="other.py") == ["ReLU"]
    assert operators(only=lambda r: r.moves) == ["Add"]
    with pytest.raises(ValueError, match="limit"):
        plan.show(limit=0)


def test_memory_that_does_not_suffice_is_said():
    assert "DOES NOT FIT" in made([row(0, stays=10**10)]).show()
    assert "DOES NOT FIT" not in made([row(0, stays=10**7)]).show()


def test_saved_plans_come_back_equal(found, tmp_path):
    path = tmp_path / "plans.json"
    pinned = found.pin(found.rows[-1].number)
    pinned.save(path)
    assert plans.load(path) == [pinned]
    other = replace(found, fingerprint="other")
    other.save(path)
    assert plans.load(path) == [pinned, other]
    found.save(path)  # of the same program: replaced
    assert plans.load(path) == [found, other]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("mycelia plans 1", "mycelia plans 99"),
        lambda text: text.replace('"cuts"', '"slices"'),
        lambda text: text.replace('"times": 1', '"often": 1'),
        lambda text: "[]",
        lambda text: "",
        lambda text: json.dumps(json.loads(text) | {"plans": [{"rows": 3}]}),
        lambda text: text.replace('"mesh": [\n    4,', '"mesh": [\n    "four",'),
    ],
)
def test_a_spoilt_file_is_an_error_that_names_it(tmp_path, spoil):
    path = tmp_path / "plans.json"
    made([row(0, moves=[REDUCE])]).save(path)
    whole = path.read_text()
    assert spoil(whole) != whole
    path.write_text(spoil(whole))
    with pytest.raises(ValueError, match="the plan file cannot be read") as caught:
        plans.load(path)
    assert "plans.json" in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        plans.load(tmp_path / "none.json")


def test_a_pinned_row_is_marked_and_laid_out_by_its_cuts():
    plan = made([row(0), row(1, "ReLU")]).pin(1, [(), (1, 0)])
    assert plan.row(1).pinned and plan.row(1).cuts == ((), (1, 0))
    assert plan.row(1).outputs == plan.row(1).inputs == ("f32[48,64] (-, ba)",)
    assert not plan.row(0).pinned
    line = next(line for line in plan.show().splitlines() if " ReLU " in line)
    assert "pinned" in line and "f32[48,64] (-, ba)" in line


def test_pinning_as_it_is_changes_nothing_but_the_mark(found):
    for number in (r.number for r in found.rows):
        pinned = found.pin(number)
        assert pinned.row(number) == replace(found.row(number), pinned=True)
        assert [r for r in pinned.rows if r.number != number] == [
            r for r in found.rows if r.number != number
        ]


@pytest.mark.parametrize(
    ("cuts", "kind", "words"),
    [
        ([(0,)], ValueError, "do not fit MatMul"),
        ([(0,), (0,)], ValueError, "do not fit MatMul"),
        ([(2,), ()], ValueError, "the mesh has no such axis"),
        ([(-1,), ()], ValueError, "the mesh has no such axis"),
        ([0, 1], TypeError, "cuts"),
        ([("a",), ()], TypeError, "cuts"),
    ],
)
def test_wrong_cuts_are_errors(cuts, kind, words):
    with pytest.raises(kind, match=words):
        made([row(0)]).pin(0, cuts)


def test_a_row_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="no such row"):
        made([row(0)]).pin(7)


def test_a_pinned_decision_is_kept_when_the_program_is_planned_again(found):
    work = next(r for r in found.rows if r.name == "ReLU")
    cuts = [(), tuple(range(len(found.mesh)))]
    assert tuple(cuts) != work.cuts
    request = PlanRequest("auto_parallel", found.cluster, plans=(found.pin(work.number, cuts),))
    again = report(plan_program(trace_for(Perceptron(), (X,)).read.program, request))
    assert again.row(work.number).cuts == tuple(cuts)
    assert again.row(work.number).outputs == found.pin(work.number, cuts).row(work.number).outputs
    assert again.row(work.number).pinned


def test_simulation_gives_a_plan_for_each_number_of_devices():
    scaling = ms.parallel.simulate(Perceptron(), X, cluster=CLUSTER, devices=(1, 2, 8))
    assert isinstance(scaling, Scaling)
    assert [p.devices for p in scaling.plans] == [1, 2, 8]
    assert scaling.ideals == (1.0, 2.0, 8.0)
    assert scaling.speedups[0] == 1.0 and 1.0 < scaling.speedups[1] <= 2.0
    lines = scaling.show().splitlines()
    assert lines[0] == "Perceptron on toy" and len(lines) == 5
    assert f"{scaling.speedups[2]:.2f}" in lines[4].split()


def test_the_devices_here_are_measured():
    measured = ms.parallel.probe_cluster()
    assert measured.devices == len(all_devices())
    assert 1e8 < measured.flops < 1e16
    assert 1e7 < measured.memory_bandwidth < 1e14
    assert 1e4 < measured.link < 1e14
    assert 0 < measured.latency < 1
    assert 1e8 < measured.memory < 1e13
    assert ms.parallel.plan(Perceptron(), X, cluster=measured).cluster == measured


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ns"), (4e-10, "0.4 ns"), (1.5e-6, "1.5 us"), (9.999e-4, "1 ms"), (2, "2 s")],
)
def test_durations_have_three_digits(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("bytes_", "text"), [(0, "0 B"), (12, "12 B"), (229376, "229 kB"), (8e10, "80 GB")]
)
def test_volumes_have_three_digits(bytes_, text):
    assert volume(bytes_) == text
