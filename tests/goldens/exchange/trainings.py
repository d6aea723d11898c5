"""Trainings that stop, go into a checkpoint and go on, on the framework passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from networks import OPTIMIZERS, encoder, gpt, lenet, resnet50

BATCH, STEPS = 8, 3  # STEPS before the checkpoint, and as many after it
TINY_TEXT = {"words": 20, "length": 6, "width": 16, "layers": 1}


@dataclass(frozen=True)
class Training:
    """A network, an optimizer by name, and the shape of a batch; `words` for texts."""

    network: Callable[[Any], Any]
    optimizer: str
    shape: tuple[int, ...]
    words: int = 0


LENET = partial(lenet, size=16, features=(2, 4, 12, 8))
TRAININGS = {
    "lenet momentum": Training(lenet, "momentum", (1, 32, 32)),
    "lenet adam": Training(lenet, "adam", (1, 32, 32)),
    "lenet adam_weight_decay": Training(lenet, "adam_weight_decay", (1, 32, 32)),
    "resnet50 slow_momentum": Training(resnet50, "slow_momentum", (3, 64, 64)),
    "encoder adam": Training(encoder, "adam", (12,), 40),
    "encoder adam_weight_decay": Training(encoder, "adam_weight_decay", (12,), 40),
    "gpt momentum": Training(gpt, "momentum", (12,), 40),
    "gpt adam_weight_decay": Training(gpt, "adam_weight_decay", (12,), 40),
}
NAMED_TRAININGS = {name: TRAININGS[name] for name in ("resnet50 slow_momentum", "encoder adam")}
SMALL_TRAININGS = {
    "lenet momentum": Training(LENET, "momentum", (1, 16, 16)),
    "lenet adam_weight_decay": Training(LENET, "adam_weight_decay", (1, 16, 16)),
    "encoder adam": Training(partial(encoder, **TINY_TEXT), "adam", (6,), 20),
    "gpt adam": Training(partial(gpt, **TINY_TEXT), "adam", (6,), 20),
}


def train_network(ms: Any, training: Training) -> Any:
    """The cell of a training, with the optimizer's state, from weights that are always the same."""
    nn = ms.nn
    network = training.network(ms)
    set_weights(ms, network)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = OPTIMIZERS[training.optimizer](ms, network)
    cell = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer)
    cell.set_train()
    return cell


def run(ms: Any, cell: Any, training: Training, first: int) -> list[float]:
    """The losses of the steps from the one numbered `first` on."""
    return [
        float(cell(*(ms.Tensor(part) for part in batch(training, number))).asnumpy())
        for number in range(first, first + STEPS)
    ]


def batch(training: Training, number: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(100 + number)
    shape = (BATCH, *training.shape)
    labels = random.randint(0, 10, BATCH).astype(np.int32)
    if training.words:
        return random.randint(0, training.words, shape).astype(np.int32), labels
    return random.standard_normal(shape).astype(np.float32), labels


def set_weights(ms: Any, network: Any) -> None:
    random = np.random.RandomState(11)
    for parameter in network.get_parameters():
        name, shape = parameter.name, parameter.shape
        if name.endswith("bn3.gamma"):  # fifty layers at full strength make rounding visible
            value = np.full(shape, 0.1)
        elif name.endswith(("gamma", "moving_variance")):
            value = np.ones(shape)
        elif len(shape) < 2:
            value = np.zeros(shape)
        else:
            value = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        parameter.set_data(ms.Tensor(value.astype(np.float32)))


def values(cell: Any) -> dict[str, np.ndarray]:
    """All that a checkpoint of a cell holds."""
    return {parameter.name: parameter.asnumpy() for parameter in cell.get_parameters()}


def described(cell: Any) -> dict[str, list[Any]]:
    """The name, shape and dtype of each parameter of a cell, in order."""
    return {p.name: [list(p.shape), str(p.dtype)] for p in cell.get_parameters()}


def sums(cell: Any) -> dict[str, float]:
    """The sum of the magnitudes of each parameter."""
    return {name: float(np.abs(value).sum()) for name, value in values(cell).items()}


KEY = b"0123456789abcdef"
GOLDEN_FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # options to save and to load
    "lenet momentum": ({"crc_check": True}, {"crc_check": True}),
    "lenet adam_weight_decay": (
        {"enc_key": KEY, "enc_mode": "SM4-CBC"},
        {"dec_key": KEY, "dec_mode": "SM4-CBC"},
    ),
    "gpt adam": (
        {"format": "safetensors", "crc_check": True},
        {"format": "safetensors", "crc_check": True},
    ),
    "encoder adam": ({}, {}),
}


def file_name(name: str) -> str:
    """The file with the checkpoint of a small training."""
    suffix = GOLDEN_FORMS[name][0].get("format", "ckpt")
    return f"{name.replace(' ', '_')}.{suffix}"
