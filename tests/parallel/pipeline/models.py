"""Small networks with their losses, trained in stages or on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import nn, ops

WORDS, LENGTH, WIDTH = 32, 6, 16


class Perceptron(nn.Cell):
    """Four layers; `dropout` behind each but the last."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(8, 16), nn.Dense(16, 16), nn.Dense(16, 16)])
        self.head = nn.Dense(16, 4)
        self.dropout = nn.Dropout(p=dropout) if dropout else None

    def construct(self, x, label):
        for layer in self.layers:
            x = ops.tanh(layer(x))
            if self.dropout is not None:
                x = self.dropout(x)
        return ops.cross_entropy(self.head(x), label)

    @property
    def blocks(self):
        return [*self.layers, self.head]


class Normed(nn.Cell):
    """A network whose stages count means and variances of their batches."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm1 = nn.Dense(8, 16), nn.BatchNorm1d(16)
        self.second, self.norm2 = nn.Dense(16, 16), nn.BatchNorm1d(16)
        self.head = nn.Dense(16, 4)

    def construct(self, x, label):
        x = ops.tanh(self.norm1(self.first(x)))
        x = ops.tanh(self.norm2(self.second(x)))
        return ops.cross_entropy(self.head(x), label)

    @property
    def blocks(self):
        return [self.first, self.norm1, self.second, self.head]


class Block(nn.Cell):
    """Attention and two layers, with a mask that all blocks share."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.query, self.key = nn.Dense(WIDTH, WIDTH, has_bias=False), nn.Dense(WIDTH, WIDTH)
        self.value, self.out = nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, WIDTH)
        self.up, self.down = nn.Dense(WIDTH, 2 * WIDTH), nn.Dense(2 * WIDTH, WIDTH)

    def construct(self, x, mask):
        y = self.norm1(x)
        scores = ops.matmul(self.query(y), self.key(y).swapaxes(1, 2)) * WIDTH**-0.5
        x = x + self.out(ops.matmul(ops.softmax(scores + mask, -1), self.value(y)))
        return x + self.down(ops.tanh(self.up(self.norm2(x))))


class Transformer(nn.Cell):
    """A decoder whose table of words is also its head."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.table = ms.Parameter(
            ms.Tensor(np.random.default_rng(5).normal(0, 0.1, (WORDS, WIDTH)).astype(np.float32)),
            name="table",
        )
        self.layers = nn.CellList([Block() for _ in range(layers)])
        self.norm = nn.LayerNorm((WIDTH,))

    def construct(self, words, following):
        visible = (words > 0).astype(ms.float32).reshape((words.shape[0], 1, LENGTH))
        mask = (1.0 - visible) * -1e4
        x = ops.gather(self.table, words, 0)
        for layer in self.layers:
            x = layer(x, mask)
        logits = ops.matmul(self.norm(x).reshape((-1, WIDTH)), self.table.swapaxes(0, 1))
        return ops.cross_entropy(logits, following.reshape((-1,)))

    @property
    def blocks(self):
        return [*self.layers]


def vectors(rng: np.random.Generator, size: int) -> tuple[ms.Tensor, ...]:
    x = rng.normal(size=(size, 8)).astype(np.float32)
    return ms.Tensor(x), ms.Tensor(rng.integers(0, 4, size).astype(np.int32))


def texts(rng: np.random.Generator, size: int) -> tuple[ms.Tensor, ...]:
    words = rng.integers(0, WORDS, (size, LENGTH + 1)).astype(np.int32)
    words[:, 0] = 1
    return ms.Tensor(words[:, :-1]), ms.Tensor(words[:, 1:])


def momentum(parameters: Any) -> nn.Optimizer:
    return nn.Momentum(parameters, 0.05, 0.9, weight_decay=0.01)


def adam(parameters: Any) -> nn.Optimizer:
    return nn.Adam(parameters, nn.cosine_decay_lr(0.001, 0.01, 10, 1, 10), eps=1e-4)


class ClippingStep(nn.TrainOneStepCell):
    """A step whose gradients have a common norm of at most 0.1."""

    def construct(self, *inputs):
        loss, gradients = ms.value_and_grad(self.network, None, self.weights)(*inputs)
        self.optimizer(ops.clip_by_global_norm(gradients, 0.1))
        return loss


def scaling_step(network: nn.Cell, optimizer: nn.Optimizer) -> nn.Cell:
    scale = nn.DynamicLossScaleUpdateCell(2.0**10, 2, 2)
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, scale)


def scaled_step(network: nn.Cell, optimizer: nn.Optimizer) -> nn.Cell:
    return nn.TrainOneStepCell(network, optimizer, sens=0.5)


@dataclass(frozen=True)
class Case:
    """How a network is trained: in how many stages, on how many devices, in which way."""

    network: Callable[[], Any] = Perceptron
    batch: Callable[[np.random.Generator, int], tuple[ms.Tensor, ...]] = vectors
    optimizer: Callable[[Any], nn.Optimizer] = momentum
    step: Callable[[nn.Cell, nn.Optimizer], nn.Cell] = nn.TrainOneStepCell
    stages: int = 2
    devices: int = 2
    micro: int = 4
    size: int = 16
    labels: tuple[int, ...] = ()  # the stages of the network's blocks
    recompute: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """What a training gave."""

    losses: list[float]
    parameters: dict[str, np.ndarray]
    devices: dict[str, set[int]]  # where parameters are after the last step
    network: Any
    step: nn.Cell

    @property
    def executable(self) -> Any:
        return next(iter(self.step._compiled().entries.values())).executable


def train(case: Case, alone: bool = False, steps: int = 5) -> Trained:
    """Train in stages, or `alone` on one device, always from the same numbers."""
    ms.reset_auto_parallel_context()
    ms.set_context(mode=ms.GRAPH_MODE)
    if not alone:
        chosen = {"parallel_mode": "semi_auto_parallel", "device_num": case.devices}
        ms.set_auto_parallel_context(pipeline_stages=case.stages, **chosen | case.settings)
    ms.set_seed(7)
    network = case.network()
    for block, stage in zip(network.blocks, case.labels, strict=False):
        block.pipeline_stage = stage
    whole = nn.PipelineCell(network, case.micro)
    if case.recompute:
        whole.recompute()
    optimizer = case.optimizer(network.trainable_params())
    step = case.step(whole, optimizer).set_train()
    losses = []
    for number in range(steps):
        found = step(*case.batch(np.random.default_rng(number), case.size))
        losses.append(float(found[0] if isinstance(found, tuple) else found))
    every = (*network.get_parameters(), *optimizer.get_parameters())
    devices = {p.name: _devices(p._data) for p in network.trainable_params()}
    kept = {p.name: np.array(p.asnumpy()) for p in every}
    return Trained(losses, kept, devices, network, step)


def _devices(array: Any) -> set[int]:
    return {device.id for device in array.devices()} if hasattr(array, "devices") else set()


def check_equal(case: Case) -> Trained:
    """Raise unless training in stages gives what training on one device gives."""
    alone, found = train(case, alone=True), train(case)
    np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-4)
    assert found.parameters.keys() == alone.parameters.keys()
    for name, wanted in alone.parameters.items():
        scale = float(np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(
            found.parameters[name], wanted, rtol=1e-4, atol=1e-5 * scale + 1e-9, err_msg=name
        )
    return found
