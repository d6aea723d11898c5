"""Chains of operators, gradients and loops in jax."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from . import numbers
from .jax_language import normalize
from .jax_training import Maker, Tree, cross_entropy, size_of
from .protocol import Job


def elementwise(sizes: dict[str, Any]) -> Job:
    """One run is one pass over two arrays."""
    x = jnp.asarray(numbers.normal(0, *sizes["inputs"]))
    y = jnp.asarray(numbers.normal(1, *sizes["inputs"]))

    @jax.jit
    def chain(x: Any, y: Any) -> Any:
        a = jnp.maximum(x * y + x, -y)
        b = jnp.exp(-jnp.abs(a)) - jnp.tanh(x)
        return jnp.sqrt(b * b + 1) / (2 + jax.nn.sigmoid(y))

    return Job(lambda: chain(x, y).block_until_ready(), numbers.total, 0)


def layernorm_gelu(sizes: dict[str, Any]) -> Job:
    """One run is one pass forward and back, for the input and both parameters."""
    x = jnp.asarray(numbers.normal(0, *sizes["inputs"]))
    weights = jnp.asarray(numbers.normal(1, *sizes["inputs"]))
    norm = jax.tree.map(jnp.array, Maker().norm(sizes["inputs"][1]))

    @jax.jit
    @partial(jax.grad, argnums=(0, 1))
    def gradient(x: Any, norm: Tree) -> Any:
        return jnp.mean(jax.nn.gelu(normalize(norm, x), approximate=False) * weights)

    return Job(
        lambda: jax.block_until_ready(gradient(x, norm)),
        lambda gradients: numbers.total(*jax.tree.leaves(gradients)),
        size_of(norm),
    )


def softmax_ce(sizes: dict[str, Any]) -> Job:
    """One run is one pass forward and back, for the logits."""
    logits, labels = jnp.asarray(numbers.inputs(sizes)), jnp.asarray(numbers.labels(sizes))
    gradient = jax.jit(jax.value_and_grad(cross_entropy))
    return Job(
        lambda: jax.block_until_ready(gradient(logits, labels)),
        lambda results: numbers.total(*results),
        0,
    )


def embedding(sizes: dict[str, Any]) -> Job:
    """One run is one step of a table whose chosen rows shall become small."""
    table = jnp.asarray(Maker()(sizes["vocabulary"], sizes["width"]))
    chosen = jnp.asarray(numbers.inputs(sizes))
    rate, count = sizes["rate"], table.size

    def loss(table: Any, chosen: Any) -> Any:
        return jnp.square(table[chosen]).sum(-1).mean()

    @partial(jax.jit, donate_argnums=0)
    def train(table: Any, chosen: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(table, chosen)
        return table - rate * gradient, value

    def run() -> float:
        nonlocal table
        table, value = train(table, chosen)
        return float(value)

    return Job(run, float, count)


def hessian(sizes: dict[str, Any]) -> Job:
    """One run is the Hessian of a loss times a vector, in all weights at once."""
    make = Maker()
    weights = [jnp.asarray(make(b, a)) for a, b in pairwise(sizes["widths"])]
    vectors = [jnp.asarray(make(b, a)) for a, b in pairwise(sizes["widths"])]
    inputs = jnp.asarray(numbers.inputs(sizes))

    def loss(weights: list[Any]) -> Any:
        x = inputs
        for weight in weights[:-1]:
            x = jnp.tanh(x @ weight.T)
        return jnp.square(x @ weights[-1].T).mean()

    @jax.jit
    def product(weights: list[Any], vectors: list[Any]) -> Any:
        return jax.jvp(jax.grad(loss), (weights,), (vectors,))[1]

    return Job(
        lambda: jax.block_until_ready(product(weights, vectors)),
        lambda parts: numbers.total(*parts),
        size_of(weights),
    )


def solver(sizes: dict[str, Any]) -> Job:
    """One run inverts a matrix by Newton's iteration, until the residual is small enough."""
    matrix, start = (jnp.asarray(v) for v in numbers.system(sizes["size"]))
    identity, tolerance = jnp.eye(sizes["size"]), sizes["tolerance"]

    @jax.jit
    def inverse(matrix: Any, x: Any) -> Any:
        def improve(state: Any) -> Any:
            x, residual = state
            x = x + x @ residual
            return x, identity - matrix @ x

        def unfinished(state: Any) -> Any:
            return jnp.square(state[1]).sum() > tolerance

        return lax.while_loop(unfinished, improve, (x, identity - matrix @ x))[0]

    return Job(lambda: inverse(matrix, start).block_until_ready(), numbers.total, 0)


BUILDERS = {
    "elementwise": elementwise,
    "layernorm_gelu": layernorm_gelu,
    "softmax_ce": softmax_ce,
    "embedding": embedding,
    "hvp": hessian,
    "solver": solver,
}
