"""Duplicates are merged and unused results dropped, shown on graph text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mycelia._engine.compiler.passes.common_subexpressions import merge_duplicates
from mycelia._engine.compiler.passes.unused_results import drop_unused_results
from mycelia._engine.ir.control_flow import Custom, Effect
from mycelia._engine.ir.verifier import verify
from mycelia.ops.elementwise.arithmetic import Add, Mul, Neg
from mycelia.ops.elementwise.comparison import Less
from mycelia.ops.elementwise.exponential import Exp, Log
from mycelia.ops.reduction.reduction import ReduceSum
from tests.compiler.passes.graphs import Written, graph, text

F, I = np.float32, np.int64
ADD, MUL, EXP, LESS = Add.of(), Mul.of(), Exp.of(), Less.of()


def test_the_same_operator_on_the_same_arguments_runs_once():
    total = ReduceSum(keep_dims=True), ReduceSum(keep_dims=True)
    made = graph(
        "x f32[2]",
        lambda g, x: (
            g(MUL, g(total[0], x, (0,)), np.array([1, 2], F)),
            g(MUL, g(total[1], x, (0,)), np.array([1, 2], F)),
        ),
    )
    assert text(made).count("ReduceSum") == 2
    assert merge_duplicates(made) == 2
    assert text(made) == (
        "%1: f32[1] = ReduceSum[keep_dims=True, skip_mode=False](x, (0,)); "
        "%2: f32[2] = Mul(%1, f32[2]{1.0, 2.0}); "
        "%3: (f32[2], f32[2]) = tuple(%2, %2); return %3"
    )
    verify(made)


DIFFERENT: dict[str, Any] = {
    "constants": lambda g, x: (g(ADD, x, F(0.0)), g(ADD, x, F(-0.0))),
    "dtypes": lambda g, x: (g.tuple(x, F(1)), g.tuple(x, np.float64(1))),
    "static arguments": lambda g, x: (g(ReduceSum(), x, ()), g(ReduceSum(), x, (0,))),
    "fields": lambda g, x: (g(ReduceSum(), x, 0), g(ReduceSum(keep_dims=True), x, 0)),
    "order": lambda g, x: (g(ADD, x, g(EXP, x)), g(ADD, g(EXP, x), x)),
    "marks": lambda g, x: (g(Neg(), x), g(Neg().add_prim_attr("stage", 1), x)),
    "effects": lambda g, x: (
        g.apply(Effect(print, "print"), x, type=x.type),
        g.apply(Effect(print, "print"), x, type=x.type),
    ),
    "users' gradients": lambda g, x: (
        g.apply(Custom(print, "mine"), x, type=x.type),
        g.apply(Custom(print, "mine"), x, type=x.type),
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_differs_is_not_merged(what: str):
    made = graph("x f32[2]", DIFFERENT[what])
    merge_duplicates(made)
    first, second = made.output.args
    assert first is not second


def branch(body: Any, name: str = "side") -> Written:
    return graph("x f32[99]", body, name)


def two_switches(first: list[Written], second: list[Written]) -> Written:
    return graph(
        "p bool[], x f32[99]",
        lambda g, p, x: (g.item(g.switch(p, first, x), 0), g.item(g.switch(p, second, x), 0)),
    )


def test_branches_with_equal_graphs_are_merged():
    def sides() -> list[Written]:
        return [branch(lambda g, x: (g(EXP, x),)), branch(lambda g, x: (g(ADD, x, F(1)),))]

    made = two_switches(sides(), sides())
    assert merge_duplicates(made) == 2
    assert text(made).count("switch") == 1


def test_branches_with_graphs_that_differ_are_not():
    made = two_switches(
        [branch(lambda g, x: (g(EXP, x),)), branch(lambda g, x: (g(ADD, x, F(1)),))],
        [branch(lambda g, x: (g(EXP, x),)), branch(lambda g, x: (g(ADD, x, F(2)),))],
    )
    assert merge_duplicates(made) == 0


def test_branches_with_effects_are_not():
    run = Effect(print, "print")
    side = [branch(lambda g, x: (g.apply(run, x, type=x.type),)), branch(lambda g, x: (x,))]
    assert merge_duplicates(two_switches(side, side)) == 0


def test_equal_nodes_of_different_graphs_stay_apart():
    sides = [branch(lambda g, x: (g(EXP, F(1)),), n) for n in ("left", "right")]
    made = graph("p bool[], x f32[99]", lambda g, p, x: g.switch(p, sides, x))
    assert merge_duplicates(made) == 0
    verify(made)


def test_unused_results_of_a_switch():
    sides = [
        branch(lambda g, x: (g(EXP, x), g(Log.of(), x), x), "left"),
        branch(lambda g, x: (x, g(Neg.of(), x), x), "right"),
    ]
    made = graph("p bool[], x f32[99]", lambda g, p, x: g.item(g.switch(p, sides, x), 1))
    assert drop_unused_results(made) == 1
    assert text(made) == (
        "graph g(p: bool[], x: f32[99]):\n"
        "  %1: (f32[99],) = switch(p, @left, @right, x)\n"
        "  %2: f32[99] = item[index=0](%1)\n"
        "  return %2\n\n"
        "graph left(left.x: f32[99]):\n"
        "  left.%1: f32[99] = Log(left.x)\n"
        "  left.%2: (f32[99],) = tuple(left.%1)\n"
        "  return left.%2\n\n"
        "graph right(right.x: f32[99]):\n"
        "  right.%1: f32[99] = Neg(right.x)\n"
        "  right.%2: (f32[99],) = tuple(right.%1)\n"
        "  return right.%2"
    )


def test_a_graph_that_two_switches_share_keeps_its_signature():
    sides = [branch(lambda g, x: (g(EXP, x), x), "left"), branch(lambda g, x: (x, x), "right")]
    made = graph(
        "p bool[], q bool[], x f32[99]",
        lambda g, p, q, x: (g.item(g.switch(p, sides, x), 0), g.switch(q, sides, x)),
    )
    assert drop_unused_results(made) == 1
    shown = text(made)
    assert "%1: (f32[99],) = switch(p, @left, @right, x)" in shown
    assert "%3: (f32[99], f32[99]) = switch(q, @left_2, @right_2, x)" in shown
    verify(made)


def test_unused_results_are_dropped_from_the_outside_inwards():
    inner = [branch(lambda g, x: (g(EXP, x), x), "deep"), branch(lambda g, x: (x, x), "deeper")]
    outer = [
        graph(
            "p bool[], x f32[99]",
            lambda g, p, x: tuple(g.item(g.switch(p, inner, x), i) for i in (0, 1)),
            "left",
        ),
        graph("p bool[], x f32[99]", lambda g, p, x: (x, x), "right"),
    ]
    made = graph("p bool[], x f32[99]", lambda g, p, x: g.item(g.switch(p, outer, p, x), 1))
    drop_unused_results(made)
    assert "Exp" not in text(made)
    verify(made)


def test_unused_carries_of_a_loop():
    parameters = "n i64[], x f32[], log f32[], unused f32[], used f32[], c f32[]"
    goes_on = graph(parameters, lambda g, n, *_: g(LESS, n, I(9)), "goes_on")
    step = graph(
        parameters,
        lambda g, n, x, log, unused, used, c: (
            g(ADD, n, I(1)),
            g(ADD, x, used),
            g(ADD, log, x),
            g(MUL, unused, c),
            g(EXP, used),
        ),
        "step",
    )
    made = graph("x f32[], c f32[]", lambda g, x, c: g.loop(goes_on, step, I(0), x, x, x, x, c))
    made.output = made.item(made.output, 1)
    assert drop_unused_results(made) == 1
    assert text(made) == (
        "graph g(x: f32[], c: f32[]):\n"
        "  %1: (i64[], f32[], f32[]) = while(@goes_on, @step, 0, x, x, c)\n"
        "  %2: f32[] = item[index=1](%1)\n"
        "  return %2\n\n"
        "graph goes_on(goes_on.n: i64[], goes_on.x: f32[], goes_on.used: f32[], goes_on.c: f32[]):\n"
        "  goes_on.%1: bool[] = Less(goes_on.n, 9)\n"
        "  return goes_on.%1\n\n"
        "graph step(step.n: i64[], step.x: f32[], step.used: f32[], step.c: f32[]):\n"
        "  step.%1: i64[] = Add(step.n, 1)\n"
        "  step.%2: f32[] = Add(step.x, step.used)\n"
        "  step.%3: f32[] = Exp(step.used)\n"
        "  step.%4: (i64[], f32[], f32[]) = tuple(step.%1, step.%2, step.%3)\n"
        "  return step.%4"
    )
    verify(made)


def test_where_everything_is_used_nothing_changes():
    sides = [branch(lambda g, x: (g(EXP, x), x)), branch(lambda g, x: (x, x))]
    made = graph("p bool[], x f32[99]", lambda g, p, x: g.switch(p, sides, x))
    assert drop_unused_results(made) == 0
