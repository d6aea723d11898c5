"""Conversions between the four forms of a probability: p, log p, 1 - p, and log(1 - p)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia.ops.elementwise.exponential import exp, expm1, log, log1p


@dataclass(frozen=True)
class LikelihoodForm:
    """The form of a probability: complemented or not, logarithmic or not."""

    complement: bool
    logarithm: bool


DENSITY = {"_prob": LikelihoodForm(False, False), "_log_prob": LikelihoodForm(False, True)}
CUMULATIVE = {
    "_cdf": LikelihoodForm(False, False),
    "_log_cdf": LikelihoodForm(False, True),
    "_survival_function": LikelihoodForm(True, False),
    "_log_survival": LikelihoodForm(True, True),
}


def rewritten(value: Any, given: LikelihoodForm, wanted: LikelihoodForm) -> Any:
    """Convert a probability to another form."""
    if given.complement is wanted.complement:
        if given.logarithm is wanted.logarithm:
            return value
        return log(value) if wanted.logarithm else exp(value)
    if wanted.logarithm:
        return log(-expm1(value)) if given.logarithm else log1p(-value)
    return -expm1(value) if given.logarithm else 1.0 - value
