"""Synthetic images and labels, reproducible by seed."""

from __future__ import annotations

import numpy as np


class MadeImages:
    """Row i holds random values of a Mersenne twister with the seed `seed` + i.

    As in MindSpore, the bytes of an image are those of normal float64 values, with negative
    ones replaced by 0, drawn by the polar method (Marsaglia and Bray, 1964).
    """

    columns: tuple[str, ...] = ("image", "label")

    def __init__(self, count: int, shape: tuple[int, ...], classes: int, seed: int) -> None:
        self._count = count
        self._shape = shape
        self._classes = classes
        self._seed = seed

    def __len__(self) -> int:
        return self._count

    def row(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        size = int(np.prod(self._shape))
        numbers = np.maximum(_normals(self._twister(index), -(-size // 8)), 0.0)
        image = numbers.view(np.uint8)[:size].reshape(self._shape)
        return image, self.value(index, 1)

    def value(self, index: int, position: int) -> np.ndarray:
        """One column of a row, without computing the other."""
        if position == 0:
            return self.row(index)[0]
        word = int(_words(self._twister(index), 1)[0])
        return np.array(word * self._classes >> 32, np.uint32)

    def describe(self, index: int) -> str:
        return f"row {index} of FakeImageDataset"

    def _twister(self, index: int) -> np.random.RandomState:
        return np.random.RandomState((self._seed + index) % 2**32)


def _normals(twister: np.random.RandomState, count: int) -> np.ndarray:
    """The first `count` normal values of the generator."""
    found: list[np.ndarray] = []
    missing = count
    while missing > 0:
        words = _words(twister, 4 * missing).astype(np.float64)
        uniform = (words[::2] + words[1::2] * 2.0**32) / 2.0**64
        x, y = 2.0 * uniform[::2] - 1.0, 2.0 * uniform[1::2] - 1.0
        square = x * x + y * y
        inside = (square <= 1.0) & (square != 0.0)
        x, y, square = x[inside], y[inside], square[inside]
        size = np.sqrt(-2.0 * np.log(square) / square)
        found.append(np.stack((y * size, x * size), axis=1).reshape(-1))
        missing -= len(found[-1])
    return np.concatenate(found)[:count]


def _words(twister: np.random.RandomState, count: int) -> np.ndarray:
    """The next 32-bit values of the generator."""
    return twister.randint(0, 2**32, count, dtype=np.uint32)
