"""Trainings that go on: the same numbers, bit for bit, as those that never stopped."""

from __future__ import annotations

import logging
import os
import signal
import threading

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, dataset, nn, train
from mycelia.dataset import transforms
from mycelia.train.callback.callback import CallbackParameters
from tests.train.model_doubles import Rows, X, Y, cross_entropy, rows

EPOCHS, BATCHES = 3, 6


class Crash(train.Callback):
    """Ends the process, as it were, after some step."""

    only_reads_results = True

    def __init__(self, step):
        self.step = step

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.step:
            raise KeyboardInterrupt


def noisy(row):
    return row + np.float32(0.5)


def shuffled():
    found = dataset.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=True)
    change = transforms.RandomApply([noisy], 0.5)
    return found.map(change, "data").shuffle(7).batch(4)


def made(kind="adam", seed=3, metrics=None):
    """A model with dropout and what `kind` says; another seed would give other numbers."""
    ms.set_seed(seed)
    net = nn.SequentialCell(nn.Dense(3, 8), nn.ReLU(), nn.Dropout(p=0.4), nn.Dense(8, 2))
    rate = nn.cosine_decay_lr(0.001, 0.05, (EPOCHS + 1) * BATCHES, BATCHES, 2)
    if kind == "scaled":
        scale = train.DynamicLossScaleManager(2**6, 2, 4)
        optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        return train.Model(net, cross_entropy(), optimizer, loss_scale_manager=scale)
    rate = 0.05 if kind == "plain" else rate
    optimizer = nn.Adam(net.trainable_params(), rate)
    return train.Model(net, cross_entropy(), optimizer, metrics)


def weights(model):
    found = {p.name: p.asnumpy().copy() for p in model.train_network.get_parameters()}
    return found | {"drawn": ms.get_rng_state() if hasattr(ms, "get_rng_state") else 0}


def assert_same(model, other):
    for name, value in weights(other).items():
        np.testing.assert_array_equal(weights(model)[name], value, err_msg=name)


def saver(folder, steps=2, **options):
    config = train.CheckpointConfig(save_checkpoint_steps=steps, **options)
    return train.ModelCheckpoint("net", str(folder), config)


def broken(model, step, *callbacks, data=None, **options):
    with pytest.raises(KeyboardInterrupt):
        model.train(EPOCHS, data or shuffled(), [*callbacks, Crash(step)], **options)
    return model


@pytest.fixture
def whole():
    model = made()
    model.train(EPOCHS, shuffled())
    return model


@pytest.mark.parametrize("step", [3, 6, 7, 17])
def test_the_next_run_goes_on(tmp_path, whole, step):
    broken(made(), step, saver(tmp_path))
    again = made(seed=99)
    again.train(EPOCHS, shuffled(), [saver(tmp_path)], resume_from=str(tmp_path))
    assert_same(again, whole)
    names = sorted(os.listdir(tmp_path))
    assert names == [f"net-{e}_{s}.ckpt" for e, s in ((2, 4), (2, 6), (3, 2), (3, 4), (3, 6))]


