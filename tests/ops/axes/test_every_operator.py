"""The axes claimed for every registered operator, checked on its examples.

Whether parts are independent shows without cutting anything: other numbers in one part of the
inputs must not change the other parts of the outputs; and terms that add up do so in any mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import mycelia  # noqa: F401  (registers every operator)
from mycelia._engine.ir.example import Case
from mycelia._engine.operators.axes import Axis, axes_of, unknown_primitives
from mycelia._engine.operators.operator import REGISTRY, Op
from tests.ops.axes.examples import COMBINE, Example, alike, parts_of, piece, rest
from tests.ops.axes.listed import DIVIDED, NUMBERED, RESIZED

OPERATORS = {name: op for name, op in sorted(REGISTRY.items()) if op.examples and not op.host_only}


def _cases() -> list[Any]:
    """Two of three operators, and the second and later examples, are for slow runs only."""
    return [
        pytest.param(
            op, example, id=f"{name}-{number}", marks=[pytest.mark.slow] * (number + place % 3 > 0)
        )
        for place, (name, op) in enumerate(OPERATORS.items())
        for number, example in enumerate(op.examples)
    ]


@pytest.mark.parametrize(("cls", "case"), _cases())
def test_parts_are_independent(cls: type[Op], case: Case):
    example = Example(cls, case)
    first, second = example.arrays(0), example.arrays(1)
    for axis in axes_of(example.op, example.types).axes:
        if not axis.inner:
            _check_independence(example, axis, first, second)


def _check_independence(
    example: Example, axis: Axis, first: list[np.ndarray], second: list[np.ndarray]
) -> None:
    parts = parts_of(axis.divides)
    (aa, ab), (ba, bb) = (
        [example.run(_mixed(axis, first, head, tail, parts)) for tail in (first, second)]
        for head in (first, second)
    )
    outputs, combined = dict(axis.outputs), dict(axis.combined)
    for leaf, (one, two, three, four) in enumerate(zip(aa, ab, ba, bb, strict=True)):
        if leaf in outputs:
            head = piece(one, outputs[leaf], 0, parts)
            tail = rest(one, outputs[leaf], parts)
            same = alike(one[head], two[head]) and alike(three[head], four[head])
            assert same and alike(one[tail], three[tail]) and alike(two[tail], four[tail]), axis
        elif leaf in combined:
            together = COMBINE[combined[leaf]]
            assert alike(together(one, four), together(two, three)), axis
        else:
            assert all(alike(one, other) for other in (two, three, four)), axis


def _mixed(
    axis: Axis,
    plain: list[np.ndarray],
    head: list[np.ndarray],
    tail: list[np.ndarray],
    parts: int,
) -> list[np.ndarray]:
    """Arrays whose first part along the axis is from `head`, and whose other parts from `tail`."""
    mixed = list(plain)
    for leaf, dimension in axis.inputs:
        mixed[leaf] = tail[leaf].copy()
        place = piece(mixed[leaf], dimension, 0, parts)
        mixed[leaf][place] = head[leaf][place]
    return mixed


@pytest.mark.parametrize(("cls", "case"), _cases())
def test_positions_apart_know_nothing_of_each_other(cls: type[Op], case: Case):
    """Along such an axis, an operator can be run for some positions only."""
    example = Example(cls, case)
    arrays = example.arrays(0)
    axes = [axis for axis in axes_of(example.op, example.types).axes if axis.apart]
    for axis in axes if not cls.draws else ():
        reason = _compare_parts(example, axis, arrays, example.run(arrays))
        assert reason in ("equal", "resized"), axis


@pytest.mark.slow
def test_parts_run_apart_give_the_whole():
    """The kernel run on each part alone; where it cannot be, the operator is listed, with why."""
    found: dict[str, set[str]] = {}
    checked = 0
    for name, op in OPERATORS.items():
        example = Example(op, op.examples[0])
        arrays = example.arrays(0)
        whole = example.run(arrays)
        for axis in axes_of(example.op, example.types).axes:
            if not axis.inner:
                reason = _compare_parts(example, axis, arrays, whole)
                found.setdefault(reason, set()).add(name)
                checked += 1
    assert found["resized"] == RESIZED
    assert found["divided"] == DIVIDED
    assert found["numbered"] == NUMBERED
    print(f"{checked} axes cut, of {len(OPERATORS)} operators")


def _compare_parts(
    example: Example, axis: Axis, arrays: list[np.ndarray], whole: Sequence[np.ndarray]
) -> str:
    parts = parts_of(axis.divides)
    try:
        runs = [example.run(_part(axis, arrays, number, parts)) for number in range(parts)]
    except (TypeError, ValueError, IndexError, NotImplementedError):
        return "resized"
    outputs, combined = dict(axis.outputs), dict(axis.combined)
    reasons = set()
    for leaf, (expected, *pieces) in enumerate(zip(whole, *runs, strict=True)):
        if expected.ndim != pieces[0].ndim:
            return "resized"
        if leaf in outputs:
            found = np.concatenate(pieces, outputs[leaf])
        elif leaf in combined:
            found = _together(combined[leaf], pieces)
        else:
            found = pieces[0]
        if found.shape != expected.shape:
            return "resized"
        if not alike(found, expected):
            mean = combined.get(leaf) == "sum" and alike(found, parts * expected)
            reasons.add("divided" if mean else "numbered")
    return max(reasons, default="equal")


def _part(axis: Axis, arrays: list[np.ndarray], number: int, parts: int) -> list[np.ndarray]:
    found = list(arrays)
    for leaf, dimension in axis.inputs:
        found[leaf] = found[leaf][piece(found[leaf], dimension, number, parts)]
    return found


def _together(kind: str, pieces: Sequence[np.ndarray]) -> np.ndarray:
    found = pieces[0]
    for one in pieces[1:]:
        found = COMBINE[kind](found, one)
    return found


def test_nearly_every_operator_has_an_axis():
    cuttable = [
        name
        for name, op in OPERATORS.items()
        if any(axes_of(op(**case.fields), case.types()).axes for case in op.examples)
    ]
    assert len(cuttable) / len(OPERATORS) >= 0.96
    assert unknown_primitives() <= {"pure_callback"}
