"""Data sinking: the time of a training step alone with its loss read, and sunk into one program.

`python benchmarks/sinking.py` trains an MLP of width 64 and LeNet-5 (batch 32) with `Model.train`
both ways, interleaved, and prints medians.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import dataset, nn, train

STEPS = 1920  # an epoch of 61,440 rows


class Reads(train.Callback):
    """Reads the loss of each step, as LossMonitor does, without printing it."""

    def on_train_step_end(self, run_context: Any) -> None:
        float(run_context.original_args().net_outputs)


def mlp() -> tuple[nn.Cell, np.ndarray]:
    layers = [nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 10)]
    return nn.SequentialCell(layers), np.zeros((STEPS * 32, 64), np.float32)


def lenet() -> tuple[nn.Cell, np.ndarray]:
    layers = [
        nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
        nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10),
    ]  # fmt: skip
    return nn.SequentialCell(layers), np.zeros((STEPS * 32, 1, 32, 32), np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7)")
    rounds = parser.parse_args().rounds
    ms.set_context(mode=ms.GRAPH_MODE)
    print("| network, batch 32 | step by step | sunk | times faster |")
    print("|---|---|---|---|")
    for name, make in (("MLP of width 64", mlp), ("LeNet-5", lenet)):
        ways = [epochs(make, sinks=False), epochs(make, sinks=True)]
        for way in ways:
            way()  # compiles
        alone, sunk = [], []
        for _ in range(rounds):
            alone.append(ways[0]())
            sunk.append(ways[1]())
        slow, fast = median(alone), median(sunk)
        print(f"| {name} | {slow * 1e6:.0f} µs | {fast * 1e6:.0f} µs | {slow / fast:.2f} |")


def epochs(make: Any, *, sinks: bool) -> Any:
    """A function that trains one epoch and gives the seconds of a step."""
    ms.set_seed(1)
    network, data = make()
    labels = np.zeros(len(data), np.int32)
    batches = dataset.NumpySlicesDataset((data, labels), ["data", "label"], shuffle=False)
    batches = batches.batch(32)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = train.Model(network, loss, nn.Momentum(network.trainable_params(), 0.01, 0.9))

    def run() -> float:
        begin = time.perf_counter()
        model.train(1, batches, None if sinks else Reads(), dataset_sink_mode=sinks)
        float(next(network.get_parameters()).asnumpy().ravel()[0])
        return (time.perf_counter() - begin) / STEPS

    return run


if __name__ == "__main__":
    main()