@pytest.mark.parametrize("sinks", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_in_graph_mode(tmp_path, graph_mode, sinks):
    whole = made()
    whole.train(EPOCHS, shuffled(), dataset_sink_mode=sinks)
    model = broken(made(), 9, saver(tmp_path, 3), dataset_sink_mode=sinks)
    again = made(seed=99)
    options = {"dataset_sink_mode": sinks, "resume_from": str(tmp_path)}
    again.train(EPOCHS, shuffled(), [saver(tmp_path, 3)], **options)
    assert_same(again, whole)
    assert model.train_network is not again.train_network


def test_steps_are_joined_between_saves(tmp_path, graph_mode, monkeypatch):
    made_together = []
    original = train.training_loop.run_steps

    def counted(compiled, batches):
        made_together.append(len(batches))
        return original(compiled, batches)

    monkeypatch.setattr(train.training_loop, "run_steps", counted)
    made().train(1, shuffled(), [saver(tmp_path, 3), train.ProgressBar()], dataset_sink_mode=True)
    assert made_together == [3, 3]
    assert sorted(os.listdir(tmp_path)) == ["net-1_3.ckpt", "net-1_6.ckpt"]


@pytest.mark.parametrize(
    ("size", "sink_size", "steps", "joined"),
    [(24, -1, 3, 3), (24, -1, 4, 2), (24, 3, 6, 3), (20, 2, 2, 1), (24, -1, None, 6)],
)
def test_how_many_steps_are_joined(tmp_path, graph_mode, size, sink_size, steps, joined):
    data = rows(size)
    batch_num = sink_size if sink_size > 0 else data.get_dataset_size()
    facts = CallbackParameters(dataset_sink_mode=True, batch_num=batch_num, train_dataset=data)
    callbacks = [train.LossMonitor()] + ([] if steps is None else [saver(tmp_path, steps)])
    assert train.training_loop._steps_joined(facts, callbacks) == joined


def test_the_scale_of_the_loss_goes_on(tmp_path):
    whole = made("scaled")
    whole.train(EPOCHS, shuffled())
    broken(made("scaled"), 8, saver(tmp_path))
    again = made("scaled", seed=99)
    again.train(EPOCHS, shuffled(), saver(tmp_path), resume_from=str(tmp_path))
    assert_same(again, whole)
    assert float(whole.train_network.scale_sense) > 2**6


def test_callbacks_go_on(tmp_path):
    def callbacks():
        watch = [train.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=9.0)]
        watch += [train.EarlyStopping("loss", 9.0, 4, restore_best_weights=True)]
        return [train.History(), *watch]

    def fit(model, more, **options):
        model.fit(EPOCHS + 2, shuffled(), shuffled(), callbacks=[*listed, *more], **options)

    listed = callbacks()
    whole = made("plain", metrics={"acc"})
    fit(whole, [])
    history, _, stopping = listed
    assert stopping.stopped_epoch == 5 and len(history.history["acc"]) == 5
    listed = callbacks()
    with pytest.raises(KeyboardInterrupt):
        fit(made("plain", metrics={"acc"}), [saver(tmp_path, 7), Crash(22)])
    listed = callbacks()
    again = made("plain", seed=99, metrics={"acc"})
    fit(again, [saver(tmp_path, 7)], resume_from=str(tmp_path))
    assert_same(again, whole)
    assert repr(listed[0].history) == repr(history.history) and listed[0].epoch == history.epoch
    assert listed[2].stopped_epoch == 5 and listed[2].best == stopping.best


def test_callbacks_that_had_not_heard_of_a_step_hear_of_it(tmp_path):
    heard = []

    class Last(train.Callback):
        def on_train_step_end(self, run_context):
            facts = run_context.original_args()
            heard.append((facts.cur_step_num, float(facts.net_outputs)))

    made().train(1, shuffled(), [Last()])
    expected, heard = heard, []
    with pytest.raises(KeyboardInterrupt):
        made().train(1, shuffled(), [saver(tmp_path, 4), Crash(4), Last()])
    made(seed=9).train(1, shuffled(), [saver(tmp_path, 4), Last()], resume_from=str(tmp_path))
    assert heard == expected


def test_a_run_that_a_callback_ended_stays_ended(tmp_path):
    def callbacks():
        stopping = train.EarlyStopping("loss", 9.0, 2)
        return [train.History(), stopping, train.BackupAndRestore(str(tmp_path), 1, False)]

    first, again = made("plain"), made("plain", seed=99)
    listed = callbacks()
    first.train(EPOCHS + 2, shuffled(), listed)
    assert listed[1].stopped_epoch == 3
    listed = callbacks()
    again.train(EPOCHS + 2, shuffled(), listed)
    assert_same(again, first)
    assert listed[0].epoch == {"epoch": [1, 2, 3]} and listed[1].stopped_epoch == 3


def test_saves_after_a_stop_come_when_they_would_have_come(tmp_path, whole):
    def stop(run_context):
        if run_context.original_args().cur_step_num == 7:
            run_context.request_stop()

    ask = train.LambdaCallback(on_train_step_end=stop)
    made().train(EPOCHS, shuffled(), [saver(tmp_path, 3, keep_checkpoint_max=9), ask])
    assert "net-2_1.ckpt" in os.listdir(tmp_path)
    again, saving = made(seed=99), saver(tmp_path, 3, keep_checkpoint_max=9)
    again.train(EPOCHS, shuffled(), saving, resume_from=str(tmp_path))
    assert_same(again, whole)
    expected = [(1, 3), (1, 6), (2, 1), (2, 3), (2, 6), (3, 3), (3, 6)]
    assert sorted(os.listdir(tmp_path)) == [f"net-{e}_{s}.ckpt" for e, s in expected]


