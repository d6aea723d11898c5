"""Damaged files of every format: the content that was written is read, or a clear error comes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from tests.fuzz.file import edits
from tests.fuzz.file.registry import FORMATS, GROUPS
from tests.fuzz.file.worker import Worker

SECONDS = 180
READING_SECONDS = 20.0
_UNCHANGED = 0.02  # of the cases: what is written is read

_worker = Worker()


@dataclass(frozen=True)
class Case:
    """A format, the number of the file that is changed, and the changes in their order."""

    format: str
    file: int
    edits: tuple[edits.Edit, ...]
    reseal: bool  # make the checksums right again


def generate(rng: random.Random) -> Case:
    """Random changes of a random file."""
    group = rng.choices(list(GROUPS), list(GROUPS.values()))[0]
    name = rng.choice([n for n, f in FORMATS.items() if f.group == group])
    count = 0 if rng.random() < _UNCHANGED else rng.choice((1, 1, 1, 2, 3))
    changes = tuple(edits.draw(rng) for _ in range(count))
    reseal = FORMATS[name].reseal is not None and rng.random() < 0.7
    return Case(name, rng.randrange(1000), changes, reseal)


def check(case: Case) -> str:
    """What is wrong about reading the files."""
    found = _worker.verdict(asdict(case), READING_SECONDS)
    return f"{case.format}: {found}" if found else ""


def smaller(case: Case) -> Iterator[Case]:
    """Fewer changes first, then simpler ones."""
    for i, edit in enumerate(case.edits):
        yield replace(case, edits=case.edits[:i] + case.edits[i + 1 :])
        for simpler in edits.simpler(edit):
            yield replace(case, edits=(*case.edits[:i], simpler, *case.edits[i + 1 :]))
    if case.reseal:
        yield replace(case, reseal=False)
    for file in {0, case.file // 2, case.file - 1}:
        if 0 <= file < case.file:
            yield replace(case, file=file)


def label(case: Case) -> str:
    return FORMATS[case.format].group
