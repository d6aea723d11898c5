"""Saving while training: in the background, on a full disk, and what is left in the folder."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, train
from mycelia.train import background_writer, checkpoint
from tests.train.model_doubles import dense_model, rows


@pytest.fixture
def slow_disk(monkeypatch):
    """Files whose bytes take a while."""
    original = background_writer.write_atomically

    def write(path, chunks):
        time.sleep(0.1)
        original(path, chunks)

    monkeypatch.setattr(background_writer, "write_atomically", write)


@pytest.fixture
def full_disk(monkeypatch):
    """A disk that is full while its `now` is true; half of a file still fits."""

    class Disk:
        now = True

    original = os.fsync

    def sync(number):
        if Disk.now:
            raise OSError(28, "No space left on device")
        original(number)

    monkeypatch.setattr(os, "fsync", sync)
    return Disk


@pytest.mark.parametrize("how", [True, "thread", "process"])
def test_a_file_is_written_in_the_background(tmp_path, slow_disk, how):
    path, net = tmp_path / "net.ckpt", nn.Dense(3, 2)
    before = net.weight.asnumpy().copy()
    ms.save_checkpoint(net, str(path), async_save=how)
    assert train.async_ckpt_thread_status() and not path.exists()
    net.weight.set_data(Tensor(np.zeros((2, 3), np.float32)))
    loaded = ms.load_checkpoint(str(path))
    np.testing.assert_array_equal(loaded["weight"].asnumpy(), before)
    assert not train.async_ckpt_thread_status()


def test_the_same_file_is_written_by_one_at_a_time(tmp_path, slow_disk):
    path = str(tmp_path / "net.ckpt")
    for value in range(3):
        ms.save_checkpoint({"a": Tensor([value])}, path, async_save=True)
    assert ms.load_checkpoint(path)["a"].tolist() == [2]
    assert os.listdir(tmp_path) == ["net.ckpt"]


def test_an_error_in_the_background_is_told_by_the_next_load_or_save(tmp_path, full_disk):
    path = str(tmp_path / "net.ckpt")
    ms.save_checkpoint({"a": Tensor([1])}, path, async_save=True)
    with pytest.raises(OSError, match="No space left"):
        ms.load_checkpoint(path)
    ms.save_checkpoint({"a": Tensor([2])}, path, async_save=True)
    background_writer._writes[tmp_path / "net.ckpt"].join()
    full_disk.now = False
    with pytest.raises(OSError, match=r"net\.ckpt could not be saved in the background"):
        ms.save_checkpoint({"a": Tensor([3])}, str(tmp_path / "other.ckpt"))
    ms.save_checkpoint({"a": Tensor([3])}, path, async_save=True)
    assert ms.load_checkpoint(path)["a"].tolist() == [3]
    assert os.listdir(tmp_path) == ["net.ckpt"]


def test_an_error_in_the_background_is_told_by_the_next_step(tmp_path, full_disk):
    model, path = dense_model(), str(tmp_path / "net.ckpt")
    steps = []

    def save(context):
        steps.append(1)
        if len(steps) == 2:
            ms.save_checkpoint({"a": Tensor([1])}, path, async_save=True)
            background_writer._writes[tmp_path / "net.ckpt"].join()

    look = train.LambdaCallback(on_train_step_end=save)
    with pytest.raises(OSError, match=r"net\.ckpt could not be saved in the background"):
        model.train(2, rows(), [look])
    assert len(steps) == 2
    model.train(1, rows(), [])


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_an_error_in_the_background_is_told_by_the_next_step_of_a_custom_loop(
    tmp_path, full_disk, mode
):
    ms.set_context(mode=mode)
    net = nn.Dense(3, 2)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)
    x, y = Tensor(np.ones((4, 3), np.float32)), Tensor(np.ones((4, 2), np.float32))
    for step in (lambda: cell(x, y), lambda: gradient(x)):
        step()
        ms.save_checkpoint(net, str(tmp_path / "net.ckpt"), async_save=True)
        background_writer._writes[tmp_path / "net.ckpt"].join()
        with pytest.raises(OSError, match=r"net\.ckpt could not be saved in the background"):
            step()
        step()


def test_model_checkpoint_tells_of_a_failure_in_the_next_step(tmp_path, full_disk, caplog):
    told = []

    def look(context):
        told.append("was not saved" in caplog.text)
        for write in list(background_writer._writes.values()):
            write.join()

    looks = train.LambdaCallback(on_train_step_end=look)
    saves = saver(tmp_path, save_checkpoint_steps=4, async_save=True)
    dense_model().train(2, rows(), [saves, looks])
    assert told[3:5] == [False, True]


def test_the_next_save_removes_what_killed_saves_left(tmp_path):
    program = """
