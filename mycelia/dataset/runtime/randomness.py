"""Random generators keyed by step, row, and epoch, independent of the order of threads."""

from __future__ import annotations

from threading import local

import numpy as np

_WORD = 2**64 - 1


def generator(seed: int, number: int, epoch: int, index: int = 0) -> np.random.Generator:
    """The generator of one step (`number`) for one row (`index`) of one epoch.

    Philox values are a function of a key and a counter (Salmon et al., "Parallel random numbers:
    as easy as 1, 2, 3", 2011), so each position in the stream has its own values.
    """
    bits = np.random.Philox(
        key=np.array([seed & _WORD, number], np.uint64),
        counter=np.array([0, 0, index, epoch], np.uint64),
    )
    return np.random.Generator(bits)


class _BorrowedGenerator(local):
    """A thread's reusable generator and its state."""

    def __init__(self) -> None:
        self.key = np.zeros(2, np.uint64)
        self.counter = np.zeros(4, np.uint64)
        self.generator = np.random.Generator(np.random.Philox(0))
        self.bits = self.generator.bit_generator
        self.state = {
            "bit_generator": "Philox",
            "state": {"counter": self.counter, "key": self.key},
            "buffer": np.zeros(4, np.uint64),
            "buffer_pos": 4,  # empty
            "has_uint32": 0,
            "uinteger": 0,
        }


_lent = _BorrowedGenerator()


def borrowed_generator(seed: int, number: int, epoch: int, index: int) -> np.random.Generator:
    """The same values as `generator`, from an object that the thread's next call reuses."""
    lent = _lent
    lent.key[0] = seed & _WORD
    lent.key[1] = number
    lent.counter[2] = index
    lent.counter[3] = epoch
    lent.bits.state = lent.state
    return lent.generator
