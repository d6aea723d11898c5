"""What half precision costs: accuracies of the same trainings in float32, float16 and bfloat16.

`python benchmarks/mixed_precision.py` trains LeNet on scikit-learn's digits and a transformer that
guesses the next character of this repository's documents, each with some seeds, and prints a table.
`--data FOLDER` adds Fashion-MNIST, whose four files (plain or gzipped) are in the folder. `--quick`
makes everything small, to see that it runs.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import mycelia as ms
from mycelia import Tensor, amp, nn, ops
from mycelia.dataset import NumpySlicesDataset
from mycelia.train import Model

BATCH = 32
LENGTH, WIDTH, HEADS, LAYERS = 32, 64, 4, 2  # of the transformer
ALLOWED = 0.5  # percent points float16 may lose
DOCUMENTS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Task:
    """Something to learn: a network, rows to train on and rows to test."""

    network: Callable[[], nn.Cell]
    epochs: int
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]

    @property
    def steps(self) -> int:
        return self.epochs * (len(self.train[0]) // BATCH)


@dataclass(frozen=True)
class Outcome:
    """What a training came to: percent of right answers, steps left out, the last scale."""

    accuracy: float
    skipped: int
    scale: float | None


@dataclass(frozen=True)
class Way:
    """A precision: a level of `Model` with a scaled loss, or a network changed beforehand."""

    level: str = "O0"
    before: tuple[str, Any] | None = None  # level and dtype for auto_mixed_precision


WAYS = {
    "float32": Way(),
    "float16 O2": Way("O2"),
    "float16 O3": Way("O3"),
    "float16 auto": Way("auto"),
    "bfloat16 O2": Way(before=("O2", ms.bfloat16)),
    "bfloat16 auto": Way(before=("auto", ms.bfloat16)),
}


def main() -> None:
    options = arguments()
    ms.set_context(mode=ms.GRAPH_MODE if options.mode == "graph" else ms.PYNATIVE_MODE)
    print("| task | precision | accuracy | points from float32 | steps left out | last scale |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    for name, task in tasks(options).items():
        exact: list[float] = []
        for precision, way in WAYS.items():
            if not (way == Way() or named(precision, options.ways)):
                continue
            found = [trained(task, way, seed) for seed in range(options.seeds)]
            accuracies = [outcome.accuracy for outcome in found]
            exact = exact or accuracies
            lost = mean(accuracies) - mean(exact)
            worst = max(worst, -lost) if precision.startswith("float16") else worst
            print(row(name, precision, found, task.steps, lost), flush=True)
    print(f"\nfloat16 lost at most {worst:.2f} points ({ALLOWED} allowed)")
    raise SystemExit(0 if worst <= ALLOWED or options.quick else 1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", help="folder with Fashion-MNIST's files")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each kind (3)")
    parser.add_argument("--tasks", nargs="*", help="words in the names of some tasks (all)")
    parser.add_argument("--ways", nargs="*", help="words in the names of some precisions (all)")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--mode", choices=("graph", "pynative"), default="graph")
    return parser.parse_args()


def row(task: str, precision: str, found: list[Outcome], steps: int, lost: float) -> str:
    accuracies = [outcome.accuracy for outcome in found]
    shown = f"{mean(accuracies):.2f} ({min(accuracies):.2f} to {max(accuracies):.2f})"
    skipped = f"{mean(outcome.skipped for outcome in found):.1f} of {steps}"
    scales = {outcome.scale for outcome in found} - {None}
    scale = ", ".join(f"{scale:g}" for scale in sorted(s for s in scales if s is not None))
    return f"| {task} | {precision} | {shown} | {lost:+.2f} | {skipped} | {scale} |"


def trained(task: Task, way: Way, seed: int) -> Outcome:
    """Train from a seed in one precision and test."""
    ms.set_seed(seed)
    network = task.network()
    optimizer = nn.Adam(network.trainable_params(), 1e-3)
    if way.before:
        network = amp.auto_mixed_precision(network, *way.before)
    options = {"loss_scale_manager": amp.DynamicLossScaleManager()} if way.level != "O0" else {}
    model = Model(network, Loss(), optimizer, amp_level=way.level, **options)
    rows = NumpySlicesDataset(task.train, ["x", "y"], shuffle=True)
    model.train(task.epochs, rows.batch(BATCH, drop_remainder=True))
    scale = getattr(model.train_network, "scale_sense", None)
    return Outcome(
        accuracy(model.predict_network, *task.test),
        task.steps - int(optimizer.global_step.asnumpy()[0]),
        None if scale is None else float(scale),
    )


def accuracy(network: nn.Cell, x: np.ndarray, y: np.ndarray, batch: int = 250) -> float:
    """Percent of right answers, of whole batches."""
    network.set_train(False)
    starts = range(0, len(x) - batch + 1, batch)
    right = [
        network(Tensor(x[i : i + batch])).asnumpy().argmax(-1) == y[i : i + batch].reshape(-1)
        for i in starts
    ]
    return float(100 * np.mean(right))


# ---- tasks --------------------------------------------------------------------------------------


def tasks(options: argparse.Namespace) -> dict[str, Task]:
    few = 512 if options.quick else None
    found = {"digits, LeNet": digits(few), "characters, transformer": characters(few)}
    if options.data:
        found["Fashion-MNIST, LeNet"] = fashion(Path(options.data), few)
    return {name: task for name, task in found.items() if named(name, options.tasks)}


def named(name: str, words: list[str] | None) -> bool:
    return not words or any(word in name for word in words)


def digits(few: int | None) -> Task:
    """Scikit-learn's digits of 8 x 8, each number four times in both directions."""
    data = load_digits()
    order = np.random.RandomState(0).permutation(len(data.target))
    x = np.kron(data.images[order, None], np.ones((4, 4))).astype(np.float32) / 16
    y = data.target[order].astype(np.int32)
    return Task(LeNet, 1 if few else 40, (x[:1280][:few], y[:1280][:few]), (x[1280:], y[1280:]))


