"""Views in compiled programs: the same numbers as in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


def through_a_subscript(x: Tensor) -> Any:
    y = x * 1
    y[0][1] = 5
    return y


def through_a_name(x: Tensor) -> Any:
    y = x * 1
    row = y[0]
    row[1] = x[1, 1] * 2
    return y, row


def through_a_reshape(x: Tensor) -> Any:
    y = x * 1
    y.view(-1)[0:2] = 1
    return y * y


def through_a_transpose(x: Tensor) -> Any:
    y = x * 1
    turned = y.T
    turned[0] += 9
    y[1] = x[0]
    return y, turned


def siblings(x: Tensor) -> Any:
    y = x * 1
    row, flat, parts = y[0], y.view(-1), y.split(1)
    parts[0].mul_(3)
    row[2] = 0
    return y, row, flat, parts


def rows_of_a_loop(x: Tensor) -> Any:
    y = x * 1
    for row in y:
        row[0] = row[1] * 2
    return y


def in_a_branch(x: Tensor) -> Any:
    y = x * 1
    row, flat = y[0], y.view(-1)
    if x.sum() > 0:
        row[0] = 7
    else:
        flat[5] = 8
    return y, row, flat


def in_a_loop(x: Tensor) -> Any:
    y = x * 1
    row, turned = y[1], y.T
    while row[0] * row[0] < 1600:
        row[0] = row[0] * 2
        turned[1] += row[0]
    return y, row, turned


def of_an_argument(x: Tensor) -> Any:
    x[0][1] = 5
    x.T[2] = 0
    return x * 2


def of_constants(x: Tensor) -> Any:
    table = Tensor(np.zeros((2, 3), np.float32))
    table[0][1] = x[0, 0]
    row = table[1]
    row[0] = 3
    return table, row


PROGRAMS = [
    through_a_subscript, through_a_name, through_a_reshape, through_a_transpose, siblings,
    rows_of_a_loop, in_a_branch, in_a_loop, of_an_argument, of_constants,
]  # fmt: skip


def same(left: Any, right: Any) -> None:
    if isinstance(left, (tuple, list)):
        for one, other in zip(left, right, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(left.asnumpy(), right.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_a_program_writes_through_views_as_eager_mode(program: Callable[..., Any], sign: int):
    given, expected = Tensor(NUMBERS * sign), Tensor(NUMBERS * sign)
    same(ms.jit(program)(given), program(expected))
    same(given, expected)


@pytest.mark.parametrize("program", PROGRAMS[:-2], ids=lambda fn: fn.__name__)
def test_gradients_flow_through_written_views(program: Callable[..., Any]):
    def total(x: Tensor) -> Tensor:
        found = program(x)
        first = found[0] if isinstance(found, tuple) else found
        last = found[-1][-1] if isinstance(found, tuple) else found
        return (first * first).sum() + (last * 3).sum()

    x = Tensor(NUMBERS)
    same(ms.jit(ms.grad(total))(x), ms.grad(total)(x))


class Memory(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.p = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="p")
        self.row = None

    def construct(self, x: Tensor) -> Tensor:
        self.p[0][1] = x[0]
        flat = self.p.view(-1)
        flat[5] += 1
        return flat * 2


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_program_writes_parameters_through_views(mode: int):
    net = Memory()
    outside = net.p[:, 1:]
    ms.set_context(mode=mode)
    try:
        for step in range(3):
            found = net(Tensor([float(step)]))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert net.p.asnumpy().tolist() == [[0, 2, 0], [0, 0, 3]]
    assert found.asnumpy().tolist() == [0, 4, 0, 0, 0, 6]
    assert outside.asnumpy().tolist() == [[2, 0], [0, 3]]


def test_a_program_sees_views_made_outside_as_they_are_now():
    p = Parameter(Tensor([1.0, 2.0, 3.0]), name="p")
    end = p[1:]

    @ms.jit
    def step(x: Tensor) -> Tensor:
        ops.assign_add(p, x)
        return end * 1

    ones = Tensor([1.0, 1.0, 1.0])
    assert step(ones).asnumpy().tolist() == [3, 4]
    assert end.asnumpy().tolist() == [3, 4]
    p[2] = 0
    assert step(ones).asnumpy().tolist() == [4, 1]

    @ms.jit
    def write() -> Tensor:
        end[0] = 9
        return p * 1

    assert write().asnumpy().tolist() == [3, 9, 1]
    assert p.asnumpy().tolist() == [3, 9, 1] and end.asnumpy().tolist() == [9, 1]


def test_a_program_writes_a_view_that_it_is_given():
    x = Tensor(NUMBERS)
    row, flat = x[1], x.view(-1)

    @ms.jit
    def write(part: Tensor) -> Tensor:
        part[0] = 50
        return part * 1

    assert write(row).asnumpy().tolist() == [50, 5, 6]
    assert x.asnumpy().tolist() == [[1, 2, 3], [50, 5, 6]]
    assert row.asnumpy().tolist() == [50, 5, 6] and flat.asnumpy()[3] == 50


def test_arguments_that_share_elements_are_refused_where_one_is_written():
    x = Tensor(NUMBERS)
    row = x[1]

    @ms.jit
    def write(whole: Tensor, part: Tensor) -> Tensor:
        whole[1] = 0
        return part * 1

    with pytest.raises(RuntimeError, match="shares elements"):
        write(x, row)
    assert x.asnumpy().tolist() == NUMBERS.tolist()
    assert write(x, row.copy()).asnumpy().tolist() == [4, 5, 6]
