"""Networks that train, are interrupted, saved, and loaded, against the same steps in NumPy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.fuzz.state.actions import draw, run_all
from tests.fuzz.state.runs import KINDS, OPTIMIZERS, Run

SECONDS = 120
_LENGTHS = (3, 5, 8, 12)
_runs: dict[tuple[str, str], Run] = {}  # used again: their programs are compiled


@dataclass(frozen=True)
class Case:
    """A network, its optimizer, the actions in their order, and the seed of all numbers."""

    kind: str
    optimizer: str
    actions: tuple[tuple[Any, ...], ...]
    seed: int


def generate(rng: random.Random) -> Case:
    """A random sequence of actions."""
    kind, optimizer = rng.choice(list(KINDS)), rng.choice(list(OPTIMIZERS))
    actions = tuple(draw(rng) for _ in range(rng.choice(_LENGTHS)))
    return Case(kind, optimizer, actions, rng.randrange(2**32))


def check(case: Case) -> str:
    """Where the state is not that of the completed steps."""
    run = _runs.pop((case.kind, case.optimizer), None)
    if run is not None:
        wrong = _run(run, case)
        if not wrong:
            return ""
        again = _run(Run(case.kind, case.optimizer), case)
        return again or f"only after earlier sequences: {wrong}"
    return _run(Run(case.kind, case.optimizer), case)


def _run(run: Run, case: Case) -> str:
    """The same with one network, which is kept for the next sequence if all went well."""
    wrong = run_all(run, case.actions, case.seed)
    if not wrong:
        _runs[case.kind, case.optimizer] = run
    return wrong


def smaller(case: Case) -> Iterator[Case]:
    """Without half of the actions, then without one of them."""
    half = len(case.actions) // 2
    if half > 1:
        yield replace(case, actions=case.actions[half:])
        yield replace(case, actions=case.actions[:half])
    for i in range(len(case.actions)):
        yield replace(case, actions=case.actions[:i] + case.actions[i + 1 :])
    if case.kind != "dense":
        yield replace(case, kind="dense")


def label(case: Case) -> str:
    return f"{case.kind} with {case.optimizer}"
