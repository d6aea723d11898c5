"""Profiles: real times under the right names, in files that others can read."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops, profiler
from mycelia._engine.runtime.observers import run_observer
from mycelia.profiler import Profiler, mstx
from tests.train.model_doubles import dense_model, rows

SIZE = 600
X = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)


def summary(path: Path) -> dict:
    return json.loads((path / "profiler" / "summary.json").read_text())


def test_operators_of_eager_mode_are_timed(tmp_path: Path):
    x = Tensor(X)
    ops.matmul(x, x).asnumpy()
    prof = Profiler(output_path=str(tmp_path))
    began = perf_counter()
    for _ in range(3):
        ops.matmul(x, x)
    ops.tanh(x)
    wall = (perf_counter() - began) * 1e3
    prof.stop()
    ops.matmul(x, x)
    prof.analyse()
    rows = {row["name"]: row for row in summary(tmp_path)["operators"]}
    assert rows["MatMul"]["count"] == 3 and rows["Tanh"]["count"] == 1
    total = sum(row["total_ms"] for row in rows.values())
    assert 0.3 * wall < total <= wall
    assert rows["MatMul"]["min_ms"] <= rows["MatMul"]["mean_ms"] <= rows["MatMul"]["max_ms"]
    found = json.loads(prof.op_analyse(["MatMul", "Absent"]))
    assert found == {"MatMul": rows["MatMul"]}
    with pytest.raises(TypeError, match="op_name"):
        prof.op_analyse(3)


def test_compiled_programs_are_timed_under_their_names(tmp_path: Path):
    @ms.jit
    def product(x):
        return ops.matmul(x, x) + 1

    x = Tensor(X)
    product(x).asnumpy()
    prof = Profiler(output_path=str(tmp_path), start_profile=False)
    prof.start()
    began = perf_counter()
    for _ in range(4):
        product(x)
        prof.step()
    wall = (perf_counter() - began) * 1e3
    prof.stop()
    prof.analyse(pretty=True)
    (row,) = summary(tmp_path)["programs"]
    assert "product" in row["name"] and row["count"] == 4
    assert 0.3 * wall < row["total_ms"] <= wall
    steps = summary(tmp_path)["step_trace"]
    assert [step["step"] for step in steps] == [0, 1, 2, 3, 4]
    assert all(0 < step["computing_ms"] <= step["total_ms"] for step in steps[:4])
    assert steps[4]["computing_ms"] == 0.0
    Profiler.offline_analyse(str(tmp_path), step_list=[1, 2])
    assert [step["step"] for step in summary(tmp_path)["step_trace"]] == [1, 2]
    profiler.analyse(str(tmp_path), step_list=[3])
    assert summary(tmp_path)["programs"][0]["count"] == 1


def test_a_training_in_graph_mode_shows_its_step(tmp_path: Path):
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net = nn.WithLossCell(nn.Dense(4, 2), nn.MSELoss())
        step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
        x, y = Tensor(X[:8, :4]), Tensor(X[:8, :2])
        step(x, y)
        with Profiler(output_path=str(tmp_path)) as prof:
            for _ in range(3):
                step(x, y)
        prof.analyse()
    finally:
        ms.set_context(mode=before)
    (row,) = summary(tmp_path)["programs"]
    assert row["name"].startswith("TrainOneStepCell") and row["count"] == 3


def test_marks_and_ranges_of_users_are_in_the_trace(tmp_path: Path):
    assert mstx.range_start("nobody measures") == 0
    mstx.range_end(0)
    prof = Profiler(output_path=str(tmp_path))
    mstx.mark("here", domain="mine")
    number = mstx.range_start("sleeping")
    sleep(0.02)
    mstx.range_end(number)
    assert mstx.range_start(3) == 0
    mstx.range_end(number)  # it is over: a warning
    prof.add_metadata("run", "first")
    prof.add_metadata_json("shape", "[1, 2]")
    prof.stop()
    prof.analyse()
    events = json.loads((tmp_path / "profiler" / "trace_view.json").read_text())["traceEvents"]
    by_name = {event["name"]: event for event in events}
    assert by_name["here"]["dur"] == 0 and by_name["here"]["args"]["domain"] == "mine"
    assert 20_000 <= by_name["sleeping"]["dur"] < 500_000
    assert by_name["sleeping"]["ts"] >= by_name["here"]["ts"]
    assert sum(event["cat"] == "range" for event in events) == 1
    assert summary(tmp_path)["metadata"] == {"run": "first", "shape": [1, 2]}


def test_a_schedule_says_what_each_step_does():
    plan = profiler.schedule(wait=1, active=2, warmup=1, repeat=1, skip_first=1)
    names = [plan(step).name for step in range(7)]
    assert names == ["NONE", "NONE", "WARM_UP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    assert plan.to_dict() == {
        "wait": 1,
        "active": 2,
        "warmup": 1,
        "repeat": 1,
        "skip_first": 1,
    }
    forever = profiler.schedule(wait=1, active=2)
    assert [forever(step).value for step in range(7)] == [0, 2, 3, 0, 2, 3, 0]
    assert str(profiler.schedule(wait=-1, active=0)) == (
        "Schedule(wait=0, active=1, warmup=0, repeat=0, skip_first=0)"
    )


def test_profile_saves_the_scheduled_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    x = Tensor(X)
    handler = profiler.tensorboard_trace_handler(str(tmp_path / "out"), worker_name="w")
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=1, active=2, repeat=1),
        on_trace_ready=handler,
        experimental_config=profiler._ExperimentalConfig(mstx=True),
    ) as prof:
        for _ in range(5):
            ops.matmul(x, x)
            prof.step()
    found = summary(tmp_path / "out" / "w")
    assert [step["step"] for step in found["step_trace"]] == [1, 2]
    assert found["operators"][0]["name"] == "MatMul" and found["operators"][0]["count"] == 2


def test_settings_have_mindspores_values():
    assert profiler.ProfilerLevel.Level1.value == "Level1"
    assert profiler.ProfilerActivity("NPU") is profiler.ProfilerActivity.NPU
    assert profiler.AicoreMetrics.AiCoreNone.value == "None"
    assert profiler.ExportType.Db.value == "db" and profiler.HostSystem.MEM.value == "mem"
    config = profiler._ExperimentalConfig()
    assert config.profiler_level is profiler.ProfilerLevel.Level0 and config.host_sys is None


def test_wrong_uses_are_told(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no profile"):
        Profiler.offline_analyse(str(tmp_path / "absent"))
    with pytest.raises(ValueError, match="CPU"):
        profiler.profile(activities=[profiler.ProfilerActivity.NPU])
    with Profiler(output_path=str(tmp_path)) as prof:
        with pytest.raises(RuntimeError, match="another profiler"):
            Profiler(output_path=str(tmp_path))
        with pytest.raises(ValueError, match="mode"):
            prof.analyse(mode="later")
    assert run_observer.heard is None


def test_results_under_a_profiler_are_the_same(tmp_path: Path):
    x = Tensor(X[:4, :4])
    plain = ms.grad(lambda x: (ops.tanh(x) * x).sum())(x).asnumpy()
    with Profiler(output_path=str(tmp_path)) as prof:
        watched = ms.grad(lambda x: (ops.tanh(x) * x).sum())(x).asnumpy()
    np.testing.assert_array_equal(plain, watched)
    backward = json.loads(prof.op_analyse("backward"))["backward"]
    assert backward["count"] == 1 and backward["total_ms"] > 0
    assert json.loads(prof.op_analyse("Tanh"))["Tanh"]["count"] == 1


def test_steps_joined_into_one_program_are_one_run(tmp_path: Path):
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        model = dense_model()
        model.train(1, rows(16), dataset_sink_mode=True)
        with Profiler(output_path=str(tmp_path)) as prof:
            model.train(1, rows(16), dataset_sink_mode=True)
        prof.analyse()
    finally:
        ms.set_context(mode=before)
    assert [row["count"] for row in summary(tmp_path)["programs"]] == [1]
