"""Random streams: from the runtime's key and the user's seeds to Bernoulli samples."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_non_negative_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.jax_setup import Array, jax, jnp


def stream(key: Array, *seeds: int) -> Array:
    """The random stream of `key`; each nonzero seed selects a different one."""
    random = jax.random.wrap_key_data(jnp.asarray(key), impl="threefry2x32")
    for seed in seeds:
        if seed:
            random = jax.random.fold_in(random, seed % 2**32)
    return random


def coins(random: Array, probability: float, shape: Shape) -> Array:
    """Bernoulli samples: True with `probability`, independently for each element."""
    if probability >= 1:
        return jnp.ones(shape, bool)
    # comparing raw bits is exact to 2**-32 and several times faster than uniform samples
    limit = jnp.uint32(int(max(probability, 0.0) * 2**32))
    return jax.random.bits(random, shape, jnp.uint32) < limit


def check_seed(owner: str, seed: Any) -> int:
    """A seed as an int: None counts as 0, which means no seed."""
    return 0 if seed is None else check_non_negative_int(owner, "seed", seed)


def check_shape(owner: str, shape: Any) -> Shape:
    """A shape without negative sizes."""
    sizes = as_shape(shape, owner)
    if any(n < 0 for n in sizes):
        raise problem(
            ValueError, f"{owner}: a size is negative", got=str(list(sizes)), expected="sizes >= 0"
        )
    return sizes
