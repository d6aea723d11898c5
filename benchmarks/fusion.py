"""Whole graph against operator-by-operator execution: what one program for a whole step saves.

`python benchmarks/fusion.py` trains small nets, each in a process of its own, in three ways that
take turns, and prints a table of times and ratios:

- graph: GRAPH_MODE, forward pass, backward pass and update as one XLA program.
- eager: PYNATIVE_MODE as users get it: a kernel for each operator of the forward pass, while runs
  of operators of the backward pass share programs, and so do the updates of all parameters.
- operators: PYNATIVE_MODE with a kernel for the gradient of each operator, too.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import jax
from growth import say, user_nets

import mycelia as ms
from mycelia import nn, ops
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.runtime.eager import backward
from mycelia.benchmark.interleave import IDLE_PATIENCE, OTHERS, others
from mycelia.benchmark.processor import busy_seconds, wait_until_idle
from mycelia.benchmark.session import machine
from mycelia.benchmark.table import NOISY
from mycelia.benchmark.workloads import ADAM, MLP, MOBILENET, MOMENTUM, RESNET18

WAYS = ("graph", "eager", "operators")
TOLERANCE = 1e-4  # relative, of the first losses of all ways
SECONDS, LEAST_STEPS = 0.5, 3  # of one turn
MOST_ENTRIES = backward.MOST_ENTRIES  # operators of the backward pass that share a program

Row = dict[str, Any]


def main() -> None:
    options = arguments()
    if options.measure:
        print(json.dumps(measure_net(options.measure, options.rounds)))
        return
    rows: dict[str, Row] = {}
    with user_nets() as environment:
        for name in options.nets:
            say(f"{name}: {options.rounds} rounds")
            rows[name] = run(name, options.rounds, environment)
            if options.out:
                keep(rows, options.out)
    print(markdown(rows))
    wrong = {name: row["problem"] for name, row in rows.items() if row["problem"]}
    if wrong:
        raise SystemExit("\n".join(f"{name}: {problem}" for name, problem in wrong.items()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7)")
    parser.add_argument(
        "--nets", nargs="+", choices=NETS, default=tuple(NETS), metavar="NET",
        help=f"of {', '.join(NETS)} (all)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="folder for fusion.json and fusion.md")
    parser.add_argument("--measure", choices=NETS, help=argparse.SUPPRESS)  # one net, in here
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return options


def run(name: str, rounds: int, environment: dict[str, str]) -> Row:
    """What a new process measures."""
    command = [sys.executable, __file__, "--measure", name, "--rounds", str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"the process of {name} failed")
    return json.loads(done.stdout.splitlines()[-1])


def keep(rows: dict[str, Row], folder: Path) -> None:
    """Write the results so far, whole or not at all."""
    results = {"machine": machine(), "rows": rows}
    write_atomically(folder / "fusion.json", [(json.dumps(results, indent=1) + "\n").encode()])
    write_atomically(folder / "fusion.md", [(markdown(rows) + "\n").encode()])


def markdown(rows: dict[str, Row]) -> str:
    """The table, and below it what its columns are."""
    lines = [
        "| whole graph against operators, ms a training step | graph | eager | eager / graph "
        "| operators | operators / graph |",
        "|---" * 6 + "|",
    ]
    for row in rows.values():
        eager, operators = (f"{ratio(row, way):.2f}" for way in WAYS[1:])
        graph_ms, eager_ms, operators_ms = (shown(row["cells"][way]) for way in WAYS)
        cells = (row["title"], graph_ms, eager_ms, eager, operators_ms, operators)
        lines.append(f"| {' | '.join(cells)} |")
    for title, of in (("geometric mean", geometric_mean), ("minimum", min)):
        eager, operators = (
            f"{of([ratio(row, way) for row in rows.values()]):.2f}" for way in WAYS[1:]
        )
        lines.append(f"| {title} | | | {eager} | | {operators} |")
    return "\n".join([*lines, "", *explanation()])


def explanation() -> list[str]:
    """The part of this file's docstring that says what the columns are."""
    columns = (__doc__ or "").split("\n\n")[-1].strip()
    return [columns, "", f"`{NOISY}`: other programs ran."]


def ratio(row: Row, way: str) -> float:
    return row["cells"][way]["milliseconds"] / row["cells"]["graph"]["milliseconds"]


def shown(cell: Row) -> str:
    return f"{NOISY if cell['quiet'] == 0 else ''}{cell['milliseconds']:.2f}"


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


# ---- one net, in a process of its own ---------------------------------------------------------


