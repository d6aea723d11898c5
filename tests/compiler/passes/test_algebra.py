"""The rules of arithmetic and logic, each as the text of a graph before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mycelia._engine.compiler.passes import arithmetic, boolean_algebra
from mycelia.ops.elementwise.arithmetic import Add, Div, Maximum, Mul, Neg, RealDiv, Sub
from mycelia.ops.elementwise.comparison import (
    Equal,
    Less,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    NotEqual,
)
from mycelia.ops.elementwise.rounding import FloorDiv
from mycelia.ops.elementwise.where import Select
from mycelia.ops.shapes.reshape import Cast
from tests.compiler.passes.graphs import before_and_after, graph

F, I = np.float32, np.int64
ADD, SUB, MUL, NEG, DIV = Add.of(), Sub.of(), Mul.of(), Neg.of(), Div.of()
NOT, AND, OR, SELECT = LogicalNot.of(), LogicalAnd.of(), LogicalOr.of(), Select.of()
EQUAL, NOT_EQUAL = Equal.of(), NotEqual.of()

CASES: list[tuple[Any, str, Any, str, str]] = [
    (
        arithmetic.times_one,
        "x f32[2]",
        lambda g, x: g(MUL, F(1), x),
        "%1: f32[2] = Mul(1.0, x); return %1",
        "return x",
    ),
    (
        arithmetic.over_one,
        "x f32[2]",
        lambda g, x: g(DIV, g(RealDiv.of(), x, F(1)), F(1)),
        "%1: f32[2] = RealDiv(x, 1.0); %2: f32[2] = Div(%1, 1.0); return %2",
        "return x",
    ),
    (
        arithmetic.integer_over_one,
        "n i64[]",
        lambda g, n: g(FloorDiv.of(), n, I(1)),
        "%1: i64[] = FloorDiv(n, 1); return %1",
        "return n",
    ),
    (
        arithmetic.plus_zero,
        "n i64[]",
        lambda g, n: g(ADD, I(0), n),
        "%1: i64[] = Add(0, n); return %1",
        "return n",
    ),
    (
        arithmetic.minus_zero,
        "x f32[2]",
        lambda g, x: g(SUB, x, F(0)),
        "%1: f32[2] = Sub(x, 0.0); return %1",
        "return x",
    ),
    (
        arithmetic.minus_minus,
        "x f32[2]",
        lambda g, x: g(NEG, g(NEG, x)),
        "%1: f32[2] = Neg(x); %2: f32[2] = Neg(%1); return %2",
        "return x",
    ),
    (
        arithmetic.plus_minus,
        "x f32[2], y f32[]",
        lambda g, x, y: g(ADD, g(NEG, x), y),
        "%1: f32[2] = Neg(x); %2: f32[2] = Add(%1, y); return %2",
        "%1: f32[2] = Sub(y, x); return %1",
    ),
    (
        arithmetic.minus_of_minus,
        "x f32[2], y f32[]",
        lambda g, x, y: g(SUB, x, g(NEG, y)),
        "%1: f32[] = Neg(y); %2: f32[2] = Sub(x, %1); return %2",
        "%1: f32[2] = Add(x, y); return %1",
    ),
    (
        arithmetic.plus_plus,
        "n i64[]",
        lambda g, n: g(ADD, g(ADD, n, I(1)), I(2)),
        "%1: i64[] = Add(n, 1); %2: i64[] = Add(%1, 2); return %2",
        "%1: i64[] = Add(n, 3); return %1",
    ),
    (
        arithmetic.extreme_of_one,
        "x f32[2]",
        lambda g, x: g(Maximum.of(), x, x),
        "%1: f32[2] = Maximum(x, x); return %1",
        "return x",
    ),
    (
        boolean_algebra.not_not,
        "p bool[]",
        lambda g, p: g(NOT, g(NOT, p)),
        "%1: bool[] = LogicalNot(p); %2: bool[] = LogicalNot(%1); return %2",
        "return p",
    ),
    (
        boolean_algebra.not_equal,
        "x f32[], y f32[]",
        lambda g, x, y: g(NOT, g(EQUAL, x, y)),
        "%1: bool[] = Equal(x, y); %2: bool[] = LogicalNot(%1); return %2",
        "%1: bool[] = NotEqual(x, y); return %1",
    ),
    (
        boolean_algebra.and_known,
        "p bool[]",
        lambda g, p: (g(AND, p, np.bool_(True)), g(AND, np.bool_(False), p), g(AND, p, p)),
        "%1: bool[] = LogicalAnd(p, True); %2: bool[] = LogicalAnd(False, p); "
        "%3: bool[] = LogicalAnd(p, p); %4: (bool[], bool[], bool[]) = tuple(%1, %2, %3); return %4",
        "%1: (bool[], bool[], bool[]) = tuple(p, False, p); return %1",
    ),
    (
        boolean_algebra.or_known,
        "p bool[]",
        lambda g, p: (g(OR, p, np.bool_(True)), g(OR, np.bool_(False), p), g(OR, p, p)),
        "%1: bool[] = LogicalOr(p, True); %2: bool[] = LogicalOr(False, p); "
        "%3: bool[] = LogicalOr(p, p); %4: (bool[], bool[], bool[]) = tuple(%1, %2, %3); return %4",
        "%1: (bool[], bool[], bool[]) = tuple(True, p, p); return %1",
    ),
    (
        boolean_algebra.compared_with_truth,
        "p bool[]",
        lambda g, p: (g(NOT_EQUAL, g(Cast.of(), p, np.int64), I(0)), g(EQUAL, np.bool_(False), p)),
        "%1: i64[] = Cast(p, int64); %2: bool[] = NotEqual(%1, 0); %3: bool[] = Equal(False, p); "
        "%4: (bool[], bool[]) = tuple(%2, %3); return %4",
        "%1: bool[] = LogicalNot(p); %2: (bool[], bool[]) = tuple(p, %1); return %2",
    ),
    (
        boolean_algebra.select_known,
        "x f32[2], y f32[2]",
        lambda g, x, y: g(SELECT, np.bool_(False), x, y),
        "%1: f32[2] = Select(False, x, y); return %1",
        "return y",
    ),
    (
        boolean_algebra.select_same,
        "p bool[], x f32[2]",
        lambda g, p, x: g(SELECT, p, x, x),
        "%1: f32[2] = Select(p, x, x); return %1",
        "return x",
    ),
    (
        boolean_algebra.select_not,
        "p bool[], x f32[2], y f32[2]",
        lambda g, p, x, y: g(SELECT, g(NOT, p), x, y),
        "%1: bool[] = LogicalNot(p); %2: f32[2] = Select(%1, x, y); return %2",
        "%1: f32[2] = Select(p, y, x); return %1",
    ),
    (
        boolean_algebra.select_truth,
        "p bool[]",
        lambda g, p: (
            g(SELECT, p, np.bool_(True), np.bool_(False)),
            g(SELECT, p, np.bool_(False), np.bool_(True)),
        ),
        "%1: bool[] = Select(p, True, False); %2: bool[] = Select(p, False, True); "
        "%3: (bool[], bool[]) = tuple(%1, %2); return %3",
        "%1: bool[] = LogicalNot(p); %2: (bool[], bool[]) = tuple(p, %1); return %2",
    ),
    (
        boolean_algebra.select_again,
        "p bool[], x f32[2], y f32[2], z f32[2]",
        lambda g, p, x, y, z: g(SELECT, p, z, g(SELECT, p, x, y)),
        "%1: f32[2] = Select(p, x, y); %2: f32[2] = Select(p, z, %1); return %2",
        "%1: f32[2] = Select(p, z, y); return %1",
    ),
]


@pytest.mark.parametrize("rule, parameters, body, before, after", CASES, ids=lambda v: _name(v))
def test_the_rule_changes_the_text(rule: Any, parameters: str, body: Any, before: str, after: str):
    assert before_and_after(graph(parameters, body), [rule]) == (before, after)


def test_every_rule_has_a_case_and_says_its_equation():
    rules = (*arithmetic.RULES, *boolean_algebra.RULES)
    assert {c[0].__name__ for c in CASES} == {r.__name__ for r in rules}
    assert all("=" in rule.text for rule in rules)


KEPT: dict[str, tuple[str, Any]] = {
    "x + 0.0 is not x for -0.0": ("x f32[2]", lambda g, x: g(ADD, x, F(0))),
    "x - -0.0 is not x for -0.0": ("x f32[2]", lambda g, x: g(SUB, x, F(-0.0))),
    "0.0 - x is not -x for 0.0": ("x f32[2]", lambda g, x: g(SUB, F(0), x)),
    "broadcasting changes the type": ("x f32[]", lambda g, x: g(MUL, x, np.ones(3, F))),
    "division changes the dtype": ("n i32[]", lambda g, n: g(DIV, n, np.int32(1))),
    "complex numbers times 1 mix infinities": ("x c64[]", lambda g, x: g(MUL, x, np.complex64(1))),
    "floats are not associative": ("x f32[]", lambda g, x: g(ADD, g(ADD, x, F(1)), F(2))),
    "not (x < y) holds for NaN": ("x f32[], y f32[]", lambda g, x, y: g(NOT, g(Less.of(), x, y))),
    "a float is no truth value": ("x f32[], p bool[]", lambda g, x, p: g(NOT, g(NOT, x))),
    "operators that users marked": (
        "x f32[2]",
        lambda g, x: g(Mul().add_prim_attr("stage", 1), x, F(1)),
    ),
}


@pytest.mark.parametrize("why", KEPT)
def test_what_is_not_exactly_true_is_left_alone(why: str):
    before, after = before_and_after(graph(*KEPT[why]), [*arithmetic.RULES, *boolean_algebra.RULES])
    assert before == after


def test_minus_zero_may_be_added():
    made = graph("x f32[2]", lambda g, x: g(ADD, x, F(-0.0)))
    assert before_and_after(made, arithmetic.RULES)[1] == "return x"


def _name(value: Any) -> str:
    return getattr(value, "__name__", "") if not callable(value) or hasattr(value, "text") else ""
