"""What all text transforms share: strings in arrays, checks, tokens with their places."""

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
    """The letters A to Z as a to z; all others stay."""
    return text.encode().lower().decode()


def check_text(argument: str, value: Any) -> str:
    """A str."""
    if not isinstance(value, str):
        raise wrong_type(argument, value, "str")
    return value


def check_option(argument: str, value: Any, kind: type) -> Any:
    """A member of an enum."""
    if not isinstance(value, kind):
        raise wrong_type(argument, value, kind.__name__)
    return value


@dataclass(frozen=True, eq=False)
class ColumnTransform(Transform):
    """Changes the values of one column."""

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        if len(values) != 1:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: takes one column",
                got=f"{len(values)} columns",
                fix="call map once for each column",
            )
        made = self.apply(values[0], random)
        return made if isinstance(made, tuple) else (made,)


@dataclass(frozen=True, eq=False)
class TextTransform(ColumnTransform):
    """Changes arrays of strings."""

    def apply(self, value: Any, random: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind != "U":
            raise self.refusal(array, "text")
        return self.change(array)

    def change(self, array: np.ndarray) -> Any:
        """The strings changed, or what is made of them."""
        raise NotImplementedError

    def refusal(self, array: np.ndarray, expected: str) -> RuntimeError:
        """The error for a value of a wrong type or shape."""
        return problem(
            RuntimeError,
            f"{type(self).__name__}: cannot change this value",
            got=f"{array.dtype}{list(array.shape)}",
            expected=expected,
        )


@dataclass(frozen=True, eq=False)
class StringTransform(TextTransform):
    """Changes each string on its own; the shape stays."""

    def change(self, array: np.ndarray) -> np.ndarray:
        changed = string_array([self.rewrite(text) for text in array.ravel().tolist()])
        return changed.reshape(array.shape)

    def rewrite(self, text: str) -> str:
        """One string changed."""
        raise NotImplementedError


class Tokenizer(TextTransform):
    """Cuts one string into tokens, and says at which bytes they begin and end if it is wanted."""

    with_offsets: bool  # the last field of each subclass, hence no field here

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
        """The text that is cut."""
        return text

    def tokens(self, text: str) -> list[str]:
        """The tokens alone."""
        return [text[start:end] for start, end in self.spans(text)]

    def spans(self, text: str) -> Iterable[Span]:
        """Where tokens begin and end, counted in characters."""
        raise NotImplementedError


def byte_places(text: str, spans: list[Span]) -> tuple[np.ndarray, np.ndarray]:
    """Where tokens begin and end, counted in bytes of UTF-8."""
    places = np.array(spans, np.uint32)
    if not text.isascii():
        places = _byte_of_each(text)[places]
    return np.ascontiguousarray(places[:, 0]), np.ascontiguousarray(places[:, 1])


def _byte_of_each(text: str) -> np.ndarray:
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    widths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000).astype(np.uint32)
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.uint32)
