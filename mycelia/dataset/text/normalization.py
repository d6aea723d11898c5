"""String normalization: case folding, Unicode normal forms, regex replacement, wiki markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mycelia.dataset.text import regex
from mycelia.dataset.text.options import NormalizeForm
from mycelia.dataset.text.strings import StringTransform, check_option, check_text, small_letters
from mycelia.dataset.transforms.checks import check_bool


def normalised(text: str, form: NormalizeForm) -> str:
    """The text in a Unicode normal form."""
    if form == NormalizeForm.NONE or text.isascii():
        return text
    return unicodedata.normalize(form.name, text)  # type: ignore[arg-type]


def folded(text: str, ignorable: Any) -> str:
    """Fold differences of case, width, and form, and drop ignorable characters.

    This is toNFKC_Casefold of the Unicode Standard, section 3.13; `ignorable` matches the
    characters to drop.
    """
    if text.isascii():
        return text.lower()
    for form in ("NFD", "NFKC"):
        text = unicodedata.normalize(form, text).casefold()
    return unicodedata.normalize("NFKC", ignorable.sub("", text))


def ignorable_characters(owner: str) -> Any:
    """The pattern of characters that case folding drops."""
    return regex.compiled(owner, r"\p{Default_Ignorable_Code_Point}+")


@dataclass(frozen=True, eq=False)
class CaseFold(StringTransform):
    """Folds case, and unifies forms that differ only in width or style."""

    def __post_init__(self) -> None:
        _ = self._ignorable

    @cached_property
    def _ignorable(self) -> Any:
        return ignorable_characters("CaseFold")

    def rewrite(self, text: str) -> str:
        return folded(text, self._ignorable)


@dataclass(frozen=True, eq=False)
class NormalizeUTF8(StringTransform):
    """Converts strings to a Unicode normal form."""

    normalize_form: NormalizeForm = NormalizeForm.NFKC

    def __post_init__(self) -> None:
        check_option("normalize_form", self.normalize_form, NormalizeForm)

    def rewrite(self, text: str) -> str:
        return normalised(text, self.normalize_form)


@dataclass(frozen=True, eq=False)
class RegexReplace(StringTransform):
    """Replaces matches of a regular expression: all of them, or only the first."""

    pattern: str
    replace: str
    replace_all: bool = True

    def __post_init__(self) -> None:
        check_text("pattern", self.pattern)
        check_text("replace", self.replace)
        check_bool("replace_all", self.replace_all)
        _ = self._replacement

    @cached_property
    def _pattern(self) -> Any:
        return regex.compiled("RegexReplace", self.pattern)

    @cached_property
    def _replacement(self) -> Callable[[Any], str]:
        return regex.replacement("RegexReplace", self.replace, self._pattern)

    def rewrite(self, text: str) -> str:
        return self._pattern.sub(self._replacement, text, count=0 if self.replace_all else 1)


_DIGITS = "zero one two three four five six seven eight nine".split()
_REDIRECTS = ("#redirect", "#REDIRECT")
# The order follows Mahoney's filter for the text8 corpus (mattmahoney.net/dc/textdata)
_MARKUP = [
    (re.compile(pattern), by)
    for pattern, by in (
        (r"<.*>", ""),
        (r"<[^>]*>", ""),
        (r"&[^;]*;", " "),
        (r"[^a-z0-9\n]+", " "),
        (r"[0-9]", lambda digit: f" {_DIGITS[int(digit[0])]} "),
        (r" +", " "),
        (r"\n ", ""),
        (r"\s+", " "),
    )
]


@dataclass(frozen=True, eq=False)
class FilterWikipediaXML(StringTransform):
    """Reduces Wikipedia XML to plain words: lowercase letters a to z, digits spelled out."""

    def rewrite(self, text: str) -> str:
        if any(mark in text for mark in _REDIRECTS):
            return ""
        text = small_letters(text)
        for pattern, by in _MARKUP:
            text = pattern.sub(by, text)
        return text.strip()
