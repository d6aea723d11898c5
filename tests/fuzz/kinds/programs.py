"""Random Python programs in plain NumPy, in eager mode, and compiled, with their gradients."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.compiler.aliasing import aliasing_program
from tests.compiler.generate import generate as generate_program
from tests.compiler.shrink import smaller_programs
from tests.compiler.stateful import examine_state, stateful_program
from tests.compiler.three_ways import examine

SECONDS = 60
ALIASING = 0.35  # of the programs are about views and in-place writes
STATEFUL = 0.2  # keep state between calls


@dataclass(frozen=True)
class Case:
    """The text of `program(x, s, n, k, r)`, and the seed of its arguments."""

    source: str
    differentiable: bool
    seed: int
    numeric: bool = False  # compare gradients with finite differences, too
    stateful: bool = False  # the program keeps state between calls


def generate(rng: random.Random) -> Case:
    """A random program."""
    choice = rng.random()
    if choice > 1 - STATEFUL:
        return Case(stateful_program(rng), False, rng.randrange(2**32), stateful=True)
    if choice < ALIASING:
        source, differentiable = aliasing_program(rng), True
    else:
        program = generate_program(rng)
        source, differentiable = program.source, program.differentiable
    return Case(source, differentiable, rng.randrange(2**32), rng.random() < 0.25)


def check(case: Case) -> str:
    """Where NumPy, eager mode, and the compiled program disagree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow, in programs that are left out then
        if case.stateful:
            return examine_state(case.source, case.seed)
        found = examine(case.source, case.seed, case.differentiable, case.numeric).disagreement
    if found is None:
        return ""
    errors = [e for e in (found.eager, found.compiled) if isinstance(e, Exception)]
    kinds = [f"{type(error).__name__} {str(error)[:24]!r}" for error in errors]
    return f"{' '.join([found.what, *kinds])}\n{found}"


def smaller(case: Case) -> Iterator[Case]:
    """The program with one statement or part of an expression taken away."""
    for source in smaller_programs(case.source):
        if _is_program(source):
            yield replace(case, source=source)


def label(case: Case) -> str:
    if case.stateful:
        return "stateful"
    return "differentiable" if case.differentiable else "of any result"


def _is_program(source: str) -> bool:
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return "program" in names
