"""Containers, subscripts, text, exceptions and patterns give what they give without the compiler."""

# ruff: noqa: RUF005, RUF007, C416, UP031, UP032
# All ways of writing are tested, also those one would not choose.

from __future__ import annotations

import linecache
import math
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

from .compare import equal, same

X = Tensor([1.0, 2.0, 3.0])
ONE, TWO = Tensor(1.0), Tensor(2.0)


# ---- comprehensions -----------------------------------------------------------------------------


def test_comprehensions():
    def f(x):
        rows = [x * i for i in range(4) if i != 2]
        table = {f"k{i}": x + i for i in range(3)}
        numbers = {i % 3 for i in range(10)}
        grid = [[x * i + j for j in range(2)] for i in range(2)]
        flat = [i * j for i in range(3) for j in range(i) if (i + j) % 2]
        total = sum(y * y for y in rows)
        unpacked = [a - b for a, b in zip(rows, rows[1:])]
        return rows, table, numbers, grid, flat, total, unpacked

    same(f, X)


def test_variables_of_comprehensions_stay_inside():
    def f(x):
        i = x
        doubled = [i * 2 for i in range(3)]
        functions = [lambda y, k=k: y * k for k in (1, 2)]
        return i, doubled, [g(x) for g in functions]

    same(f, X)


def test_unpacked_variables_of_comprehensions_stay_inside():
    def f(x, value):
        pairs = {"a": 2, "b": 3}
        kept = {name: value for name, value in pairs.items() if value > 2}
        firsts = [value for value, *x in ((1, 2, 3), (4, 5, 6))]
        return x + value, kept, firsts

    same(f, X, X)


def test_walrus():
    def f(x):
        if (y := x * 2).sum() > 10:
            return y
        kept = [last := x * i for i in range(3)]
        return (z := y + 1) * z + last + kept[1]

    same(f, X)
    same(f, X * 0)


# ---- containers ---------------------------------------------------------------------------------


def test_lists_and_their_methods():
    def f(x):
        items = [x, x * 2]
        items.append(x * 3)
        items.extend([x * 4, x * 5])
        items.insert(0, x * 6)
        last = items.pop()
        first = items.pop(0)
        items.reverse()
        copied = items.copy()
        copied.clear()
        return items, last, first, copied, items[1:], items[::-1], len(items), [1, 2].index(2)

    same(f, X)


def test_dicts_and_their_methods():
    def f(x):
        table = {"a": x, "b": x * 2}
        table["c"] = x * 3
        table.update(d=x * 4)
        table.setdefault("e", x * 5)
        gone = table.pop("a")
        found = table.get("b"), table.get("z", x * 9)
        pairs = [(key, value) for key, value in table.items()]
        return gone, found, pairs, list(table.keys()), list(table.values()), "b" in table, table

    same(f, X)


def test_sets_and_tuples():
    def f(x):
        names = {"a", "b"}
        names.add("c")
        pair = (x, x * 2) + (x * 3,)
        return sorted(names), pair, pair * 2, pair[-1], (1, 2, 1).count(1), "a" in names

    same(f, X)


def test_slices_and_fancy_indexing():
    def f(x, i):
        rows = x[[0, 2]], x[Tensor([1, 0])], x[ops.arange(2)], x[i]
        parts = x[..., 1:], x[:, None], x[::2], x[-1], x[1, 2], x[0][i], x[i, 1:]
        return rows, parts

    same(f, Tensor(np.arange(9.0).reshape(3, 3)), Tensor(1, ms.int32))


def test_assigned_items_of_a_tensor():
    def f(x, i):
        y = x * 1
        y[0] = 5.0
        y[1:] = y[1:] * 2
        y[i] += 7
        y[Tensor([0, 1])] = x[1:]
        return y

    same(f, X, Tensor(2, ms.int32))


def test_assigned_items_inside_branches_and_loops():
    def f(x):
        y = x * 0
        i = 0
        while y.sum() < 10:
            y[i % 3] = x[i % 3] * (i + 1)
            i += 1
        if y[0] > 2:
            y[1:] = -1.0
        return y

    same(f, X)


def test_named_tuples():
    class Pair(NamedTuple):
        left: Tensor
        right: Tensor

    def f(pair):
        left, right = pair
        return Pair(right, left + 1), pair._replace(left=pair.right), pair[0] + pair.right

    same(f, Pair(X, X * 2))


# ---- text, assertions, errors -------------------------------------------------------------------


