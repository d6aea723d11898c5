"""The optimization pipeline: the passes in order, run until none finds a rewrite."""

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
    """A transformation that improves a graph and keeps its meaning; `run` returns its rewrites.

    A pass reaches its own fixed point in one run: only changes by other passes give it new work.
    """

    name: str
    run: Callable[[Graph], int]


# Rules that look at a node and its inputs. They all run in one walk, so each sees the results of
# the others immediately.
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
    """Optimize `graph` in place: the same parameters and equal results, with a better body.

    `report` is called after every pass: its name, the seconds it took, the number of rewrites, and
    the graph after it.
    """
    waiting = dict.fromkeys(PASSES)
    for _ in range(MOST_ROUNDS):
        for step in [p for p in PASSES if p in waiting]:
            start = time.perf_counter()
            rewrites = step.run(graph)
            if report is not None:
                report(step.name, time.perf_counter() - start, rewrites, graph)
            if rewrites:
                waiting = dict.fromkeys(PASSES)
            waiting.pop(step, None)
        if not waiting:
            break
    return graph
