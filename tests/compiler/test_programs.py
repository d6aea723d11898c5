"""Programs with loops, recursion, closures and inner gradients: values, gradients, how they run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor

from .programs import (
    OTHER_TREE,
    PROGRAMS,
    TREE,
    Program,
    counted_loop,
    long_loop,
    make_polynomial,
    tree_lstm,
)

POINTS = [
    pytest.param(program, point, id=f"{program.name}-{place}")
    for program in PROGRAMS
    for place, point in enumerate(program.points)
]


def _is_long(name: str) -> bool:
    return name.startswith(("11_tree_lstm", "30_long_loop"))


EVERY_OTHER = [
    pytest.param(*p.values, id=p.id, marks=[pytest.mark.slow] * (place % 2 or _is_long(p.id)))
    for place, p in enumerate(POINTS)
]
ONCE = [pytest.param(program, id=program.name) for program in PROGRAMS]
STEP = 1e-5


def tensors(point: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Numbers and arrays as tensors: float64, and int32 for counts."""
    return tuple(Tensor(np.asarray(p, np.int32 if _counts(p) else np.float64)) for p in point)


def _counts(value: Any) -> bool:
    return np.issubdtype(np.asarray(value).dtype, np.integer)


def slopes(fn: Callable[..., Any], point: tuple[Any, ...]) -> Any:
    """Central differences of the sum of `fn` by its first argument."""
    at = np.asarray(point[0], np.float64)
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = STEP
        above, below = (fn(*tensors((at + s, *point[1:]))) for s in (step, -step))
        found[place] = (above.asnumpy().sum() - below.asnumpy().sum()) / (2 * STEP)
    return found


def close(found: Any, wanted: Any, relative: float = 1e-9) -> None:
    found, wanted = (
        np.asarray(v.asnumpy() if isinstance(v, Tensor) else v) for v in (found, wanted)
    )
    np.testing.assert_allclose(found, wanted, rtol=relative, atol=relative)


def kinds(fn: Any) -> set[str]:
    """How the programs of a compiled function run: "xla" or "vm"."""
    return {label.split(":")[0] for label in ms.jit.explain(fn).labels}


@cache
def compiled(program: Program, order: int = 0) -> Any:
    """The compiled program, or its gradient of an order; one for all tests."""
    fn = program.run
    for _ in range(order):
        fn = ms.grad(fn)
    return ms.jit(fn)


@pytest.mark.parametrize(("program", "point"), POINTS)
def test_value(program: Program, point: tuple[Any, ...]) -> None:
    wanted = (program.expected or program.run)(*point)
    close(program.run(*tensors(point)), wanted)
    close(compiled(program)(*tensors(point)), wanted)


@pytest.mark.parametrize(("program", "point"), POINTS)
def test_gradient(program: Program, point: tuple[Any, ...]) -> None:
    gradient = compiled(program, 1)(*tensors(point))
    close(gradient, slopes(compiled(program), point), 1e-5)
    if program.eager_gradient:
        close(gradient, ms.grad(program.run)(*tensors(point)))


@pytest.mark.parametrize(("program", "point"), EVERY_OTHER)
def test_gradient_of_the_gradient(program: Program, point: tuple[Any, ...]) -> None:
    second = compiled(program, 2)(*tensors(point))
    close(second, slopes(compiled(program, 1), point), 1e-4)


@pytest.mark.parametrize(
    ("order", "program"),
    [
        pytest.param(
            order,
            *p.values,
            id=f"{order}-{p.id}",
            marks=[pytest.mark.slow] * (order == 2 and _is_long(p.id)),
        )
        for order in (0, 1, 2)
        for p in ONCE
    ],
)
def test_label(program: Program, order: int) -> None:
    run = compiled(program, order)
    run(*tensors(program.points[0]))
    assert kinds(run) == {program.label}, ms.jit.explain(run)


@pytest.mark.parametrize("program", [p for p in ONCE if len(p.values[0].points) > 1])
def test_one_compilation_for_all_points(program: Program) -> None:
    """What a loop or a branch does is decided by the run; the arguments only differ in value."""
    run = compiled(program, 1)
    for point in program.points:
        run(*tensors(point))
    assert len(ms.jit.explain(run).compilations) == 1, ms.jit.explain(run)


def test_at_most_six_programs_need_the_vm() -> None:
    assert sum(program.label != "xla" for program in PROGRAMS) <= 6
    assert [program.number for program in PROGRAMS] == list(range(1, 31))


def test_another_tree_runs_in_the_same_program() -> None:
    weights, leaves = PROGRAMS[10].points[0][:2]
    run = ms.jit(tree_lstm)
    found = [run(*tensors((weights, leaves, *tree))).asnumpy() for tree in (TREE, OTHER_TREE)]
    assert abs(found[0] - found[1]) > 1e-6
    assert len(ms.jit.explain(run).compilations) == 1


def test_a_closure_outlives_the_function_that_made_it() -> None:
    x, y = tensors((1.5, 2.0))
    made, plain = ms.jit(make_polynomial)(x), make_polynomial(x)
    for argument in (y, x, y):
        close(made(argument), plain(argument))
    close(ms.grad(made)(y), ms.grad(plain)(y))
    close(ms.jit(ms.grad(made))(y), ms.grad(plain)(y))
    close(ms.jit(ms.grad(ms.grad(made)))(y), ms.grad(ms.grad(plain))(y))


def test_a_python_number_as_trip_count_does_not_recompile() -> None:
    run = ms.jit(counted_loop)
    (x,) = tensors((0.5,))
    for n in (4, 0, 9):
        close(run(x, n), counted_loop(0.5, n))
    assert len(ms.jit.explain(run).compilations) == 1
    assert kinds(run) == {"xla"}


def test_the_memory_of_a_long_loop_is_bounded() -> None:
    """Keeping every pass would take 10,000 times the state; checkpoints take about 200 times."""
    ends, x = Tensor(np.array([0.3, 1.5])), Tensor(np.linspace(0.3, 1.5, 512))
    gradient = ms.jit(ms.grad(long_loop))
    close(gradient(x).asnumpy()[[0, -1]], ms.jit(ms.grad(long_loop))(ends))
    assert temporary_bytes(gradient, x) < 1000 * x.nbytes


def temporary_bytes(run: Any, *args: Tensor) -> int:
    """The scratch memory of the one program of `run`, which ran with these arguments."""
    (entry,) = run.compiled.entries.values()
    return entry.executable.memory(args).temp_size_in_bytes
