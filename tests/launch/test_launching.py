"""`mycelia launch`: what processes are started with, what is shown, how a job ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from mycelia import cli
from tests.launch.jobs import Running, free_port, launch

STEPS = """
import os, signal, subprocess, sys, time
import mindspore as ms
from mindspore import communication, ops, Tensor

communication.init()
rank = communication.get_rank()
open(f"joined{rank}", "w").close()

def steps(count, trouble):
    for step in range(count):
        total = ops.AllReduce()(Tensor([float(rank)]))
        if rank == 1 and step == 3:
            trouble()
        time.sleep(0.02)
    return total
"""


def test_processes_know_their_place_and_speak_with_their_rank(tmp_path):
    script = """
import json, os, sys
names = ["RANK_ID", "RANK_SIZE", "DEVICE_ID", "MS_WORKER_NUM", "MS_ROLE", "MS_SCHED_HOST",
         "MS_NODE_ID", "MYCELIA_RANK", "MYCELIA_LOCAL_SIZE", "MYCELIA_RESTART_COUNT"]
print(json.dumps([sys.argv[1:], __name__, [os.environ[n] for n in names]]))
"""
    code, output, _ = launch(tmp_path, ["-n", "2"], script, "--flag", "x")
    assert code == 0
    lines = dict(line.split("] ", 1) for line in output.splitlines())
    for rank in ("0", "1"):
        arguments, name, values = json.loads(lines[f"[rank {rank}"])
        assert arguments == ["--flag", "x"] and name == "__main__"
        assert values == [rank, "2", rank, "2", "MS_WORKER", "127.0.0.1", rank, rank, "2", "0"]


@pytest.mark.slow
def test_virtual_devices_in_one_and_in_several_processes(tmp_path):
    script = """
import os, jax
import mycelia as ms
from mycelia import communication, ops
communication.init()
total = ops.AllReduce()(ms.Tensor([1.0 + communication.get_rank()]))
print(len(jax.local_devices()), len(jax.devices()), float(total.asnumpy()[0]), os.environ.get("NPROC"))
"""
    code, output, _ = launch(tmp_path, ["--virtual", "8"], script)
    assert (code, output) == (0, "[rank 0] 8 8 1.0 None\n")
    code, output, _ = launch(tmp_path, ["-n", "2", "--virtual", "2"], script)
    assert code == 0
    assert sorted(output.splitlines()) == ["[rank 0] 2 4 3.0 8", "[rank 1] 2 4 3.0 8"]


def test_a_log_for_each_rank(tmp_path):
    script = "import os\nprint('here', os.environ['RANK_ID'])\nassert os.environ['RANK_ID'] == '0'"
    code, output, errors = launch(tmp_path, ["-n", "2", "--log-dir", "logs"], script)
    assert code == 1 and output == ""
    assert "rank 1" in errors and "AssertionError" in errors and "logs/rank_1.log" in errors
    assert (tmp_path / "logs" / "rank_0.log").read_text() == "here 0\n"
    assert "AssertionError" in (tmp_path / "logs" / "rank_1.log").read_text()


def test_an_error_in_one_rank_ends_all_and_is_named(tmp_path):
    code, output, errors = launch(
        tmp_path, ["-n", "2"], STEPS + "def trouble(): sys.exit(7)\nsteps(1000, trouble)"
    )
    assert code == 7
    assert "rank 1" in errors and "ended with exit code 7 at meeting" in errors


def test_a_killed_rank_ends_all_with_its_children_and_is_named(tmp_path):
    for number in range(2):
        _kill_one_rank(tmp_path, victim=number % 2)


@pytest.mark.slow
def test_a_killed_rank_ends_all_every_time(tmp_path):
    for number in range(20):
        _kill_one_rank(tmp_path, victim=number % 2)


def _kill_one_rank(folder, victim: int) -> None:
    """Kill a rank in the middle of its steps, with a child of each rank still there."""
    script = STEPS + (
        "subprocess.Popen(['sleep', '1000'])\n"
        "open(f'ready{rank}', 'w').close()\n"
        "steps(100000, lambda: None)\n"
    )
    for name in ("ready0", "ready1"):
        (folder / name).unlink(missing_ok=True)
    job = Running(folder, ["-n", "2"], script)
    job.wait_for_file("ready0")
    job.wait_for_file("ready1")
    time.sleep(0.5)
    os.kill(job.ranks()[victim], signal.SIGKILL)
    killed = time.monotonic()
    code, _, errors = job.end(30)
    assert time.monotonic() - killed < 10
    assert code == 128 + signal.SIGKILL, errors
    assert f"rank {victim} " in errors and "signal 9 (SIGKILL) at meeting" in errors
    assert "meeting 0" not in errors
    assert job.left() == []


def test_a_job_goes_on_after_a_restart(tmp_path):
    script = (
        STEPS
        + """
