"""Probabilities in four forms: p, log p, 1 - p and log(1 - p)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia.ops.transcendental import exp, expm1, log, log1p


@dataclass(frozen=True)
class Form:
    """How a probability is written: its complement or itself, its logarithm or not."""

    complement: bool
    logarithm: bool


DENSITY = {"_prob": Form(False, False), "_log_prob": Form(False, True)}
CUMULATIVE = {
    "_cdf": Form(False, False),
    "_log_cdf": Form(False, True),
    "_survival_function": Form(True, False),
    "_log_survival": Form(True, True),
}


def rewritten(value: Any, given: Form, wanted: Form) -> Any:
    """A probability in another form."""
    if given.complement is wanted.complement:
        if given.logarithm is wanted.logarithm:
            return value
        return log(value) if wanted.logarithm else exp(value)
    if wanted.logarithm:
        return log(-expm1(value)) if given.logarithm else log1p(-value)
    return -expm1(value) if given.logarithm else 1.0 - value
