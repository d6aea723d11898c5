"""The passes in their order, run until none of them finds anything more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mycelia._engine.compiler.passes import (
    arithmetic,
    boolean_algebra,
    branches,
    constant_folding,
    inlining,
    loop_invariants,
    shapes,
    tuples,
    unused_operands,
)
from mycelia._engine.compiler.passes.common_subexpressions import merge_duplicates
from mycelia._engine.compiler.passes.unused_results import drop_unused_results
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.rewrite import Rule, rewrite

Report = Callable[[str, float, int, Graph], None]  # pass, seconds, rewrites, graph

MOST_ROUNDS = 10


@dataclass(frozen=True)
class Pass:
    """A step that makes a graph better and keeps its meaning; `run` gives its number of rewrites.

    A pass leaves nothing to do for itself: only what others change gives it new work.
    """

    name: str
    run: Callable[[Graph], int]


# Rules that look at a node and what it is computed from. They all run in one walk: whatever one of
# them leaves, the others see at once.
RULES: tuple[Rule, ...] = (
    *tuples.RULES,
    *inlining.RULES,
    *constant_folding.RULES,
    *arithmetic.RULES,
    *boolean_algebra.RULES,
    *shapes.RULES,
    *branches.RULES,
    *loop_invariants.RULES,
    *unused_operands.RULES,
)

PASSES: tuple[Pass, ...] = (
    Pass("simplify", partial(rewrite, rules=RULES)),
    Pass("duplicates", merge_duplicates),
    Pass("results", drop_unused_results),
)


def optimize(graph: Graph, report: Report | None = None) -> Graph:
    """A better graph with the same parameters and equal results: `graph`, with another body.

    `report` hears of every pass that was run: its name, the seconds it took, how many rewrites it
    made, and the graph after it.
    """
    waiting = dict.fromkeys(PASSES)
    for _ in range(MOST_ROUNDS):
        for step in [p for p in PASSES if p in waiting]:
            start = time.perf_counter()
            made = step.run(graph)
            if report is not None:
                report(step.name, time.perf_counter() - start, made, graph)
            if made:
                waiting = dict.fromkeys(PASSES)
            waiting.pop(step, None)
        if not waiting:
            break
    return graph
