"""The rules for branches and for putting graphs in place, each as text before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.compiler.passes import branches, inlining, unused_operands
from mycelia._engine.core.dtype import int32
from mycelia._engine.ir.control_flow import CALL, RECOMPUTE, Effect
from mycelia.ops.elementwise.arithmetic import Add, Mul, Neg
from mycelia.ops.elementwise.comparison import LogicalNot
from mycelia.ops.elementwise.exponential import Exp
from mycelia.ops.elementwise.rounding import FloorDiv
from mycelia.ops.linalg.diagonal import Tril
from mycelia.ops.shapes.reshape import Cast
from tests.compiler.passes.graphs import Written, before_and_after, graph, text

F, I = np.float32, np.int64
ADD, MUL, NEG, EXP = Add.of(), Mul.of(), Neg.of(), Exp.of()


def exp(parameters: str = "x f32[99]") -> Written:
    return graph(parameters, lambda g, x, *_: (g(EXP, x),), "exp")


def neg(parameters: str = "x f32[99]") -> Written:
    return graph(parameters, lambda g, x, *_: (g(NEG, x),), "neg")


EXP_AND_NEG = (
    "\n\ngraph exp(exp.x: f32[99]):\n"
    "  exp.%1: f32[99] = Exp(exp.x)\n"
    "  exp.%2: (f32[99],) = tuple(exp.%1)\n"
    "  return exp.%2\n\n"
    "graph neg(neg.x: f32[99]):\n"
    "  neg.%1: f32[99] = Neg(neg.x)\n"
    "  neg.%2: (f32[99],) = tuple(neg.%1)\n"
    "  return neg.%2"
)


def test_call_of_graph():
    square = graph("a f32[], b f32[]", lambda g, a, b: g(MUL, a, b), "square")
    made = graph("x f32[]", lambda g, x: g.apply(CALL, g.node(square), x, x, type=x.type))
    before, after = before_and_after(made, [inlining.call_of_graph])
    assert before == (
        "graph g(x: f32[]):\n  %1: f32[] = call(@square, x, x)\n  return %1\n\n"
        "graph square(square.a: f32[], square.b: f32[]):\n"
        "  square.%1: f32[] = Mul(square.a, square.b)\n  return square.%1"
    )
    assert after == "%1: f32[] = Mul(x, x); return %1"


def test_what_is_recomputed():
    square = graph("a f32[], b f32[]", lambda g, a, b: g(MUL, a, b), "square")
    made = graph("x f32[]", lambda g, x: g.apply(RECOMPUTE, g.node(square), x, x, type=x.type))
    before, after = before_and_after(made, [inlining.what_is_recomputed])
    assert before.startswith("graph g(x: f32[]):\n  %1: f32[] = recompute(@square, x, x)\n")
    assert after == "%1: f32[] = Mul(x, x); return %1"


def test_a_graph_that_calls_itself_stays_a_call():
    made = graph("x f32[]", lambda g, x: x)
    made.output = made.apply(CALL, made.node(made), made.parameters[0], type=made.output.type)
    before, after = before_and_after(made, inlining.RULES)
    assert before == after == "%1: f32[] = call(@g, x); return %1"


def test_known_choice():
    def made(index: Any) -> Written:
        return graph("x f32[99]", lambda g, x: g.item(g.switch(index, [exp(), neg()], x), 0))

    before, after = before_and_after(made(np.int32(1)), [inlining.known_choice])
    assert before == (
        "graph g(x: f32[99]):\n"
        "  %1: (f32[99],) = switch(i32(1), @exp, @neg, x)\n"
        "  %2: f32[99] = item[index=0](%1)\n"
        "  return %2" + EXP_AND_NEG
    )
    assert after == (
        "%1: f32[99] = Neg(x); %2: (f32[99],) = tuple(%1); "
        "%3: f32[99] = item[index=0](%2); return %3"
    )
    assert "Exp" in before_and_after(made(np.bool_(False)), [inlining.known_choice])[1]


def test_no_choice():
    made = graph("p bool[], x f32[99]", lambda g, p, x: g.item(g.switch(p, [exp(), exp()], x), 0))
    assert before_and_after(made, [inlining.no_choice])[1] == (
        "%1: f32[99] = Exp(x); %2: (f32[99],) = tuple(%1); "
        "%3: f32[99] = item[index=0](%2); return %3"
    )


def test_a_choice_between_graphs_that_differ_in_a_constant_stays():
    sides = [graph("x f32[]", lambda g, x, c=c: (g(ADD, x, F(c)),), "side") for c in (1, 2)]
    made = graph("p bool[], x f32[]", lambda g, p, x: g.switch(p, sides, x))
    before, after = before_and_after(made, [inlining.no_choice])
    assert before == after


def test_switch_not():
    made = graph(
        "p bool[], x f32[99]",
        lambda g, p, x: g.switch(g(LogicalNot.of(), p), [neg(), exp()], x),
    )
    before, after = before_and_after(made, [branches.switch_not])
    assert "  %2: (f32[99],) = switch(%1, @neg, @exp, x)" in before
    assert after == (
        "graph g(p: bool[], x: f32[99]):\n"
        "  %1: (f32[99],) = switch(p, @exp, @neg, x)\n"
        "  return %1" + EXP_AND_NEG
    )


def test_switch_cast():
    made = graph(
        "p bool[], x f32[99]",
        lambda g, p, x: g.switch(g(Cast.of(), p, int32), [exp(), neg()], x),
    )
    before, after = before_and_after(made, [branches.switch_cast])
    assert "  %2: (f32[99],) = switch(%1, @exp, @neg, x)" in before
    assert after == (
        "graph g(p: bool[], x: f32[99]):\n"
        "  %1: (f32[99],) = switch(p, @exp, @neg, x)\n"
        "  return %1" + EXP_AND_NEG
    )


def test_item_all_agree_on():
    sides = [
        graph("x f32[99], y f32[99]", lambda g, x, y: (y, I(3), g(EXP, x)), "left"),
        graph("x f32[99], y f32[99]", lambda g, x, y: (y, I(3), y), "right"),
    ]
    made = graph("p bool[], x f32[99], y f32[99]", lambda g, p, x, y: g.switch(p, sides, x, y))
    made.output = made.tuple(*(made.item(made.output, i) for i in range(3)))
    before, after = before_and_after(made, [branches.item_all_agree_on])
    assert "  %5: (f32[99], i64[], f32[99]) = tuple(%2, %3, %4)" in before
    assert "  %3: (f32[99], i64[], f32[99]) = tuple(y, 3, %2)" in after


def test_item_twice():
    def twice(op: Any, name: str) -> Written:
        made = graph("x f32[99]", lambda g, x: g(op, x), name)
        made.output = made.tuple(made.output, made.output)
        return made

    made = graph(
        "p bool[], x f32[99]",
        lambda g, p, x: g.item(g.switch(p, [twice(EXP, "exp"), twice(NEG, "neg")], x), 1),
    )
    before, after = before_and_after(made, [branches.item_twice])
    assert "  %2: f32[99] = item[index=1](%1)" in before
    assert "  %2: f32[99] = item[index=0](%1)" in after


def test_item_by_select():
    sides = [
        graph("x f32[8]", lambda g, x: (g(NEG, x), g(EXP, x)), "left"),
        graph("x f32[8]", lambda g, x: (g(ADD, x, F(1)), x), "right"),
    ]
    made = graph("p bool[], x f32[8]", lambda g, p, x: g.switch(p, sides, x))
    made.output = made.tuple(made.item(made.output, 0), made.item(made.output, 1))
    before, after = before_and_after(made, [branches.item_by_select])
    assert before.startswith(
        "graph g(p: bool[], x: f32[8]):\n"
        "  %1: (f32[8], f32[8]) = switch(p, @left, @right, x)\n"
        "  %2: f32[8] = item[index=0](%1)\n"
        "  %3: f32[8] = item[index=1](%1)\n"
    )
    assert after.startswith(
        "graph g(p: bool[], x: f32[8]):\n"
        "  %1: f32[8] = Add(x, 1.0)\n"
        "  %2: f32[8] = Neg(x)\n"
        "  %3: f32[8] = Select(p, %1, %2)\n"
        "  %4: (f32[8], f32[8]) = switch(p, @left, @right, x)\n"
        "  %5: f32[8] = item[index=1](%4)\n"
        "  %6: (f32[8], f32[8]) = tuple(%3, %5)\n"
    )


def chosen(parameters: str, body: Any, index: str = "bool[]") -> Written:
    """One result of a switch between `body` and its first operand."""
    types = parameters.split(", ")
    sides = [
        graph(parameters, lambda g, *xs: (xs[0],), "left"),
        graph(parameters, lambda g, *xs: (body(g, *xs),), "right"),
    ]
    return graph(
        f"p {index}, {', '.join(types)}", lambda g, p, *xs: g.item(g.switch(p, sides, *xs), 0)
    )


def test_what_is_large_or_dear_or_may_fail_stays_in_its_branch():
    many = "x f32[65]", lambda g, x: g(NEG, x)
    dear = "x f32[8,8]", lambda g, x: g(Tril.of(), x)
    may_fail = "n i64[], m i64[]", lambda g, n, m: g(FloorDiv.of(), n, m)
    effect = "x bool[]", lambda g, x: g.apply(Effect(print, "print"), x, type=x.type)

    def long(g: Written, x: Any) -> Any:
        for _ in range(9):
            x = g(NEG, x)
        return x

    for case in (many, dear, may_fail, effect, ("x f32[]", long)):
        made = chosen(*case)
        before, after = before_and_after(made, [branches.item_by_select])
        assert before == after


def test_a_choice_among_several_is_no_select():
    made = chosen("x f32[]", lambda g, x: g(NEG, x), index="i32[]")
    before, after = before_and_after(made, [branches.item_by_select])
    assert before == after


def test_operands_of_switch():
    parameters = "a f32[99], b f32[99], c f32[], unused f32[], q bool[]"
    sides = [
        graph(parameters, lambda g, a, b, c, unused, q: (g(MUL, g(ADD, a, b), c), q), "left"),
        graph(parameters, lambda g, a, b, c, unused, q: (b, q), "right"),
    ]
    made = graph(
        "p bool[], x f32[99], y f32[]", lambda g, p, x, y: g.switch(p, sides, x, x, F(3), y, p)
    )
    old = text(sides[0])
    before, after = before_and_after(made, [unused_operands.operands_of_switch])
    assert "  %1: (f32[99], bool[]) = switch(p, @left, @right, x, x, 3.0, y, p)" in before
    assert after == (
        "graph g(p: bool[], x: f32[99], y: f32[]):\n"
        "  %1: (f32[99], bool[]) = switch(p, @left, @right, x)\n"
        "  return %1\n\n"
        "graph left(left.a: f32[99]):\n"
        "  left.%1: f32[99] = Add(left.a, left.a)\n"
        "  left.%2: f32[99] = Mul(left.%1, 3.0)\n"
        "  left.%3: (f32[99], bool[]) = tuple(left.%2, False)\n"
        "  return left.%3\n\n"
        "graph right(right.a: f32[99]):\n"
        "  right.%1: (f32[99], bool[]) = tuple(right.a, True)\n"
        "  return right.%1"
    )
    assert text(sides[0]) == old and len(sides[0].parameters) == 5


def test_every_rule_says_its_equation():
    assert all("=" in r.text for r in (*branches.RULES, *inlining.RULES, *unused_operands.RULES))