def measure_net(name: str, rounds: int) -> Row:
    """All ways of a net, in turns; each trains a net of its own, from the same weights."""
    from workers.protocol import warm_up

    net = NETS[name]
    warm = {}
    for way in WAYS:
        choose(way)
        warm[way] = warm_up(net.build(GENTLE | net.sizes))
    turns: dict[str, list[Row]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            choose(way)
            turns[way].append(turn(warm[way].job.run))
    cells = {way: cell(found) for way, found in turns.items()}
    losses = {way: warm[way].values for way in WAYS}
    return {"title": net.title, "cells": cells, "losses": losses, "problem": difference(losses)}


def choose(way: str) -> None:
    """Run steps in one of the ways from now on."""
    ms.set_context(mode=ms.GRAPH_MODE if way == "graph" else ms.PYNATIVE_MODE)
    backward.MOST_ENTRIES = 1 if way == "operators" else MOST_ENTRIES


def turn(step: Callable[[], Any]) -> Row:
    """Milliseconds a step, over some of them, and the cores that other programs used meanwhile."""
    step()
    finish()
    wait_until_idle(IDLE_PATIENCE)
    busy, own, started = busy_seconds(), time.process_time(), time.perf_counter()
    steps = 0
    while steps < LEAST_STEPS or time.perf_counter() - started < SECONDS:
        step()
        steps += 1
    finish()
    used = {"processor": time.process_time() - own, "seconds": time.perf_counter() - started}
    milliseconds = used["seconds"] / steps * 1e3
    return {"milliseconds": milliseconds, "others": others(busy, busy_seconds(), used)}


def finish() -> None:
    """Wait for all that was begun: an eager step goes on after its loss is there."""
    jax.block_until_ready(jax.live_arrays())


def cell(turns: list[Row]) -> Row:
    """The median of the turns on a quiet machine, or of all if there are none."""
    quiet = [t for t in turns if t["others"] < OTHERS]
    milliseconds = median(t["milliseconds"] for t in quiet or turns)
    return {"milliseconds": milliseconds, "turns": len(turns), "quiet": len(quiet)}


def difference(losses: dict[str, list[float]]) -> str:
    """Where the losses of two ways differ; empty if they do not."""
    for way, found in losses.items():
        for expected, loss in zip(losses["graph"], found, strict=True):
            if not abs(loss - expected) <= TOLERANCE * abs(expected):
                return f"graph has losses {losses['graph']}, {way} {found}"
    return ""


# ---- nets that `mycelia benchmark` does not have ----------------------------------------------


class Vgg(nn.Cell):
    """Pairs of 3x3 convolutions, with max pooling after each pair."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        layers: list[Any] = []
        before = 3
        for channels in sizes["channels"]:
            for inputs in (before, channels):
                layers += [nn.Conv2d(inputs, channels, 3, has_bias=True), nn.ReLU()]
            layers.append(nn.MaxPool2d(2, 2))
            before = channels
        self.features, self.flatten = nn.SequentialCell(layers), nn.Flatten()
        self.fc1 = nn.Dense(sizes["features"], sizes["hidden"])
        self.fc2, self.relu = nn.Dense(sizes["hidden"], sizes["classes"]), nn.ReLU()

    def construct(self, x: Any) -> Any:
        return self.fc2(self.relu(self.fc1(self.flatten(self.features(x)))))


class Gated(nn.Cell):
    """A GRU and a Dense layer on its last step."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.gru = nn.GRU(sizes["width"], sizes["width"], batch_first=True)
        self.head = nn.Dense(sizes["width"], sizes["classes"])

    def construct(self, x: Any) -> Any:
        outputs, _ = self.gru(x)
        return self.head(outputs[:, -1])


class Mix(nn.Cell):
    """A block of MLP-Mixer: across places, then across channels."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up1, self.down1 = nn.Dense(length, 2 * length), nn.Dense(2 * length, length)
        self.up2, self.down2 = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu = nn.GELU()

    def construct(self, x: Any) -> Any:
        places = self.norm1(x).swapaxes(1, 2)
        x = x + self.down1(self.gelu(self.up1(places))).swapaxes(1, 2)
        return x + self.down2(self.gelu(self.up2(self.norm2(x))))


class Mixer(nn.Cell):
    """Blocks of MLP-Mixer on patches, and a classification head on their mean."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        _, length, width = sizes["inputs"]
        self.blocks = nn.CellList([Mix(length, width) for _ in range(sizes["layers"])])
        self.norm, self.head = nn.LayerNorm((width,)), nn.Dense(width, sizes["classes"])

    def construct(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


class DeepFM(nn.Cell):
    """Chosen rows of a table, their products in pairs, and a perceptron on all of them."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        _, fields = sizes["inputs"]
        width, hidden, classes = sizes["width"], sizes["hidden"], sizes["classes"]
        self.factors = nn.Embedding(sizes["vocabulary"], width)
        self.linear = nn.Embedding(sizes["vocabulary"], classes)
        self.fc1, self.fc2 = nn.Dense(fields * width, hidden), nn.Dense(hidden, hidden)
        self.head, self.pairs = nn.Dense(hidden, classes), nn.Dense(width, classes)
        self.relu, self.flatten = nn.ReLU(), nn.Flatten()

    def construct(self, chosen: Any) -> Any:
        rows = self.factors(chosen)
        pairs = 0.5 * (ops.square(rows.sum(1)) - ops.square(rows).sum(1))
        deep = self.relu(self.fc2(self.relu(self.fc1(self.flatten(rows)))))
        return self.linear(chosen).sum(1) + self.pairs(pairs) + self.head(deep)


# ---- the twelve nets --------------------------------------------------------------------------


@dataclass(frozen=True)
class Net:
    """A net to train: its title, how its job is built from its sizes, and these."""

    title: str
    build: Callable[[dict[str, Any]], Any]
    sizes: dict[str, Any]


def classified(make: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """The job of a net that is defined here."""

    def build(sizes: dict[str, Any]) -> Any:
        from workers.cell_training import training

        return training(make(sizes), sizes)

    return build


def benchmarked(sizes: dict[str, Any]) -> Any:
    """The job of a net of `mycelia benchmark`."""
    from workers.cell_nets import build

    return build(sizes)


def autoencoder(sizes: dict[str, Any]) -> Any:
    """The job of a perceptron that shall give back what it gets."""
    from workers import numbers
    from workers.cell_training import initialize, optimizer_of
    from workers.cell_vision import Perceptron
    from workers.protocol import Job

    net = Perceptron(sizes["widths"])
    parameters = initialize(net)
    losses = nn.WithLossCell(net, nn.MSELoss())
    train = nn.TrainOneStepCell(losses, optimizer_of(net, sizes)).set_train()
    inputs = ms.Tensor(numbers.inputs(sizes))
    return Job(lambda: float(train(inputs, inputs).asnumpy()), float, parameters)


# With the usual rate, networks turn rounding into other losses within three steps; MobileNetV2,
# whose last BatchNorms see 18 points of two images, does so with this one, too.
GENTLE = MOMENTUM | {"rate": 1e-4}
SMALL_MOBILENET = MOBILENET | {"inputs": [2, 3, 96, 96], "labels": 2, "rate": 1e-5}
LENET = {"net": "lenet", "features": 256, "classes": 10}
VGG = {"channels": [32, 64, 128], "features": 128 * 4 * 4, "hidden": 256, "classes": 10}
RECURRENT = {"width": 64, "classes": 10, "inputs": [8, 16, 64], "labels": 8}
WORDS = {"width": 64, "layers": 2, "heads": 4, "length": 32, "vocabulary": 1000}
DEEPFM = {"vocabulary": 10_000, "width": 16, "hidden": 128, "classes": 2}

NETS = {
    "mlp": Net("MLP 64-64-64-10, b64", benchmarked, MLP | {"inputs": [64, 64], "labels": 64}),
    "lenet": Net(
        "LeNet-5 28x28, b32", benchmarked, LENET | {"inputs": [32, 1, 28, 28], "labels": 32}
    ),
    "vgg": Net(
        "VGG of 6 convolutions, 32x32, b8",
        classified(Vgg),
        VGG | {"inputs": [8, 3, 32, 32], "labels": 8},
    ),
    "resnet18": Net(
        "ResNet-18 32x32, b8", benchmarked, RESNET18 | {"inputs": [8, 3, 32, 32], "labels": 8}
    ),
    "mobilenetv2": Net("MobileNetV2 96x96, b2", benchmarked, SMALL_MOBILENET),
    "lstm": Net("LSTM 64, 16 steps, b8", benchmarked, RECURRENT | {"net": "lstm"}),
    "gru": Net("GRU 64, 16 steps, b8", classified(Gated), RECURRENT),
    "encoder": Net(
        "transformer encoder 64, 2 layers, b8",
        benchmarked,
        WORDS | ADAM | {"net": "bert", "classes": 2, "inputs": [8, 32], "labels": 8},
    ),
    "gpt": Net(
        "GPT 64, 2 layers, b8",
        benchmarked,
        WORDS | ADAM | {"net": "gpt", "classes": 1000, "inputs": [8, 32], "labels": 8 * 32},
    ),
    "autoencoder": Net(
        "autoencoder MLP 784-128-32-128-784, b32",
        autoencoder,
        ADAM | {"widths": [784, 128, 32, 128, 784], "inputs": [32, 784]},
    ),
    "mixer": Net(
        "MLP mixer 64, 16 places, 2 layers, b8",
        classified(Mixer),
        ADAM | {"layers": 2, "classes": 10, "inputs": [8, 16, 64], "labels": 8},
    ),
    "deepfm": Net(
        "DeepFM, 16 fields of 10,000, b64",
        classified(DeepFM),
        DEEPFM | ADAM | {"inputs": [64, 16], "labels": 64},
    ),
}

if __name__ == "__main__":
    main()
