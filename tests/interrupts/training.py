"""A training run in a process of its own that is interrupted at random times, and checked.

`python -m tests.interrupts.training WAY INTERRUPTS SEED [DEVICES]` prints how many interrupts it
survived. After each one, the parameters, moments and counters must be those of one completed step
of the same run without interrupts; the network must predict and save, and training continues.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

WAY, INTERRUPTS, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
DEVICES = int(sys.argv[4]) if len(sys.argv) > 4 else 1
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import numpy as np  # noqa: E402

import mycelia as ms  # noqa: E402
from mycelia import Tensor, nn  # noqa: E402
from mycelia import dataset as ds  # noqa: E402
from mycelia._engine.core import seed  # noqa: E402

BATCH, STEPS = 8, 300
EAGER = ("eager", "custom", "model")
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(4 * BATCH, 6)).astype(np.float32)
Y = _RNG.normal(size=(4 * BATCH, 2)).astype(np.float32)


class Network(nn.Cell):
    """Small, with state that the forward pass writes, and random numbers.

    A custom loop has none: an interrupt between its gradient and its optimizer has drawn some for a
    step that never was.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(6, 16),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Dropout(p=0.0 if WAY == "custom" else 0.2),
            nn.Dense(16, 2),
        )

    def construct(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Run:
    """One training run, step by step; `state` is all that a checkpoint would hold."""

    def __init__(self) -> None:
        ms.set_seed(7)
        self.network = Network()
        loss = nn.WithLossCell(self.network, nn.MSELoss())
        rate = nn.CosineDecayLR(0.0, 0.01, 1000)
        self.optimizer = nn.Adam(self.network.trainable_params(), rate)
        self.cell = nn.TrainOneStepCell(loss, self.optimizer).set_train()
        self.grad = ms.value_and_grad(loss, None, self.optimizer.parameters)

    def step(self, number: int) -> None:
        at = number % 4 * BATCH
        x, y = Tensor(X[at : at + BATCH]), Tensor(Y[at : at + BATCH])
        if WAY == "custom":
            self.optimizer(self.grad(x, y)[1])
        else:
            self.cell(x, y)
        self.look()

    def look(self) -> None:
        """In eager mode, have all arrays on the host, as after a check: the same kernels run."""
        if WAY in EAGER:
            self.state()

    def state(self) -> dict[str, bytes]:
        found = {p.name: p.asnumpy().tobytes() for p in self.cell.get_parameters()}
        if WAY == "custom":  # the forward pass is no part of the atomic step there
            found = {k: v for k, v in found.items() if "moving" not in k}
        return found

    def count(self) -> int:
        return int(self.optimizer.global_step.asnumpy()[0])

    def check_use(self, folder: Path) -> None:
        self.cell.set_train(False)
        assert np.isfinite(self.network(Tensor(X)).asnumpy()).all()
        self.cell.set_train(True)
        path = str(folder / "saved.ckpt")
        ms.save_checkpoint(self.cell, path)
        saved = ms.load_checkpoint(path)
        for parameter in self.cell.get_parameters():
            assert (saved[parameter.name].asnumpy() == parameter.asnumpy()).all()


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
    if WAY == "graph" or WAY == "sink":
        ms.set_context(mode=ms.GRAPH_MODE)
    else:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    if DEVICES > 1:
        ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=DEVICES)
    survive(trained_by_model if WAY in ("sink", "model") else trained_by_hand)


def trained_by_hand(run: Run, until: int) -> None:
    while run.count() < until:
        run.step(run.count())


def trained_by_model(run: Run, until: int) -> None:
    model = ms.Model(run.cell)
    while run.count() < until:
        data = ds.NumpySlicesDataset((X, Y), shuffle=False).batch(BATCH)
        if run.count() % 4:
            data = data.skip(run.count() % 4)
        size = data.get_dataset_size()
        epochs = (until - run.count()) // 4 if size == 4 else 1
        looking = ms.train.LambdaCallback(on_train_step_end=lambda _: run.look())
        callbacks = [looking] if WAY in EAGER else []
        model.train(max(1, epochs), data, callbacks, dataset_sink_mode=WAY == "sink")


def survive(train: Callable[[Run, int], None]) -> None:
    rng = random.Random(SEED)
    right = Reference()
    run, survived, seconds = Run(), 0, 0.05
    with tempfile.TemporaryDirectory() as folder:
        while survived < INTERRUPTS:
            alarm = Alarm(rng.random() * seconds * 2)
            try:
                alarm.start()
                train(run, run.count() + STEPS)
                alarm.stop()
            except KeyboardInterrupt:
                survived += 1
            alarm.join()
            right.check(run)
            run.check_use(Path(folder))
            if survived % 10 == 9 or run.count() > 1000:
                run = Run()  # interrupts in the first step, and while it is compiled
    print(f"survived {survived}")


class Alarm(threading.Thread):
    """Interrupts the main thread once, after some time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self._seconds, self._stopped = seconds, threading.Event()

    def run(self) -> None:
        if not self._stopped.wait(self._seconds):
            os.kill(os.getpid(), signal.SIGINT)

    def stop(self) -> None:
        self._stopped.set()


class Reference:
    """The states of the run without interrupts, by number of steps."""

    def __init__(self) -> None:
        self._run, self.states = Run(), {}
        self.states[0], self._seed = self._run.state(), seed.state()

    def check(self, run: Run) -> None:
        outside, count = seed.state(), run.count()
        seed.restore(self._seed)
        while len(self.states) <= count:
            self._run.step(len(self.states) - 1)
            self.states[len(self.states)] = self._run.state()
        self._seed = seed.state()
        seed.restore(outside)
        found, right = run.state(), self.states[count]
        wrong = [name for name in right if found[name] != right[name]]
        assert not wrong, f"after {count} steps: {wrong}"


if __name__ == "__main__":
    main()
