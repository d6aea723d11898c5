"""`mycelia benchmark` from its options to its files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mycelia import cli
from mycelia.benchmark import chart, peers, session
from mycelia.benchmark.columns import COLUMNS
from mycelia.benchmark.workloads import CPU

QUICK = ["--rounds", "2", "--seconds", "0.01"]


def benchmark(folder: Path, *options: str) -> int:
    return cli.main(["benchmark", "--out", str(folder), *QUICK, *options])


def rows(folder: Path) -> dict[str, dict]:
    return json.loads((folder / "results.json").read_text())["rows"]


def test_list_shows_workloads_and_columns(capsys):
    assert cli.main(["benchmark", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(w.name in shown and w.title in shown for w in CPU)
    assert all(c.name in shown for c in COLUMNS)


def test_a_run_writes_json_markdown_and_charts(fake_workers, tmp_path, capsys):
    assert benchmark(tmp_path, "--only", "mlp64", "lenet") == 0
    cells = rows(tmp_path)["mlp64"]["cells"]
    assert list(cells) == [c.name for c in COLUMNS]
    assert cells["torch eager"]["milliseconds"] == 4.0 and cells["jax.jit"]["samples"] == 2
    page = (tmp_path / "results.md").read_text()
    assert "| mlp64 | 2.00 | 4.00 (0.50) |" in page
    assert "**0.50** of 2" in page and "| fake 1.0 | default |" in page
    ElementTree.parse(tmp_path / "chart.svg")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert "chart.svg" in capsys.readouterr().out


def test_without_matplotlib_only_tables_are_written(fake_workers, tmp_path, capsys):
    fake_workers.setattr(chart, "can_draw", lambda: False)
    assert benchmark(tmp_path, "--only", "mlp64") == 0
    assert "pip install 'mycelia[benchmark]'" in capsys.readouterr().out
    assert (tmp_path / "results.md").exists() and not (tmp_path / "chart.svg").exists()


def test_without_peers_there_is_no_chart(fake_workers, tmp_path, capsys):
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "none") == 0
    assert list(rows(tmp_path)["mlp64"]["cells"]) == ["mycelia"]
    assert "no peer was measured" in capsys.readouterr().out


def test_resume_measures_only_what_is_left(fake_workers, tmp_path, capsys):
    assert benchmark(tmp_path, "--only", "mlp64") == 0
    results = json.loads((tmp_path / "results.json").read_text())
    results["rows"]["mlp64"]["cells"]["mycelia"]["milliseconds"] = 123.0
    (tmp_path / "results.json").write_text(json.dumps(results))
    capsys.readouterr()
    assert benchmark(tmp_path, "--only", "mlp64", "lenet", "--resume") == 0
    assert "mlp64: measured before" in capsys.readouterr().out
    found = rows(tmp_path)
    assert list(found) == ["mlp64", "lenet"]
    assert found["mlp64"]["cells"]["mycelia"]["milliseconds"] == 123.0


def test_results_are_kept_after_each_row(fake_workers, tmp_path):
    measured = session.measure

    def interrupted(workload, *rest):
        if workload.name == "lenet":
            raise KeyboardInterrupt
        return measured(workload, *rest)

    fake_workers.setattr(session, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        benchmark(tmp_path, "--only", "mlp64", "lenet")
    assert list(rows(tmp_path)) == ["mlp64"]


def test_resume_adds_a_column_by_measuring_the_row_again(fake_workers, tmp_path):
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "none") == 0
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "jax", "--resume") == 0
    assert list(rows(tmp_path)["mlp64"]["cells"]) == ["mycelia", "jax.jit"]


def test_resume_with_other_effort_is_refused(fake_workers, tmp_path, capsys):
    assert benchmark(tmp_path, "--only", "mlp64") == 0
    assert benchmark(tmp_path, "--only", "lenet", "--resume", "--rounds", "3") == 2
    assert "other --rounds or --seconds" in capsys.readouterr().out
    assert list(rows(tmp_path)) == ["mlp64"]


def test_a_worker_that_dies_leaves_a_reason_in_its_cell(fake_workers, tmp_path):
    fake_workers.setenv("FAKE_TORCH_NETS", "die")
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "torch,jax") == 0
    cells = rows(tmp_path)["mlp64"]["cells"]
    assert cells["torch eager"] == {"error": "the worker exited with code 7: out of memory"}
    assert cells["jax.jit"]["milliseconds"] == 8.0
    page = (tmp_path / "results.md").read_text()
    assert "1. torch eager: the worker exited with code 7: out of memory" in page


def test_a_framework_that_refuses_says_why(fake_workers, tmp_path):
    fake_workers.setenv("FAKE_JAX_NETS", "refuse")
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "jax") == 0
    page = (tmp_path / "results.md").read_text()
    assert "1. jax.jit: RuntimeError: no such kernel for this device" in page


@pytest.mark.parametrize(
    ("behaviour", "complaint"),
    [
        ("differ", "run 1 returns 2.5 in jax.jit and 1 in mycelia"),
        ("count", "jax.jit has 11 parameters, mycelia has 10"),
    ],
)
def test_rows_that_compare_different_things_are_errors(
    fake_workers, tmp_path, capsys, behaviour, complaint
):
    fake_workers.setenv("FAKE_JAX_NETS", behaviour)
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "jax") == 1
    expected = f"columns of mlp64 compute different things: {complaint}"
    assert expected in capsys.readouterr().out
    assert expected in (tmp_path / "results.md").read_text()


def test_a_peer_that_cannot_be_installed_is_left_out_with_a_way_to_help(
    fake_workers, tmp_path, capsys
):
    fake_workers.delenv("MYCELIA_PEER_TORCH")
    fake_workers.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fake_workers.setenv("PIP_NO_INDEX", "1")
    fake_workers.setitem(peers.PACKAGES, "torch", ("no-such-package==1.0",))
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "torch") == 0
    shown = capsys.readouterr().out
    assert "torch eager: not measured: no-such-package==1.0 could not be installed" in shown
    assert "Set MYCELIA_PEER_TORCH to a Python that has it" in shown
    assert list(rows(tmp_path)["mlp64"]["cells"]) == ["mycelia"]
    assert "not measured" in (tmp_path / "results.md").read_text()


def test_a_variable_that_names_no_program_is_told(fake_workers, tmp_path, capsys):
    fake_workers.setenv("MYCELIA_PEER_TORCH", os.devnull)
    assert benchmark(tmp_path, "--only", "mlp64", "--peers", "torch") == 0
    assert f"MYCELIA_PEER_TORCH={os.devnull} is not a program" in capsys.readouterr().out


@pytest.mark.slow
def test_an_environment_is_made_once(fake_workers, tmp_path):
    fake_workers.delenv("MYCELIA_PEER_TORCH")
    fake_workers.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake_workers.setenv("PIP_NO_INDEX", "1")
    fake_workers.setitem(peers.PACKAGES, "torch", ("pip",))  # which every environment has
    said: list[str] = []
    python = peers.find("torch", said.append)
    assert isinstance(python, Path) and python.is_relative_to(tmp_path) and python.exists()
    assert len(said) == 1 and said[0].startswith("installing pip into")
    assert peers.find("torch", said.append) == python and len(said) == 1


def test_mistakes_in_options_are_told(tmp_path, capsys):
    assert benchmark(tmp_path, "--only", "nonsense") == 2
    assert "no such workload: nonsense" in capsys.readouterr().out
    for wrong in (["--peers", "tensorflow"], ["--rounds", "0"], ["--suite", "moon"]):
        with pytest.raises(SystemExit) as left:
            benchmark(tmp_path, *wrong)
        assert left.value.code == 2
