"""One process of graph.py: "way workload" a line in, milliseconds a training step as JSON out.

Both modes of Mycelia and plain jax share a process, so their times can be compared; each peer has
one of its own. All train the same networks on the same data with momentum.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

SIZES = {"lenet 28x28": 28, "lenet 32x32": 32, "mlp 64": 0}
STEPS = 40
RATE, MOMENTUM = 0.01, 0.9

Step = Callable[[], Any]


def data(workload: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    size = SIZES[workload]
    shape = (32, 1, size, size) if size else (32, 64)
    return random.standard_normal(shape).astype(np.float32), random.randint(0, 10, 32)


def features(workload: str) -> int:
    """The numbers LeNet's convolutions leave of an image."""
    return 16 * (((SIZES[workload] - 4) // 2 - 4) // 2) ** 2


def mindspore_step(ms: Any, workload: str) -> Step:
    """A step of the real MindSpore or of Mycelia, which share the interface."""
    nn = ms.nn

    class LeNet(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
            self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
            self.fc1, self.fc2 = nn.Dense(features(workload), 120), nn.Dense(120, 84)
            self.fc3 = nn.Dense(84, 10)

        def construct(self, x: Any) -> Any:
            x = self.pool(self.relu(self.conv1(x)))
            x = self.pool(self.relu(self.conv2(x)))
            x = self.relu(self.fc1(self.flatten(x)))
            return self.fc3(self.relu(self.fc2(x)))

    class Perceptron(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU()
            self.fc1, self.fc2, self.fc3 = nn.Dense(64, 64), nn.Dense(64, 64), nn.Dense(64, 64)

        def construct(self, x: Any) -> Any:
            return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))

    network = LeNet() if SIZES[workload] else Perceptron()
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), RATE, MOMENTUM)
    train = nn.TrainOneStepCell(nn.WithLossCell(network, loss_fn), optimizer)
    train.set_train()
    inputs, labels = data(workload)
    arguments = ms.Tensor(inputs), ms.Tensor(labels.astype(np.int32))
    return lambda: train(*arguments)


def jax_step(workload: str) -> Step:
    """The same network in plain jax, compiled whole, without any of our lowerings."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    random = np.random.RandomState(1)
    sizes = (features(workload), 120, 84, 10) if SIZES[workload] else (64, 64, 64, 64)
    shapes = [(outputs, inputs) for inputs, outputs in pairwise(sizes)]
    shapes = [(6, 1, 5, 5), (16, 6, 5, 5), *shapes] if SIZES[workload] else shapes
    weights = [jnp.asarray(random.standard_normal(s).astype(np.float32) * 0.05) for s in shapes]
    state = [(w, jnp.zeros(w.shape[0], w.dtype)) for w in weights]
    state = state, jax.tree.map(jnp.zeros_like, state)

    def convolved(x: Any, weight: Any, bias: Any) -> Any:
        y = lax.conv_general_dilated(x, weight, (1, 1), "VALID") + bias[:, None, None]
        window = (1, 1, 2, 2)
        return lax.reduce_window(jax.nn.relu(y), -np.inf, lax.max, window, window, "VALID")

    def loss(parameters: Any, x: Any, labels: Any) -> Any:
        layers = iter(parameters)
        if x.ndim == 4:
            x = convolved(convolved(x, *next(layers)), *next(layers)).reshape(32, -1)
        for i, (weight, bias) in enumerate(layers):
            x = (jax.nn.relu(x) if i else x) @ weight.T + bias
        chosen = jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)
        return -jnp.mean(chosen)

    @partial(jax.jit, donate_argnums=(0, 1))
    def train(parameters: Any, moments: Any, x: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, x, labels)
        moments = jax.tree.map(lambda m, g: m * np.float32(MOMENTUM) + g, moments, gradients)
        parameters = jax.tree.map(lambda p, m: p - np.float32(RATE) * m, parameters, moments)
        return parameters, moments, value

    arguments = [jnp.asarray(v) for v in data(workload)]

    def step() -> Any:
        nonlocal state
        *state, value = train(*state, *arguments)
        return value

    return step


def torch_step(workload: str, compiled: bool) -> Step:
    import torch
    from torch import nn

    convolutions = [
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    ]  # fmt: skip
    sizes = (features(workload), 120, 84, 10) if SIZES[workload] else (64, 64, 64, 64)
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    dense = [layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]]
    network = nn.Sequential(*convolutions, *dense) if SIZES[workload] else nn.Sequential(*dense)
    optimizer = torch.optim.SGD(network.parameters(), RATE, momentum=MOMENTUM)
    inputs, labels = (torch.tensor(v) for v in data(workload))
    run = torch.compile(network) if compiled else network

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(run(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


@cache
def make_step(way: str, workload: str) -> Step:
    """The training step of one way to run a workload."""
    if way == "jax":
        return jax_step(workload)
    if way.startswith("torch"):
        return torch_step(workload, compiled=way == "torch-compile")
    return mindspore_step(framework(way), workload)


def framework(way: str) -> Any:
    return __import__("mindspore" if way == "mindspore" else "mycelia")


def set_mode(way: str) -> None:
    if way in ("eager", "graph", "mindspore"):
        ms = framework(way)
        ms.set_context(mode=ms.PYNATIVE_MODE if way == "eager" else ms.GRAPH_MODE)


def read(loss: Any) -> float:
    return float(loss.asnumpy() if hasattr(loss, "asnumpy") else loss)


def time_steps(step: Step) -> dict[str, float]:
    """Milliseconds a step in a loop that reads the last loss, and the processor seconds used."""
    for _ in range(5):
        read(step())
    used, started = time.process_time(), time.perf_counter()
    for _ in range(STEPS):
        loss = step()
    read(loss)
    seconds = time.perf_counter() - started
    used = time.process_time() - used
    return {"milliseconds": seconds / STEPS * 1e3, "seconds": seconds, "used": used}


def main() -> None:
    for line in sys.stdin:
        way, workload = line.strip().split(" ", 1)
        set_mode(way)
        print(json.dumps(time_steps(make_step(way, workload))), flush=True)


if __name__ == "__main__":
    main()
