"""The random state of the process: one seed, and how many keys were drawn from it."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_non_negative_int


class _SeedState:
    seed: int | None = None
    base: int = secrets.randbits(32)
    drawn: int | tuple[int, Any] = 0  # a pair: a number, and an array with what a program added
    initialized: int = 0


def set_seed(seed: int) -> None:
    """Make every random result after this repeat exactly; numpy's global state is seeded too."""
    value = check_non_negative_int("global_seed", "seed", seed)
    _SeedState.seed = value
    _SeedState.base = value
    _SeedState.drawn = _SeedState.initialized = 0
    np.random.seed(value % 2**32)


def get_seed() -> int | None:
    """The seed given to `set_seed`, or None."""
    return _SeedState.seed


def next_key() -> np.ndarray:
    """A fresh key for one random operator."""
    _SeedState.drawn = drawn = _drawn() + 1
    return np.array([_SeedState.base & 0xFFFFFFFF, drawn], dtype=np.uint32)


def peek_key() -> np.ndarray:
    """The random state as it is: the seed, and how many keys were drawn."""
    return np.array([_SeedState.base & 0xFFFFFFFF, _drawn()], dtype=np.uint32)


def draw_keys(count: int) -> None:
    """Count keys that a program drew by itself."""
    _SeedState.drawn = _drawn() + count


def drawing() -> tuple[Any, str, int]:
    """The object and the attribute that count the keys, and the count now.

    To count more keys together with another assignment, in one step, assign the new count, or a
    pair of the old count and an array with the number of new keys, which is read when needed.
    """
    return _SeedState, "drawn", _drawn()


def _drawn() -> int:
    if isinstance(_SeedState.drawn, tuple):
        before, more = _SeedState.drawn
        _SeedState.drawn = before + int(more)
    return _SeedState.drawn


def next_generator() -> np.random.Generator:
    """A fresh numpy generator for one initializer."""
    _SeedState.initialized += 1
    return np.random.default_rng([_SeedState.base, _SeedState.initialized, 0x6D796365])


def state() -> dict[str, Any]:
    """All of it, to go on from later; numpy's global state too if `set_seed` set it."""
    found = {name: getattr(_SeedState, name) for name in _NAMES} | {"drawn": _drawn()}
    return found | {"numpy": None if _SeedState.seed is None else np.random.get_state(legacy=False)}


def restore(state: dict[str, Any]) -> None:
    """Go on from what `state` gave, in this process or another."""
    for name in _NAMES:
        setattr(_SeedState, name, state[name])
    if state["numpy"] is not None:
        np.random.set_state(state["numpy"])


_NAMES = ("seed", "base", "drawn", "initialized")
