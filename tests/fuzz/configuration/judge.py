"""What is wrong with the results of a problem: other numbers than the reference, or changing ones.

The gradients are compared with differences of the float64 reference along random directions: with F
the weighted sum of the outputs, the derivative of F along W, and the mixed derivative of F along U
and W. One wrong number among ten thousand shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import sqrt

import ml_dtypes
import numpy as np

from tests.fuzz.configuration.results import (
    PARTS,
    Directions,
    Results,
    differentiated,
    is_real,
    leaves,
    litter,
    results,
)
from tests.fuzz.configuration.subject import Problem

GARBAGE = (float("nan"), 1e36)
VALUE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 0.1}
DERIVATIVE = {"float64": 1e-5, "float32": 3e-3, "float16": 0.1, "bfloat16": 0.4}
MODES = {"eager mode": False, "graph mode": True}
_STEP = {1: 1e-6, 2: 3e-4}  # of differences, by part
_SHORTER = 10  # times, where a function bends too much
_HUGE = 1e30
_CANCELLED = 1e-3  # of the scale of the terms: what is left where they cancel is rounding
_Point = tuple[np.ndarray, ...]


def verdict(problem: Problem, dtype: str, seed: int) -> str:
    """What is wrong in either mode, or nothing."""
    with np.errstate(all="ignore"):
        point = _point(problem)
        values = [wide(np.asarray(v)) for v in leaves(problem.reference(*point))]
        dtype = _coarsest(problem, dtype)
        along = _directions(problem, values, dtype, seed)
        wanted = _Wanted(problem, point, along, seed)
        found = {}
        for mode, compiled in MODES.items():
            runs = []
            for garbage in GARBAGE:
                litter(garbage)
                runs.append(results(problem, along, compiled=compiled))
            first, again = runs
            if wrong := _changed(first, again) or wanted.wrong(values, first, dtype):
                return f"{mode}: {wrong}"
            found[mode] = first
        wrong = _apart(*found.values(), dtype, _CANCELLED * wanted.scale)
        return f"graph mode: {wrong}" if wrong else ""


def _point(problem: Problem) -> _Point:
    arrays = [*problem.inputs, *[w.asnumpy() for w in problem.weights]]
    return tuple(a.astype(np.float64) if is_real(a) else a for a in arrays)


def _coarsest(problem: Problem, dtype: str) -> str:
    """The dtype whose tolerances hold: that of the least precise argument."""
    kinds = {str(a.dtype) for a in problem.inputs} | {dtype}
    return max(kinds & VALUE.keys(), key=VALUE.__getitem__)


def wide(array: np.ndarray) -> np.ndarray:
    """Any numbers in double precision."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _directions(problem: Problem, values: list[np.ndarray], dtype: str, seed: int) -> Directions:
    random = np.random.default_rng(seed + 1)

    def like(arrays: list[np.ndarray], kinds: list[np.dtype]) -> tuple[np.ndarray, ...]:
        pairs = zip(arrays, kinds, strict=True)
        return tuple(random.uniform(-1, 1, a.shape).astype(kind) for a, kind in pairs)

    arguments = [problem.inputs[i] for i in differentiated(problem)]
    arguments += [w.asnumpy() for w in problem.weights]
    if not problem.order:
        return Directions((), ())
    kind = arguments[0].dtype if arguments else np.dtype(dtype)
    outputs = like(values, [kind] * len(values))
    return Directions(outputs, like(arguments, [a.dtype for a in arguments]))


