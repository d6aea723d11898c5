"""The rules for loops, each as the text of a graph before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.compiler.passes import loop_invariants, unused_operands
from mycelia._engine.ir.control_flow import Effect
from mycelia.ops.elementwise.arithmetic import Add, Mul
from mycelia.ops.elementwise.comparison import Less
from mycelia.ops.elementwise.exponential import Exp, Log
from mycelia.ops.shapes.reshape import BroadcastTo
from tests.compiler.passes.graphs import Written, before_and_after, graph

F, I = np.float32, np.int64
ADD, MUL, EXP, LESS = Add.of(), Mul.of(), Exp.of(), Less.of()


def loop(test: tuple[str, Any], step: Any, outer: str, operands: Any) -> Written:
    """A graph that is one loop; `test` names the parameters of both its graphs."""
    parameters, goes_on = test
    parts = graph(parameters, goes_on, "goes_on"), graph(parameters, step, "step")
    return graph(outer, lambda g, *xs: g.loop(*parts, *operands(g, *xs)))


def test_no_passes():
    made = loop(
        ("x f32[], c f32[]", lambda g, x, c: np.bool_(False)),
        lambda g, x, c: (g(ADD, x, c),),
        "x f32[], c f32[]",
        lambda g, x, c: (x, c),
    )
    before, after = before_and_after(made, [loop_invariants.no_passes])
    assert "%1: (f32[],) = while(@goes_on, @step, x, c)" in before
    assert after == "%1: (f32[],) = tuple(x); return %1"


def test_carry_that_stays():
    made = loop(
        (
            "end i64[], x f32[], y f32[], z f32[], c f32[]",
            lambda g, end, x, y, z, c: g(LESS, x, y),
        ),
        lambda g, end, x, y, z, c: (
            I(0),
            g(ADD, x, z),
            y,
            c,
        ),
        "x f32[], y f32[], c f32[]",
        lambda g, x, y, c: (I(0), x, y, c, c),
    )
    before, after = before_and_after(made, [loop_invariants.carry_that_stays])
    assert before.startswith(
        "graph g(x: f32[], y: f32[], c: f32[]):\n"
        "  %1: (i64[], f32[], f32[], f32[]) = while(@goes_on, @step, 0, x, y, c, c)\n"
    )
    assert after == (
        "graph g(x: f32[], y: f32[], c: f32[]):\n"
        "  %1: (f32[],) = while(@goes_on, @step, x, y, c, c)\n"
        "  %2: f32[] = item[index=0](%1)\n"
        "  %3: (i64[], f32[], f32[], f32[]) = tuple(0, %2, y, c)\n"
        "  return %3\n\n"
        "graph goes_on(goes_on.x: f32[], goes_on.y: f32[], goes_on.z: f32[], goes_on.c: f32[]):\n"
        "  goes_on.%1: bool[] = Less(goes_on.x, goes_on.y)\n"
        "  return goes_on.%1\n\n"
        "graph step(step.x: f32[], step.y: f32[], step.z: f32[], step.c: f32[]):\n"
        "  step.%1: f32[] = Add(step.x, step.z)\n"
        "  step.%2: (f32[],) = tuple(step.%1)\n"
        "  return step.%2"
    )


def test_a_carry_that_becomes_another_constant_is_a_carry():
    made = loop(
        ("end i64[], x f32[]", lambda g, end, x: g(LESS, x, F(1))),
        lambda g, end, x: (I(1), g(ADD, x, x)),
        "x f32[]",
        lambda g, x: (I(0), x),
    )
    before, after = before_and_after(made, loop_invariants.RULES)
    assert before == after


def test_computed_once():
    made = loop(
        ("x f32[], c f32[2]", lambda g, x, c: g(LESS, x, F(9))),
        lambda g, x, c: (g(ADD, x, g(Log.of(), g(MUL, g(EXP, c), c))),),
        "x f32[2], c f32[2]",
        lambda g, x, c: (x, c),
    )
    before, after = before_and_after(made, [loop_invariants.computed_once])
    assert "while(@goes_on, @step, x, c)" in before
    assert after == (
        "graph g(x: f32[2], c: f32[2]):\n"
        "  %1: f32[2] = Exp(c)\n"
        "  %2: f32[2] = Mul(%1, c)\n"
        "  %3: f32[2] = Log(%2)\n"
        "  %4: (f32[2],) = while(@goes_on, @step, x, c, %3)\n"
        "  return %4\n\n"
        "graph goes_on(goes_on.x: f32[], goes_on.c: f32[2], goes_on.outer: f32[2]):\n"
        "  goes_on.%1: bool[] = Less(goes_on.x, 9.0)\n"
        "  return goes_on.%1\n\n"
        "graph step(step.x: f32[], step.c: f32[2], step.outer: f32[2]):\n"
        "  step.%1: f32[2] = Add(step.x, step.outer)\n"
        "  step.%2: (f32[2],) = tuple(step.%1)\n"
        "  return step.%2"
    )


def test_a_mere_view_is_not_held_outside():
    made = loop(
        ("x f32[], c f32[]", lambda g, x, c: g(LESS, x, F(9))),
        lambda g, x, c: (g(ADD, x, g(BroadcastTo((1000,)), g(EXP, c))),),
        "x f32[1000], c f32[]",
        lambda g, x, c: (x, c),
    )
    after = before_and_after(made, [loop_invariants.computed_once])[1]
    assert "  %1: f32[] = Exp(c)\n  %2: (f32[1000],) = while(@goes_on, @step, x, c, %1)" in after
    assert "  step.%1: f32[1000] = BroadcastTo[shape=(1000,)](step.outer)" in after


def test_an_effect_happens_in_every_pass():
    made = loop(
        ("x f32[], token bool[]", lambda g, x, token: g(LESS, x, F(9))),
        lambda g, x, token: (
            g(ADD, x, x),
            g.apply(Effect(print, "print"), token, type=token.type),
        ),
        "x f32[], token bool[]",
        lambda g, x, token: (x, token),
    )
    fixed = loop(
        ("x f32[], token bool[]", lambda g, x, token: g(LESS, x, F(9))),
        lambda g, x, token: (
            g.item(g.tuple(x, g.apply(Effect(print, "print"), token, type=token.type)), 0),
        ),
        "x f32[], token bool[]",
        lambda g, x, token: (x, token),
    )
    for one in (made, fixed):
        before, after = before_and_after(one, loop_invariants.RULES)
        assert before == after


def test_a_loop_inside_is_not_run_where_the_outer_one_makes_no_pass():
    inner = graph("c f32[]", lambda g, c: g(LESS, c, F(1)), "inner_goes_on")
    body = graph("c f32[]", lambda g, c: (g(MUL, c, F(2)),), "inner_step")
    made = loop(
        ("x f32[], c f32[]", lambda g, x, c: g(LESS, x, F(9))),
        lambda g, x, c: (g(ADD, x, g.item(g.loop(inner, body, c), 0)),),
        "x f32[], c f32[]",
        lambda g, x, c: (x, c),
    )
    before, after = before_and_after(made, [loop_invariants.computed_once])
    assert before == after


def test_operands_of_while():
    made = loop(
        (
            "x f32[], a f32[], b f32[], c f32[], unused f32[]",
            lambda g, x, a, b, c, unused: g(LESS, x, a),
        ),
        lambda g, x, a, b, c, unused: (g(ADD, g(MUL, x, b), c),),
        "x f32[], y f32[]",
        lambda g, x, y: (x, x, x, F(3), y),
    )
    before, after = before_and_after(made, [unused_operands.operands_of_while])
    assert "while(@goes_on, @step, x, x, x, 3.0, y)" in before
    assert after == (
        "graph g(x: f32[], y: f32[]):\n"
        "  %1: (f32[],) = while(@goes_on, @step, x, x)\n"
        "  return %1\n\n"
        "graph goes_on(goes_on.x: f32[], goes_on.a: f32[]):\n"
        "  goes_on.%1: bool[] = Less(goes_on.x, goes_on.a)\n"
        "  return goes_on.%1\n\n"
        "graph step(step.x: f32[], step.a: f32[]):\n"
        "  step.%1: f32[] = Mul(step.x, step.a)\n"
        "  step.%2: f32[] = Add(step.%1, 3.0)\n"
        "  step.%3: (f32[],) = tuple(step.%2)\n"
        "  return step.%3"
    )


def test_every_rule_says_its_equation():
    assert all("=" in rule.text for rule in loop_invariants.RULES)
