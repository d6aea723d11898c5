"""Random number generators: `Generator` and the default generator of the process."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from mycelia._engine.core import seed as process
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.tensor.tensor import Tensor


class Generator:
    """A random number generator: a seed and the number of keys drawn since it was set."""

    def __init__(self) -> None:
        self._seed, self._drawn = 0, 0

    def manual_seed(self, seed: int) -> Generator:
        """Reset the generator to `seed`."""
        if not is_int(seed):
            raise problem(TypeError, "Seed must be an integer.", got=repr(seed))
        self._set(int(seed) % 2**64, 0)
        return self

    def seed(self) -> int:
        """Reset the generator to a random seed, and return the seed."""
        chosen = secrets.randbits(32)
        self._set(chosen, 0)
        return chosen

    def initial_seed(self) -> int:
        """The seed that the generator was last reset to."""
        return self._get()[0]

    def get_state(self) -> Tensor:
        """The state as 16 bytes: the seed and the number of keys drawn."""
        return Tensor(np.array(self._get(), "<u8").view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Restore a state that `get_state` returned."""
        if not isinstance(state, Tensor) or state.shape != (16,):
            raise problem(RuntimeError, "Invalid tensor input: State", got=repr(state))
        seed, drawn = np.ascontiguousarray(state.asnumpy()).view("<u8").tolist()
        self._set(seed, drawn)

    def next_key(self) -> np.ndarray:
        """A new key for one random operator."""
        self._drawn += 1
        return np.array([self._seed & 0xFFFFFFFF, self._drawn], np.uint32)

    def _get(self) -> tuple[int, int]:
        return self._seed, self._drawn

    def _set(self, seed: int, drawn: int) -> None:
        self._seed, self._drawn = seed, drawn


class ProcessGenerator(Generator):
    """The default generator, which operators draw from unless they receive another one."""

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
    """Reset the default generator to `seed`."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Reset the default generator to a random seed, and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator was last reset to."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as 16 bytes."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Restore a state of the default generator that `get_rng_state` returned."""
    default_generator.set_state(state)
