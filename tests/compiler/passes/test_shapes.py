"""The rules for tuples, shapes, dtypes and constants, each as text before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mycelia._engine.compiler.passes import constant_folding, shapes, tuples
from mycelia._engine.core.dtype import bool_, float16, float32, float64, int8, int32, int64, uint8
from mycelia._engine.ir.control_flow import Custom
from mycelia.ops.control.loop_stack import StackRead, StackWrite
from mycelia.ops.elementwise.arithmetic import Add, Div, Mul
from mycelia.ops.elementwise.comparison import Equal
from mycelia.ops.elementwise.where import Select
from mycelia.ops.indexing.gather import Gather
from mycelia.ops.shapes.concat import Stack
from mycelia.ops.shapes.creation import OnesLike, Zeros, ZerosLike
from mycelia.ops.shapes.reshape import (
    BroadcastTo,
    Cast,
    ExpandDims,
    Flatten,
    Identity,
    Reshape,
    StopGradient,
    Transpose,
)
from tests.compiler.passes.graphs import before_and_after, graph

F, I = np.float32, np.int64
CAST, RESHAPE, TRANSPOSE = Cast.of(), Reshape.of(), Transpose.of()

CASES: list[tuple[Any, str, Any, str, str]] = [
    (
        tuples.item_of_tuple,
        "x f32[2], n i64[]",
        lambda g, x, n: g.item(g.tuple(x, n), 1),
        "%1: (f32[2], i64[]) = tuple(x, n); %2: i64[] = item[index=1](%1); return %2",
        "return n",
    ),
    (
        shapes.identity,
        "x f32[2]",
        lambda g, x: g(StopGradient.of(), g(Identity.of(), x)),
        "%1: f32[2] = Identity(x); %2: f32[2] = StopGradient(%1); return %2",
        "return x",
    ),
    (
        shapes.unchanged,
        "x f32[2]",
        lambda g, x: g(CAST, g(RESHAPE, g(BroadcastTo((2,)), x), (2,)), float32),
        "%1: f32[2] = BroadcastTo[shape=(2,)](x); %2: f32[2] = Reshape(%1, (2,)); "
        "%3: f32[2] = Cast(%2, f32); return %3",
        "return x",
    ),
    (
        shapes.cast_of_cast,
        "x f16[2]",
        lambda g, x: g(CAST, g(CAST, x, float32), float64),
        "%1: f32[2] = Cast(x, f32); %2: f64[2] = Cast(%1, f64); return %2",
        "%1: f64[2] = Cast(x, f64); return %1",
    ),
    (
        shapes.reshape_of_reshape,
        "x f32[2,3]",
        lambda g, x: g(Flatten.of(), g(ExpandDims.of(), g(RESHAPE, x, (3, -1)), 0)),
        "%1: f32[3,2] = Reshape(x, (3, -1)); %2: f32[1,3,2] = ExpandDims(%1, 0); "
        "%3: f32[1,6] = Flatten(%2); return %3",
        "%1: f32[1,6] = Reshape(x, (1, 6)); return %1",
    ),
    (
        shapes.transpose_nothing,
        "x f32[2,3]",
        lambda g, x: g(TRANSPOSE, x, (0, -1)),
        "%1: f32[2,3] = Transpose(x, (0, -1)); return %1",
        "return x",
    ),
    (
        shapes.transpose_of_transpose,
        "x f32[2,3,4]",
        lambda g, x: g(TRANSPOSE, g(TRANSPOSE, x, (1, 2, 0)), (0, 2, 1)),
        "%1: f32[3,4,2] = Transpose(x, (1, 2, 0)); %2: f32[3,2,4] = Transpose(%1, (0, 2, 1)); "
        "return %2",
        "%1: f32[3,2,4] = Transpose(x, (1, 0, 2)); return %1",
    ),
    (
        shapes.broadcast_of_broadcast,
        "x f32[]",
        lambda g, x: g(BroadcastTo((2, -1)), g(BroadcastTo((1, 3)), x)),
        "%1: f32[1,3] = BroadcastTo[shape=(1, 3)](x); "
        "%2: f32[2,3] = BroadcastTo[shape=(2, -1)](%1); return %2",
        "%1: f32[2,3] = BroadcastTo[shape=(2, 3)](x); return %1",
    ),
    (
        shapes.read_what_was_written,
        "stack f32[4,2], i i64[], x f32[2]",
        lambda g, s, i, x: g(StackRead.of(), g(StackWrite.of(), s, i, x), i),
        "%1: f32[4,2] = StackWrite(stack, i, x); %2: f32[2] = StackRead(%1, i); return %2",
        "return x",
    ),
    (
        constant_folding.fold,
        "",
        lambda g: g(Mul.of(), g(Stack.of(), g.tuple(F(1), F(2))), F(3)),
        "%1: (f32[], f32[]) = tuple(1.0, 2.0); %2: f32[2] = Stack[axis=0](%1); "
        "%3: f32[2] = Mul(%2, 3.0); return %3",
        "return f32[2]{3.0, 6.0}",
    ),
    (
        constant_folding.zeros_like,
        "x f32[2000]",
        lambda g, x: g(ZerosLike.of(), x),
        "%1: f32[2000] = ZerosLike(x); return %1",
        "%1: f32[2000] = Zeros((2000,), f32); return %1",
    ),
    (
        constant_folding.ones_like,
        "x f32[2000]",
        lambda g, x: g(OnesLike.of(), x),
        "%1: f32[2000] = OnesLike(x); return %1",
        "%1: f32[2000] = Ones((2000,), f32); return %1",
    ),
    (
        constant_folding.of_choice,
        "p bool[]",
        lambda g, p: g(Equal.of(), g(Select.of(), p, I(1), I(0)), I(1)),
        "%1: i64[] = Select(p, 1, 0); %2: bool[] = Equal(%1, 1); return %2",
        "%1: bool[] = Select(p, True, False); return %1",
    ),
]


@pytest.mark.parametrize("rule, parameters, body, before, after", CASES, ids=lambda v: _name(v))
def test_the_rule_changes_the_text(rule: Any, parameters: str, body: Any, before: str, after: str):
    assert before_and_after(graph(parameters, body), [rule]) == (before, after)


def test_tuple_of_items():
    made = graph("x f32[2]", lambda g, x: x)
    pair = made.apply(
        Custom(lambda: None, "pair"), made.parameters[0], type=(made.output.type,) * 2
    )
    again = made.tuple(made.item(pair, 0), made.item(pair, 1))
    swapped = made.tuple(made.item(pair, 1), made.item(pair, 0))
    made.output = made.apply(Custom(lambda: None, "user"), again, swapped, type=again.type)
    before_and_after(made, [tuples.tuple_of_items])
    assert made.output.args[0] is pair
    assert made.output.args[1].fn.value == swapped.fn.value


def test_a_graph_goes_on_giving_a_tuple():
    inner = graph("x f32[]", lambda g, x: (x, x), "inner")
    made = graph("p bool[], x f32[]", lambda g, p, x: g.switch(p, [inner, inner], x))
    made.output = made.tuple(made.item(made.output, 0), made.item(made.output, 1))
    before, after = before_and_after(made, [tuples.tuple_of_items])
    assert before == after


def test_custom():
    made = graph("x f32[2], y f32[2]", lambda g, x, y: x)
    x, y = made.parameters
    made.output = made.apply(Custom(lambda: None, "mine"), x, y, type=y.type)
    assert before_and_after(made, [shapes.custom])[1] == "return y"


def test_every_rule_has_a_case_and_says_its_equation():
    rules = (*shapes.RULES, *constant_folding.RULES, *tuples.RULES)
    alone = {"tuple_of_items", "custom"}
    assert {c[0].__name__ for c in CASES} | alone == {r.__name__ for r in rules}
    assert all("=" in rule.text for rule in rules)


LOSSY = [
    (float32, float16, float32),
    (int32, float32, int32),
    (int64, int32, int64),
    (int8, uint8, int32),
    (float32, bool_, float32),
    (float32, int32, float32),
]


@pytest.mark.parametrize("dtypes", LOSSY, ids=lambda d: "-".join(t.short for t in d))
def test_casts_that_lose_something_stay(dtypes: Any):
    first, middle, last = dtypes
    made = graph(f"x {first.short}[2]", lambda g, x: g(CAST, g(CAST, x, middle), last))
    before, after = before_and_after(made, shapes.RULES)
    assert before == after


def test_there_and_back_is_nothing():
    made = graph("x f16[2]", lambda g, x: g(CAST, g(CAST, x, float32), float16))
    assert before_and_after(made, shapes.RULES)[1] == "return x"


def test_only_small_results_are_worked_out():
    large = graph("", lambda g: g(Zeros.of(), (2000,), float32))
    before, after = before_and_after(large, constant_folding.RULES)
    assert before == after
    small = graph("", lambda g: g(Zeros.of(), (2,), float32))
    assert before_and_after(small, constant_folding.RULES)[1] == "return f32[2]{0.0, 0.0}"


def test_what_has_no_numpy_kernel_is_left_to_the_program():
    made = graph("", lambda g: g(Div.of(), F(1), F(3)))
    before, after = before_and_after(made, constant_folding.RULES)
    assert before == after


def test_what_a_kernel_refuses_is_left_to_the_program():
    made = graph("", lambda g: g(Gather.of(), np.ones(3, F), np.array([7]), 0))
    before, after = before_and_after(made, constant_folding.RULES)
    assert before == after


def test_integers_wrap_while_compiling_as_they_do_in_programs():
    made = graph("", lambda g: g(Add.of(), np.int8(127), np.int8(1)))
    assert before_and_after(made, constant_folding.RULES)[1] == "return i8(-128)"


def _name(value: Any) -> str:
    return getattr(value, "__name__", "") if not callable(value) or hasattr(value, "text") else ""
