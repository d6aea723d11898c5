"""A training that is killed at random moments and started again until it ends, as a program.

python -m tests.train.killed_training FOLDER KILLS SEED graph|eager fed|sunk: trains once without a
break and once with KILLS of them, each in processes of their own, and prints what both reached.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import mycelia as ms
from mycelia import dataset, nn, train
from mycelia.dataset import vision

EPOCHS, BATCHES, BATCH = 3, 24, 8


class Steps(train.Callback):
    """Tells the other process how many steps were made, and gives it time to act."""

    only_reads_results = True

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def on_train_step_end(self, run_context) -> None:
        os.write(self.pipe, b".")
        time.sleep(0.001)


def images():
    numbers = np.random.RandomState(0)
    pictures = numbers.randint(0, 256, (BATCH * BATCHES, 8, 8, 1)).astype(np.uint8)
    labels = numbers.randint(0, 4, BATCH * BATCHES).astype(np.int32)
    rows = dataset.NumpySlicesDataset((pictures, labels), ["image", "label"], shuffle=True)
    changes = [vision.RandomHorizontalFlip(), vision.RandomCrop(8, padding=1)]
    rows = rows.map([*changes, vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()], "image")
    return rows.shuffle(32).batch(BATCH)


def network():
    layers = nn.Flatten(), nn.Dense(64, 16), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(16, 4)
    return nn.SequentialCell(*layers)


def trained(folder: Path, sinks: bool, pipe: int) -> str:
    """Train to the end, from where an earlier process came to; what was reached."""
    ms.set_seed(7)
    net = network()
    rates = nn.cosine_decay_lr(0.001, 0.01, EPOCHS * BATCHES, BATCHES, EPOCHS)
    optimizer = nn.Adam(net.trainable_params(), rates)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = train.Model(net, loss, optimizer, {"acc"})
    history = train.History()
    config = train.CheckpointConfig(save_checkpoint_steps=4, keep_checkpoint_max=3)
    saver = train.ModelCheckpoint("net", str(folder), config)
    callbacks = [history, saver, train.EarlyStopping(patience=EPOCHS), Steps(pipe)]
    more = {"callbacks": callbacks, "dataset_sink_mode": sinks, "resume_from": str(folder)}
    model.fit(EPOCHS, images(), images(), **more)
    found = hashlib.sha256()
    for parameter in model.train_network.get_parameters():
        found.update(parameter.name.encode() + parameter.asnumpy().tobytes())
    results = hashlib.sha256(repr((history.epoch, history.history)).encode())
    return f"{found.hexdigest()} {results.hexdigest()} {sorted(os.listdir(folder))}"


def process(folder: Path, sinks: bool, kill_after: int | None) -> str:
    """One process: what it reached, or nothing if it was killed after so many steps."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            (folder.parent / f"{folder.name}.txt").write_text(trained(folder, sinks, writing))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    if kill_after is not None:
        seen = 0
        while seen < kill_after and (told := os.read(reading, 64)):
            seen += len(told)
        time.sleep(random.random() * 0.003)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    file = folder.parent / f"{folder.name}.txt"
    return file.read_text() if file.exists() else ""


def main(folder: Path, kills: int, seed: int, mode: str, feeding: str) -> None:
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_context(enable_compile_cache=True, compile_cache_path=str(folder / "cache"))
    random.seed(seed)
    print(process(folder / "whole", feeding == "sunk", None))
    most = max(2 * EPOCHS * BATCHES // (kills + 1), 4)
    for _ in range(kills):
        process(folder / "killed", feeding == "sunk", random.randrange(1, most))
    print(process(folder / "killed", feeding == "sunk", None))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
