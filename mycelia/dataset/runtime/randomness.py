"""Random numbers that depend on where they are used, never on which thread asks first."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

_WORD = 2**64 - 1
_kept = local()


def generator(seed: int, number: int, epoch: int, index: int = 0) -> np.random.Generator:
    """The generator of one step (`number`) for one row (`index`) of one epoch.

    Philox numbers are a function of a key and a counter (Salmon et al., "Parallel random numbers:
    as easy as 1, 2, 3", 2011), so each place in the stream owns its numbers.
    """
    bits = np.random.Philox(
        key=np.array([seed & _WORD, number], np.uint64),
        counter=np.array([0, 0, index, epoch], np.uint64),
    )
    return np.random.Generator(bits)


def borrowed_generator(seed: int, number: int, epoch: int, index: int) -> np.random.Generator:
    """The same numbers as `generator`, from an object that the thread's next call takes back."""
    if not hasattr(_kept, "generator"):
        _kept.generator = np.random.Generator(np.random.Philox(0))
    made: np.random.Generator = _kept.generator
    made.bit_generator.state = _state(seed, number, epoch, index)
    return made


def _state(seed: int, number: int, epoch: int, index: int) -> dict[str, Any]:
    return {
        "bit_generator": "Philox",
        "state": {
            "counter": np.array([0, 0, index, epoch], np.uint64),
            "key": np.array([seed & _WORD, number], np.uint64),
        },
        "buffer": np.zeros(4, np.uint64),
        "buffer_pos": 4,  # empty
        "has_uint32": 0,
        "uinteger": 0,
    }