def trouble():
    if os.environ["MYCELIA_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)

done = int(open("checkpoint").read()) if os.path.exists("checkpoint") else 0
for step in range(done, 5):
    total = ops.AllReduce()(Tensor([1.0]))
    if rank == 0:
        open("checkpoint", "w").write(str(step + 1))
    print("step", step, flush=True)
    if step == 2 and rank == 1:
        trouble()
"""
    )
    code, output, errors = launch(tmp_path, ["-n", "2", "--restarts", "1"], script)
    assert code == 0, errors
    assert "SIGKILL" in errors and "restarted (1 of 1)" in errors
    shown = [line for line in output.splitlines() if line.startswith("[rank 0] step")]
    assert shown[:3] == ["[rank 0] step 0", "[rank 0] step 1", "[rank 0] step 2"]
    assert shown[-1] == "[rank 0] step 4" and len(shown) == 5


@pytest.mark.slow
def test_restarts_come_to_an_end(tmp_path):
    code, output, errors = launch(
        tmp_path, ["-n", "1", "--restarts", "2"], "print('try', flush=True)\nraise SystemExit(3)"
    )
    assert code == 3 and output.count("try") == 3 and errors.count("restarted") == 2


@pytest.mark.slow
def test_a_rank_that_does_not_come_is_named(tmp_path):
    script = STEPS + "steps(100, lambda: time.sleep(1000))"
    code, _, errors = launch(tmp_path, ["-n", "2", "--timeout", "3"], script)
    assert code == 124
    assert "rank 0 has waited in AllReduce" in errors
    assert "rank 1 has not arrived, it is at meeting" in errors


@pytest.mark.slow
def test_a_stopped_rank_is_named(tmp_path):
    script = STEPS + "steps(10**6, lambda: os.kill(os.getpid(), signal.SIGSTOP))"
    code, _, errors = launch(tmp_path, ["-n", "2", "--timeout", "3"], script)
    assert code == 124 and "rank 1" in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_the_launcher_end_all(tmp_path, number):
    job = Running(tmp_path, ["-n", "2"], STEPS + "steps(10**6, lambda: None)")
    job.wait_for_file("joined1")
    job.process.send_signal(number)
    code, _, errors = job.end(10)
    assert code == 128 + number and number.name in errors
    assert job.left() == []


@pytest.mark.parametrize("when", ["at the start", "in its steps"])
def test_a_killed_launcher_leaves_nothing(tmp_path, when):
    job = Running(tmp_path, ["-n", "2"], STEPS + "steps(10**6, lambda: None)")
    job.wait_for(lambda: len(job.ranks()) == 2)
    if when == "in its steps":
        job.wait_for_file("joined1")
    job.process.kill()
    job.process.communicate()
    until = time.monotonic() + 5
    while job.left() and time.monotonic() < until:
        time.sleep(0.05)
    assert job.left() == []


def test_two_hosts_meet_at_the_coordinator(tmp_path):
    script = (
        STEPS
        + "print(communication.get_group_size(), communication.get_local_rank_size(), steps(2, int))"
    )
    address = f"127.0.0.1:{free_port()}"
    jobs = []
    for host in (0, 1):
        (tmp_path / str(host)).mkdir()
        options = ["-n", "1", "--hosts", "2", "--host-rank", str(host), "--coordinator", address]
        jobs.append(Running(tmp_path / str(host), options, script))
    for host, job in enumerate(jobs):
        code, output, errors = job.end()
        assert (code, output) == (0, f"[rank {host}] 2 1 [1.]\n"), errors


def test_the_environment_of_another_launcher_is_enough(tmp_path):
    (tmp_path / "script.py").write_text(
        STEPS.replace("mindspore", "mycelia") + "print(steps(1, int))"
    )
    port = str(free_port())
    shared = {"MS_WORKER_NUM": "2", "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": port}
    roles = [
        {"MS_ROLE": "MS_SCHED"},
        *({"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(r)} for r in (0, 1)),
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env={**os.environ, **shared, **role},
            stdout=subprocess.PIPE,
            text=True,
        )
        for role in roles
    ]
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert [output.splitlines()[-1:] for output in outputs] == [[], ["[1.]"], ["[1.]"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-n", "0", "x.py"], "processes must be at least 1"),
        (["--hosts", "2", "x.py"], "need a coordinator"),
        (["--hosts", "2", "--coordinator", "here", "x.py"], "not an address"),
        (["--host-rank", "3", "x.py"], "invalid host rank"),
        (["missing.py"], "no such file"),
    ],
)
def test_wrong_options(options, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").touch()
    assert cli.main(["launch", *options]) == 2
    assert said in capsys.readouterr().err


def test_help_says_how_it_is_used(capsys):
    with pytest.raises(SystemExit):
        cli.main(["launch", "--help"])
    shown = capsys.readouterr().out
    assert "mycelia launch -n 4 train.py" in shown and "--restarts" in shown


@pytest.mark.slow
def test_a_machine_that_stood_still_is_no_stuck_job(tmp_path):
    script = STEPS + "steps(300, lambda: None)\nprint('over')"
    job = Running(tmp_path, ["-n", "2", "--timeout", "2"], script)
    job.wait_for_file("joined1")
    everyone = job.left()
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(4)
    for pid in everyone:
        os.kill(pid, signal.SIGCONT)
    code, output, errors = job.end()
    assert code == 0, errors
    assert output.count("over") == 2