import os, signal, sys
import mycelia as ms
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
ms.save_checkpoint({"a": ms.Tensor([5])}, sys.argv[1])
"""
    command = [sys.executable, "-c", program, str(tmp_path / "one.ckpt")]
    killed = subprocess.run(command, check=False)
    assert killed.returncode == -signal.SIGKILL and len(os.listdir(tmp_path)) == 1
    ms.save_checkpoint({"a": Tensor([3])}, str(tmp_path / "two.ckpt"))
    assert os.listdir(tmp_path) == ["two.ckpt"]


def test_the_end_of_a_program_waits_for_its_files(tmp_path):
    program = """
import sys, time
import mycelia as ms
from mycelia.train import background_writer as background
original = background.write_atomically
background.write_atomically = lambda path, chunks: (time.sleep(0.3), original(path, chunks))
ms.save_checkpoint({"a": ms.Tensor([5])}, sys.argv[1], async_save=True)
ms.save_checkpoint({"a": ms.Tensor([5])}, "/dev/null/no.ckpt", async_save=True)
"""
    path = str(tmp_path / "net.ckpt")
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert done.returncode == 0 and ms.load_checkpoint(path)["a"].tolist() == [5]
    assert "could not be saved" in done.stderr


def saver(folder, **options):
    return train.ModelCheckpoint("net", str(folder), train.CheckpointConfig(**options))


def test_a_training_saves_in_the_background(tmp_path, slow_disk):
    seen = []
    look = train.LambdaCallback(
        on_train_step_end=lambda c: seen.append(len(background_writer._writes))
    )
    callback = saver(tmp_path, save_checkpoint_steps=3, keep_checkpoint_max=2, async_save=True)
    dense_model().train(2, rows(), [callback, look])
    assert seen[2] == 1 and max(seen) == 1 and not train.async_ckpt_thread_status()
    assert sorted(os.listdir(tmp_path)) == ["net-2_3.ckpt", "net-2_6.ckpt"]
    assert callback.latest_ckpt_file_name == str(tmp_path / "net-2_6.ckpt")


@pytest.mark.parametrize("async_save", [False, True])
def test_a_full_disk_does_not_end_a_training(tmp_path, full_disk, caplog, async_save):
    full_disk.now = False
    callback = saver(tmp_path, keep_checkpoint_max=1, async_save=async_save)

    def fill(run_context):
        full_disk.now = 3 <= run_context.original_args().cur_step_num <= 4

    names = []
    look = train.LambdaCallback(
        on_train_step_begin=fill,
        on_train_step_end=lambda c: (
            callback._settle(),
            names.append(sorted(os.listdir(tmp_path))),
        ),
    )
    dense_model().train(1, rows(), [callback, look])
    kept = [["net-1_1.ckpt"], *[["net-1_2.ckpt"]] * 3, ["net-1_5.ckpt"], ["net-1_6.ckpt"]]
    assert names == kept
    assert caplog.text.count("No space left on device") == 2
    assert "choose another directory" in caplog.text and "ERROR" not in caplog.text


def test_a_disk_that_stays_full_is_an_error_in_the_end(tmp_path, full_disk, caplog):
    dense_model().train(1, rows(8), saver(tmp_path))
    assert os.listdir(tmp_path) == []
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1 and "the last save failed" in errors[0]
    dense_model().train(1, rows(8), train.BackupAndRestore(str(tmp_path), save_steps=1))
    assert os.listdir(tmp_path) == [] and "backup.ckpt was not saved" in caplog.text


def test_a_file_that_is_too_large_for_the_system(tmp_path, caplog):
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, most))
    try:
        dense_model().train(1, rows(8), saver(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path) == [] and caplog.text.count("File too large") >= 2


def test_an_error_of_the_training_is_not_hidden_by_a_full_disk(tmp_path, full_disk, caplog):
    def fail(run_context):
        raise RuntimeError("lost")

    callbacks = [saver(tmp_path, exception_save=True), train.LambdaCallback(on_train_step_end=fail)]
    with pytest.raises(RuntimeError, match="lost"):
        dense_model().train(1, rows(8), callbacks)
    assert os.listdir(tmp_path) == [] and caplog.text.count("was not saved") == 2


def test_arguments_are_checked(tmp_path):
    for bad, kind in ((3, TypeError), ("foo", ValueError)):
        with pytest.raises(kind, match="async_save"):
            ms.save_checkpoint(nn.Dense(1, 1), str(tmp_path / "x"), async_save=bad)
        with pytest.raises(kind, match="async_save"):
            train.CheckpointConfig(async_save=bad)


def test_hidden_entries_are_hidden():
    assert checkpoint.is_hidden("mycelia.run") and checkpoint.is_hidden("mycelia.run.0")
    assert not checkpoint.is_hidden("mycelia.runner") and not checkpoint.is_hidden("weight")


def test_scalars_keep_their_shape_in_safetensors(tmp_path):
    path = str(tmp_path / "a.safetensors")
    ms.save_checkpoint({"a": Tensor(1.5), "b": Tensor([1.5])}, path, format="safetensors")
    loaded = ms.load_checkpoint(path, format="safetensors")
    assert loaded["a"].shape == () and loaded["b"].shape == (1,)