@pytest.mark.parametrize("crash", [4, 6, 13])
def test_backups_go_on_in_the_middle_of_epochs(tmp_path, whole, crash):
    def backup():
        return train.BackupAndRestore(str(tmp_path), save_steps=2)

    broken(made(), crash, backup())
    (tmp_path / f".backup.ckpt.{'0' * 32}").write_bytes(b"half")
    steps = []
    seen = train.LambdaCallback(
        on_train_step_end=lambda c: steps.append(c.original_args().cur_step_num)
    )
    again = made(seed=99)
    again.train(EPOCHS, shuffled(), [backup(), seen])
    assert_same(again, whole)
    assert steps[0] == crash // 2 * 2 + 1
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="save_steps"):
        train.BackupAndRestore(str(tmp_path), save_steps=-1)


def test_backups_of_epochs_go_on_with_the_next(tmp_path, whole):
    broken(made(), 15, train.BackupAndRestore(str(tmp_path)))
    again = made(seed=99)
    again.train(EPOCHS, shuffled(), train.BackupAndRestore(str(tmp_path), delete_checkpoint=False))
    assert_same(again, whole)
    assert os.listdir(tmp_path) == ["backup.ckpt"]


def test_a_signal_ends_a_run_that_the_next_goes_on_with(tmp_path, whole):
    def leave():
        return train.OnRequestExit(True, False, directory=str(tmp_path), sig=signal.SIGUSR2)

    def kill(run_context):
        if run_context.original_args().cur_step_num == 8:
            os.kill(os.getpid(), signal.SIGUSR2)

    def own(signum, frame):
        raise AssertionError("not for this one")

    before = signal.signal(signal.SIGUSR2, own)
    try:
        first = made()
        history = train.History()
        first.train(EPOCHS, shuffled(), [train.LambdaCallback(on_train_step_begin=kill), leave(),
                                         history])  # fmt: skip
        assert signal.getsignal(signal.SIGUSR2) is own and history.epoch == {"epoch": [1, 2]}
        assert os.listdir(tmp_path / "rank_0") == ["Net_train.ckpt"]
        again = made(seed=99)
        again.train(EPOCHS, shuffled(), leave())
        assert_same(again, whole)
        assert os.listdir(tmp_path / "rank_0") == []
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.fixture
def no_signal():
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGUSR2, before)


def killing(event, step, epoch):
    """A callback that sends the signal at some step of an epoch."""

    def kill(run_context):
        facts = run_context.original_args()
        if (facts.cur_step_num, facts.cur_epoch_num) == (step, epoch):
            os.kill(os.getpid(), signal.SIGUSR2)

    return train.LambdaCallback(**{event: kill})


def test_a_signal_in_an_evaluation(tmp_path, no_signal):
    def fit(*more, seed=3):
        history, model = train.History(), made("plain", seed, {"acc"})
        leave = train.OnRequestExit(True, False, directory=str(tmp_path), sig=signal.SIGUSR2)
        callbacks = [*more, history, train.EarlyStopping("acc", patience=9), leave]
        model.fit(EPOCHS, shuffled(), shuffled(), callbacks=callbacks)
        return model, history

    whole, expected = fit()
    _, history = fit(killing("on_eval_step_end", 3, 1))
    assert history.epoch == {"epoch": [1, 2]}
    again, history = fit(seed=99)
    assert_same(again, whole)
    assert repr(history.history) == repr(expected.history)


@pytest.mark.slow
def test_a_signal_while_steps_are_joined(tmp_path, no_signal, graph_mode):
    class Kill(train.Callback):
        only_reads_results = True

        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 8:
                os.kill(os.getpid(), signal.SIGUSR2)

    def leave():
        return train.OnRequestExit(True, False, directory=str(tmp_path), sig=signal.SIGUSR2)

    whole = made()
    whole.train(EPOCHS, shuffled(), dataset_sink_mode=True)
    first = made()
    first.train(EPOCHS, shuffled(), [Kill(), leave()], dataset_sink_mode=True)
    assert int(first.train_network.optimizer.global_step.asnumpy()[0]) == 12
    again = made(seed=99)
    again.train(EPOCHS, shuffled(), leave(), dataset_sink_mode=True)
    assert_same(again, whole)


