"""BERT's tokenizers: basic tokenization, then WordPiece."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from mycelia.dataset.text import regex
from mycelia.dataset.text.normalization import folded, ignorable_characters, normalised
from mycelia.dataset.text.options import NormalizeForm
from mycelia.dataset.text.strings import (
    TextTransform,
    byte_places,
    check_option,
    check_text,
    string_array,
)
from mycelia.dataset.text.tokenizers import PatternTokenizer
from mycelia.dataset.text.vocab import Vocab, check_vocab
from mycelia.dataset.transforms.checks import check_bool, check_int

_SPECIAL = r"\[(?:CLS|SEP|UNK|PAD|MASK|unused\d+)\]"
_MARKS = (  # punctuation, and the blocks of Chinese characters that BERT separates
    r"!-/:-@\[-`{-~\p{P}\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}"
    r"\x{2A700}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}"
)


class _BertPatterns(NamedTuple):
    special: Any
    control: Any
    accent: Any
    ignorable: Any


@dataclass(frozen=True, eq=False)
class BasicTokenizer(PatternTokenizer):
    """Splits text into words, punctuation, and Chinese characters, as BERT does.

    `with_offsets` counts positions in the text after folding and normalization.
    """

    lower_case: bool = False
    keep_whitespace: bool = False
    normalization_form: NormalizeForm = NormalizeForm.NONE
    preserve_unused_token: bool = True
    with_offsets: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("lower_case", self.lower_case)
        check_bool("keep_whitespace", self.keep_whitespace)
        check_option("normalization_form", self.normalization_form, NormalizeForm)
        check_bool("preserve_unused_token", self.preserve_unused_token)

    @property
    def pattern(self) -> str:
        words = rf"[^{_MARKS}\p{{White_Space}}]+|[{_MARKS}]"
        whole = f"{_SPECIAL}|{words}" if self.preserve_unused_token else words
        return rf"{whole}|\p{{White_Space}}+" if self.keep_whitespace else whole

    @cached_property
    def _patterns(self) -> _BertPatterns:
        owner = "BasicTokenizer"
        return _BertPatterns(
            special=regex.compiled(owner, f"({_SPECIAL})"),
            control=regex.compiled(owner, r"[\p{Cc}\p{Cf}]"),
            accent=regex.compiled(owner, r"\p{Mn}+"),
            ignorable=ignorable_characters(owner),
        )

    def prepare(self, text: str) -> str:
        if self.lower_case:
            text = self._without_accents(self._folded(text))
        else:
            text = normalised(text, self.normalization_form)
        return text if text.isprintable() else self._patterns.control.sub(" ", text)

    def _folded(self, text: str) -> str:
        special, ignorable = self._patterns.special, self._patterns.ignorable
        if not self.preserve_unused_token or "[" not in text:
            return folded(text, ignorable)
        parts = special.split(text)  # every second part is a special token
        parts[::2] = [folded(part, ignorable) for part in parts[::2]]
        return "".join(parts)

    def _without_accents(self, text: str) -> str:
        if text.isascii():
            return text
        return self._patterns.accent.sub("", unicodedata.normalize("NFD", text))


_REMEMBERED = 2**16
Piece = tuple[str, int, int]  # a token, and the bytes at which it begins and ends in its word


@dataclass(frozen=True, eq=False)
class WordpieceTokenizer(TextTransform):
    """Splits words into the longest subwords that a vocabulary has, from the left."""

    vocab: Vocab
    suffix_indicator: str = "##"
    max_bytes_per_token: int = 100
    unknown_token: str = "[UNK]"
    with_offsets: bool = False

    def __post_init__(self) -> None:
        check_vocab("WordpieceTokenizer", self.vocab)
        check_text("suffix_indicator", self.suffix_indicator)
        check_int("max_bytes_per_token", self.max_bytes_per_token, 0, 2**32 - 1)
        check_text("unknown_token", self.unknown_token)
        check_bool("with_offsets", self.with_offsets)

    def change(self, array: np.ndarray) -> Any:
        if array.ndim > 1:
            raise self.refusal(array, "a word, or a vector of words")
        words = array.ravel().tolist()
        return self.places(words, [0] * len(words)) if self.with_offsets else self.tokens(words)

    def tokens(self, words: list[str]) -> np.ndarray:
        """The subwords of words."""
        return string_array([piece[0] for word in words for piece in self._pieces(word)] or [""])

    def places(self, words: list[str], starts: list[int]) -> tuple[np.ndarray, ...]:
        """The subwords of words that begin at the given bytes, with their start and end offsets."""
        pieces = [
            (token, base + start, base + end)
            for word, base in zip(words, starts)
            for token, start, end in self._pieces(word)
        ] or [("", 0, 0)]
        tokens, begins, ends = (list(part) for part in zip(*pieces))
        return string_array(tokens), np.array(begins, np.uint32), np.array(ends, np.uint32)

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"vocab": self.vocab.vocab()}

    @cached_property
    def _longest(self) -> int:
        """The maximum length of a subword, in characters."""
        return max(map(len, self.vocab.ids), default=0)

    @cached_property
    def _pieces(self) -> Callable[[str], list[Piece]]:
        """The subwords of a word; cached for many words."""
        return lru_cache(_REMEMBERED)(self._cut)

    def _cut(self, word: str) -> list[Piece]:
        size = len(word.encode())
        unknown = self.unknown_token or word
        if size > self.max_bytes_per_token:
            return [(unknown, 0, len(unknown.encode()))]
        pieces: list[Piece] = []
        start = index = 0
        while start < len(word):
            found = self._longest_piece(word, start)
            if found is None:
                return [(unknown, 0, size)]
            token, end = found
            width = len(word[start:end].encode())
            pieces.append((token, index, index + width))
            start, index = end, index + width
        return pieces

    def _longest_piece(self, word: str, start: int) -> tuple[str, int] | None:
        prefix = self.suffix_indicator if start else ""
        for end in range(min(len(word), start + self._longest), start, -1):
            token = prefix + word[start:end]
            if token in self.vocab.ids:
                return token, end
        return None


@dataclass(frozen=True, eq=False)
class BertTokenizer(TextTransform):
    """Tokenizes a text with `BasicTokenizer`, then `WordpieceTokenizer`."""

    vocab: Vocab
    suffix_indicator: str = "##"
    max_bytes_per_token: int = 100
    unknown_token: str = "[UNK]"
    lower_case: bool = False
    keep_whitespace: bool = False
    normalization_form: NormalizeForm = NormalizeForm.NONE
    preserve_unused_token: bool = True
    with_offsets: bool = False

    def __post_init__(self) -> None:
        _ = self._steps

    @cached_property
    def _steps(self) -> tuple[BasicTokenizer, WordpieceTokenizer]:
        pieces = WordpieceTokenizer(
            self.vocab,
            self.suffix_indicator,
            self.max_bytes_per_token,
            self.unknown_token,
            self.with_offsets,
        )
        words = BasicTokenizer(
            self.lower_case,
            self.keep_whitespace,
            self.normalization_form,
            self.preserve_unused_token,
            self.with_offsets,
        )
        return words, pieces

    def change(self, array: np.ndarray) -> Any:
        words, pieces = self._steps
        if array.ndim != 0:
            raise self.refusal(array, "one string, that is, text of shape ()")
        text = words.prepare(array.item())
        if not self.with_offsets:
            return pieces.tokens(words.tokens(text))
        spans = list(words.spans(text)) or [(0, 0)]
        starts = byte_places(text, spans)[0].tolist()
        return pieces.places([text[start:end] for start, end in spans], starts)

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"vocab": self.vocab.vocab()}
