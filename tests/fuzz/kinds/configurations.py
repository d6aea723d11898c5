"""Layers and operators with random settings, against float64 references, in both modes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import mycelia as ms
from mycelia._engine.core.tracebacks import is_explained
from tests.fuzz.configuration.judge import verdict
from tests.fuzz.configuration.registry import GROUPS, SUBJECTS
from tests.fuzz.configuration.subject import Problem, Settings, Values

SECONDS = 300


@dataclass(frozen=True)
class Case:
    """A subject with its settings, the dtype of its numbers, and the seed of the numbers."""

    subject: str
    settings: Settings
    dtype: str
    seed: int
    order: int = 2  # of the derivatives that are compared
    plain: bool = False  # with the kernel selection off


def generate(rng: random.Random) -> Case:
    """Random settings of a random subject."""
    group = rng.choices(list(GROUPS), list(GROUPS.values()))[0]
    subject = SUBJECTS[rng.choice([n for n, s in SUBJECTS.items() if s.group == group])]
    settings = subject.draw(rng)
    while not subject.fits(settings):
        settings = subject.draw(rng)
    dtype = rng.choice(subject.dtypes)
    return Case(
        subject.name,
        settings,
        dtype,
        rng.randrange(2**32),
        rng.choice((1, 1, 2)),
        rng.random() < 0.1,
    )


def check(case: Case) -> str:
    """What is wrong with values, gradients, and second gradients."""
    subject = SUBJECTS[case.subject]
    if not subject.fits(case.settings):
        return ""
    ms.set_context(mode=ms.PYNATIVE_MODE, kernel_selection=not case.plain)
    try:
        problem = subject.problem(case.settings, Values(case.seed, case.dtype))
        problem = replace(problem, order=min(problem.order, case.order))
        wrong = _verdict(problem, case)
    finally:
        ms.set_context(kernel_selection=True)
    return f"{case.subject}: {wrong}" if wrong else ""


def _verdict(problem: Problem, case: Case) -> str:
    """What is wrong, up to the order of the derivatives that the operator says it has."""
    try:
        return verdict(problem, case.dtype, case.seed)
    except NotImplementedError as missing:
        if not is_explained(missing) or problem.order == 0:
            raise
    return _verdict(replace(problem, order=problem.order - 1), case)


def smaller(case: Case) -> Iterator[Case]:
    """Other dtypes first, then smaller numbers among the settings."""
    for dtype in ("float64", "float32"):
        if case.dtype in ("float16", "bfloat16", "float32") and dtype != case.dtype:
            yield replace(case, dtype=dtype)
    if case.plain:
        yield replace(case, plain=False)
    for name, value in case.settings.items():
        for simpler in _smaller(value):
            yield replace(case, settings=case.settings | {name: simpler})


def label(case: Case) -> str:
    return SUBJECTS[case.subject].group


def _smaller(value: Any) -> Iterator[Any]:
    """Simpler values of a setting."""
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int):
        yield from sorted({n for n in (0, 1, value // 2, value - 1) if 0 <= n < value})
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            for simpler in _smaller(item):
                yield (*value[:i], simpler, *value[i + 1 :])
