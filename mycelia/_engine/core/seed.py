"""The random state of the process: one seed, and the number of keys drawn from it."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_non_negative_int


class _SeedState:
    seed: int | None = None
    base: int = secrets.randbits(32)
    drawn: int | tuple[int, Any] = 0  # a pair: a count, and an array with a program's further draws
    initialized: int = 0


def set_seed(seed: int) -> None:
    """Make every random result after this repeat exactly; numpy's global state is seeded too."""
    value = check_non_negative_int("global_seed", "seed", seed)
    _SeedState.seed = value
    _SeedState.base = value
    _SeedState.drawn = _SeedState.initialized = 0
    np.random.seed(value % 2**32)


def get_seed() -> int | None:
    """The seed passed to `set_seed`, or None."""
    return _SeedState.seed


def next_key() -> np.ndarray:
    """A fresh key for one random operator."""
    _SeedState.drawn = drawn = _drawn() + 1
    return np.array([_SeedState.base & 0xFFFFFFFF, drawn], dtype=np.uint32)


def peek_key() -> np.ndarray:
    """The current random state: the seed, and the number of keys drawn."""
    return np.array([_SeedState.base & 0xFFFFFFFF, _drawn()], dtype=np.uint32)


def draw_keys(count: int) -> None:
    """Count keys that a program drew inside XLA."""
    _SeedState.drawn = _drawn() + count


def drawing() -> tuple[Any, str, int]:
    """The object and attribute that hold the count of keys, and the current count.

    To advance the count together with other assignments in one step, assign the new count, or a
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
    """The whole random state, to restore later; includes numpy's if `set_seed` seeded it."""
    fields = {name: getattr(_SeedState, name) for name in _NAMES} | {"drawn": _drawn()}
    return fields | {
        "numpy": None if _SeedState.seed is None else np.random.get_state(legacy=False)
    }


def restore(state: dict[str, Any]) -> None:
    """Resume from a result of `state`, in this process or another."""
    for name in _NAMES:
        setattr(_SeedState, name, state[name])
    if state["numpy"] is not None:
        np.random.set_state(state["numpy"])


_NAMES = ("seed", "base", "drawn", "initialized")
