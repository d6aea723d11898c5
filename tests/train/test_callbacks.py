"""Callbacks: what they print, which files they write, when they act."""

from __future__ import annotations

import json
import os
import re
import signal

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, train
from tests.train.model_doubles import Rows, Seen, X, Y, dense_model, losses_by_hand, rows


def printed(capsys, *callbacks, epochs=2, count=8, metrics=None):
    model = dense_model(metrics)
    if metrics:
        model.fit(epochs, rows(count), rows(count), callbacks=list(callbacks))
    else:
        model.train(epochs, rows(count), list(callbacks))
    return capsys.readouterr().out.splitlines()


def test_loss_monitor_prints_as_mindspore_does(capsys):
    lines = printed(capsys, train.LossMonitor(), epochs=1)
    assert lines[0] == f"epoch: 1 step: 1, loss is {float(np.float32(losses_by_hand(1)[0]))}"
    assert [line.split(",")[0] for line in lines] == ["epoch: 1 step: 1", "epoch: 1 step: 2"]
    lines = printed(capsys, train.LossMonitor(3), count=16)
    assert [line.split(",")[0] for line in lines] == ["epoch: 1 step: 3", "epoch: 2 step: 2"]
    assert printed(capsys, train.LossMonitor(0)) == []
    lines = printed(capsys, train.LossMonitor(), epochs=1, metrics={"acc"})
    assert lines[2:] == ["Eval result: epoch 1, metrics: {'acc': 1.0}"]


def test_loss_monitor_counts_anew_in_the_next_run(capsys):
    monitor, model = train.LossMonitor(2), dense_model({"acc"})
    model.train(1, rows(16), monitor)
    model.eval(rows(16), monitor)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch: 1 step: 2", "epoch: 1 step: 4"] * 2


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_loss_monitor_ends_a_training_that_is_lost(bad):
    class Lost(nn.Cell):
        def construct(self, x, y):
            return x.mean() * bad

    with pytest.raises(ValueError, match="not finite in epoch 1, step 1"):
        train.Model(Lost()).train(1, rows(8), train.LossMonitor())


def test_loss_monitor_takes_the_first_of_several(capsys):
    class Several(nn.Cell):
        def construct(self, x, y):
            return x.mean(), y

    train.Model(Several()).train(1, rows(4), train.LossMonitor())
    loss = float(capsys.readouterr().out.split()[-1])
    assert loss == pytest.approx(X[:4].mean(), rel=1e-5)


def test_time_monitor_prints_as_mindspore_does(capsys):
    number = r"\d+\.\d{3} ms"
    (line,) = printed(capsys, train.TimeMonitor(), epochs=1)
    found = re.fullmatch(r"Train epoch time: (\d+\.\d{3}) ms, per step time: (\d+\.\d{3}) ms", line)
    assert float(found[1]) == pytest.approx(2 * float(found[2]), abs=0.002)
    (line,) = printed(capsys, train.TimeMonitor(data_time=True), epochs=1)
    assert re.search(rf"per step time: {number} \(data time: {number}\)$", line)
    lines = printed(capsys, train.TimeMonitor(), epochs=1, metrics={"acc"})
    assert [line.split()[0] for line in lines] == ["Eval", "Train"]


def test_history_keeps_the_epochs():
    history = train.History()
    dense_model({"acc"}).fit(2, rows(), rows(), callbacks=history)
    assert history.epoch == {"epoch": [1, 2]}
    assert set(history.history) == {"net_output", "acc"}
    np.testing.assert_allclose(history.history["net_output"], losses_by_hand(12)[5::6], rtol=1e-5)


