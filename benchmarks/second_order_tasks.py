"""The tasks of the comparison of optimizers: data, network, loss, and the score to reach."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops

ROOT = Path(__file__).parent.parent
HELD_OUT = 2000


@dataclass
class Task:
    """What is trained: batches by step, and a score of held-out data that should go down."""

    title: str
    target: float
    limit: int  # steps before a run is given up
    check_every: int
    inputs: np.ndarray
    labels: np.ndarray
    held_inputs: np.ndarray
    held_labels: np.ndarray
    batch: int
    make_network: Any
    loss: Any
    score: Any  # of outputs and labels
    unit: str
    momentum_share: float = 1.0  # of momentum's rates: the loss of many outputs is as much steeper
    damping: float = 0.03  # of THOR: more for a loss that is a sum

    def batches(self, seed: int) -> Any:
        """Batches without end, in an order of the seed."""
        random = np.random.default_rng(seed)
        while True:
            order = random.permutation(len(self.inputs))
            for start in range(0, len(order) - self.batch + 1, self.batch):
                rows = order[start : start + self.batch]
                yield Tensor(self.inputs[rows]), Tensor(self.labels[rows])


class PixelLoss(nn.Cell):
    """The cross entropy of all pixels of an image, as the mean of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.BCEWithLogitsLoss(reduction="sum")

    def construct(self, logits: Any, labels: Any) -> Any:
        return self.loss(logits, labels) / logits.shape[0]


def autoencoder(folder: Path) -> Task:
    """(a) Images through 30 numbers and back."""
    images, _ = fashion(folder)
    flat = images.reshape(len(images), -1)

    def make() -> nn.Cell:
        sizes = (784, 400, 200, 100, 30, 100, 200, 400, 784)
        layers: list[nn.Cell] = []
        for below, above in pairwise(sizes):
            layers += [nn.Dense(below, above, "xavier_uniform", "zeros"), nn.Tanh()]
        return nn.SequentialCell(layers[:-1])

    def score(outputs: np.ndarray, labels: np.ndarray) -> float:
        return float(np.mean((np.logaddexp(0, outputs) - outputs * labels).sum(1)))

    held = flat[:HELD_OUT]
    train = flat[HELD_OUT:]
    return Task(
        "autoencoder, Fashion-MNIST", 238.0, 2500, 25, train, train, held, held, 128, make,
        PixelLoss(), score, "loss", 0.01, 1.0,
    )  # fmt: skip


def lenet(folder: Path) -> Task:
    """(b) LeNet-5 telling clothes apart."""
    images, labels = fashion(folder)

    def make() -> nn.Cell:
        return nn.SequentialCell(
            nn.Conv2d(1, 6, 5, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(),
            nn.Dense(84, 10),
        )  # fmt: skip

    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def score(outputs: np.ndarray, labels: np.ndarray) -> float:
        return float(np.mean(outputs.argmax(1) != labels))

    shaped = (images[:, None] - 0.2860) / 0.3530
    return Task(
        "LeNet-5, Fashion-MNIST", 0.12, 2500, 25, shaped[HELD_OUT:], labels[HELD_OUT:],
        shaped[:HELD_OUT], labels[:HELD_OUT], 128, make, loss, score, "error",
    )  # fmt: skip


class Attention(nn.Cell):
    """Causal attention with several heads."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query = nn.Dense(width, width)
        self.key = nn.Dense(width, width)
        self.value = nn.Dense(width, width)
        self.out = nn.Dense(width, width)
        self.hidden = Tensor(np.triu(np.full((length, length), -1e9, np.float32), 1))

    def split(self, x: Any) -> Any:
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).swapaxes(1, 2)

    def construct(self, x: Any) -> Any:
        query, key, value = (self.split(f(x)) for f in (self.query, self.key, self.value))
        scores = ops.matmul(query, key.swapaxes(2, 3)) / self.size**0.5 + self.hidden
        mixed = ops.matmul(ops.softmax(scores, -1), value)
        return self.out(mixed.swapaxes(1, 2).reshape(x.shape))


class Block(nn.Cell):
    """Attention and a network for each place, each after a normalization."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.attention = Attention(width, heads, length)
        self.inner, self.outer = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)

    def construct(self, x: Any) -> Any:
        x = x + self.attention(self.first(x))
        return x + self.outer(ops.gelu(self.inner(self.second(x))))


class Characters(nn.Cell):
    """A transformer that foretells the next character."""

    def __init__(self, letters: int, length: int, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.token = nn.Embedding(letters, width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.SequentialCell([Block(width, heads, length) for _ in range(2)])
        self.norm = nn.LayerNorm((width,))
        self.head = nn.Dense(width, letters)
        self.places = Tensor(np.arange(length, dtype=np.int32))

    def construct(self, ids: Any) -> Any:
        x = self.token(ids) + self.place(self.places)
        x = self.head(self.norm(self.blocks(x)))
        return x.reshape(-1, x.shape[-1])


class NextCharacter(nn.Cell):
    """The loss of what comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, logits: Any, labels: Any) -> Any:
        return self.loss(logits, labels.reshape(-1))


def transformer(folder: Path) -> Task:
    """(c) A small transformer on the characters of this repository's documentation."""
    paths = [*sorted(ROOT.glob("docs/guide/*.md")), *sorted(ROOT.glob("docs/decisions/*.md"))]
    text = "".join(path.read_text() for path in paths)
    letters = sorted(set(text))
    numbers = {letter: place for place, letter in enumerate(letters)}
    ids = np.array([numbers[letter] for letter in text], np.int32)
    length = 64
    windows = np.lib.stride_tricks.sliding_window_view(ids, length + 1)[::7]
    windows = np.random.default_rng(0).permutation(windows)
    held, train = windows[:200], windows[200:]

    def score(outputs: np.ndarray, labels: np.ndarray) -> float:
        shifted = outputs - outputs.max(1, keepdims=True)
        chosen = np.take_along_axis(shifted, labels.reshape(-1, 1), 1)[:, 0]
        return float(np.mean(np.log(np.exp(shifted).sum(1)) - chosen))

    return Task(
        "character transformer", 2.2, 2500, 25, train[:, :-1], train[:, 1:], held[:, :-1],
        held[:, 1:], 32, lambda: Characters(len(letters), length), NextCharacter(), score, "loss",
    )  # fmt: skip


TASKS = {"autoencoder": autoencoder, "lenet": lenet, "transformer": transformer}


def fashion(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) from 0 to 1, and labels, of Fashion-MNIST's training files."""
    images = _idx(folder / "train-images-idx3-ubyte", 16).reshape(-1, 28, 28)
    labels = _idx(folder / "train-labels-idx1-ubyte", 8)
    order = np.random.default_rng(0).permutation(len(labels))
    return (images[order] / np.float32(255)).astype(np.float32), labels[order].astype(np.int32)


def _idx(path: Path, header: int) -> np.ndarray:
    packed = path.with_suffix(".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    return np.frombuffer(data, np.uint8, offset=header)


def graph_mode() -> None:
    """Compile whole steps."""
    ms.set_context(mode=ms.GRAPH_MODE)
