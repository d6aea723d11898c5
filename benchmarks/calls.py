"""What a call of a compiled cell costs besides the program it runs.

`python benchmarks/calls.py` calls stacks of small Dense layers in graph mode, forward and as
training steps, and prints microseconds a call: in all, in the compiled program, and the rest, which
is Python finding the program, gathering its inputs and writing back what it changed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn

CALLS = 200


class Clock:
    """A compiled program that adds up the seconds it takes."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run, self.seconds = run, 0.0

    def __call__(self, *arrays: Any) -> Any:
        started = perf_counter()
        found = self.run(*arrays)
        self.seconds += perf_counter() - started
        return found


def stack(layers: int, train: bool) -> tuple[nn.Cell, tuple[Tensor, ...]]:
    x = Tensor(np.ones((2, 4), np.float32))
    net = nn.SequentialCell(*[nn.Dense(4, 4) for _ in range(layers)])
    if not train:
        return net.set_train(False), (x,)
    loss, optimizer = nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9)
    return nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train(), (x, x)


def measure(layers: int, train: bool, rounds: int) -> tuple[float, float]:
    """Microseconds of a call, and of it in the program; medians of some rounds."""
    cell, data = stack(layers, train)
    cell(*data)
    (entry,) = cell._compiled().entries.values()
    clock = entry.executable._run = Clock(entry.executable._run)
    found = []
    for _ in range(rounds):
        clock.seconds, started = 0.0, perf_counter()
        for _ in range(CALLS):
            cell(*data)
        found.append((perf_counter() - started, clock.seconds))
    total, inside = (median(times) / CALLS * 1e6 for times in zip(*found, strict=True))
    return total, inside


def main() -> None:
    parser = argparse.ArgumentParser(description="What a call costs besides its program.")
    parser.add_argument("--parameters", type=int, nargs="+", default=[2, 50, 200])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE)
    print("| call | parameters | us in all | us in the program | us of Python |")
    print("|---|---:|---:|---:|---:|")
    for train in (False, True):
        for count in options.parameters:
            total, inside = measure(max(count // 2, 1), train, options.rounds)
            name = "training step" if train else "forward pass"
            print(f"| {name} | {count} | {total:.0f} | {inside:.0f} | {total - inside:.0f} |")


if __name__ == "__main__":
    main()