def test_lambda_callback_calls_each_function():
    seen = []
    events = [f"on_{p}_{e}" for p in ("train", "eval") for e in ("begin", "step_end", "end")]
    listeners = {event: (lambda c, event=event: seen.append(event)) for event in events}
    dense_model({"acc"}).fit(1, rows(4), rows(4), callbacks=train.LambdaCallback(**listeners))
    assert seen == [
        "on_train_begin",
        "on_train_step_end",
        "on_eval_begin",
        "on_eval_step_end",
        "on_eval_end",
        "on_train_end",
    ]
    with pytest.raises(TypeError, match="on_train_begin"):
        train.LambdaCallback(on_train_begin=3)


def test_the_learning_rate_follows_a_function():
    steps = []

    def halved(rate, step):
        steps.append((rate, step))
        return rate / 2

    model = dense_model()
    model.train(1, rows(12), train.LearningRateScheduler(halved))
    assert steps == [(0.1, 1), (0.05, 2), (0.025, 3)]
    assert float(model.train_network.optimizer.learning_rate) == pytest.approx(0.0125)
    fixed = dense_model(rate=[0.1] * 50)
    with pytest.raises(ValueError, match="no single learning rate"):
        fixed.train(1, rows(8), train.LearningRateScheduler(halved))


def test_early_stopping_stops(capsys):
    stop = train.EarlyStopping("loss", min_delta=100, patience=2, verbose=True)
    history = train.History()
    dense_model().train(5, rows(8), [stop, history])
    assert history.epoch == {"epoch": [1, 2, 3]} and stop.stopped_epoch == 3
    assert capsys.readouterr().out.splitlines() == ["epoch: 3, EarlyStopping stopped training"]
    patient = train.EarlyStopping(patience=1)
    dense_model({"acc"}).fit(3, rows(8), rows(8), callbacks=patient)
    assert patient.stopped_epoch == 0 and patient.wait == 0
    demanding = train.EarlyStopping("loss", patience=2, baseline=-5.0)
    dense_model().train(5, rows(8), demanding)
    assert demanding.stopped_epoch == 2
    acc = train.EarlyStopping("acc", patience=1)
    dense_model({"acc"}).fit(5, rows(8), rows(8), callbacks=acc)
    assert acc.best == 1.0 and acc.stopped_epoch == 2


def test_early_stopping_goes_back_to_the_best(capsys):
    stop = train.EarlyStopping(
        "loss", min_delta=100, patience=2, verbose=True, restore_best_weights=True
    )
    weights = []
    look = train.LambdaCallback(
        on_train_epoch_end=lambda c: weights.append(c.original_args().network.weight.asnumpy())
    )
    model = dense_model()
    model.train(5, rows(8), [look, stop])
    np.testing.assert_array_equal(model.predict_network.weight.asnumpy(), weights[0])
    assert "restored the parameters of the best epoch" in capsys.readouterr().out


def test_the_learning_rate_falls_on_a_plateau(capsys):
    reduce = train.ReduceLROnPlateau("loss", min_delta=100, patience=2, verbose=True)
    model = dense_model()
    model.train(5, rows(8), reduce)
    assert capsys.readouterr().out.splitlines() == [
        "epoch: 3, ReduceLROnPlateau lowered the learning rate to 0.010000001",
        "epoch: 5, ReduceLROnPlateau lowered the learning rate to 0.001",
    ]
    assert float(model.train_network.optimizer.learning_rate) == pytest.approx(0.001)
    options = {"patience": 1, "min_delta": 5, "factor": 0.5, "verbose": True, "min_lr": 0.03}
    lines = printed(capsys, train.ReduceLROnPlateau(**options), epochs=5, metrics={"acc"})
    assert [line.split(",")[0] for line in lines] == ["epoch: 2", "epoch: 3"]
    assert lines[1].endswith("learning rate to 0.03")
    options = {"patience": 1, "factor": 0.5, "cooldown": 1, "verbose": True, "monitor": "acc"}
    lines = printed(capsys, train.ReduceLROnPlateau(**options), epochs=5, metrics={"acc"})
    assert [line.split(",")[0] for line in lines] == [f"epoch: {n}" for n in (2, 3, 4, 5)]
    options["cooldown"] = 2
    lines = printed(capsys, train.ReduceLROnPlateau(**options), epochs=5, metrics={"acc"})
    assert [line.split(",")[0] for line in lines] == ["epoch: 2", "epoch: 4"]


