"""Line search for the strong Wolfe conditions.

Algorithms 3.5 and 3.6 of Nocedal and Wright (2006), "Numerical Optimization".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.errors import wrong_type
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.grad import value_and_grad


class LineSearchResults(NamedTuple):
    """Whether the search failed, evaluation counts, and the step with its value and gradient."""

    failed: bool
    nit: int
    nfev: int
    ngev: int
    k: int
    a_k: float
    f_k: Any
    g_k: Any
    status: int


class Point(NamedTuple):
    """A step size with its function value, directional derivative, and gradient."""

    step: float
    value: float
    slope: float
    gradient: Any


@dataclass
class LineFunction:
    """A function restricted to a line, with a counter of evaluations."""

    evaluate: Callable[[Any], tuple[Any, Any]]
    start: Any
    direction: Any
    calls: int = field(default=0)

    def at(self, step: float) -> Point:
        self.calls += 1
        value, gradient = self.evaluate(self.start + step * self.direction)
        return Point(step, float(value), float((gradient * self.direction).sum()), gradient)


def line_search(
    f: Callable[..., Any],
    xk: Any,
    pk: Any,
    jac: Callable[..., Any] | None = None,
    gfk: Any = None,
    old_fval: Any = None,
    old_old_fval: Any = None,
    c1: float = 1e-4,
    c2: float = 0.9,
    maxiter: int = 20,
) -> LineSearchResults:
    """Find a step along `pk` from `xk` that satisfies the strong Wolfe conditions (c1, c2)."""
    for name, value in (("xk", xk), ("pk", pk)):
        if not isinstance(value, Tensor):
            raise wrong_type("line_search", name, value, "Tensor")
    check_positive_int("line_search", "maxiter", maxiter)
    line = LineFunction(evaluator(f, jac), xk, pk)
    if gfk is None or old_fval is None:
        begin = line.at(0.0)
    else:
        begin = Point(0.0, float(old_fval), float((gfk * pk).sum()), gfk)
    return search(line, begin, c1, c2, maxiter)


def evaluator(f: Callable[..., Any], jac: Callable[..., Any] | None) -> Callable[[Any], Any]:
    """A function that returns the value and the gradient at a point."""
    return value_and_grad(f) if jac is None else lambda x: (f(x), jac(x))


def search(
    line: LineFunction, begin: Point, c1: float, c2: float, maxiter: int
) -> LineSearchResults:
    """Increase the step until it brackets a valid one, then narrow the bracket (zoom)."""
    last, best, count = begin, None, 0
    step = 1.0
    while count < maxiter and best is None:
        count += 1
        here = line.at(step)
        if _too_high(here, begin, c1) or (count > 1 and here.value >= last.value):
            best = _narrowed(line, last, here, begin, c1, c2, maxiter)
            break
        if abs(here.slope) <= -c2 * begin.slope:
            best = here
        elif here.slope >= 0:
            best = _narrowed(line, here, last, begin, c1, c2, maxiter)
            break
        last, step = here, 2.0 * step
    failed = best is None
    found = last if best is None else best
    return LineSearchResults(
        failed, count, line.calls, line.calls, count, found.step, found.value, found.gradient,
        int(failed),
    )  # fmt: skip


def _too_high(here: Point, begin: Point, c1: float) -> bool:
    return not here.value <= begin.value + c1 * here.step * begin.slope


def _narrowed(
    line: LineFunction, low: Point, high: Point, begin: Point, c1: float, c2: float, maxiter: int
) -> Point | None:
    """Zoom: find a valid step between two points; None if the iterations run out."""
    for _ in range(maxiter):
        here = line.at(_between(low, high))
        if _too_high(here, begin, c1) or here.value >= low.value:
            high = here
            continue
        if abs(here.slope) <= -c2 * begin.slope:
            return here
        if here.slope * (high.step - low.step) >= 0:
            high = low
        low = here
    return low if not _too_high(low, begin, c1) and low.step > 0 else None


def _between(low: Point, high: Point) -> float:
    """The minimum of the parabola through both points, or the midpoint if it is near an end."""
    width = high.step - low.step
    bend = high.value - low.value - low.slope * width
    guess = low.step - 0.5 * low.slope * width**2 / bend if bend > 0 else float("nan")
    share = (guess - low.step) / width
    return guess if 0.1 < share < 0.9 else low.step + 0.5 * width
