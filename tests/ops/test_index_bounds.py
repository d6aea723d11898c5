"""Every operator with bounds, from its own declaration: numbers below, at and above the limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor
from mycelia._engine.core.errors import IndexOutOfRangeError
from mycelia._engine.ir.example import Case
from mycelia._engine.operators.index_bounds import IndexBound, names
from mycelia._engine.operators.operator import REGISTRY, Op

Call = Callable[..., Any]


def _numbers(bound: IndexBound, args: tuple[Any, ...]) -> np.ndarray:
    place = bound.place
    return np.asarray(args[place[0]][place[1]] if isinstance(place, tuple) else args[place])


def _declared() -> list[Any]:
    """One example of each operator with bounds in which there is something to check."""
    found: dict[str, Any] = {}
    for name, cls in sorted(REGISTRY.items()):
        for example in cls.examples if cls.bounds is not None else ():
            op, args = cls(**example.fields), example.arrays()
            if any(_numbers(b, args).size for b in op.bounds(*args)):  # type: ignore[misc]
                found.setdefault(name, pytest.param(op, example, id=name))
    return list(found.values())


def test_all_operators_with_bounds_are_here() -> None:
    declared = {name for name, cls in REGISTRY.items() if cls.bounds is not None}
    assert {p.id for p in _declared()} == declared
    assert len(declared) > 60


@pytest.mark.parametrize(("op", "example"), _declared())
@pytest.mark.parametrize("on_device", [False, True])
def test_calls_refuse_the_first_number_beyond_each_limit(
    op: Op, example: Case, on_device: bool
) -> None:
    args = example.arrays()
    call = _call(op, op.arguments.split(args)[1])
    for bound in _bounds(op, args):
        for number in _beyond(bound):
            with pytest.raises(IndexOutOfRangeError, match=_message(op, bound, number)):
                _run(call, op, _with_number(args, bound, number), on_device)
        for number in _within(bound):
            _run(call, op, _with_number(args, bound, number), on_device)


@pytest.mark.parametrize(("op", "example"), _declared())
def test_programs_refuse_the_same_numbers_and_give_the_same_results_as_without_checks(
    op: Op, example: Case
) -> None:
    args = example.arrays()
    compiled = ms.jit(_call(op, op.arguments.split(args)[1]))
    right = [_with_number(args, b, n) for b in _bounds(op, args) for n in _within(b)]
    checked = [_run(compiled, op, given) for given in right]
    for bound in _bounds(op, args):
        for number in _beyond(bound):
            with pytest.raises(IndexOutOfRangeError, match=_message(op, bound, number)):
                _run(compiled, op, _with_number(args, bound, number))
    ms.set_context(check_indices=False)
    for found, given in zip(checked, right, strict=True):
        unchecked = found if op.draws else _run(compiled, op, given)
        for one, other in zip(found, unchecked, strict=True):
            np.testing.assert_array_equal(one, other)


def _bounds(op: Op, args: tuple[Any, ...]) -> Iterator[IndexBound]:
    """The bounds for which there is something to check."""
    return (b for b in op.bounds(*args) if _numbers(b, args).size)  # type: ignore[misc]


def _message(op: Op, bound: IndexBound, number: int) -> str:
    """The operator and its argument, the number, the last one that is right, the line of `call`."""
    owner, argument = names(op, bound)
    last = "size of its axis" if not isinstance(bound.high, int) else rf"to {bound.high - 1}\b"
    last = "from 0" if bound.high is None else last
    start = rf"^{owner}: an? {bound.kind} is out of range"
    line = r"test_index_bounds\.py:\d+ in call\n      return op\("
    return rf"{start}\n.* {re.escape(argument)}.* = {number}\b.*\n.*{last}.*\n\n  {line}"


def _call(op: Op, static: tuple[Any, ...]) -> Call:
    """The operator as a function of its data arguments."""

    def call(*data: Any) -> Any:
        return op(*op.arguments.merge(data, static))

    return call


def _run(call: Call, op: Op, args: tuple[Any, ...], on_device: bool = True) -> list[np.ndarray]:
    """All that a call gives and changes."""
    given = [_tensor(a, on_device) for a in op.arguments.split(args)[0]]
    for place, name in enumerate(op.arguments.data_names):
        if name in op.writes:
            given[place] = Parameter(given[place])
    return _arrays((call(*given), given))


def _tensor(value: Any, on_device: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_tensor(v, on_device) for v in value)
    if not isinstance(value, np.ndarray):
        return value
    return Tensor._wrap(jax.numpy.array(value)) if on_device else Tensor(value)


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in _arrays(v)]
    return [value.asnumpy()] if isinstance(value, Tensor) else []


def _with_number(args: tuple[Any, ...], bound: IndexBound, number: int) -> tuple[Any, ...]:
    """The arguments with the first number that a bound is about replaced, the others harmless."""
    numbers = np.full_like(_numbers(bound, args), max(bound.low or 0, 0))
    numbers[(0,) * numbers.ndim] = number
    found = list(args)
    if isinstance(bound.place, tuple):
        place, part = bound.place
        found[place] = (*found[place][:part], numbers, *found[place][part + 1 :])
    else:
        found[bound.place] = numbers
    for place in bound.beside:  # lengths, so that all is counted
        found[place] = np.full_like(found[place], numbers.shape[-1])
    return tuple(found)


def _limits(bound: IndexBound) -> tuple[int | None, int | None]:
    return bound.low, bound.high[0] if isinstance(bound.high, tuple) else bound.high


def _beyond(bound: IndexBound) -> list[int]:
    low, high = _limits(bound)
    found = [*([] if low is None else [low - 1]), *([] if high is None else [high])]
    return [n for n in found if n != bound.extra]


def _within(bound: IndexBound) -> list[int]:
    low, high = _limits(bound)
    extra = [] if bound.extra is None else [bound.extra]
    return [-7 if low is None else low, *([] if high is None else [high - 1]), *extra]
