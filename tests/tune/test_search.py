"""Searches: what they find, keep, stop and survive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Model, nn, tune
from mycelia.dataset import NumpySlicesDataset

SPACE = {"x": tune.uniform(-2.0, 2.0), "kind": tune.choice(["near", "far"])}


def _bowl(trial: tune.Trial) -> float:
    return (trial["x"] - 0.5) ** 2 + (1.0 if trial["kind"] == "far" else 0.0)


def _quiet(objective, space=SPACE, **options) -> tune.Results:
    return tune.search(objective, space, show_progress=False, **options)


def test_the_best_trial_is_the_one_with_the_best_value():
    results = _quiet(_bowl, trials=30)
    values = [record.value for record in results.trials]
    assert len(values) == 30 and results.best.value == min(values)
    assert results.best.settings["kind"] == "near" and abs(results.best.settings["x"] - 0.5) < 0.5
    highest = _quiet(lambda trial: -_bowl(trial), trials=30, direction="maximize")
    assert highest.best.settings == results.best.settings


def test_a_seed_gives_the_same_trials():
    one, two, other = (_quiet(_bowl, trials=5, seed=seed) for seed in (3, 3, 4))
    assert [r.settings for r in one.trials] == [r.settings for r in two.trials]
    assert [r.settings for r in one.trials] != [r.settings for r in other.trials]


def test_learning_from_trials_finds_better_settings_than_chance():
    pytest.importorskip("optuna")
    space = {name: tune.uniform(-2.0, 2.0) for name in "abcd"} | {"n": tune.integer(1, 9)}
    space |= {"rate": tune.log_uniform(1e-4, 1.0), "way": tune.choice([nn.ReLU, nn.GELU])}

    def far(trial):
        total = sum((trial[name] - 0.5) ** 2 for name in "abcd") + abs(trial["n"] - 3)
        assert isinstance(trial["n"], int) and 1e-4 <= trial["rate"] <= 1.0
        return total + abs(np.log10(trial["rate"]) + 2) + (trial["way"] is nn.GELU)

    chance, learned = (_quiet(far, space, trials=40, algorithm=a) for a in ("random", "tpe"))
    assert learned.best.value < chance.best.value
    again = _quiet(far, space, trials=40, algorithm="tpe")
    assert [r.settings for r in again.trials] == [r.settings for r in learned.trials]


def test_hopeless_trials_stop_early():
    seen = []

    def course(trial):
        for epoch in range(6):
            trial.report(epoch, trial["x"] - 0.1 * epoch)
            seen.append((trial.number, epoch))
        return trial["x"]

    results = _quiet(course, {"x": tune.uniform(0.0, 1.0)}, trials=20)
    stopped = [r for r in results.trials if r.state == "stopped"]
    assert 5 <= len(stopped) <= 15 and min(r.number for r in stopped) >= 5
    assert all(len(r.reports) >= 2 and r.value == r.reports[-1][1] for r in stopped)
    for record in stopped:
        lasted = [
            r for r in results.trials[: record.number] if len(r.reports) >= len(record.reports)
        ]
        assert record.settings["x"] > np.median([r.settings["x"] for r in lasted])
    assert results.best.state == "finished"
    seen.clear()
    assert all(
        r.state == "finished"
        for r in _quiet(course, {"x": tune.uniform(0.0, 1.0)}, early_stopping=None).trials
    )
    assert len(seen) == 20 * 6


def test_a_rule_of_ones_own_and_values_that_are_no_numbers():
    class Never:
        def is_hopeless(self, reports, earlier):
            assert all(value <= 0 for _, value in reports)  # turned: smaller is better
            return reports[-1][0] == 1

    def course(trial):
        for epoch in range(3):
            trial.report(epoch, 1.0)

    results = _quiet(course, trials=2, direction="maximize", early_stopping=Never())
    assert [len(r.reports) for r in results.trials] == [2, 2]
    assert [r.state for r in results.trials] == ["stopped", "stopped"]
    assert results.best.value == 1.0

    def broken(trial):
        trial.report(0, float("nan") if trial.number else 1.0)
        return 1.0

    results = _quiet(broken, trials=2)
    assert [r.state for r in results.trials] == ["finished", "stopped"]
    strict = tune.MedianStopping(trials=1, epochs=0)
    assert strict.is_hopeless([(0, 2.0)], [[(0, 1.0)]])
    assert not strict.is_hopeless([(0, 2.0)], [[(0, 3.0)]])
    assert not strict.is_hopeless([(1, 2.0)], [[(0, 1.0)]])


def test_what_was_reported_last_is_the_value_if_none_is_given():
    results = _quiet(lambda trial: trial.report(3, trial["x"]), trials=2)
    assert [r.value for r in results.trials] == [r.settings["x"] for r in results.trials]


def test_failed_trials_are_recorded_and_the_search_goes_on(capsys):
    def shaky(trial):
        if trial.number % 2:
            raise OverflowError(f"no such luck in {trial.number}")
        return float("nan") if trial.number == 2 else 1.0

    results = tune.search(shaky, SPACE, trials=5)
    assert [r.state for r in results.trials] == [
        "finished", "failed", "failed", "failed", "finished"
    ]  # fmt: skip
    assert results.trials[1].error.startswith("OverflowError: no such luck in 1\nTraceback")
    assert "not finite" in results.trials[2].error
    assert "trial 2/5: failed" in capsys.readouterr().out
    assert "failed: OverflowError: no such luck" in results.table()


def test_an_error_says_that_all_trials_failed():
    with pytest.raises(RuntimeError, match=r"all trials failed(.|\n)*KeyError"):
        _quiet(lambda trial: trial["no such setting"], trials=2)
    with pytest.raises(RuntimeError, match=r"all trials failed(.|\n)*a number"):
        _quiet(lambda trial: None, trials=2)


def test_ctrl_c_keeps_what_was_found(tmp_path):
    def interrupted(trial):
        if trial.number == 3:
            raise KeyboardInterrupt
        return _bowl(trial)

    results = _quiet(interrupted, trials=9, directory=tmp_path)
    assert results.interrupted and len(results.trials) == 3
    with pytest.raises(KeyboardInterrupt):
        _quiet(lambda trial: interrupted(tune.Trial(3, {}, 0)), trials=9)
    whole = _quiet(_bowl, trials=9, directory=tmp_path)
    assert not whole.interrupted
    assert [r.value for r in whole.trials] == [r.value for r in _quiet(_bowl, trials=9).trials]


@pytest.mark.parametrize("algorithm", ["random", "tpe"])
def test_the_same_search_goes_on_where_it_was(algorithm, tmp_path):
    if algorithm == "tpe":
        pytest.importorskip("optuna")
    space = SPACE | {"layer": tune.choice([nn.ReLU, nn.GELU])}
    made = []

    def watched(trial):
        made.append(trial.number)
        assert isinstance(trial["layer"], type)
        return _bowl(trial)

    options = {"algorithm": algorithm, "directory": tmp_path}
    _quiet(watched, space, trials=12, **options)
    results = _quiet(watched, space, trials=16, **options)
    assert made == list(range(16)) and results.trials[0].settings["layer"] in (nn.ReLU, nn.GELU)
    whole = _quiet(_bowl, space, trials=16, algorithm=algorithm)
    assert [r.settings for r in whole.trials] == [r.settings for r in results.trials]


def test_another_search_does_not_go_on_in_the_directory(tmp_path):
    _quiet(_bowl, trials=2, directory=tmp_path)
    for options in ({"seed": 1}, {"direction": "maximize"}, {"space": {"x": tune.uniform(0, 1)}}):
        with pytest.raises(ValueError, match="another search"):
            _quiet(_bowl, trials=3, directory=tmp_path, **options)


def test_a_line_that_was_not_finished_does_not_count(tmp_path):
    _quiet(_bowl, trials=3, directory=tmp_path)
    path = tmp_path / "trials.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"number": 3, "state": "fin')
    assert len(tune.load(path).trials) == 3
    _quiet(_bowl, trials=4, directory=tmp_path)
    assert path.read_bytes().startswith(whole) and len(tune.load(path).trials) == 4
    path.write_bytes(whole[:-30] + b"\n")
    with pytest.raises(ValueError, match="damaged"):
        _quiet(_bowl, trials=4, directory=tmp_path)


def test_nothing_is_lost_when_the_process_is_killed(tmp_path):
    program = textwrap.dedent(
        """
        import os, signal, sys
        from mycelia import tune

        def objective(trial):
            if trial.number == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return trial["x"]

        tune.search(objective, {"x": tune.uniform(0.0, 1.0)}, trials=9, directory=sys.argv[1])
        """
    )
    root = str(Path(ms.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=os.environ | {"PYTHONPATH": root}
    )
    assert run.returncode == -signal.SIGKILL
    kept = tune.load(tmp_path / "trials.jsonl").trials
    assert [record.number for record in kept] == [0, 1, 2]


def test_trials_have_seeds_and_folders_of_their_own(tmp_path):
    trials = []
    _quiet(lambda trial: trials.append(trial) or 0.0, trials=3, directory=tmp_path)
    assert len({trial.seed for trial in trials}) == 3
    assert [t.directory for t in trials] == [tmp_path / f"trial_{i}" for i in range(3)]
    assert trials[0].directory.is_dir()
    assert dict(**trials[0]) == trials[0].settings and len(trials[0]) == 2
    assert tune.Trial(0, {}, 0).directory is None
    with pytest.raises(ValueError, match="must increase"):
        for epoch in (1, 1):
            trials[0].report(epoch, 0.0)
    with pytest.raises(TypeError, match="epoch"):
        trials[0].report("a", 0.0)
    with pytest.raises(TypeError, match="a number"):
        trials[0].report(9, [1.0, 2.0])


def test_results_as_text_picture_and_file(tmp_path):
    pytest.importorskip("matplotlib")
    space = SPACE | {"rate": tune.log_uniform(1e-3, 1.0), "layer": tune.choice([nn.ReLU, nn.GELU])}
    results = _quiet(_bowl, space, trials=4)
    lines = results.table().splitlines()
    assert lines[0].split() == [
        "trial", "value", "state", "epochs", "seconds", "x", "kind", "rate", "layer"
    ]  # fmt: skip
    assert len(lines) == 5 and lines[1].startswith(f"{results.best.number} ")
    assert lines[1].split()[1] == f"{results.best.value:.6g}" and str(results) == results.table()
    assert results.plot(tmp_path / "search.png").read_bytes().startswith(b"\x89PNG")
    loaded = tune.load(results.save(tmp_path / "found.jsonl"))
    assert loaded.table() == results.table() and loaded.best.value == results.best.value
    assert json.loads((tmp_path / "found.jsonl").read_text().splitlines()[0])["seed"] == 0
    loaded.plot(tmp_path / "again.svg")
    assert "<svg" in (tmp_path / "again.svg").read_text()


def test_a_model_reports_to_a_trial():
    x = np.random.default_rng(0).standard_normal((32, 3)).astype(np.float32)
    data = NumpySlicesDataset((x, x.sum(1, keepdims=True)), shuffle=False).batch(8)

    def objective(trial):
        ms.set_seed(trial.seed)
        network = nn.Dense(3, 1)
        model = Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), trial["lr"]))
        report = tune.ReportToTrial(trial, monitor="loss")
        model.train(3, data, callbacks=[report], dataset_sink_mode=False)

    rule = tune.MedianStopping(trials=2, epochs=0)
    results = _quiet(objective, {"lr": tune.log_uniform(1e-4, 0.3)}, trials=6, early_stopping=rule)
    finished = [r for r in results.trials if r.state == "finished"]
    assert len(finished) >= 2 and [epoch for epoch, _ in finished[0].reports] == [1, 2, 3]
    assert results.best.reports[-1][1] < results.best.reports[0][1]
    assert any(r.state == "stopped" and len(r.reports) < 3 for r in results.trials)
    with pytest.raises(TypeError, match="trial"):
        tune.ReportToTrial("no trial")


def test_packages_that_are_not_installed_are_named(monkeypatch):
    results = _quiet(_bowl, trials=1)
    for module in ("parzen", "picture"):
        monkeypatch.setattr(f"mycelia.tune.{module}.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"mycelia\[tune\]"):
        _quiet(_bowl, trials=1, algorithm="tpe")
    with pytest.raises(ImportError, match=r"mycelia\[tune\]"):
        results.plot("search.png")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"algorithm": "grid"}, ValueError),
        ({"direction": "up"}, ValueError),
        ({"trials": 0}, ValueError),
        ({"seed": -1}, ValueError),
        ({"early_stopping": "late"}, ValueError),
        ({"objective": 3}, TypeError),
    ],
)
def test_wrong_arguments(options, error):
    with pytest.raises(error):
        _quiet(**({"objective": _bowl} | options))