def saved(directory, prefix="CKP", epochs=2, **options):
    config = train.CheckpointConfig(**options)
    callback = train.ModelCheckpoint(prefix, str(directory), config)
    dense_model().train(epochs, rows(), callback)
    return sorted(os.listdir(directory)), callback


def test_checkpoints_have_mindspores_names(tmp_path):
    found, callback = saved(tmp_path / "every")
    assert found == [f"CKP-2_{n}.ckpt" for n in range(2, 7)]
    assert callback.latest_ckpt_file_name == str(tmp_path / "every" / "CKP-2_6.ckpt")
    found, _ = saved(tmp_path / "every", epochs=1)
    assert found[5:] == [f"CKP_1-1_{n}.ckpt" for n in range(2, 7)]
    found, _ = saved(tmp_path / "every", epochs=1, save_checkpoint_steps=6)
    assert "CKP_2-1_6.ckpt" in found
    found, _ = saved(tmp_path / "four", save_checkpoint_steps=4)
    assert found == ["CKP-1_4.ckpt", "CKP-2_2.ckpt", "CKP-2_6.ckpt"]
    found, _ = saved(tmp_path / "end", prefix="a b", save_checkpoint_steps=100)
    assert found == ["a b-2_6.ckpt"]
    found, _ = saved(tmp_path / "two", save_checkpoint_steps=5, keep_checkpoint_max=2)
    assert found == ["CKP-2_4.ckpt", "CKP-2_6.ckpt"]
    found, _ = saved(tmp_path / "time", save_checkpoint_steps=0, save_checkpoint_seconds=100)
    assert found == ["CKP-2_6.ckpt"]
    minutes = {"keep_checkpoint_max": 0, "keep_checkpoint_per_n_minutes": 1}
    found, _ = saved(tmp_path / "minutes", save_checkpoint_steps=3, **minutes)
    assert found == ["CKP-1_3.ckpt", "CKP-2_6.ckpt"]


def test_a_checkpoint_holds_the_training(tmp_path):
    info = ["epoch_num", "step_num", {"rate": 0.5, "note": "hi"}]
    _, callback = saved(tmp_path, save_checkpoint_steps=5, append_info=info)
    loaded = ms.load_checkpoint(callback.latest_ckpt_file_name)
    assert (int(loaded["epoch_num"]), int(loaded["step_num"])) == (2, 12)
    assert float(loaded["rate"]) == 0.5 and loaded["note"] == "hi"
    assert int(loaded["global_step"][0]) == 12
    model = dense_model()
    ms.load_param_into_net(model.train_network, loaded)
    history = train.History()
    model.train(1, rows(), history)
    np.testing.assert_allclose(history.history["net_output"], losses_by_hand(18)[17:], rtol=1e-5)


def test_checkpoints_of_other_kinds(tmp_path):
    found, callback = saved(tmp_path / "s", save_checkpoint_steps=6, format="safetensors")
    assert found == ["CKP-1_6.safetensors", "CKP-2_6.safetensors"]
    loaded = ms.load_checkpoint(callback.latest_ckpt_file_name, format="safetensors")
    assert loaded["weight"].shape == (2, 3)
    _, callback = saved(tmp_path / "crc", save_checkpoint_steps=6, crc_check=True)
    loaded = ms.load_checkpoint(callback.latest_ckpt_file_name, crc_check=True)
    assert loaded["weight"].shape == (2, 3)


def test_prefix_and_directory_may_be_functions(tmp_path):
    callback = train.ModelCheckpoint(
        lambda facts: f"x{facts.cur_step_num}",
        lambda facts: str(tmp_path / f"e{facts.cur_epoch_num}"),
    )
    dense_model().train(2, rows(8), callback)
    assert sorted(os.listdir(tmp_path / "e1")) == ["x1.ckpt", "x2.ckpt"]
    assert sorted(os.listdir(tmp_path / "e2")) == ["x3.ckpt", "x4.ckpt"]


