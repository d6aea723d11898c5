"""Tensors that are written in branches and loops, and leave them under several names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor


class Holder:
    """An object with attributes."""


def swap_loop(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = x * 2.0
    i = 0 * c
    while i < c:
        a, b = b, a
        a[0] += 1
        i = i + 1
    a[1] = 7
    return a, b


def alias_later(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = a
    i = 0 * c
    while i < c:
        b[1] = b[1] + a[0]
        a = a + 1
        b = a
        i = i + 1
    b[0] = 5
    return a, b


def choose_write(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = x * 2.0
    if c > 1:
        d = a
    else:
        d = b
    d[0] = 9.0
    return a, b, d


def choose_write2(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = x * 2.0
    if c > 1:
        d = a
    else:
        d = b
    a[0] = 9.0
    return b, d


def lists(x: Tensor, c: Tensor) -> Any:
    l1 = [x, x * 2]
    l2 = [x * 3, x * 4]
    if c > 1:
        l = l1
    else:
        l = l2
    l[0] = x * 10
    return l1, l2, l


def lists2(x: Tensor, c: Tensor) -> Any:
    st = [x, x * 2]
    if c > 1:
        st = [x * 3, x]
    st[0] = x * 7
    return st


def append1(x: Tensor, c: Tensor) -> Any:
    l = [x]
    if c > 1:
        l.append(x * 2)
    return l[0]


def append2(x: Tensor, c: Tensor) -> Any:
    l = [x]
    if c > 1:
        l.append(x * 2)
    return l[-1]


def dict_loop(x: Tensor, c: Tensor) -> Any:
    d = {"a": x * 1.0}
    i = 0 * c
    y = x * 2.0
    while i < c:
        d["a"][0] += 1
        d["b"] = d["a"]
        y = d["b"]
        i = i + 1
    y[1] = 4
    return d["a"], y


def view_out(x: Tensor, c: Tensor) -> Any:
    y = x * 1.0
    if c > 1:
        r = y[0:1]
    else:
        r = y[1:2]
    r[0] = 4.0
    return y, r


def view_both(x: Tensor, c: Tensor) -> Any:
    if c > 1:
        y = x * 3.0
        r = y[0:1]
    else:
        y = x * 4.0
        r = y[0:1]
    r[0] = 4.0
    return y, r


def early(x: Tensor, c: Tensor) -> Any:
    b = x * 1.0
    if c > 1:
        b[0] = 3.0
        return b
    b[1] = 4.0
    return b


def early_loop(x: Tensor, c: Tensor) -> Any:
    b = x * 1.0
    for i in range(4):
        b[0] += i
        if b[0] > c:
            return b
    return b * 2


def nested(x: Tensor, c: Tensor) -> Any:
    b = x * 1.0

    def g(t):
        t[0] += 2.0
        return t

    if c > 1:
        r = g(b)
        if c > 2:
            r[1] = 8.0
            s = r
        else:
            s = b * 2
    else:
        r = b
        s = r
    return r, s, b


def args_alias(x: Tensor, c: Tensor) -> Any:
    y = x
    if c > 1:
        y = x * 2
    y[0] = 3.0
    return y


def while_arg(x: Tensor, c: Tensor) -> Any:
    i = c * 0
    while i < c:
        x = x * 2
        i = i + 1
    x[0] = 1.0
    return x


def rec(x: Tensor, c: Tensor) -> Any:
    def f(b, n):
        b[0] += 1.0
        if n > 0:
            return f(b, n - 1)
        return b

    y = x * 1.0
    r = f(y, c)
    r[1] = 0.0
    return y, r


def tup(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = x * 2.0
    t = (a, b)
    if c > 1:
        t[0][0] = 5.0
        t = (b, a)
    return t


def objs(x: Tensor, c: Tensor) -> Any:
    o = Holder()
    o.v = x * 1.0
    p = o
    if c > 1:
        o.v[0] = 5.0
        o.w = o.v
    else:
        o.w = x * 3
    q = o if c > 2 else p
    return o.v, o.w, q.v


def ifexp(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = x * 2.0
    d = a if c > 1 else b
    d += 1
    d[0] = 2.0
    return a, b, d


def aug_alias(x: Tensor, c: Tensor) -> Any:
    a = x * 1.0
    b = a
    if c > 1:
        b += 1
    b[0] = 0.0
    return a, b


PROGRAMS = [
    fn
    for name, fn in list(globals().items())
    if list(getattr(fn, "__annotations__", {})) == ["x", "c", "return"]
]


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)
    else:
        yield value


def numbers(fn: Callable[..., Any], c: int) -> Any:
    """What a program returns, and its argument afterwards."""
    x = Tensor(np.array([1.5, 2], np.float32))
    return [t.asnumpy().tolist() for t in tensors_in((fn(x, Tensor(c)), x))]


def gradient(fn: Callable[..., Any], c: int) -> Any:
    def loss(x: Tensor) -> Tensor:
        found = tensors_in(fn(x * 1, Tensor(c)))
        return sum((i + 1.5) * (t * t).sum() for i, t in enumerate(found))

    return ms.grad(loss)(Tensor(np.array([1.5, 2], np.float32))).asnumpy()


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_written_tensors_leave_branches_and_loops(fn: Callable[..., Any]):
    compiled = ms.jit(fn)
    for c in (0, 1, 3):
        assert numbers(compiled, c) == numbers(fn, c), c
        np.testing.assert_allclose(
            gradient(compiled, c), gradient(fn, c), rtol=1e-6, err_msg=str(c)
        )


def test_one_tensor_given_twice_is_one_tensor():
    def write(x: Tensor, y: Tensor) -> Tensor:
        x[0] = 5.0
        return x + y

    found = []
    for fn in (write, ms.jit(write)):
        t = Tensor(np.array([1, 2], np.float32))
        found.append((fn(t, t).asnumpy().tolist(), t.asnumpy().tolist()))
        found[-1] += (fn(t, t * 1).asnumpy().tolist(),)
    assert found[0] == found[1]


def test_gradients_go_through_functions_that_run_piece_by_piece():
    def decides(x: Tensor) -> Tensor:
        y = x * 2
        if float(y.sum().asnumpy()) > 3:
            y[0] = 7.0
        return (y * y).sum()

    x = Tensor(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(
        ms.grad(ms.jit(decides))(x).asnumpy(), ms.grad(decides)(x).asnumpy()
    )


def test_tensors_keep_their_numbers_when_a_program_cannot_be_made():
    kept = [Tensor(np.array([1, 2], np.float32)), Tensor(np.array([3, 4], np.float32))]

    def write(c: Tensor) -> None:
        if c > 1:
            kept[1] = kept[0]
        kept[1][0] = 9.0

    compiled = ms.jit(write)
    compiled(Tensor(0))
    assert [t.asnumpy().tolist() for t in kept] == [[1, 2], [9, 4]]
    compiled(Tensor(2))
    assert kept[1] is kept[0] and kept[0].asnumpy().tolist() == [9, 2]