class _Wanted:
    """The derivatives of a problem's reference."""

    def __init__(self, problem: Problem, point: _Point, along: Directions, seed: int) -> None:
        self.problem, self.point, self.along = problem, point, along
        self.outputs = tuple(o.astype(np.float64) for o in along.outputs)
        count = len(problem.inputs)
        self.places = [*differentiated(problem), *range(count, len(point))]
        random = np.random.default_rng(seed + 2)
        self.across = [random.uniform(-1, 1, point[i].shape) for i in self.places]
        self.outputs_across = [random.uniform(-1, 1, o.shape) for o in self.outputs]

    def wrong(self, values: list[np.ndarray], found: Results, dtype: str) -> str:
        """What differs from the results that were found."""
        for value, one in zip(values, found[0], strict=True):
            value = _within(value, one.dtype)
            if not _is_near(wide(one), value, VALUE[dtype]):
                return f"the value differs from the reference\n{_difference(one, value)}"
        last = min(self.problem.order, 1) if self.problem.is_kinked else self.problem.order
        if not all(np.isfinite(value).all() for value in values):
            return ""  # no gradient is right there
        for part in range(1, last + 1):
            expected = self.slopes if part == 1 else self.bends
            wrong = self._wrong_derivative(part, found, dtype, expected, _STEP[part])
            if wrong and part == 2:  # perhaps the function bends too much for the step
                step = _STEP[2] / _SHORTER
                wrong = self._wrong_derivative(part, found, dtype, self.extrapolated, step)
            if wrong:
                return wrong
        return ""

    @cached_property
    def slopes(self) -> list[float]:
        return self.first(_STEP[1])

    @cached_property
    def bends(self) -> list[float]:
        return self.second(_STEP[2])

    @cached_property
    def extrapolated(self) -> list[float]:
        """The second derivatives from differences over two steps (Richardson's extrapolation)."""
        pairs = zip(self.second(_STEP[2] / _SHORTER), self.bends, strict=True)
        return [near + (near - far) / (_SHORTER**2 - 1) for near, far in pairs]

    def _wrong_derivative(
        self, part: int, found: Results, dtype: str, expected: list[float], step: float
    ) -> str:
        """Which gradient differs from what differences over a step say."""
        for name, gradient, across, number in self._pairs(part, found, expected):
            if not np.all(np.isfinite(gradient)):
                return f"the {PARTS[part]} is not finite\n{name}"
            products = gradient.astype(np.float64) * across
            room = sqrt(np.sum(products**2)) + _CANCELLED * self.scale + 1e-12
            if abs(products.sum() - number) > DERIVATIVE[dtype] * room + self.noise / step**part:
                detail = f"{name}: {products.sum()} instead of {number}, scale {room}"
                return f"the {PARTS[part]} differs from differences\n{detail}"
        return ""

    def _pairs(
        self, part: int, found: Results, expected: list[float]
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
        """The name of each argument, its gradient, its direction, and the derivative along it."""
        inputs = len(differentiated(self.problem))
        gradients, across = list(found[part]), list(self.across)
        names = [f"argument {i}" for i in range(inputs)]
        names += [f"weight {w.name}" for w in self.problem.weights]
        if part == 2:
            names[inputs:inputs] = [f"output {i}" for i in range(len(self.outputs))]
            across[inputs:inputs] = self.outputs_across
        return zip(names, gradients, across, expected, strict=True)

    @cached_property
    def noise(self) -> float:
        """How far rounding may move the weighted sum of the outputs."""
        values = leaves(self.problem.reference(*self.point))
        return 1e-15 * sum(float(np.sum(np.abs(v * o))) for v, o in zip(values, self.outputs))

    @cached_property
    def scale(self) -> float:
        """The typical size of the weighted sum of the outputs, if all terms were independent."""
        values = leaves(self.problem.reference(*self.point))
        return sqrt(sum(float(np.sum((v * o) ** 2)) for v, o in zip(values, self.outputs)))

    def first(self, step: float) -> list[float]:
        """The derivative of the weighted sum along the direction of each argument."""

        def along(place: int, direction: np.ndarray) -> float:
            return _slope(lambda t: self._sum(self._moved({place: t * direction})), step)

        return [along(*pair) for pair in zip(self.places, self.across, strict=True)]

    def second(self, step: float) -> list[float]:
        """The same of the derivative along all given directions; also along those of outputs."""
        given = dict(zip(self.places, self.along.arguments, strict=True))

        def twice(place: int, direction: np.ndarray) -> float:
            if self.problem.is_linear:
                return 0.0
            return _mixed(
                lambda s, t: self._sum(self._moved(_scaled(given, s), {place: t * direction})),
                step,
            )

        def of_outputs(number: int, direction: np.ndarray) -> float:
            def chosen(t: float) -> float:
                moved = self.problem.reference(*self._moved(_scaled(given, t)))
                return float(np.sum(leaves(moved)[number] * direction))

            return _slope(chosen, _STEP[1])

        found = [twice(*pair) for pair in zip(self.places, self.across, strict=True)]
        inputs = len(differentiated(self.problem))
        found[inputs:inputs] = [of_outputs(*pair) for pair in enumerate(self.outputs_across)]
        return found

    def _moved(self, *moves: dict[int, np.ndarray]) -> _Point:
        point = list(self.point)
        for move in moves:
            for place, change in move.items():
                point[place] = point[place] + change
        return tuple(point)

    def _sum(self, point: _Point) -> float:
        values = leaves(self.problem.reference(*point))
        return sum(float(np.sum(v * o)) for v, o in zip(values, self.outputs, strict=True))


def _scaled(moves: dict[int, np.ndarray], factor: float) -> dict[int, np.ndarray]:
    return {place: factor * np.asarray(change, np.float64) for place, change in moves.items()}


def _slope(fn: Callable[[float], float], step: float) -> float:
    return (fn(step) - fn(-step)) / (2 * step)


def _mixed(fn: Callable[[float, float], float], step: float) -> float:
    return _slope(lambda s: _slope(lambda t: fn(s, t), step), step)


def _changed(first: Results, again: Results) -> str:
    """Which part differs in its bits between two calls."""
    for name, one, other in zip(PARTS, first, again, strict=True):
        for a, b in zip(one, other, strict=True):
            if a.tobytes() != b.tobytes():
                return f"the {name} differs between two calls\n{_difference(a, b)}"
    return ""


def _apart(eager: Results, compiled: Results, dtype: str, least: float) -> str:
    """Which part of the two modes differs; derivatives are compared as if they reached `least`."""
    for name, one, other in zip(PARTS, eager, compiled, strict=True):
        for a, b in zip(one, other, strict=True):
            if a.dtype != b.dtype or a.shape != b.shape:
                kinds = f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
                return f"the type of the {name} differs from eager mode\n{kinds}"
            floor = 0.0 if name == PARTS[0] else least
            if not _is_near(wide(b), wide(a), DERIVATIVE[dtype], floor):
                return f"the {name} differs from eager mode\n{_difference(a, b)}"
    return ""


def _is_near(found: np.ndarray, wanted: np.ndarray, tolerance: float, least: float = 0.0) -> bool:
    """Whether all numbers are near, measured by the largest one, or by `least`."""
    if found.shape != wanted.shape:
        return False
    found, wanted = _without_limits(found), _without_limits(wanted)
    largest = np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted))
    return np.allclose(found, wanted, 0, tolerance * max(largest, least) + 1e-12, equal_nan=True)


def _within(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The numbers as a narrower dtype holds them: infinite beyond its largest one."""
    largest = float(ml_dtypes.finfo(dtype).max) if is_real(np.empty(0, dtype)) else np.inf
    return np.where(np.abs(array) > largest, np.sign(array) * np.inf, array)


def _without_limits(array: np.ndarray) -> np.ndarray:
    """The largest numbers of each dtype, which stand for infinity, as infinity."""
    return np.where(np.abs(array) > _HUGE, np.sign(array) * np.inf, array)


def _difference(one: np.ndarray, other: np.ndarray) -> str:
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    a, b = wide(one), wide(other)
    apart = np.nan_to_num(np.abs(a - b), nan=np.inf) * ~(np.isnan(a) & np.isnan(b))
    place = np.unravel_index(np.argmax(apart), apart.shape) if apart.size else ()
    return f"at {tuple(map(int, place))} of {one.shape}: {a[place]} and {b[place]}"
