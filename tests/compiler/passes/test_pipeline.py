"""Whole programs give the same results before and after all passes, and the passes are fast."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from mycelia import Tensor, grad, nn, ops
from mycelia._engine.compiler.frontend.trace_function import TracedProgram, trace
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    SequenceStructure,
    widest_structure_of,
)
from mycelia._engine.compiler.passes.pipeline import PASSES, optimize
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.program import InputSource
from mycelia._engine.ir.verifier import verify
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia.ops.elementwise.arithmetic import Add, Mul
from tests.compiler.passes.graphs import graph, text


def scalar(value: float) -> Tensor:
    return Tensor(np.asarray(value, np.float32))


def vector(*values: float) -> Tensor:
    return Tensor(np.asarray(values, np.float32))


def branch(x: Any) -> Any:
    y = x * 2
    if y.sum() > 3:
        y = ops.exp(y) + 1
    else:
        y = -y
    return y


def newton(x: Any) -> Any:
    guess = x
    while abs(guess * guess - x) > 1e-5:
        guess = (guess + x / guess) / 2
    return guess


def leaves_early(x: Any) -> Any:
    n = 0
    while x < 100:
        x = x * 2
        n += 1
        if n == 3:
            continue
        if x > 50:
            break
    else:
        x = x + 1000
    return x * n


def returns_early(x: Any) -> Any:
    if x > 0:
        return x
    for i in range(3):
        if x < -2:
            return x - i
        x = x - 1
    return x * 10


def loop_in_loop(x: Any, w: Any) -> Any:
    n = 0
    unused = x
    while x.sum() < 100:
        steady = ops.exp(w) * 2
        x = x + steady * steady
        unused = unused * 2
        if n > 2:
            k = 0
            while k < 3:
                x = x * 1.01
                k += 1
        n += 1
    return x.sum()


def power(x: Any) -> Any:
    if x > 100:
        return x
    return x * power(x * x)


def draws(x: Any) -> Any:
    if x.sum() > 0:
        x = ops.dropout(x, 0.5)
    return x + ops.dropout(x, 0.5)


def third_derivative(x: Any) -> Any:
    return grad(grad(grad(lambda v: ops.sin(v) * v)))(x)


PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "branch": (branch, [(vector(1, 2),), (vector(1, -2),)]),
    "newton": (newton, [(scalar(2),)]),
    "leaves_early": (leaves_early, [(scalar(v),) for v in (1, 3, 60, 200)]),
    "returns_early": (returns_early, [(scalar(v),) for v in (1, -1, -5)]),
    "loop_in_loop": (loop_in_loop, [(vector(1, 2), vector(0.1, 0.2))]),
    "power": (power, [(scalar(1.5),), (scalar(200),)]),
    "draws": (draws, [(vector(1, 2, 3),), (vector(-1, -2, -3),)]),
    "third_derivative": (third_derivative, [(scalar(0.7),)]),
}


def read_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[TracedProgram, Any]:
    form = SequenceStructure(tuple, (widest_structure_of(args), ConstantStructure({})))
    return trace(fn, getattr(fn, "__name__", "cell"), form), form


def inputs(program: TracedProgram, form: Any, args: tuple[Any, ...]) -> list[np.ndarray]:
    leaves = [value for value, _ in form.leaves((args, {}))]
    arrays = {
        InputSource.ARGUMENT: lambda which: np.asarray(leaves[which]),
        InputSource.STATE: lambda which: np.asarray(which._data),
        InputSource.RANDOM: lambda which: np.array([0, 7], np.uint32),
    }
    return [arrays[given.source](given.which) for given in program.program.inputs]


def size(made: Graph) -> int:
    return sum(map(len, nodes_by_graph(made).values()))


def assert_same_results(fn: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    """Run the program of `fn` before and after the passes, on all arguments."""
    program, form = read_call(fn, calls[0])
    made = program.program.graph
    parameters = made.parameters
    before = [jax.jit(LoweredGraph(made))(*inputs(program, form, args)) for args in calls]
    assert optimize(made).parameters == parameters
    verify(made)
    for args, old in zip(calls, before, strict=True):
        new = jax.jit(LoweredGraph(made))(*inputs(program, form, args))
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_stay_the_same(name: str):
    assert_same_results(*PROGRAMS[name])


@pytest.mark.parametrize("name", ["branch", "newton", "leaves_early", "returns_early", "power"])
def test_gradients_stay_the_same(name: str):
    fn, calls = PROGRAMS[name]
    assert_same_results(lambda x: grad(lambda v: fn(v).sum())(x), calls)


def test_gradients_of_nested_loops_stay_the_same():
    fn, calls = PROGRAMS["loop_in_loop"]
    assert_same_results(lambda x, w: grad(fn, (0, 1))(x, w), calls)


def test_second_order_gradients_through_a_loop_stay_the_same():
    assert_same_results(lambda x: grad(grad(newton))(x), [(scalar(2),), (scalar(3),)])


def test_prints_happen_as_often_and_in_the_same_order(capsys: pytest.CaptureFixture[str]):
    def prints(x: Any) -> Any:
        if x > 0:
            print("start", x)
        while x < 3:
            print("pass", x)
            x = x + 1
        return x

    program, form = read_call(prints, (scalar(1),))
    made = program.program.graph
    arrays = inputs(program, form, (scalar(1),))
    jax.block_until_ready(jax.jit(LoweredGraph(made))(*arrays))
    jax.effects_barrier()
    before = capsys.readouterr().out
    jax.block_until_ready(jax.jit(LoweredGraph(optimize(made)))(*arrays))
    jax.effects_barrier()
    assert before.count("pass") == 2 and capsys.readouterr().out == before


def test_a_loop_is_left_with_what_it_needs():
    program, _ = read_call(newton, (scalar(2),))
    assert show(optimize(program.program.graph)) == (
        "graph newton(x0: f32[]):\n"
        "  %1: (f32[],) = while(@goes_on, @step, x0, x0)\n"
        "  %2: f32[] = item[index=0](%1)\n"
        "  %3: (f32[],) = tuple(%2)\n"
        "  return %3\n\n"
        "graph goes_on(goes_on.guess: f32[], goes_on.x0: f32[]):\n"
        "  goes_on.%1: f32[] = Mul(goes_on.guess, goes_on.guess)\n"
        "  goes_on.%2: f32[] = Sub(goes_on.%1, goes_on.x0)\n"
        "  goes_on.%3: f32[] = Abs(goes_on.%2)\n"
        "  goes_on.%4: bool[] = Greater(goes_on.%3, 1e-05)\n"
        "  return goes_on.%4\n\n"
        "graph step(step.guess: f32[], step.x0: f32[]):\n"
        "  step.%1: f32[] = Div(step.x0, step.guess)\n"
        "  step.%2: f32[] = Add(step.guess, step.%1)\n"
        "  step.%3: f32[] = Div(step.%2, 2.0)\n"
        "  step.%4: (f32[],) = tuple(step.%3)\n"
        "  return step.%4"
    )


def test_a_training_step_keeps_its_results():
    net = nn.SequentialCell([nn.Dense(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dense(4, 2)])
    cell = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")),
        nn.Momentum(net.trainable_params(), 0.1, 0.9),
    )
    cell.set_train()
    x = Tensor(np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32))
    assert_same_results(cell, [(x, Tensor(np.array([0, 1, 1, 0, 1], np.int32)))])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_run_finds_nothing(name: str):
    fn, calls = PROGRAMS[name]
    made = optimize(read_call(fn, calls[0])[0].program.graph)
    once = show(made)
    found: list[int] = []
    optimize(made, lambda name, seconds, count, g: found.append(count))
    assert found == [0] * len(PASSES)
    assert show(made) == once


def test_passes_are_reported():
    made = graph("x f32[]", lambda g, x: g(Mul.of(), g(Add.of(), x, x), g(Add.of(), x, x)))
    heard: list[tuple[str, int]] = []

    def report(name: str, seconds: float, count: int, g: Graph) -> None:
        assert seconds >= 0 and g is made
        heard.append((name, count))

    optimize(made, report)
    assert heard == [
        ("simplify", 0),
        ("duplicates", 1),
        ("results", 0),
        ("simplify", 0),
    ]
    assert text(made) == "%1: f32[] = Add(x, x); %2: f32[] = Mul(%1, %1); return %2"


def test_new_nodes_keep_the_users_lines():
    program, _ = read_call(branch, (vector(1, 2),))
    made = optimize(program.program.graph)
    applications = [n for nodes in nodes_by_graph(made).values() for n in nodes]
    chosen = next(n for n in applications if n.fn.value.name in ("Select", "switch"))
    assert chosen.span is not None and "if y.sum() > 3" in chosen.span.text


def test_time_grows_with_the_size_of_the_program_only():
    def chain(length: int) -> float:
        def body(g: Any, x: Any) -> Any:
            for _ in range(length):
                x = g(Add.of(), g(Mul.of(), x, np.float32(2)), x)
            return x

        made = graph("x f32[]", body)
        start = time.process_time()
        optimize(made)
        return time.process_time() - start

    chain(100)
    assert min(chain(8000) for _ in range(3)) < 16 * min(chain(1000) for _ in range(3))