def test_f_strings():
    def f(x):
        name = f"{1 + 1:>4}|{'a'!r}|{x.shape}|{3.14159:.{2}f}"
        return name, "%d-%s" % (1, "b"), "{}+{}".format(1, x.ndim), "a,b".split(","), "-".join("ab")

    same(f, X)


def test_assertions_on_known_values():
    def f(x):
        assert x.ndim == 1, f"one axis, not {x.ndim}"
        return x

    same(f, X)
    with pytest.raises(AssertionError, match="one axis, not 2"):
        ms.jit(f)(Tensor([[1.0]]))


def test_assertions_on_tensors():
    def f(x):
        assert x > 0, "positive"
        return x * 2

    equal(ms.jit(f)(ONE), TWO)
    with pytest.raises(AssertionError, match="positive"):
        ms.jit(f)(-ONE)


def test_raise_in_a_branch():
    def f(x):
        if x < 0:
            raise ValueError("negative")
        return x * 2

    equal(ms.jit(f)(ONE), TWO)
    with pytest.raises(ValueError, match="negative"):
        ms.jit(f)(-ONE)


def test_try_except_else_finally():
    def f(x, key):
        trace = []
        try:
            value = {"a": x}[key]
        except (KeyError, IndexError) as error:
            trace.append(f"missing {error.args[0]}")
            value = -x
        else:
            trace.append("found")
        finally:
            trace.append("done")
        return value, trace

    same(f, X, "a")
    same(f, X, "b")


def test_errors_that_are_raised_again():
    def f(x):
        try:
            try:
                raise ValueError("inner")
            except ValueError as error:
                raise TypeError("outer") from error
        except TypeError as error:
            return x, str(error), str(error.__cause__)

    same(f, X)


def test_with():
    class Doubling:
        def __enter__(self):
            return 2

        def __exit__(self, *error):
            return False

    def f(x):
        with Doubling() as two, nullcontext(3) as three:
            x = x * two + three
        with nullcontext():
            return x

    same(f, X)


# ---- match --------------------------------------------------------------------------------------


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def matched(value, x):
    match value:
        case 1 | 2:
            return x
        case "text":
            return x * 2
        case None:
            return x * 3
        case [a, b]:
            return x * a + b
        case [a, *rest] if len(rest) > 2:
            return x * a + len(rest)
        case {"scale": scale, **others}:
            return x * scale + len(others)
        case Point(0, y=y):
            return x + y
        case Point(a, b):
            return x * a - b
        case int() | float() as number:
            return x + number
        case _:
            return -x


SUBJECTS = [1, 2, "text", None, (5, 6), [7, 8, 9, 10], (1, 2, 3), {"scale": 4, "k": 1}, 30, 2.5]


@pytest.mark.parametrize("place", range(len(SUBJECTS) + 3))
def test_match(place):
    subjects = [*SUBJECTS, Point(0, 3), Point(4, 5), ()]

    def f(x):
        return matched(subjects[place], x)

    same(f, X)


def test_match_on_a_run_time_value():
    def f(x, n):
        match n:
            case 0:
                return x
            case 1 | 2:
                return x * 2
            case k if k > 5:
                return x * 3
        return -x

    for n in (0, 1, 2, 4, 7):
        same(f, X, Tensor(n, ms.int32))


# ---- where the source comes from ------------------------------------------------------------------


SOURCE = "def made(x):\n    while x < 10:\n        x = x * 2\n    return x\n"


def test_source_found_through_linecache():
    name = "<notebook cell 1>"
    linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(True), name)
    scope = {}
    exec(compile(SOURCE, name, "exec"), scope)
    same(scope["made"], TWO)


def test_source_given_as_text():
    scope = {"__source__": SOURCE}
    exec(SOURCE, scope)
    same(scope["made"], TWO)
    bare = {}
    exec(SOURCE, bare)
    bare["made"].__source__ = SOURCE
    same(bare["made"], TWO)


def test_imports_inside():
    def f(x):
        import math as m
        import os.path
        from functools import reduce

        return x * m.pi, reduce(lambda a, b: a + b, (x, x)), os.path.basename("a/b")

    same(f, X)


def test_math_and_numpy_on_known_values():
    def f(x):
        weights = np.linspace(0, 1, x.shape[0]).astype(np.float32)
        return x * Tensor(weights) * float(np.sum(weights)) * math.sqrt(4), int(np.prod(x.shape))

    same(f, X)