def fashion(folder: Path, few: int | None) -> Task:
    train, test = ((idx_images(folder, n), idx_labels(folder, n)) for n in ("train", "t10k"))
    return Task(LeNet, 1 if few else 2, (train[0][:few], train[1][:few]), test)


def idx_images(folder: Path, part: str) -> np.ndarray:
    """Images of 28 x 28 between 0 and 1, with two empty rows on each side."""
    numbers = np.frombuffer(idx(folder, f"{part}-images-idx3-ubyte")[16:], np.uint8)
    images = numbers.reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))


def idx_labels(folder: Path, part: str) -> np.ndarray:
    labels = np.frombuffer(idx(folder, f"{part}-labels-idx1-ubyte")[8:], np.uint8)
    return labels.astype(np.int32)


def idx(folder: Path, name: str) -> bytes:
    plain = folder / name
    return plain.read_bytes() if plain.exists() else gzip.open(f"{plain}.gz").read()


def characters(few: int | None) -> Task:
    """Pieces of the documents, and the same pieces one character later."""
    text = "".join(path.read_text() for path in sorted(DOCUMENTS.rglob("*.md")))
    codes = np.minimum(np.frombuffer(text[:300_000].encode("ascii", "replace"), np.uint8), 127)
    count = (len(codes) - 1) // LENGTH
    x = codes[: count * LENGTH].reshape(count, LENGTH).astype(np.int32)
    y = codes[1 : count * LENGTH + 1].reshape(count, LENGTH).astype(np.int32)
    order = np.random.RandomState(0).permutation(count)
    x, y, held = x[order], y[order], 1000
    return Task(
        Transformer, 1 if few else 4, (x[held:][:few], y[held:][:few]), (x[:held], y[:held])
    )


# ---- networks -----------------------------------------------------------------------------------


class LeNet(nn.Cell):
    """LeNet-5 for images of 32 x 32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


class Layer(nn.Cell):
    """Attention to what came before, and two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.up, self.down = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
        self.gelu = nn.GELU()
        self.mask = Tensor(np.triu(np.full((LENGTH, LENGTH), -1e4, np.float32), 1))

    def construct(self, x: Any) -> Any:
        x = x + self.attend(self.norm1(x))
        return x + self.down(self.gelu(self.up(self.norm2(x))))

    def attend(self, x: Any) -> Any:
        parts = self.qkv(x).reshape((-1, LENGTH, 3, HEADS, WIDTH // HEADS))
        query, key, value = parts.transpose((2, 0, 3, 1, 4))
        scores = ops.matmul(query, key.swapaxes(-1, -2)) * (WIDTH // HEADS) ** -0.5
        weights = ops.softmax(scores + self.mask.astype(scores.dtype), -1)
        mixed = ops.matmul(weights, value.astype(weights.dtype))
        return self.out(mixed.transpose((0, 2, 1, 3)).reshape((-1, LENGTH, WIDTH)))


class Transformer(nn.Cell):
    """Scores for the next character at each place of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(128, WIDTH, embedding_table="normal")
        self.places = ms.Parameter(Tensor(np.zeros((LENGTH, WIDTH), np.float32)), "places")
        self.layers = nn.CellList([Layer() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, 128)

    def construct(self, text: Any) -> Any:
        x = self.letters(text) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).reshape((-1, 128))


class Loss(nn.Cell):
    """Cross entropy, of all places of a text at once."""

    def __init__(self) -> None:
        super().__init__()
        self.cross_entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, scores: Any, labels: Any) -> Any:
        return self.cross_entropy(scores, labels.reshape((-1,)))


if __name__ == "__main__":
    main()
