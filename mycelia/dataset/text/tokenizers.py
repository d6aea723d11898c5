"""Tokenizers without a vocabulary: by character, whitespace, script, regex, or function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.text import regex
from mycelia.dataset.text.scripts import SCRIPTS
from mycelia.dataset.text.strings import ColumnTransform, Span, Tokenizer, check_text, string_array
from mycelia.dataset.transforms.checks import check_bool

_OFTEN = 2  # the first scripts of the list, in which most texts are written


@dataclass(frozen=True, eq=False)
class UnicodeCharTokenizer(Tokenizer):
    """Splits a string into characters."""

    with_offsets: bool = False

    def tokens(self, text: str) -> list[str]:
        return list(text)

    def spans(self, text: str) -> Iterator[Span]:
        return ((index, index + 1) for index in range(len(text)))


class PatternTokenizer(Tokenizer):
    """Base class of tokenizers whose tokens are the matches of a pattern."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.compiled

    @property
    def pattern(self) -> str:
        """The pattern of a token, without groups."""
        raise NotImplementedError

    @cached_property
    def compiled(self) -> Any:
        """The compiled pattern."""
        return regex.compiled(type(self).__name__, self.pattern)

    def tokens(self, text: str) -> list[str]:
        return self.compiled.findall(text)

    def spans(self, text: str) -> Iterator[Span]:
        return (found.span() for found in self.compiled.finditer(text))


@dataclass(frozen=True, eq=False)
class WhitespaceTokenizer(PatternTokenizer):
    """Splits a string at whitespace."""

    with_offsets: bool = False

    @property
    def pattern(self) -> str:
        return r"\P{White_Space}+"

    def tokens(self, text: str) -> list[str]:
        # Python counts some control characters as whitespace; printable text has none of them.
        return text.split() if text.isprintable() else super().tokens(text)


@dataclass(frozen=True, eq=False)
class UnicodeScriptTokenizer(PatternTokenizer):
    """Splits a string into runs of characters of the same script."""

    keep_whitespace: bool = False
    with_offsets: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("keep_whitespace", self.keep_whitespace)

    @property
    def pattern(self) -> str:
        known = [rf"\p{{Script={name}}}" for name in SCRIPTS]
        runs = [rf"[{script}--\p{{White_Space}}]+" for script in known]
        unknown = rf"[^{''.join(known)}\p{{White_Space}}]+"
        others = "|".join([*runs[_OFTEN:], unknown])
        # A lookahead avoids trying every script if a frequent one or whitespace follows.
        rare = rf"(?>(?=[^{''.join(known[:_OFTEN])}])(?:{others}))"
        some = "|".join([*runs[:_OFTEN], rare])
        return rf"{some}|\p{{White_Space}}+" if self.keep_whitespace else some


@dataclass(frozen=True, eq=False)
class RegexTokenizer(Tokenizer):
    """Splits a string at matches of a pattern; delimiters that match `keep_delim_pattern` stay."""

    delim_pattern: str
    keep_delim_pattern: str = ""
    with_offsets: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("delim_pattern", self.delim_pattern)
        check_text("keep_delim_pattern", self.keep_delim_pattern)
        _ = self._patterns

    @cached_property
    def _patterns(self) -> tuple[Any, Any]:
        kept = self.keep_delim_pattern
        return (
            regex.compiled("RegexTokenizer", self.delim_pattern),
            regex.compiled("RegexTokenizer", kept) if kept else None,
        )

    def spans(self, text: str) -> Iterator[Span]:
        return regex.cut(text, *self._patterns)


@dataclass(frozen=True, eq=False)
class PythonTokenizer(ColumnTransform):
    """Splits a string with a user's function."""

    tokenizer: Callable[[str], Any]

    def __post_init__(self) -> None:
        if not callable(self.tokenizer):
            raise problem(
                TypeError, "PythonTokenizer: tokenizer must be a function", got=repr(self.tokenizer)
            )

    def checked(self, value: Any) -> np.ndarray:
        if not isinstance(value, np.ndarray):
            raise problem(
                TypeError,
                "PythonTokenizer: requires an array of strings",
                got=type(value).__name__,
                fix="np.array(text)",
            )
        return value

    def apply(self, value: Any, random: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.dtype.kind == "S":
            array = np.char.decode(array)
        made = [self._tokens(text) for text in array.ravel()]
        if len({len(tokens) for tokens in made}) > 1:
            raise problem(
                RuntimeError,
                "PythonTokenizer: the strings of an array have different numbers of tokens",
                got=str([len(tokens) for tokens in made]),
            )
        return np.array(made, np.str_).reshape(*array.shape, -1 if made and made[0].size else 0)

    def _tokens(self, text: Any) -> np.ndarray:
        try:
            tokens = self.tokenizer(text)
        except Exception as error:
            raise problem(
                RuntimeError, f"PythonTokenizer: the function failed: {error}", got=repr(text)
            ) from error
        if isinstance(tokens, str) or np.ndim(tokens) != 1:
            raise problem(
                RuntimeError,
                "PythonTokenizer: the function must return a list of tokens",
                got=repr(tokens),
            )
        return string_array([str(token) for token in tokens])
