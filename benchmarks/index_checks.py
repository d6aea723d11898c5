"""What checks of indices cost: training steps of networks that live on embeddings.

`python benchmarks/index_checks.py` trains word2vec, DLRM, a small GPT and a graph convolution, one
step with checks and one without in turns, and prints the medians and their ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.core import settings

_RANDOM = np.random.default_rng(0)


class Word2Vec(nn.Cell):
    """Skip-gram with negative samples: the loss of words and contexts."""

    def __init__(self, words: int = 50_000, features: int = 128) -> None:
        super().__init__()
        self.inner = nn.Embedding(words, features)
        self.outer = nn.Embedding(words, features)

    def construct(self, centre: Any, context: Any) -> Any:
        scores = (self.inner(centre).expand_dims(1) * self.outer(context)).sum(-1)
        return -(ops.logsigmoid(scores[:, :1]).mean() + ops.logsigmoid(-scores[:, 1:]).mean())


class Dlrm(nn.Cell):
    """Features of many tables and some numbers, their products, and a classifier."""

    def __init__(self, tables: int = 16, rows: int = 20_000, features: int = 32) -> None:
        super().__init__()
        self.tables = nn.CellList([nn.Embedding(rows, features) for _ in range(tables)])
        self.below = nn.SequentialCell(nn.Dense(13, 64), nn.ReLU(), nn.Dense(64, features))
        self.above = nn.SequentialCell(
            nn.Dense((tables + 1) ** 2, 128), nn.ReLU(), nn.Dense(128, 2)
        )

    def construct(self, numbers: Any, classes: Any, clicked: Any) -> Any:
        parts = [self.below(numbers)]
        parts += [table(classes[:, i]) for i, table in enumerate(self.tables)]
        whole = ops.stack(parts, 1)
        pairs = ops.matmul(whole, whole.swapaxes(1, 2)).reshape(whole.shape[0], -1)
        return ops.cross_entropy(self.above(pairs), clicked)


class Gpt(nn.Cell):
    """Words of a large vocabulary, two transformer layers, the next word."""

    def __init__(self, words: int = 16_000, features: int = 128) -> None:
        super().__init__()
        self.words = nn.Embedding(words, features)
        layer = nn.TransformerEncoderLayer(features, 4, 4 * features, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Dense(features, words)

    def construct(self, words: Any, following: Any) -> Any:
        scores = self.head(self.layers(self.words(words)))
        return ops.cross_entropy(scores.reshape(-1, scores.shape[-1]), following.reshape(-1))


class GraphConvolution(nn.Cell):
    """Two layers that add up what neighbours say, along a list of edges."""

    def __init__(self, nodes: int, features: int = 32, classes: int = 16) -> None:
        super().__init__()
        self.nodes = nodes
        self.first = nn.Dense(features, features)
        self.second = nn.Dense(features, classes)

    def construct(self, x: Any, sources: Any, targets: Any, labels: Any) -> Any:
        x = ops.relu(self._heard(self.first(x), sources, targets))
        return ops.cross_entropy(self._heard(self.second(x), sources, targets), labels)

    def _heard(self, x: Any, sources: Any, targets: Any) -> Any:
        return ops.unsorted_segment_sum(ops.gather(x, sources, 0), targets, self.nodes)


def whole(high: int, *shape: int) -> Tensor:
    return Tensor(_RANDOM.integers(0, high, shape).astype(np.int32))


def workloads() -> dict[str, tuple[Callable[[], nn.Cell], tuple[Tensor, ...]]]:
    real = Tensor(_RANDOM.standard_normal((512, 13)).astype(np.float32))
    features = Tensor(_RANDOM.standard_normal((10_000, 32)).astype(np.float32))
    edges = (whole(10_000, 100_000), whole(10_000, 100_000))
    return {
        "word2vec": (Word2Vec, (whole(50_000, 1024), whole(50_000, 1024, 6))),
        "DLRM": (Dlrm, (real, whole(20_000, 512, 16), whole(2, 512))),
        "GPT": (Gpt, (whole(16_000, 4, 128), whole(16_000, 4, 128))),
        "GCN": (lambda: GraphConvolution(10_000), (features, *edges, whole(16, 10_000))),
    }


def step_of(make: Callable[[], nn.Cell], data: tuple[Tensor, ...], checks: bool) -> Any:
    """A training step, compiled with or without checks."""
    settings.change(check_indices=checks)  # `set_context` would have the other one made again
    ms.set_seed(1)
    net = make()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 1e-3)).set_train()
    step(*data).asnumpy()
    return step


def seconds(step: Any, data: tuple[Tensor, ...]) -> tuple[float, float]:
    """By the clock, and of all cores together, which a busy machine disturbs less."""
    started, busy = time.perf_counter(), time.process_time()
    step(*data).asnumpy()
    return time.perf_counter() - started, time.process_time() - busy


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=60, help="steps of each kind (60)")
    parser.add_argument("--only", default="", help="one of the networks")
    options = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE)
    print("| network | with checks | without | ratio | ratio of processor time | of the fastest |")
    print("|---|---|---|---|---|---|")
    for name, (make, data) in workloads().items():
        if options.only in ("", name):
            measure(name, make, data, options.steps)


def measure(name: str, make: Any, data: tuple[Tensor, ...], steps: int) -> None:
    """Print what a step takes with and without checks, in turns."""
    ways = {checks: step_of(make, data, checks) for checks in (False, True)}
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(steps):
        for checks in (True, False) if number % 2 else (False, True):
            times[checks].append(seconds(ways[checks], data))
    clock, busy = ({c: [t[i] for t in times[c]] for c in times} for i in (0, 1))
    ratios = [median(t[True]) / median(t[False]) for t in (clock, busy)]
    ratios.append(min(busy[True]) / min(busy[False]))
    cells = [f"{median(clock[c]) * 1e3:.2f} ms" for c in (True, False)]
    print("|", " | ".join([name, *cells, *[f"{r:.4f}" for r in ratios]]), "|", flush=True)


if __name__ == "__main__":
    main()
