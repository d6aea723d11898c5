"""Train LeNet-5 on handwritten digits, save it, load it again and predict.

Run `scripts/demo`, or `python examples/digits.py --help`. The data is scikit-learn's digits, which
need no download; `--data-dir` takes a folder with MNIST or Fashion-MNIST files instead.
"""

from __future__ import annotations

import argparse
import gzip
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.datasets import load_digits

import mycelia as ms
from mycelia import Tensor, nn, ops

matplotlib.use("Agg")
from matplotlib import pyplot


class LeNet5(nn.Cell):
    """Two convolutions and three dense layers (LeCun et al. 1998)."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(400, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, classes)

    def construct(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


@dataclass(frozen=True)
class Images:
    """Images of 32x32 in [0, 1] and their labels, for training and for testing."""

    name: str
    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def main() -> None:
    options = arguments()
    console = Console()
    ms.set_seed(options.seed)
    data = load(options.data_dir, options.seed)
    console.print(
        f"{data.name}: {len(data.train_x)} images to train on, {len(data.test_x)} to test"
    )
    network = LeNet5()
    started = time.perf_counter()
    losses = train(network, data, options, console)
    seconds = time.perf_counter() - started
    console.print(sparkline(losses), f" loss {losses[0]:.3f} -> {losses[-1]:.4f}", sep="")
    accuracy = evaluate(network, data)
    console.print(f"test accuracy {accuracy:.4f} after {seconds:.1f} s of training")
    output = Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    plot(losses, output / "loss.png")
    ms.save_checkpoint(network, str(output / "lenet.ckpt"))
    console.print(f"saved {output / 'lenet.ckpt'} and {output / 'loss.png'}")
    show_predictions(output / "lenet.ckpt", data, console)
    if data.name == "digits" and accuracy < 0.97:
        raise SystemExit(f"the accuracy {accuracy:.4f} is below 0.97: something is wrong")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="passes over the data (15)")
    parser.add_argument("--batch-size", type=int, default=32, help="images a step (32)")
    parser.add_argument(
        "--learning-rate", type=float, default=0.03, help="of Momentum at the start (0.03)"
    )
    parser.add_argument("--seed", type=int, default=1, help="for weights and order (1)")
    parser.add_argument("--data-dir", help="folder with MNIST's four files, plain or .gz")
    parser.add_argument("--output", default="demo-output", help="where results go (demo-output)")
    return parser.parse_args()


def load(folder: str | None, seed: int) -> Images:
    if folder is not None:
        return load_idx(Path(folder))
    digits = load_digits()
    images = enlarge(digits.images / 16.0)[:, None].astype(np.float32)
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(seed).permutation(len(images))
    cut = len(order) * 4 // 5
    first, rest = order[:cut], order[cut:]
    return Images("digits", images[first], labels[first], images[rest], labels[rest])


def enlarge(images: np.ndarray, size: int = 32) -> np.ndarray:
    """Square images scaled up to `size`, linear between the centres of the pixels."""
    before = images.shape[-1]
    places = np.clip((np.arange(size) + 0.5) * before / size - 0.5, 0, before - 1)
    weights = np.maximum(0, 1 - np.abs(places[:, None] - np.arange(before)))
    return weights @ images @ weights.T


def shifted(images: np.ndarray, random: np.random.Generator, most: int = 2) -> np.ndarray:
    """The images moved by up to `most` pixels each way, so that the network sees new ones."""
    padded = np.pad(images, ((0, 0), (0, 0), (most, most), (most, most)))
    size = images.shape[-1]
    corners = random.integers(0, 2 * most + 1, (len(images), 2))
    moved = [p[:, y : y + size, x : x + size] for p, (y, x) in zip(padded, corners, strict=True)]
    return np.stack(moved)


def load_idx(folder: Path) -> Images:
    parts = [
        read_idx(folder, f"{part}-{kind}-ubyte")
        for part in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    ]
    images = [np.pad(p / 255.0, ((0, 0), (2, 2), (2, 2)))[:, None].astype("f") for p in parts[::2]]
    labels = [p.astype(np.int32) for p in parts[1::2]]
    return Images(folder.name, images[0], labels[0], images[1], labels[1])


def read_idx(folder: Path, name: str) -> np.ndarray:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            sizes = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
            return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sizes)
    raise SystemExit(f"{folder} has no file {name} or {name}.gz")


def train(
    network: LeNet5, data: Images, options: argparse.Namespace, console: Console
) -> list[float]:
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    steps = len(data.train_x) // options.batch_size
    rates = nn.cosine_decay_lr(
        0.0, options.learning_rate, options.epochs * steps, steps, options.epochs
    )
    optimizer = nn.Momentum(network.trainable_params(), rates, momentum=0.9, weight_decay=1e-4)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss_fn), optimizer)
    step.set_train()
    random = np.random.default_rng(options.seed)
    losses: list[float] = []
    columns = ("epoch {task.fields[epoch]}", "loss {task.fields[loss]:.4f}")
    with Progress(
        TextColumn(columns[0]), BarColumn(), TextColumn(columns[1]), TimeRemainingColumn(),
        console=console,
    ) as progress:  # fmt: skip
        task = progress.add_task("train", total=options.epochs * steps, epoch=1, loss=0.0)
        for epoch in range(options.epochs):
            order = random.permutation(len(data.train_x))
            for number in range(steps):
                chosen = order[number * options.batch_size : (number + 1) * options.batch_size]
                images = shifted(data.train_x[chosen], random)
                loss = step(Tensor(images), Tensor(data.train_y[chosen]))
                losses.append(float(loss))
                progress.update(task, advance=1, epoch=epoch + 1, loss=losses[-1])
    return losses


def evaluate(network: LeNet5, data: Images, batch: int = 120) -> float:
    network.set_train(False)
    right = 0
    for start in range(0, len(data.test_x), batch):
        logits = network(Tensor(data.test_x[start : start + batch]))
        guesses = ops.argmax(logits, 1).asnumpy()
        right += int((guesses == data.test_y[start : start + batch]).sum())
    return right / len(data.test_x)


def show_predictions(checkpoint: Path, data: Images, console: Console) -> None:
    network = LeNet5()
    ms.load_param_into_net(network, ms.load_checkpoint(str(checkpoint)))
    chances = ops.softmax(network(Tensor(data.test_x[:5]))).asnumpy()
    console.print("five images, predicted by the network read back from the checkpoint:")
    for chance, label in zip(chances, data.test_y[:5], strict=True):
        guess = int(chance.argmax())
        mark = "right" if guess == label else f"wrong, it is a {label}"
        console.print(f"  {guess} with {chance[guess]:.1%} ({mark})")


def sparkline(losses: list[float], width: int = 48) -> str:
    """The curve of the losses in one line of block characters."""
    parts = np.array_split(np.asarray(losses), min(width, len(losses)))
    means = np.array([p.mean() for p in parts])
    heights = np.rint(7 * means / means.max()).astype(int)
    return "".join("▁▂▃▄▅▆▇█"[h] for h in heights)


def plot(losses: list[float], path: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.plot(losses, linewidth=0.6, alpha=0.5, label="each step")
    window = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    axes.plot(np.arange(len(smooth)) + window // 2, smooth, label=f"mean of {window}")
    axes.set(xlabel="step", ylabel="loss", yscale="log", title="LeNet-5")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
