"""One framework's side of eager.py: a workload a line in, its median time as JSON out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np


def time_small(call: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    """Microseconds a call, over batches of 2000 calls."""
    wait(call())
    found = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(2000):
            out = call()
        wait(out)
        found.append((time.perf_counter() - started) / 2000)
    return median(found) * 1e6


def time_step(call: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    """Microseconds a training step, the loss read each time."""
    for _ in range(5):
        wait(call())
    found = []
    for _ in range(20):
        started = time.perf_counter()
        wait(call())
        found.append(time.perf_counter() - started)
    return median(found) * 1e6


def torch_workloads() -> dict[str, Callable[[], float]]:
    import torch
    from torch import nn

    x, y = torch.ones(4), torch.ones(4)
    a, b = torch.ones(4, 4), torch.ones(4, 4)
    network = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9)
    images, labels = data()
    images, labels = torch.tensor(images), torch.tensor(labels).long()

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    wait = float
    small = lambda call: lambda: time_small(call, lambda out: out)  # noqa: E731
    return {
        "add": small(lambda: x + y),
        "add number": small(lambda: x + 1.5),
        "mul": small(lambda: x * y),
        "matmul 4x4": small(lambda: a @ b),
        "lenet step": lambda: time_step(step, wait),
    }


def mindspore_workloads(ms: Any) -> dict[str, Callable[[], float]]:
    """The same calls for the real MindSpore and for Mycelia, which share the interface."""
    nn = ms.nn

    class LeNet(nn.Cell):
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

    ms.set_context(mode=ms.PYNATIVE_MODE)
    x, y = ms.Tensor(np.ones(4, np.float32)), ms.Tensor(np.ones(4, np.float32))
    a, b = ms.Tensor(np.ones((4, 4), np.float32)), ms.Tensor(np.ones((4, 4), np.float32))
    network = LeNet()
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(network, loss_fn), optimizer)
    train.set_train()
    images, labels = (ms.Tensor(v) for v in data())
    wait = lambda out: out.asnumpy()  # noqa: E731
    small = lambda call: lambda: time_small(call, wait)  # noqa: E731
    return {
        "add": small(lambda: x + y),
        "add number": small(lambda: x + 1.5),
        "mul": small(lambda: x * y),
        "matmul 4x4": small(lambda: a @ b),
        "lenet step": lambda: time_step(lambda: train(images, labels), wait),
    }


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    images = random.standard_normal((32, 1, 32, 32)).astype(np.float32)
    return images, random.randint(0, 10, 32).astype(np.int32)


def main() -> None:
    name = sys.argv[1]
    if name == "torch":
        workloads = torch_workloads()
    else:
        workloads = mindspore_workloads(__import__(name))
    for line in sys.stdin:
        print(json.dumps({"microseconds": workloads[line.strip()]()}), flush=True)


if __name__ == "__main__":
    main()
