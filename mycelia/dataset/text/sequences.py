"""Token sequence transforms: n-grams, sliding windows, truncation, added tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset.text.strings import ColumnTransform, TextTransform, check_text, string_array
from mycelia.dataset.transforms.checks import check_bool, check_int, wrong_type
from mycelia.dataset.transforms.transform import Transform


@dataclass(frozen=True, eq=False)
class Ngram(TextTransform):
    """Joins each run of `n` tokens (for each n of a list) to one n-gram."""

    n: int | list[int]
    left_pad: tuple[str, int] = ("", 0)
    right_pad: tuple[str, int] = ("", 0)
    separator: str = " "

    def __post_init__(self) -> None:
        if not is_int(self.n) and not (isinstance(self.n, list) and self.n):
            raise problem(
                ValueError, "n: must be an int or a list of ints", got=repr(self.n), expected="[2]"
            )
        for size in self._sizes():
            check_int("n", size, 1)
        for name in ("left_pad", "right_pad"):
            _check_pad(name, getattr(self, name))
        check_text("separator", self.separator)

    def _sizes(self) -> list[int]:
        return self.n if isinstance(self.n, list) else [self.n]

    def change(self, array: np.ndarray) -> np.ndarray:
        if array.ndim != 1:
            raise self.refusal(array, "a vector of tokens")
        tokens = array.tolist()
        return string_array([gram for size in self._sizes() for gram in self._grams(tokens, size)])

    def _grams(self, tokens: list[str], size: int) -> Iterator[str]:
        left, right = (
            [token] * min(width, size - 1) for token, width in (self.left_pad, self.right_pad)
        )
        padded = [*left, *tokens, *right]
        if len(padded) < size:
            yield ""
        for index in range(len(padded) - size + 1):
            yield self.separator.join(padded[index : index + size])


def _check_pad(argument: str, pad: Any) -> None:
    good = isinstance(pad, tuple) and len(pad) == 2 and isinstance(pad[0], str) and is_int(pad[1])
    if not good or pad[1] < 0:
        raise problem(
            ValueError,
            f"{argument}: must be a token and its number of repetitions",
            got=repr(pad),
            expected='("_", 1)',
        )


@dataclass(frozen=True, eq=False)
class SlidingWindow(ColumnTransform):
    """All windows of `width` consecutive elements of a vector, as rows."""

    width: int
    axis: int = 0

    def __post_init__(self) -> None:
        check_int("width", self.width, 1)
        if not is_int(self.axis):
            raise wrong_type("axis", self.axis, "int")
        if self.axis not in (0, -1):
            raise problem(
                RuntimeError, "SlidingWindow: the axis of a vector is 0", got=f"axis={self.axis}"
            )

    def apply(self, value: Any, random: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.ndim != 1:
            raise problem(
                RuntimeError, "SlidingWindow: requires a vector", got=f"shape {array.shape}"
            )
        if len(array) < self.width:
            return array[:0]
        return np.array(np.lib.stride_tricks.sliding_window_view(array, self.width))


@dataclass(frozen=True, eq=False)
class Truncate(ColumnTransform):
    """Truncates a vector, or each row of a matrix, to `max_seq_len` elements."""

    max_seq_len: int

    def __post_init__(self) -> None:
        check_int("max_seq_len", self.max_seq_len, 1)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.ndim not in (1, 2):
            raise problem(
                RuntimeError, "Truncate: requires a vector or a matrix", got=f"shape {array.shape}"
            )
        return np.array(array[..., : self.max_seq_len])


@dataclass(frozen=True, eq=False)
class TruncateSequencePair(Transform):
    """Truncates the longer of two vectors until both have `max_length` elements in total."""

    max_length: int

    def __post_init__(self) -> None:
        if not is_int(self.max_length):
            raise wrong_type("max_length", self.max_length, "int")
        if self.max_length < 0:
            raise problem(
                RuntimeError,
                "TruncateSequencePair: max_length must be 0 or more",
                got=str(self.max_length),
            )

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[np.ndarray, ...]:
        pair = [np.asarray(value) for value in values]
        if len(pair) != 2 or any(array.ndim != 1 for array in pair):
            raise problem(
                RuntimeError,
                "TruncateSequencePair: requires two vectors",
                got=f"shapes {', '.join(str(array.shape) for array in pair)}",
            )
        first, second = self._lengths(len(pair[0]), len(pair[1]))
        return np.array(pair[0][:first]), np.array(pair[1][:second])

    def _lengths(self, first: int, second: int) -> tuple[int, int]:
        if first + second <= self.max_length:
            return first, second
        half = self.max_length // 2
        if min(first, second) <= half:
            short = min(first, second)
            long = self.max_length - short
            return (short, long) if first <= second else (long, short)
        return self.max_length - half, half


@dataclass(frozen=True, eq=False)
class AddToken(TextTransform):
    """Adds a token at the start or end of a vector, or of each row of a matrix."""

    token: str
    begin: bool = True

    def __post_init__(self) -> None:
        if not check_text("token", self.token):
            raise problem(RuntimeError, "AddToken: the token is empty")
        check_bool("begin", self.begin)

    def change(self, array: np.ndarray) -> np.ndarray:
        if array.ndim not in (1, 2):
            raise self.refusal(array, "a vector or a matrix of tokens")
        added = np.full((*array.shape[:-1], 1), self.token)
        return np.concatenate([added, array] if self.begin else [array, added], axis=-1)
