"""A small network in training, in Mycelia and in NumPy side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from tests.fuzz.state import reference
from tests.fuzz.state.reference import Optimizer, Stack, Values, trained

ROWS = 24  # of the data; batches of 4 or 6 divide them
_RATE, _DECAY = 0.05, 0.01


@dataclass(frozen=True)
class Kind:
    """How a network is made in both ways, and the shape of its inputs."""

    made: Callable[[], nn.Cell]
    layers: Callable[[], tuple[reference.Layer, ...]]
    shape: tuple[int, ...]
    ids: int = 0  # inputs are numbers below this, instead of normal ones


KINDS = {
    "dense": Kind(
        lambda: nn.SequentialCell(nn.Dense(4, 6), nn.Tanh(), nn.Dense(6, 3)),
        lambda: (reference.Dense(), reference.Tanh(), reference.Dense()),
        (4,),
    ),
    "normalized": Kind(
        lambda: nn.SequentialCell(nn.Dense(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Dense(5, 3)),
        lambda: (
            reference.Dense(),
            reference.Normalization(),
            reference.Tanh(),
            reference.Dense(),
        ),
        (4,),
    ),
    "convolution": Kind(
        lambda: nn.SequentialCell(
            nn.Conv2d(2, 3, 3, pad_mode="valid", has_bias=True),
            nn.Tanh(),
            nn.Flatten(),
            nn.Dense(12, 3),
        ),
        lambda: (
            reference.Convolution(),
            reference.Tanh(),
            reference.Flatten(),
            reference.Dense(),
        ),
        (2, 4, 4),
    ),
    "embedding": Kind(
        lambda: nn.SequentialCell(nn.Embedding(7, 4), nn.Flatten(), nn.Dense(8, 3)),
        lambda: (reference.Embedding(), reference.Flatten(), reference.Dense()),
        (2,),
        ids=7,
    ),
}
OPTIMIZERS: dict[str, tuple[Callable[[Any], nn.Cell], Callable[[], Optimizer]]] = {
    "Momentum": (
        lambda p: nn.Momentum(p, _RATE, 0.9, weight_decay=_DECAY),
        lambda: reference.Momentum(_RATE, _DECAY),
    ),
    "SGD": (lambda p: nn.SGD(p, _RATE, momentum=0.9), lambda: reference.SGD(_RATE)),
    "Adam": (
        lambda p: nn.Adam(p, _RATE, eps=reference.Adam.EPSILON),
        lambda: reference.Adam(_RATE),
    ),
}


class Run:
    """One network in training; `right` is the state that it must have."""

    def __init__(self, kind: str, optimizer: str) -> None:
        made, layers = KINDS[kind], KINDS[kind].layers()
        make, other = OPTIMIZERS[optimizer]
        self.kind = kind
        self.network = made.made()
        self.loss = nn.WithLossCell(self.network, nn.MSELoss())
        self.optimizer = make(self.network.trainable_params())
        self.cell = nn.TrainOneStepCell(self.loss, self.optimizer).set_train()
        self.gradients = ms.value_and_grad(self.loss, None, self.optimizer.parameters)
        self.trained = [p.name for p in self.network.trainable_params()]
        self.stack, self._update = Stack(layers), other()
        self._first = self.state()
        self.right: Values = {}
        self.frozen: list[str] = []
        self.training = True
        self.x, self.y = np.zeros(0), np.zeros(0)

    # ---- Mycelia ----------------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """New numbers for the parameters and the data; the optimizer remembers nothing."""
        rng = np.random.default_rng(seed)
        kind = KINDS[self.kind]
        self.x = rng.normal(size=(ROWS, *kind.shape)).astype(np.float32)
        if kind.ids:
            self.x = rng.integers(0, kind.ids, (ROWS, *kind.shape)).astype(np.int32)
        self.y = rng.normal(size=(ROWS, 3)).astype(np.float32)
        for parameter in self.parameters:
            value = self._first[parameter.name]
            if parameter.name in self.trained:
                value = rng.normal(0, 0.5, value.shape).astype(value.dtype)
            parameter.set_data(Tensor(value))
        self.frozen = []
        for parameter in self.network.get_parameters():
            parameter.requires_grad = parameter.name in self.trained
        self.set_train(True)
        self.right = self.state()

    @property
    def parameters(self) -> list[Parameter]:
        return list(self.cell.get_parameters())

    def parameter(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)

    def state(self) -> Values:
        """All parameters as they are."""
        return {p.name: np.array(p.asnumpy()) for p in self.parameters}

    def set_train(self, training: bool) -> None:
        self.training = training
        self.cell.set_train(training)

    def batch(self, number: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of a batch; the last is followed by the first."""
        at = number * size % ROWS
        return self.x[at : at + size], self.y[at : at + size]

    def step(self, number: int, size: int) -> None:
        x, y = self.batch(number, size)
        self.cell(Tensor(x), Tensor(y))

    def custom_step(self, number: int, size: int) -> None:
        """The same by hand."""
        x, y = self.batch(number, size)
        self.optimizer(self.gradients(Tensor(x), Tensor(y))[1])

    def predicted(self, number: int, size: int) -> np.ndarray:
        """What the network predicts, without training."""
        self.network.set_train(False)
        try:
            return self.network(Tensor(self.batch(number, size)[0])).asnumpy()
        finally:
            self.network.set_train(self.training)

    # ---- NumPy ------------------------------------------------------------------------------

    def after(self, state: Values, number: int, size: int) -> Values:
        """The state after one more step."""
        found = {name: value.astype(np.float64) for name, value in state.items()}
        x, y = self.batch(number, size)
        gradients = self.stack.gradients(found, _wide(x), _wide(y), self.training)
        in_order = {name: gradients[name] for name in self.trained}
        self._update.step(found, trained(found, self.frozen, in_order))
        return found

    def should_predict(self, number: int, size: int) -> np.ndarray:
        wide = {name: value.astype(np.float64) for name, value in self.right.items()}
        return self.stack.predicted(wide, _wide(self.batch(number, size)[0]), training=False)


def _wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind == "i" else array.astype(np.float64)


def difference(found: Values, right: Values) -> str:
    """Where two states differ by more than rounding, or nothing."""
    for name, wanted in right.items():
        got = found[name]
        if got.shape != wanted.shape:
            return f"{name} of shape {got.shape}, not {wanted.shape}"
        largest = float(np.abs(wanted).max(initial=0.0))
        off = np.abs(got - wanted).max(initial=0.0)
        if not off <= 2e-5 + 2e-4 * largest:
            return f"{name} is off by {off:.3g} of {largest:.3g}"
    return ""


def set_mode(graph: bool) -> None:
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