def test_no_signal_is_heard_in_another_thread(tmp_path, caplog):
    leave = train.OnRequestExit(True, False, directory=str(tmp_path))
    errors = []

    def run():
        try:
            made().train(1, shuffled(), leave)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not errors and "outside the main thread" in caplog.text


def test_data_without_a_state_are_taken_again(tmp_path):
    class Counted(Rows):
        taken = 0

        def create_tuple_iterator(self, num_epochs=-1, output_numpy=False):
            return list(super().create_tuple_iterator(num_epochs))

    whole = made()
    whole.train(EPOCHS, Counted(X, Y))
    broken(made(), 9, saver(tmp_path, 4), data=Counted(X, Y))
    again = made(seed=99)
    again.train(EPOCHS, Counted(X, Y), resume_from=str(tmp_path))
    assert_same(again, whole)


def test_an_iterator_may_keep_a_state_of_its_own(tmp_path):
    class Endless:
        def __init__(self):
            self.number = 0

        def __iter__(self):
            for _ in range(BATCHES):
                self.number += 1
                place = self.number * 5 % 20
                yield [ms.Tensor(X[place : place + 4]), ms.Tensor(Y[place : place + 4])]

        def state(self):
            return {"number": self.number, "rest": BATCHES - self.number % BATCHES}

        def restore(self, state):
            self.number = state["number"]

    class Own(Rows):
        def create_tuple_iterator(self, num_epochs=-1, output_numpy=False):
            return Endless()

    whole = made()
    whole.train(EPOCHS, Own(X, Y))
    with pytest.raises(KeyboardInterrupt):
        made().train(EPOCHS, Own(X, Y), [train.BackupAndRestore(str(tmp_path)), Crash(7)])
    again = made(seed=99)
    again.train(EPOCHS, Own(X, Y), train.BackupAndRestore(str(tmp_path)))
    assert_same(again, whole)


@pytest.mark.parametrize("damage", ["cut", "cut at an entry", "flipped", "empty"])
def test_a_damaged_checkpoint_is_left_out(tmp_path, whole, caplog, damage):
    broken(made(), 9, saver(tmp_path, 4))
    newest = tmp_path / "net-2_2.ckpt"
    data = newest.read_bytes()
    data = {
        "cut": data[:-40],
        "cut at an entry": data[:-17],
        "flipped": data[:50] + bytes([data[50] ^ 4]) + data[51:],
        "empty": b"",
    }[damage]
    newest.write_bytes(data)
    again = made(seed=99)
    again.train(EPOCHS, shuffled(), resume_from=str(tmp_path))
    assert_same(again, whole)
    assert "net-2_2.ckpt is damaged" in caplog.text or damage == "empty"
    with pytest.raises(ValueError):
        made().train(EPOCHS, shuffled(), resume_from=str(newest))


@pytest.mark.parametrize("options", [{"format": "safetensors"}, {"enc_key": b"0123456789abcdef"},
                                     {"async_save": True}])  # fmt: skip
def test_checkpoints_of_all_kinds(tmp_path, whole, options):
    broken(made(), 9, saver(tmp_path, 4, **options))
    again = made(seed=99)
    again.train(EPOCHS, shuffled(), saver(tmp_path, 4, **options), resume_from=str(tmp_path))
    assert_same(again, whole)


def test_nothing_to_go_on_from_begins_anew(tmp_path, whole):
    model = made()
    model.train(EPOCHS, shuffled(), resume_from=str(tmp_path / "later"))
    assert_same(model, whole)
    ms.save_checkpoint(model.train_network, str(tmp_path / "plain.ckpt"))
    model = made()
    model.train(EPOCHS, shuffled(), resume_from=tmp_path)
    assert_same(model, whole)


