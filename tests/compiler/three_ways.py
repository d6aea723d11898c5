"""One program, three ways: in plain numpy, eagerly and compiled; their results side by side."""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mycelia
from mycelia import Tensor
from tests.compiler import reference
from tests.compiler.reference import Array, Watch, watching

ENTRY = "program"
NEAREST_TIE = 1e-4  # a comparison closer than this may go either way by rounding
LARGEST = 1e4
STEP = 1e-6  # of finite differences
_numbers = itertools.count()


@dataclass(frozen=True)
class Inputs:
    """Arguments of a program: a vector, a scalar, a whole number as tensor, two plain numbers."""

    x: tuple[float, ...]
    s: float
    n: int
    k: int
    r: float
    dtype: str = "float64"

    def tensors(self) -> list[Any]:
        x, s = (Tensor(np.array(v, self.dtype)) for v in (self.x, self.s))
        return [x, s, Tensor(np.int64(self.n)), self.k, self.r]

    def arrays(self) -> list[Any]:
        x, s = (Array(np.array(v, self.dtype)) for v in (self.x, self.s))
        return [x, s, Array(np.int64(self.n)), self.k, self.r]


def draw_inputs(rng: random.Random, dtype: str) -> Inputs:
    """Random arguments of moderate size."""

    def number() -> float:
        return round(rng.uniform(-2, 2), 3)

    x = (number(), number(), number())
    return Inputs(x, number(), rng.randint(1, 4), rng.randint(0, 4), number(), dtype)


def load(source: str, **names: Any) -> Callable[..., Any]:
    """The entry function of a program text, which can be read back through linecache."""
    file = f"<generated program {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, file, "exec"), namespace)
    return namespace[ENTRY]


@dataclass(frozen=True)
class Expected:
    """What plain numpy gives: the result with the arguments afterwards, and what was seen."""

    result: Any
    watch: Watch


def run_reference(source: str, inputs: Inputs) -> Expected:
    """The program in plain numpy."""
    fn = load(source, ops=reference.ops)
    with watching() as watch, np.errstate(all="ignore"):
        arguments = inputs.arrays()
        result = fn(*arguments)
    return Expected((result, arguments[:2]), watch)


def is_telling(watch: Watch, smooth: bool) -> bool:
    """Whether a run says something: no near tie, no huge number; `smooth`: no corner either."""
    nearest = min(watch.margin, watch.kink) if smooth else watch.margin
    return nearest > NEAREST_TIE and watch.scale < LARGEST


@dataclass(frozen=True)
class Disagreement:
    """Where two ways differ."""

    what: str
    inputs: Inputs
    expected: Any
    eager: Any
    compiled: Any

    def __str__(self) -> str:
        return (
            f"{self.what}\n  inputs:   {self.inputs}\n  numpy:    {show(self.expected)}\n"
            f"  eager:    {show(self.eager)}\n  compiled: {show(self.compiled)}"
        )


