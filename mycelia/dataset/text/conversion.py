"""Conversions between strings, bytes, and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem
from mycelia.dataset.text.strings import TextTransform
from mycelia.dataset.transforms.checks import wrong_type


def to_str(array: np.ndarray, encoding: str = "utf8") -> np.ndarray:
    """Decode bytes to strings."""
    _check_array("to_str", array, "S", TypeError)
    return np.asarray(np.char.decode(array, encoding))


def to_bytes(array: np.ndarray, encoding: str = "utf8") -> np.ndarray:
    """Encode strings as bytes."""
    _check_array("to_bytes", array, "U", ValueError)  # MindSpore's types differ here
    return np.asarray(np.char.encode(array, encoding))


def _check_array(owner: str, array: Any, kind: str, error: type[Exception]) -> None:
    wanted = "bytes" if kind == "S" else "strings"
    if not isinstance(array, np.ndarray):
        raise problem(
            error, f"{owner}: requires a numpy array of {wanted}", got=type(array).__name__
        )
    if array.dtype.kind != kind:
        raise problem(
            TypeError, f"{owner}: requires a numpy array of {wanted}", got=f"type {array.dtype}"
        )


def numeric_type(argument: str, kind: Any) -> np.dtype[Any]:
    """The NumPy type for a numeric type."""
    if not isinstance(kind, dtypes.DType) or np.dtype(kind.numpy).kind not in "iufb":
        raise wrong_type(argument, kind, "a numeric type, such as mycelia.int32")
    return np.dtype(kind.numpy)


_INTEGER = re.compile(r"\s*([+-]?[0-9]+)", re.A)
_REAL = re.compile(
    r"\s*([+-]?(?:inf(?:inity)?|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))", re.A | re.I
)
_HEXADECIMAL = re.compile(
    r"\s*([+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)", re.A | re.I
)


@dataclass(frozen=True, eq=False)
class ToNumber(TextTransform):
    """Converts strings to numbers, parsing their prefix like C."""

    data_type: Any

    def __post_init__(self) -> None:
        if numeric_type("data_type", self.data_type).kind == "b":
            raise wrong_type("data_type", self.data_type, "a numeric type")

    def change(self, array: np.ndarray) -> np.ndarray:
        kind = numeric_type("data_type", self.data_type)
        read = _integer if kind.kind in "iu" else _real
        numbers = [_number(read, text, kind) for text in array.ravel().tolist()]
        return np.array(numbers, kind).reshape(array.shape)


def _number(read: Callable[[str], Any], text: str, kind: np.dtype[Any]) -> Any:
    number = read(text)
    if number is None:
        raise problem(RuntimeError, "ToNumber: a string is not a number", got=repr(text))
    if not _fits(number, kind):
        raise problem(
            RuntimeError, f"ToNumber: a number is out of the range of {kind}", got=repr(text)
        )
    return number


def _fits(number: Any, kind: np.dtype[Any]) -> bool:
    if kind.kind in "iu":
        return np.iinfo(kind).min <= number <= np.iinfo(kind).max
    least = np.finfo(np.float64 if kind == np.float64 else np.float32).tiny
    return number == 0 or isnan(number) or least <= abs(number) <= float(np.finfo(kind).max)


def _integer(text: str) -> int | None:
    found = _INTEGER.match(text)
    return int(found[1]) if found else None


def _real(text: str) -> float | None:
    if found := _HEXADECIMAL.match(text):
        return float.fromhex(found[1])
    found = _REAL.match(text)
    return float(found[1]) if found else None
