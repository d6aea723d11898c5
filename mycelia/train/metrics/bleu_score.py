"""The BLEU score of translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs


class BleuScore(Metric):
    """The BLEU score of a corpus with n-grams of up to `n_gram` words (Papineni et al., 2002).

    `smooth` adds one match to each n-gram order (Lin and Och, 2004).
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        self.n_gram = check_int("BleuScore", "n_gram", n_gram)
        if not 1 <= n_gram <= 4:
            raise problem(
                ValueError,
                "BleuScore: unsupported n_gram",
                got=f"n_gram={n_gram}",
                expected="1, 2, 3 or 4",
            )
        self.smooth = check_bool("BleuScore", "smooth", smooth)
        self.clear()

    def clear(self) -> None:
        self._matches = np.zeros(self.n_gram)
        self._ngrams = np.zeros(self.n_gram)
        self._length = 0
        self._reference_length = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_count(inputs, ("candidate_corpus", "reference_corpus"))
        candidates, references = inputs
        if len(candidates) != len(references):
            raise problem(
                ValueError,
                "BleuScore: each candidate needs one list of references",
                got=f"{len(candidates)} candidates, references for {len(references)}",
            )
        for candidate, translations in zip(candidates, references, strict=True):
            self._add(candidate, translations)

    def _add(self, candidate: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        length = len(candidate)
        self._length += length
        self._reference_length += min((len(r) for r in references), key=lambda n: abs(n - length))
        best: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            best |= _ngrams_of(reference, self.n_gram)
        for ngram, count in _ngrams_of(candidate, self.n_gram).items():
            self._ngrams[len(ngram) - 1] += count
            self._matches[len(ngram) - 1] += min(count, best[ngram])

    def eval(self) -> Any:
        self._check_updated(self._length)
        if self._matches.min() == 0:
            return np.array(0.0)
        extra = 1 if self.smooth else 0
        precisions = (self._matches + extra) / (self._ngrams + extra)
        mean = np.exp(np.mean(np.log(precisions)))
        if self._length > self._reference_length:
            return mean
        return np.exp(1 - self._reference_length / self._length) * mean


def _ngrams_of(words: Sequence[str], longest: int) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(words[start : start + size])
        for size in range(1, longest + 1)
        for start in range(len(words) - size + 1)
    )