def test_another_network_or_an_error_can_be_saved(tmp_path):
    other = nn.Dense(1, 1)
    saved(tmp_path / "other", epochs=1, save_checkpoint_steps=6, saved_network=other)
    assert set(ms.load_checkpoint(str(tmp_path / "other" / "CKP-1_6.ckpt"))) == {"weight", "bias"}

    def fail(context):
        if context.original_args().cur_step_num == 3:
            raise RuntimeError("lost")

    config = train.CheckpointConfig(100, exception_save=True)
    callbacks = [
        train.ModelCheckpoint("net", str(tmp_path / "lost"), config),
        train.LambdaCallback(on_train_step_end=fail),
    ]
    with pytest.raises(RuntimeError, match="lost"):
        dense_model().train(1, rows(), callbacks)
    assert os.listdir(tmp_path / "lost") == ["net-1_3_breakpoint.ckpt"]


def test_the_rules_of_a_configuration():
    policy = train.CheckpointConfig(save_checkpoint_seconds=3).get_checkpoint_policy()
    assert policy == {
        "save_checkpoint_steps": 1,
        "save_checkpoint_seconds": None,
        "keep_checkpoint_max": 5,
        "keep_checkpoint_per_n_minutes": None,
        "saved_network": None,
    }
    config = train.CheckpointConfig(0, 7, 0, 2)
    assert config.save_checkpoint_seconds == 7 and config.keep_checkpoint_per_n_minutes == 2


def test_a_training_goes_on_after_a_crash(tmp_path):
    def fail(context):
        if context.original_args().cur_epoch_num == 3:
            raise RuntimeError("lost")

    backup = str(tmp_path / "backup")
    crash = train.LambdaCallback(on_train_epoch_begin=fail)
    with pytest.raises(RuntimeError, match="lost"):
        dense_model().train(5, rows(), [train.BackupAndRestore(backup), crash])
    assert os.listdir(backup) == ["backup.ckpt"]
    history = train.History()
    dense_model().train(1, rows(), [train.BackupAndRestore(backup, 1), history])
    np.testing.assert_allclose(history.history["net_output"], losses_by_hand(18)[17:], rtol=1e-5)
    assert os.listdir(backup) == []
    dense_model().train(4, rows(4), train.BackupAndRestore(backup, 4, delete_checkpoint=False))
    assert os.listdir(backup) == ["backup.ckpt"]


def test_a_signal_ends_the_training_and_saves_it(tmp_path):
    before = signal.getsignal(signal.SIGUSR1)
    kill = train.LambdaCallback(
        on_train_step_begin=lambda c: (
            os.kill(os.getpid(), signal.SIGUSR1) if c.original_args().cur_step_num == 2 else None
        )
    )
    seen = Seen()
    leave = train.OnRequestExit(directory=str(tmp_path), sig=signal.SIGUSR1)
    try:
        dense_model().train(3, rows(), [leave, kill, seen])
        folder = tmp_path / "rank_0"
        assert sorted(os.listdir(folder)) == ["Net_train.ckpt", "Net_train.mindir"]
        assert seen.events[-1][1:3] == (1, 2)
        history = train.History()
        again = train.OnRequestExit(directory=str(tmp_path), sig=signal.SIGUSR1)
        dense_model().train(1, rows(4), [again, history])
        assert history.history["net_output"][0] < losses_by_hand(1)[0]
    finally:
        signal.signal(signal.SIGUSR1, before)
    step = nn.GraphCell(ms.load(str(folder / "Net_train.mindir")))
    loss = step(Tensor(X[:4]), Tensor(Y[:4]))
    assert float(loss) == pytest.approx(float(history.history["net_output"][0]), rel=1e-5)


