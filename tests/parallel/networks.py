"""The networks that train on any number of devices as on one: plain code, and hints beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from tests.parallel.networks_experts import MixtureOfExperts, annotate_experts
from tests.parallel.networks_images import ResNet18, annotate_resnet, image_batch
from tests.parallel.networks_language import (
    Bert,
    Gpt,
    annotate_bert,
    annotate_gpt,
    bert_batch,
    gpt_batch,
)
from tests.parallel.networks_plain import (
    Perceptron,
    WideAndDeep,
    annotate_perceptron,
    annotate_wide_and_deep,
    perceptron_batch,
    wide_and_deep_batch,
)


def momentum(net: nn.Cell) -> nn.Optimizer:
    return nn.Momentum(net.trainable_params(), 0.01, 0.9)


def slow_momentum(net: nn.Cell) -> nn.Optimizer:
    return nn.Momentum(net.trainable_params(), 0.0001, 0.9)


def adam(net: nn.Cell) -> nn.Optimizer:
    """With an eps above rounding: Adam divides by the size of gradients, also of those near 0."""
    return nn.Adam(net.trainable_params(), 0.002, eps=1e-5)


def smooth_resnet() -> nn.Cell:
    return ResNet18(activation=ops.GeLU)


@dataclass(frozen=True)
class Training:
    """A network with its loss, how it learns, what it learns from, and hints for devices.

    2, 3, 4, 6 and 8 divide the sizes of batches; 7 does not. Differences of parameters are
    measured against their largest number, or against `least_scale` if that is larger.
    """

    make_network: Callable[[], nn.Cell]
    optimizer: Callable[[nn.Cell], nn.Optimizer]
    make_batch: Callable[[np.random.Generator, int], tuple[ms.Tensor, ...]]
    batch_size: int
    annotate: Callable[[Any, int], None]
    least_scale: float = 0.0

    def network(self) -> nn.Cell:
        """The network, with the same numbers each time."""
        ms.set_seed(11)
        return self.make_network()

    def batch(self, step: int, size: int | None = None) -> tuple[ms.Tensor, ...]:
        """The inputs of a step, the same ones each time."""
        return self.make_batch(np.random.default_rng(step), size or self.batch_size)


# The gradient of ReLU jumps at 0. Among the millions of activations of a ResNet some are so near 0
# that the order of a sum decides their side, and then biases, which start at 0, differ visibly (and
# at a common learning rate, the loss by 0.6 % after 5 steps, with the rows of batches in another
# order on one device). So the ResNet learns slowly, and a smooth one is compared strictly.
NETWORKS = {
    "mlp": Training(Perceptron, momentum, perceptron_batch, 48, annotate_perceptron),
    "resnet": Training(ResNet18, slow_momentum, image_batch, 48, annotate_resnet, least_scale=1.0),
    "resnet_smooth": Training(smooth_resnet, momentum, image_batch, 48, annotate_resnet),
    "bert": Training(Bert, adam, bert_batch, 24, annotate_bert),
    "gpt": Training(Gpt, adam, gpt_batch, 24, annotate_gpt),
    "moe": Training(MixtureOfExperts, adam, gpt_batch, 24, annotate_experts),
    "recommender": Training(WideAndDeep, adam, wide_and_deep_batch, 48, annotate_wide_and_deep),
}
