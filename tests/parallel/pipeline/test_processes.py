"""Pipelines over several real processes: the numbers of one, and an end if one is killed."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from mycelia._engine.parallel.pipeline.action_order import StageTransfer, events
from mycelia._engine.parallel.pipeline.schedule import (
    PipelineAction,
    PipelineSchedule,
    gpipe,
    interleaved,
    needed_before,
    one_forward_one_backward,
)
from tests.launch.jobs import Running

FILE = Path(__file__).with_name("process_checks.py")
SCRIPT = f"import runpy\nrunpy.run_path({str(FILE)!r}, run_name='__main__')\n"
slow = pytest.mark.slow


def job(folder: Path, options: str, stages: int, devices: int, *checks: str) -> Running:
    return Running(folder, options.split(), SCRIPT, str(stages), str(devices), *checks)


JOBS = [
    ("-n 2", 2, 2, "mlp mlp_gpipe"),
    pytest.param("-n 2", 2, 2, "mlp_interleaved dropout batch_norm scaling", marks=slow),
    pytest.param("-n 2", 2, 2, "clipping gradients rows_of_each_process", marks=slow),
    pytest.param("-n 2", 2, 2, "reading_parameters model gpt gpt_gpipe", marks=slow),
    pytest.param("-n 4", 4, 4, "mlp mlp_gpipe batch_norm", marks=slow),
    pytest.param("-n 4", 2, 4, "mlp gpt clipping gradients", marks=slow),
    pytest.param(
        "-n 4", 2, 4, "moving batch_norm reading_parameters rows_of_each_process", marks=slow
    ),
    pytest.param("-n 2 --virtual 4", 2, 8, "mlp_searched mlp_of_rows gpt", marks=slow),
    pytest.param("-n 2 --virtual 4", 4, 8, "mlp mlp_gpipe scaling", marks=slow),
    pytest.param("-n 3 --virtual 2", 2, 6, "moving mlp mlp_of_rows reading_parameters", marks=slow),
    pytest.param("-n 3", 2, 3, "mlp mlp_of_rows", marks=slow),
    pytest.param("-n 3", 2, 2, "mlp gradients", marks=slow),
]


@pytest.mark.parametrize(
    "schedule",
    [gpipe(3, 5), one_forward_one_backward(4, 6), interleaved(2, 4, 3)],
    ids=lambda schedule: schedule.name,
)
def test_values_are_handed_over_between_who_makes_and_who_needs_them(
    schedule: PipelineSchedule,
) -> None:
    turns = {event: turn for turn, event in enumerate(events(schedule))}
    actions = [event for event in turns if isinstance(event, PipelineAction)]
    assert len(turns) == 2 * len(actions)
    for action in actions:
        assert turns[action] < turns[StageTransfer(action)]
        for needed in needed_before(action, schedule.chunks):
            assert turns[StageTransfer(needed)] < turns[action]


def test_a_stage_starts_before_it_takes_what_comes_next() -> None:
    """Else it would wait for the stage before it to run the next micro-batch, too."""
    turns = {event: turn for turn, event in enumerate(events(one_forward_one_backward(2, 4)))}
    assert turns[PipelineAction(1, 0, True)] < turns[StageTransfer(PipelineAction(0, 1, True))]


@pytest.mark.parametrize(("options", "stages", "devices", "checks"), JOBS)
def test_processes_give_the_numbers_of_one(
    tmp_path: Path, options: str, stages: int, devices: int, checks: str
) -> None:
    code, output, errors = job(tmp_path, options, stages, devices, *checks.split()).end()
    assert code == 0, output + errors
    for check in checks.split():
        assert len(re.findall(rf"passed {check}$", output, re.M)) == int(options.split()[1])


@pytest.mark.slow
def test_a_killed_process_ends_the_pipeline_of_all(tmp_path: Path) -> None:
    running = job(tmp_path, "-n 2", 2, 2, "forever")
    assert running.process.stdout is not None
    for line in running.process.stdout:
        if "started" in line:
            break
    time.sleep(3)
    os.kill(running.ranks()[1], signal.SIGKILL)
    began = time.monotonic()
    code, _, errors = running.end()
    assert time.monotonic() - began < 30
    assert code == 128 + signal.SIGKILL
    assert re.search(r"rank 1 .*was killed by signal 9", errors), errors
    assert not running.left()


@slow
def test_a_process_that_does_not_come_is_named(tmp_path: Path) -> None:
    running = job(tmp_path, "-n 2 --timeout 4", 2, 2, "one_sleeps")
    code, _, errors = running.end()
    assert code != 0
    assert re.search(r"rank 0 has waited in .* rank 1 did not come", errors), errors
    assert not running.left()
