"""Samples: which count, and how many are taken."""

from __future__ import annotations

import sys
import time

import pytest

from mycelia.benchmark import interleave, processor
from mycelia.benchmark.interleave import Effort
from mycelia.benchmark.worker import WorkerProcess
from mycelia.benchmark.workloads import CPU

MLP = CPU[0]


def answer(**changes: float) -> dict:
    usual = dict.fromkeys(
        ("minimum", "median", "seconds", "processor", "first_call", "memory", "parameters"), 1.0
    )
    return {**usual, "runs": 2, "values": [], "malloc": "", "version": "", "others": 0.0} | changes


class Told:
    """A worker that answers what it was told to."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, name: str, seconds: float, patience: float) -> dict:
        self.asked += 1
        return answer(seconds=1.0, processor=0.5)


@pytest.mark.parametrize(("busy", "asked"), [(0.55, 1), (2.0, interleave.TRIES)])
def test_samples_are_taken_again_while_others_run_but_not_endlessly(monkeypatch, busy, asked):
    clock = iter(i * busy for i in range(100))
    monkeypatch.setattr(processor, "busy_seconds", lambda: next(clock))
    monkeypatch.setattr(processor, "wait_until_idle", lambda patience: True)
    worker = Told()
    taken = interleave.sample(worker, MLP, 1.0)
    assert worker.asked == asked == len(taken)
    assert taken[-1]["others"] == pytest.approx(busy - 0.5)


def test_a_cell_is_the_median_of_clean_samples():
    times = [answer(median=1.0), answer(median=3.0), answer(median=50.0, others=1.0)]
    found = interleave.cell(times)
    assert found["milliseconds"] == 2.0 and (found["clean"], found["samples"]) == (2, 3)


def test_without_clean_samples_all_count_and_the_cell_says_so():
    found = interleave.cell([answer(median=4.0, others=1.0), answer(median=6.0, others=1.0)])
    assert found["milliseconds"] == 5.0 and found["clean"] == 0


def test_rounds_interleave_columns(fake_workers):
    said: list[str] = []
    command = [sys.executable, "-m", "workers.torch_nets"]
    starts = {name: lambda: WorkerProcess(command, [MLP], {}) for name in ("a", "b")}
    interleave.measure(MLP, starts, Effort(2, 0.0), said.append)
    order = [line.split()[1].rstrip(",") for line in said if "round" in line]
    assert order == ["a", "b", "a", "b"]


def test_a_worker_that_never_answers_is_ended():
    with WorkerProcess([sys.executable, "-c", "import time; time.sleep(60)"], [MLP], {}) as silent:
        found = silent.ask("mlp64", 0, patience=0.1)
    assert found == {"error": "no answer within 0 s"}
    assert silent.process.returncode is not None and not silent.folder.exists()


def test_waiting_for_an_idle_machine_ends(monkeypatch, tmp_path):
    statistics = tmp_path / "stat"
    statistics.write_text("cpu 100 0 0 900 0 0 0 0 0 0\n")
    monkeypatch.setattr(processor, "STATISTICS", statistics)
    assert processor.wait_until_idle(1.0)
    ticks = iter(range(1000))
    monkeypatch.setattr(processor, "busy_seconds", lambda: float(next(ticks)))
    started = time.monotonic()
    assert not processor.wait_until_idle(0.1)
    assert time.monotonic() - started < 2
