"""Random numbers that depend on where they are used, never on which thread asks first."""

from __future__ import annotations

import numpy as np

_WORD = 2**64 - 1


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
