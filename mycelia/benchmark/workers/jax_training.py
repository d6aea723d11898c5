"""Training and inference of functions on pytrees in jax."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import numbers
from .protocol import Job, repeated

Tree = Any


class Maker(numbers.Weights):
    """Makes layers as dictionaries, in the order in which other frameworks make theirs."""

    def dense(self, before: int, after: int) -> Tree:
        return {"weight": self(after, before), "bias": np.zeros(after, np.float32)}

    def norm(self, width: int) -> Tree:
        return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


def dense(layer: Tree, x: Any) -> Any:
    """x W' + b."""
    return x @ layer["weight"].T + layer["bias"]


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean of the negative logarithms of the labels' probabilities."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -jnp.mean(chosen)


def training(
    parameters: Tree, statistics: Tree, apply: Callable[..., Any], sizes: dict[str, Any]
) -> Job:
    """One run is one step of a classifier, and reads the loss."""
    count = size_of(parameters)
    begin, update = optimizer_of(sizes)

    def loss(parameters: Tree, statistics: Tree, x: Any, labels: Any) -> Any:
        logits, statistics = apply(parameters, statistics, x, True)
        return cross_entropy(logits, labels), statistics

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def train(parameters: Tree, statistics: Tree, memory: Tree, x: Any, labels: Any) -> Any:
        gradient = jax.value_and_grad(loss, has_aux=True)
        (value, statistics), gradients = gradient(parameters, statistics, x, labels)
        parameters, memory = update(parameters, gradients, memory)
        return parameters, statistics, memory, value

    state = jax.tree.map(jnp.array, (parameters, statistics, begin(parameters)))
    inputs, labels = jnp.asarray(numbers.inputs(sizes)), jnp.asarray(numbers.labels(sizes))

    def run() -> float:
        nonlocal state
        *state, value = train(*state, inputs, labels)
        return float(value)

    return repeated(Job(run, float, count), sizes)


def inference(
    parameters: Tree, statistics: Tree, apply: Callable[..., Any], sizes: dict[str, Any]
) -> Job:
    """One run is one forward pass."""
    net = jax.jit(lambda *arguments: apply(*arguments, False)[0])
    arguments = jax.tree.map(jnp.array, (parameters, statistics, numbers.inputs(sizes)))
    return Job(lambda: net(*arguments).block_until_ready(), numbers.total, size_of(parameters))


def classifier(
    parameters: Tree, statistics: Tree, apply: Callable[..., Any], sizes: dict[str, Any]
) -> Job:
    """Training or inference, as the task says."""
    make = inference if sizes.get("task") == "infer" else training
    return make(parameters, statistics, apply, sizes)


def size_of(parameters: Tree) -> int:
    """How many numbers a tree holds."""
    return sum(leaf.size for leaf in jax.tree.leaves(parameters))


def optimizer_of(sizes: dict[str, Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The optimizer's first memory, and its update."""
    if sizes["optimizer"] == "adam":
        beta1, beta2 = sizes["betas"]
        return _adam(sizes["rate"], beta1, beta2, sizes["epsilon"])
    return _momentum(sizes["rate"], sizes["momentum"])


def _momentum(rate: float, momentum: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def update(parameters: Tree, gradients: Tree, memory: Tree) -> tuple[Tree, Tree]:
        memory = jax.tree.map(lambda m, g: momentum * m + g, memory, gradients)
        return jax.tree.map(lambda p, m: p - rate * m, parameters, memory), memory

    return partial(jax.tree.map, np.zeros_like), update


def _adam(
    rate: float, beta1: float, beta2: float, epsilon: float
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def begin(parameters: Tree) -> Tree:
        zeros = jax.tree.map(np.zeros_like, parameters)
        return zeros, zeros, np.float32(0)

    def update(parameters: Tree, gradients: Tree, memory: Tree) -> tuple[Tree, Tree]:
        first, second, count = memory
        count = count + 1
        step = rate * jnp.sqrt(1 - beta2**count) / (1 - beta1**count)
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, gradients)
        parameters = jax.tree.map(
            lambda p, m, v: p - step * m / (jnp.sqrt(v) + epsilon), parameters, first, second
        )
        return parameters, (first, second, count)

    return begin, update
