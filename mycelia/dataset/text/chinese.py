"""Chinese word segmentation: by a dictionary, a hidden Markov model, or both.

The algorithms are those of jieba and cppjieba; the file formats are those of cppjieba.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import log
from pathlib import Path
from statistics import median_high
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count, read_text
from mycelia.dataset.text.options import JiebaMode
from mycelia.dataset.text.strings import Span, Tokenizer, check_option, check_text
from mycelia.dataset.transforms.checks import check_int, wrong_type

_SEPARATORS = re.compile("[ \t\n，。]")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9]*|[0-9][0-9.]*|[\x00-\x7f]|[^\x00-\x7f]+")
_USER_LINE = re.compile(r"\s*(\S+)(?:\s+(\d+))?\s*")
_NEVER = -3.14e100  # the log probability of an impossible event
_BEGIN, _END, _MIDDLE, _SINGLE = _STATES = range(4)  # position of a character in its word
_MOST = 2**32 - 1


class Dictionary:
    """Words with their log probabilities."""

    def __init__(self, path: str) -> None:
        counts: dict[str, float] = {}
        for number, line in enumerate(_lines(path), 1):
            word, *rest = line.split()
            if not rest or not is_count(rest[0]):
                raise problem(
                    RuntimeError,
                    f"JiebaTokenizer: line {number} of {path} must hold a word and its count",
                    got=repr(line),
                )
            counts[word] = float(rest[0])
        if not counts:
            raise problem(RuntimeError, "JiebaTokenizer: the dictionary is empty", got=path)
        self._total = sum(counts.values())
        self._weights = {word: log(max(count, 1) / self._total) for word, count in counts.items()}
        self._least = min(self._weights.values())
        self._middle = median_high(self._weights.values())
        self._longest = max(map(len, counts))

    def add(self, word: str, count: int) -> None:
        """Add a word; a count of 0 gives it the median probability."""
        if not word:
            return
        self._weights[word] = log(count / self._total) if count else self._middle
        self._longest = max(self._longest, len(word))

    def spans(self, text: str, start: int, end: int) -> Iterator[Span]:
        """The most probable segmentation of text[start:end]."""
        best: list[tuple[float, int]] = [(0.0, end)] * (end - start + 1)
        for index in range(end - 1, start - 1, -1):
            score = self._weights.get(text[index], self._least) + best[index + 1 - start][0]
            stop = index + 1
            for further in range(index + 2, min(end, index + self._longest) + 1):
                weight = self._weights.get(text[index:further])
                if weight is not None and weight + best[further - start][0] > score:
                    score, stop = weight + best[further - start][0], further
            best[index - start] = (score, stop)
        while start < end:
            stop = best[len(best) - 1 - (end - start)][1]
            yield start, stop
            start = stop


class MarkovModel:
    """The probabilities that characters begin, end, or continue words."""

    def __init__(self, path: str) -> None:
        lines = [line for line in _lines(path) if not line.startswith("#")]
        try:
            self._first = _numbers(lines[0])
            self._next = [_numbers(line) for line in lines[1:5]]
            self._of = [_chances(line) for line in lines[5:9]]
        except (IndexError, ValueError) as error:
            raise _no_model(path) from error
        if len(lines) != 9 or any(len(row) != 4 for row in [self._first, *self._next]):
            raise _no_model(path)

    def spans(self, text: str, start: int, end: int) -> Iterator[Span]:
        """The most probable segmentation of text[start:end]; Latin words and numbers stay whole."""
        for found in _LATIN.finditer(text, start, end):
            if found[0].isascii():
                yield found.span()
            else:
                yield from self._words(text, *found.span())

    def _words(self, text: str, start: int, end: int) -> Iterator[Span]:
        for index, state in enumerate(self._path(text[start:end]), start + 1):
            if state in (_END, _SINGLE):
                yield start, index
                start = index
        if start < end:
            yield start, end

    def _path(self, text: str) -> list[int]:
        """The most probable states of the characters, by the Viterbi algorithm."""
        scores = [self._first[state] + self._of[state].get(text[0], _NEVER) for state in _STATES]
        origins: list[list[int]] = []
        for character in text[1:]:
            steps = [self._step(scores, state, character) for state in _STATES]
            scores = [score for score, _ in steps]
            origins.append([origin for _, origin in steps])
        state = _END if scores[_END] >= scores[_SINGLE] else _SINGLE
        path = [state]
        for origin in reversed(origins):
            state = origin[state]
            path.append(state)
        return path[::-1]

    def _step(self, scores: list[float], state: int, character: str) -> tuple[float, int]:
        here = self._of[state].get(character, _NEVER)
        best, origin = _NEVER, _END
        for before in _STATES:
            score = scores[before] + self._next[before][state] + here
            if score > best:
                best, origin = score, before
        return best, origin


def _lines(path: str) -> list[str]:
    return [line for line in read_text(path, "JiebaTokenizer").split("\n") if line.strip()]


def _numbers(line: str) -> list[float]:
    return [float(part) for part in line.split()]


def _chances(line: str) -> dict[str, float]:
    return {part[0]: float(part[2:]) for part in line.strip().split(",")}


def _no_model(path: str) -> RuntimeError:
    return problem(
        RuntimeError,
        "JiebaTokenizer: the file is not a hidden Markov model",
        got=path,
        expected="a file like hmm_model.utf8 of cppjieba",
    )


@dataclass(frozen=True, eq=False)
class JiebaTokenizer(Tokenizer):
    """Segments Chinese text into words; users may add words."""

    hmm_path: str
    mp_path: str
    mode: JiebaMode = JiebaMode.MIX
    with_offsets: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_file("hmm_path", self.hmm_path)
        _check_file("mp_path", self.mp_path)
        check_option("mode", self.mode, JiebaMode)
        _ = self._model, self._dictionary

    @cached_property
    def _model(self) -> MarkovModel:
        return MarkovModel(self.hmm_path)

    @cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(self.mp_path)

    def add_word(self, word: str, freq: int | None = None) -> None:
        """Add a word to the dictionary, with the frequency `freq`."""
        count = 0 if freq is None else check_int("freq", freq, 0, _MOST)
        self._dictionary.add(check_text("word", word), count)

    def add_dict(self, user_dict: str | dict[str, int]) -> None:
        """Add the words of a dict, or of a file of lines `word` or `word frequency`.

        Other lines of the file are skipped, as in MindSpore.
        """
        if isinstance(user_dict, dict):
            for word, freq in user_dict.items():
                self.add_word(word, freq)
            return
        if not isinstance(user_dict, str):
            raise wrong_type("user_dict", user_dict, "str or dict")
        _check_file("user_dict", user_dict)
        for line in _lines(user_dict):
            if found := _USER_LINE.fullmatch(line):
                self.add_word(found[1], int(found[2] or 0))

    def spans(self, text: str) -> Iterator[Span]:
        end = 0
        for separator in _SEPARATORS.finditer(text):
            yield from self._words(text, end, separator.start())
            yield separator.span()
            end = separator.end()
        yield from self._words(text, end, len(text))

    def _words(self, text: str, start: int, end: int) -> Iterator[Span]:
        if self.mode == JiebaMode.HMM:
            return self._model.spans(text, start, end)
        words = self._dictionary.spans(text, start, end)
        return words if self.mode == JiebaMode.MP else self._joined(text, words)

    def _joined(self, text: str, words: Iterator[Span]) -> Iterator[Span]:
        """Segment runs of single characters, unknown to the dictionary, with the model."""
        for is_single, run in groupby(words, key=lambda span: span[1] - span[0] == 1):
            spans = list(run)
            if is_single:
                yield from self._model.spans(text, spans[0][0], spans[-1][1])
            else:
                yield from spans


def _check_file(argument: str, path: Any) -> None:
    if not Path(check_text(argument, path)).is_file():
        raise problem(ValueError, f"{argument}: the file does not exist", got=path)
