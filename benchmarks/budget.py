"""What a memory budget costs: ResNet-50, batch 8, with and without `max_device_memory`.

`python benchmarks/budget.py 0.6GB 0.45GB` trains one net for each budget and one without, each in a
process of its own and all interleaved, and prints what XLA plans for a step and how long it takes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median
from time import perf_counter

NONE = "none"


class Worker:
    """A process that trains under one budget, some steps each time it is asked."""

    def __init__(self, budget: str) -> None:
        self.budget = budget
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", budget],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.peak: int = self._answer()
        self.times: list[float] = []

    def _answer(self) -> int:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process with the budget {self.budget} ended")
        return json.loads(line)

    def step(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        self.times.append(self._answer() / 1e6)


def train(budget: str) -> None:
    """In a worker: print the planned bytes, then the microseconds of a step for each line read."""
    import numpy as np
    from compile_nets import resnet50

    import mycelia as ms
    from mycelia import nn

    ms.set_context(mode=ms.GRAPH_MODE)
    if budget != NONE:
        ms.set_context(max_device_memory=budget)
    net = resnet50()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()
    random = np.random.default_rng(0)
    images = ms.Tensor(random.normal(size=(8, 3, 224, 224)).astype(np.float32))
    labels = ms.Tensor(random.integers(0, 1000, 8).astype(np.int32))
    report = ms.runtime.memory_report(step, images, labels)
    for _ in range(2):
        step(images, labels).asnumpy()
    print(report.peak, flush=True)
    for _ in sys.stdin:
        started = perf_counter()
        step(images, labels).asnumpy()
        print(round((perf_counter() - started) * 1e6), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("budgets", nargs="*", default=["0.45GB"], help="of a step (0.45GB)")
    parser.add_argument("--rounds", type=int, default=12, help="steps of each, interleaved (12)")
    parser.add_argument("--worker", metavar="BUDGET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return train(options.worker)
    workers = [Worker(budget) for budget in (NONE, *options.budgets)]
    for _ in range(options.rounds):
        for worker in workers:
            worker.step()
    plain = workers[0]
    print("| budget | planned MB | of it | ms of a step | of it |\n|---|---:|---:|---:|---:|")
    for w in workers:
        memory, time = w.peak / plain.peak, median(w.times) / median(plain.times)
        ms = median(w.times) * 1e3
        print(f"| {w.budget} | {w.peak / 2**20:.0f} | {memory:.2f} | {ms:.0f} | {time:.2f} |")
        w.process.terminate()


if __name__ == "__main__":
    main()