def test_a_run_that_is_over_stays_so_and_may_be_made_longer(tmp_path):
    longer = made()
    longer.train(EPOCHS + 1, shuffled())
    made().train(EPOCHS, shuffled(), saver(tmp_path))
    same, more = made(seed=98), made(seed=99)
    same.train(EPOCHS, shuffled(), resume_from=str(tmp_path))
    more.train(EPOCHS + 1, shuffled(), resume_from=str(tmp_path))
    assert_same(more, longer)
    steps = int(same.train_network.optimizer.global_step.asnumpy()[0])
    assert steps == EPOCHS * BATCHES


@pytest.mark.parametrize(
    ("kind", "message", "resume"),
    [
        (TypeError, "resume_from", lambda f: made().train(1, shuffled(), resume_from=3)),
        (
            ValueError,
            "does not exist",
            lambda f: made().train(1, shuffled(), resume_from=str(f / "no.ckpt")),
        ),
        (
            ValueError,
            "no run state",
            lambda f: made().train(1, shuffled(), resume_from=str(f / "plain.ckpt")),
        ),
        (
            ValueError,
            "it is of epoch 2",
            lambda f: made().train(1, shuffled(), resume_from=str(f / "run")),
        ),
        (
            ValueError,
            "now there are 2",
            lambda f: made().train(3, rows(8), resume_from=str(f / "run")),
        ),
        (
            ValueError,
            "parameters are missing",
            lambda f: train.Model(nn.Dense(3, 2), cross_entropy()).train(
                3, shuffled(), resume_from=str(f / "run")
            ),
        ),
    ],
)
def test_what_cannot_go_on_is_refused(tmp_path, kind, message, resume):
    ms.save_checkpoint(nn.Dense(3, 2), str(tmp_path / "plain.ckpt"))
    broken(made(), 9, saver(tmp_path / "run", 4))
    with pytest.raises(kind, match=message):
        resume(tmp_path)


def test_the_file_stays_an_ordinary_checkpoint(tmp_path):
    model = made()
    model.train(1, shuffled(), [train.History(), saver(tmp_path, 6)])
    for crc_check in (False, True):
        loaded = ms.load_checkpoint(str(tmp_path / "net-1_6.ckpt"), crc_check=crc_check)
        assert set(loaded) == {p.name for p in model.train_network.get_parameters()}
    missing, unused = ms.load_param_into_net(made().train_network, loaded)
    assert (missing, unused) == ([], [])


def test_states_of_users_callbacks(tmp_path, caplog):
    class Counter(train.Callback):
        def __init__(self):
            self.count, self.more = 0, None

        def on_train_step_end(self, run_context):
            self.count += 1
            self.more = {("a", 1): [np.arange(300.0), ms.Tensor([1, 2])], "b": (True, None, "x")}

        def state(self):
            return {"count": self.count, "more": self.more}

        def restore(self, state):
            self.count, self.more = state["count"], state["more"]

    counter = Counter()
    with pytest.raises(KeyboardInterrupt):
        made().train(1, shuffled(), [counter, saver(tmp_path, 4), Crash(5)])
    again = Counter()
    caplog.set_level(logging.INFO, logger="mycelia")
    made().train(1, shuffled(), again, resume_from=str(tmp_path))
    assert again.count == BATCHES
    assert "resumes in epoch 1, after 4 of its steps" in caplog.text
    fresh = Counter()
    with pytest.raises(KeyboardInterrupt):
        made().train(1, shuffled(), [fresh, Crash(5)], resume_from=str(tmp_path))
    arrays, rest = fresh.more[("a", 1)], fresh.more["b"]
    assert arrays[0].tolist() == list(range(300)) and arrays[1].tolist() == [1, 2]
    assert rest == (True, None, "x")


@pytest.mark.parametrize(
    ("steps", "joined", "groups"),
    [(320, 320, [64] * 5), (100, 100, [50, 50]), (67, 67, [64, 3]), (300, 50, [50] * 6)],
)
def test_groups_leave_little_over(steps, joined, groups):
    batches = [[Tensor(np.zeros(2, np.float32))] for _ in range(steps)]
    assert [len(group) for group in train.training_loop._groups(batches, joined, steps)] == groups


def test_large_batches_are_joined_to_few():
    batches = [[Tensor(np.zeros(8 * 2**20, np.float32))]] * 6  # 32 MB each
    assert [len(group) for group in train.training_loop._groups(batches, 6, 6)] == [2, 2, 2]