class Subject:
    """A program under test: compiled once, run with several arguments."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.eager = load(source, ops=mycelia.ops)
        self.compiled = mycelia.jit(load(source, ops=mycelia.ops))
        self._gradient = mycelia.grad(self.eager, grad_position=(0, 1))
        self._compiled_gradient = mycelia.jit(
            mycelia.grad(load(source, ops=mycelia.ops), grad_position=(0, 1))
        )

    def check(self, inputs: Inputs, expected: Expected) -> Disagreement | None:
        """The values of all three, and the types of eager and compiled."""
        eager, compiled = (_attempt(fn, inputs) for fn in (self.eager, self.compiled))
        tolerance = 1e-5 * expected.watch.scale
        wrong = ""
        if isinstance(eager, Exception):
            wrong = "eager mode raises"
        elif isinstance(compiled, Exception):
            wrong = "the compiled program raises"
        elif not same(expected.result, eager, tolerance):
            wrong = "eager mode differs from numpy"
        elif not same(eager, compiled, tolerance):
            wrong = "the compiled program differs from eager mode"
        elif kinds(eager) != kinds(compiled):
            wrong = "the types of the compiled program differ from eager mode"
        return Disagreement(wrong, inputs, expected.result, eager, compiled) if wrong else None

    def check_gradient(self, inputs: Inputs, numeric: bool) -> Disagreement | None:
        """The gradients of eager and compiled; `numeric`: also those of finite differences."""
        eager, compiled = (
            _attempt(fn, inputs, with_arguments=False)
            for fn in (self._gradient, self._compiled_gradient)
        )
        differences = finite_differences(self.source, inputs) if numeric else None
        tolerance = 1e-5 if inputs.dtype == "float64" else 1e-3
        wrong = ""
        if isinstance(eager, Exception):
            wrong = "the gradient of eager mode raises"
        elif isinstance(compiled, Exception):
            wrong = "the compiled gradient raises"
        elif not same(eager, compiled, tolerance * _size(eager)):
            wrong = "the compiled gradient differs from eager mode"
        elif kinds(eager) != kinds(compiled):
            wrong = "the types of the compiled gradient differ from eager mode"
        elif differences is not None and not same(differences, eager, 1e-4 * _size(eager)):
            wrong = "the gradient differs from finite differences"
        return Disagreement(wrong, inputs, differences, eager, compiled) if wrong else None


@dataclass(frozen=True)
class Report:
    """What became of one program."""

    runs: int  # how many arguments said something
    gradients: int
    disagreement: Disagreement | None = None


def examine(
    source: str, seed: int | str, gradient: bool, numeric: bool = False, runs: int = 3
) -> Report:
    """Run a program all ways with some random arguments, the same for the same seed."""
    rng = random.Random(seed)
    dtype = "float32" if rng.random() < 0.3 and not numeric else "float64"
    subject = Subject(source)
    done = gradients = 0
    for _ in range(4 * runs):
        inputs = draw_inputs(rng, dtype)
        expected = run_reference(source, inputs)
        if not is_telling(expected.watch, smooth=False):
            continue
        found = subject.check(inputs, expected)
        done += 1
        if found is None and gradient and is_telling(expected.watch, smooth=True):
            found = subject.check_gradient(inputs, numeric)
            gradients += 1
        if found is not None or done == runs:
            return Report(done, gradients, found)
    return Report(done, gradients)


def _attempt(fn: Callable[..., Any], inputs: Inputs, with_arguments: bool = True) -> Any:
    """The result (and the arguments afterwards, which may have been written), or the error."""
    arguments = inputs.tensors()
    try:
        with np.errstate(all="ignore"):
            result = fn(*arguments)
        return (result, arguments[:2]) if with_arguments else result
    except Exception as error:  # any other error is an answer here
        return error


def finite_differences(source: str, inputs: Inputs) -> Any:
    """Central differences of the summed result, or None where a decision changes on the way."""
    fn = load(source, ops=reference.ops)

    def total(x: np.ndarray, s: float) -> tuple[float, list[bool]]:
        with watching() as watch:
            found = fn(Array(x), Array(np.array(s)), *inputs.arrays()[2:])
        return float(np.sum(found.data)), watch.decisions

    x = np.array(inputs.x)
    moves = [(np.eye(len(x))[i] * STEP, 0.0) for i in range(len(x))] + [(0 * x, STEP)]
    found = []
    for dx, ds in moves:
        above, below = total(x + dx, inputs.s + ds), total(x - dx, inputs.s - ds)
        if above[1] != below[1]:
            return None
        found.append((above[0] - below[0]) / (2 * STEP))
    return (Array(np.array(found[:-1])), Array(np.array(found[-1])))


def same(left: Any, right: Any, tolerance: float) -> bool:
    """Whether two results hold the same numbers, in the same containers."""
    if isinstance(left, (tuple, list)):
        return (
            isinstance(right, (tuple, list))
            and len(left) == len(right)
            and all(same(a, b, tolerance) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k], tolerance) for k in left)
    if left is None or right is None:
        return left is right
    one, other = number(left), number(right)
    return one.shape == other.shape and np.allclose(one, other, 1e-5, tolerance, equal_nan=True)


def number(value: Any) -> np.ndarray:
    """A result of any of the three as a numpy array."""
    if isinstance(value, Array):
        return value.data
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


def kinds(value: Any) -> Any:
    """The types of a result: containers, kinds of plain numbers, dtypes of tensors."""
    if isinstance(value, (tuple, list)):
        return (type(value), *[kinds(part) for part in value])
    if isinstance(value, dict):
        return {key: kinds(part) for key, part in value.items()}
    return (str(value.dtype), value.shape) if isinstance(value, Tensor) else type(value)


def show(value: Any) -> str:
    """A result as text."""
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}".replace("\n", "\n            ")
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(show(part) for part in value) + ")"
    if isinstance(value, (Array, Tensor)):
        return f"{number(value)} {number(value).dtype}"
    return repr(value)


def _size(value: Any) -> float:
    """The largest magnitude in a result, at least 1."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return max(1.0, *[float(np.max(np.abs(number(part)), initial=0)) for part in parts])
