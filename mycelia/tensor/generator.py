"""Random states that users hold: Generator, and the one of the process."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from mycelia._engine.core import seed as process
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.tensor.tensor import Tensor


class Generator:
    """A seed, and how many random keys were drawn since it was set."""

    def __init__(self) -> None:
        self._seed, self._drawn = 0, 0

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`."""
        if not is_int(seed):
            raise problem(TypeError, "Seed must be an integer.", got=repr(seed))
        self._set(int(seed) % 2**64, 0)
        return self

    def seed(self) -> int:
        """Start again from a seed nobody chose, and give it."""
        chosen = secrets.randbits(32)
        self._set(chosen, 0)
        return chosen

    def initial_seed(self) -> int:
        """The seed of the last start."""
        return self._get()[0]

    def get_state(self) -> Tensor:
        """The seed and the number of keys drawn, as 16 bytes."""
        return Tensor(np.array(self._get(), "<u8").view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Go on from what `get_state` gave."""
        if not isinstance(state, Tensor) or state.shape != (16,):
            raise problem(RuntimeError, "Invalid tensor input: State", got=repr(state))
        seed, drawn = np.ascontiguousarray(state.asnumpy()).view("<u8").tolist()
        self._set(seed, drawn)

    def next_key(self) -> np.ndarray:
        """A fresh key for one random operator."""
        self._drawn += 1
        return np.array([self._seed & 0xFFFFFFFF, self._drawn], np.uint32)

    def _get(self) -> tuple[int, int]:
        return self._seed, self._drawn

    def _set(self, seed: int, drawn: int) -> None:
        self._seed, self._drawn = seed, drawn


class ProcessGenerator(Generator):
    """The random state that operators draw from unless they are told otherwise."""

    def next_key(self) -> np.ndarray:
        return process.next_key()

    def _get(self) -> tuple[int, int]:
        base, drawn = process.peek_key().tolist()
        given = process.get_seed()
        return (base if given is None else given), drawn

    def _set(self, seed: int, drawn: int) -> None:
        process.set_seed(seed)
        process.draw_keys(drawn)


default_generator = ProcessGenerator()


def manual_seed(seed: int) -> Generator:
    """Start the random state of the process again from `seed`."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the random state of the process again from a seed nobody chose, and give it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the random state of the process started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The random state of the process as 16 bytes."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Go on from what `get_rng_state` gave."""
    default_generator.set_state(state)
