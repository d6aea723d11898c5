"""Base classes and helpers of text transforms: string arrays, checks, token offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, wrong_type
from mycelia.dataset.transforms.transform import Transform

Span = tuple[int, int]


def string_array(words: list[str]) -> np.ndarray:
    """A vector of strings."""
    return np.array(words, dtype=np.str_)


def small_letters(text: str) -> str:
    """Lowercase the letters A to Z; all others stay."""
    return text.encode().lower().decode()


def check_text(argument: str, value: Any) -> str:
    """Check for a str."""
    if not isinstance(value, str):
        raise wrong_type(argument, value, "str")
    return value


def check_option(argument: str, value: Any, kind: type) -> Any:
    """Check for a member of an enum."""
    if not isinstance(value, kind):
        raise wrong_type(argument, value, kind.__name__)
    return value


@dataclass(frozen=True, eq=False)
class ColumnTransform(Transform):
    """Base class of transforms of a single column."""

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        if len(values) != 1:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: requires one column",
                got=f"{len(values)} columns",
                fix="call map once per column",
            )
        made = self.apply(values[0], random)
        return made if isinstance(made, tuple) else (made,)


@dataclass(frozen=True, eq=False)
class TextTransform(ColumnTransform):
    """Base class of transforms of string arrays."""

    def apply(self, value: Any, random: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind != "U":
            raise self.refusal(array, "text")
        return self.change(array)

    def change(self, array: np.ndarray) -> Any:
        """Transform an array of strings."""
        raise NotImplementedError

    def refusal(self, array: np.ndarray, expected: str) -> RuntimeError:
        """The error for a value with an unsupported type or shape."""
        return problem(
            RuntimeError,
            f"{type(self).__name__}: unsupported value",
            got=f"{array.dtype}{list(array.shape)}",
            expected=expected,
        )


@dataclass(frozen=True, eq=False)
class StringTransform(TextTransform):
    """Base class of transforms of single strings, which keep the shape."""

    def change(self, array: np.ndarray) -> np.ndarray:
        changed = string_array([self.rewrite(text) for text in array.ravel().tolist()])
        return changed.reshape(array.shape)

    def rewrite(self, text: str) -> str:
        """Transform one string."""
        raise NotImplementedError


class Tokenizer(TextTransform):
    """Base class of tokenizers: splits a string, with byte offsets of the tokens if requested."""

    with_offsets: bool  # the last field of each subclass, so not declared as a field here

    def __post_init__(self) -> None:
        check_bool("with_offsets", self.with_offsets)

    def change(self, array: np.ndarray) -> Any:
        if array.ndim != 0:
            raise self.refusal(array, "one string, that is text of shape ()")
        text = self.prepare(array.item())
        if not self.with_offsets:
            return string_array(self.tokens(text) or [""])
        spans = list(self.spans(text)) or [(0, 0)]
        tokens = string_array([text[start:end] for start, end in spans])
        return (tokens, *byte_places(text, spans))

    def prepare(self, text: str) -> str:
        """Preprocess the text before it is split."""
        return text

    def tokens(self, text: str) -> list[str]:
        """The tokens without offsets."""
        return [text[start:end] for start, end in self.spans(text)]

    def spans(self, text: str) -> Iterable[Span]:
        """The start and end of each token, in characters."""
        raise NotImplementedError


def byte_places(text: str, spans: list[Span]) -> tuple[np.ndarray, np.ndarray]:
    """The start and end of each token, in bytes of UTF-8."""
    indices = np.array(spans, np.uint32)
    if not text.isascii():
        indices = _byte_of_each(text)[indices]
    return np.ascontiguousarray(indices[:, 0]), np.ascontiguousarray(indices[:, 1])


def _byte_of_each(text: str) -> np.ndarray:
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    widths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000).astype(np.uint32)
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.uint32)