def test_a_file_ends_an_evaluation(tmp_path):
    before = signal.getsignal(signal.SIGUSR1)
    ask = tmp_path / "ask.json"
    ask.write_text(json.dumps({"GracefulExit": 1}))
    seen = Seen()
    leave = train.OnRequestExit(
        True, False, "last", str(tmp_path), config_file=str(ask), sig=signal.SIGUSR1
    )
    try:
        dense_model({"acc"}).eval(rows(), [leave, seen])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen.events[-1] == ("on_eval_end", None, 1, "eval")
    assert os.listdir(tmp_path / "rank_0") == ["last_eval.ckpt"]


def test_callbacks_are_entered_and_left():
    class Door(train.Callback):
        def __init__(self):
            self.seen = []

        def __enter__(self):
            self.seen.append("in")
            return self

        def __exit__(self, *error):
            self.seen.append(error[0])

    door = Door()
    dense_model().train(1, rows(4), door)
    with pytest.raises(ValueError, match="data and labels"):
        dense_model().train(1, Rows(X), door)
    assert door.seen == ["in", None, "in", ValueError]


def test_a_run_context():
    context = train.RunContext({"a": 1})
    assert context.original_args() == {"a": 1} and not context.get_stop_requested()
    context.request_stop()
    assert context.get_stop_requested()


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (TypeError, lambda: train.RunContext(3)),
        (ValueError, lambda: train.LossMonitor(-1)),
        (TypeError, lambda: train.LossMonitor(0.5)),
        (TypeError, lambda: train.TimeMonitor(data_time=3)),
        (ValueError, lambda: train.CheckpointConfig(-1)),
        (TypeError, lambda: train.CheckpointConfig(1.5)),
        (ValueError, lambda: train.CheckpointConfig(0, 0, 0, 0)),
        (TypeError, lambda: train.CheckpointConfig(integrated_save=3)),
        (TypeError, lambda: train.CheckpointConfig(async_save=3)),
        (TypeError, lambda: train.CheckpointConfig(saved_network=3)),
        (TypeError, lambda: train.CheckpointConfig(append_info=3)),
        (ValueError, lambda: train.CheckpointConfig(append_info=["foo"])),
        (TypeError, lambda: train.CheckpointConfig(append_info=[3])),
        (TypeError, lambda: train.CheckpointConfig(append_info=[{}, {}])),
        (TypeError, lambda: train.CheckpointConfig(append_info=[{"a": [1]}])),
        (ValueError, lambda: train.CheckpointConfig(crc_check=3)),
        (ValueError, lambda: train.CheckpointConfig(format="foo")),
        (ValueError, lambda: train.ModelCheckpoint("a/b")),
        (ValueError, lambda: train.ModelCheckpoint(3)),
        (TypeError, lambda: train.ModelCheckpoint("a", 3)),
        (ValueError, lambda: train.ModelCheckpoint("a", "")),
        (TypeError, lambda: train.ModelCheckpoint("a", None, 3)),
        (TypeError, lambda: train.EarlyStopping(3)),
        (TypeError, lambda: train.EarlyStopping(min_delta="a")),
        (ValueError, lambda: train.EarlyStopping(patience=-1)),
        (ValueError, lambda: train.EarlyStopping(mode="foo")),
        (TypeError, lambda: train.EarlyStopping(restore_best_weights=3)),
        (ValueError, lambda: train.ReduceLROnPlateau(factor=1.0)),
        (TypeError, lambda: train.ReduceLROnPlateau(factor=1)),
        (ValueError, lambda: train.ReduceLROnPlateau(cooldown=-1)),
        (TypeError, lambda: train.BackupAndRestore(3)),
        (ValueError, lambda: train.BackupAndRestore("")),
        (ValueError, lambda: train.OnRequestExit(save_ckpt=3)),
        (ValueError, lambda: train.OnRequestExit(sig=signal.SIGKILL)),
    ],
)
def test_bad_arguments_are_refused(kind, make):
    with pytest.raises(kind):
        make()
