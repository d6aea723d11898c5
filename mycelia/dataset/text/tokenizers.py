"""The tokenizers that need no vocabulary: characters, spaces, scripts, patterns, functions."""

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

_OFTEN = 2  # the first scripts of the list, which most texts are written in


@dataclass(frozen=True, eq=False)
class UnicodeCharTokenizer(Tokenizer):
    """Each character a token."""

    with_offsets: bool = False

    def tokens(self, text: str) -> list[str]:
        return list(text)

    def spans(self, text: str) -> Iterator[Span]:
        return ((place, place + 1) for place in range(len(text)))


class PatternTokenizer(Tokenizer):
    """The matches of a pattern are the tokens."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.compiled

    @property
    def pattern(self) -> str:
        """What a token looks like; there are no groups in it."""
        raise NotImplementedError

    @cached_property
    def compiled(self) -> Any:
        """The pattern ready for use."""
        return regex.compiled(type(self).__name__, self.pattern)

    def tokens(self, text: str) -> list[str]:
        return self.compiled.findall(text)

    def spans(self, text: str) -> Iterator[Span]:
        return (found.span() for found in self.compiled.finditer(text))


@dataclass(frozen=True, eq=False)
class WhitespaceTokenizer(PatternTokenizer):
    """What stands between spaces."""

    with_offsets: bool = False

    @property
    def pattern(self) -> str:
        return r"\P{White_Space}+"

    def tokens(self, text: str) -> list[str]:
        # Python takes some control characters for spaces, too; printable text has none of them.
        return text.split() if text.isprintable() else super().tokens(text)


@dataclass(frozen=True, eq=False)
class UnicodeScriptTokenizer(PatternTokenizer):
    """Runs of characters of one script."""

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
        # One look ahead instead of a try of each script where a frequent one or a space stands.
        rare = rf"(?>(?=[^{''.join(known[:_OFTEN])}])(?:{others}))"
        some = "|".join([*runs[:_OFTEN], rare])
        return rf"{some}|\p{{White_Space}}+" if self.keep_whitespace else some


@dataclass(frozen=True, eq=False)
class RegexTokenizer(Tokenizer):
    """What stands between matches of a pattern, and the matches that another pattern keeps."""

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
    """The tokens that a user's function makes of a string."""

    tokenizer: Callable[[str], Any]

    def __post_init__(self) -> None:
        if not callable(self.tokenizer):
            raise problem(
                TypeError, "PythonTokenizer: tokenizer is no function", got=repr(self.tokenizer)
            )

    def checked(self, value: Any) -> np.ndarray:
        if not isinstance(value, np.ndarray):
            raise problem(
                TypeError,
                "PythonTokenizer: takes an array of strings",
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
                "PythonTokenizer: the strings of an array gave different numbers of tokens",
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
                "PythonTokenizer: the function gave no list of tokens",
                got=repr(tokens),
            )
        return string_array([str(token) for token in tokens])
