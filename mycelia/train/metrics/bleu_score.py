"""BLEU: how close translations are to references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs


class BleuScore(Metric):
    """The BLEU score of a corpus with groups of up to `n_gram` words (Papineni et al., 2002).

    `smooth` counts one more match in each group (Lin and Och, 2004).
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        self.n_gram = check_int("BleuScore", "n_gram", n_gram)
        if not 1 <= n_gram <= 4:
            raise problem(
                ValueError,
                "BleuScore: groups of so many words are not counted",
                got=f"n_gram={n_gram}",
                expected="1, 2, 3 or 4",
            )
        self.smooth = check_bool("BleuScore", "smooth", smooth)
        self.clear()

    def clear(self) -> None:
        self._matches = np.zeros(self.n_gram)
        self._groups = np.zeros(self.n_gram)
        self._length = 0
        self._reference_length = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_count(inputs, ("candidate_corpus", "reference_corpus"))
        candidates, references = inputs
        if len(candidates) != len(references):
            raise problem(
                ValueError,
                "BleuScore: not one list of references for each candidate",
                got=f"{len(candidates)} candidates, references for {len(references)}",
            )
        for candidate, allowed in zip(candidates, references, strict=True):
            self._take(candidate, allowed)

    def _take(self, candidate: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        length = len(candidate)
        self._length += length
        self._reference_length += min((len(r) for r in references), key=lambda n: abs(n - length))
        best: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            best |= _groups_of(reference, self.n_gram)
        for group, count in _groups_of(candidate, self.n_gram).items():
            self._groups[len(group) - 1] += count
            self._matches[len(group) - 1] += min(count, best[group])

    def eval(self) -> Any:
        self._check_told(self._length)
        if self._matches.min() == 0:
            return np.array(0.0)
        more = 1 if self.smooth else 0
        precisions = (self._matches + more) / (self._groups + more)
        mean = np.exp(np.mean(np.log(precisions)))
        if self._length > self._reference_length:
            return mean
        return np.exp(1 - self._reference_length / self._length) * mean


def _groups_of(words: Sequence[str], longest: int) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(words[start : start + size])
        for size in range(1, longest + 1)
        for start in range(len(words) - size + 1)
    )
