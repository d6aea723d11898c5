"""Assignments, branches, loops and functions give what they give without the compiler."""

# ruff: noqa: F842, B008
# All ways of writing are tested, also those one would not choose.

from __future__ import annotations

import functools

import pytest

import mycelia as ms
from mycelia import Tensor, ops

from .compare import same

X = Tensor([1.0, 2.0, 3.0])
ONE, TWO = Tensor(1.0), Tensor(2.0)


# ---- assignments --------------------------------------------------------------------------------


def test_assignments_and_unpacking():
    def f(x):
        a = b = x + 1
        c, d = x, a
        (e, f), [g, h] = (a, b), [c, d]
        c, d = d, c
        first, *middle, last = (a, b, c, d)
        *front, end = [e, f, g]
        return a, b, c, d, h, first, middle, last, front, end

    same(f, X)


def test_a_tensor_is_unpacked_along_its_first_axis():
    def f(x):
        a, b, c = x
        first, *rest = x
        return a * b - c + first, rest

    same(f, X)


def test_starred_in_displays_and_calls():
    def three(a, b, c=1):
        return a - b * c

    def f(x):
        parts = [x, x + 1]
        options = {"c": x * 2}
        return [*parts, *parts], (*parts, x), {**options, "d": x}, three(*parts, **options)

    same(f, X)


def test_augmented_assignment_of_every_operator():
    def f(x):
        n = x.ndim + 2
        x += 1
        x -= 3
        x *= 2
        x /= 4
        x **= 2
        x //= 0.3
        x %= 5
        n <<= 2
        n >>= 1
        n |= 5
        n &= 13
        n ^= 2
        return x, n

    same(f, X)


def test_augmented_matrix_product():
    def f(x, y):
        x @= y
        return x

    matrix = Tensor([[1.0, 2.0], [3.0, 4.0]])
    same(f, matrix, matrix)


def test_augmented_assignment_of_items_and_attributes():
    class Box:
        def __init__(self, held):
            self.held = held

    def f(x):
        box, items, table = Box(x), [x, x], {"a": x}
        box.held += 1
        items[1] *= 3
        table["a"] -= 2
        items += [x]
        return box.held, items, table

    same(f, X)


def test_annotated_assignment():
    def f(x):
        y: Tensor = x * 2
        z: int
        return y

    same(f, X)


def test_del():
    def f(x):
        y, items, table = x + 1, [x, x * 2, x * 3], {"a": x, "b": x}
        z = y * 2
        del y, items[0], table["a"]
        return z, items, table

    same(f, X)


# ---- branches -----------------------------------------------------------------------------------


def chain(x):
    if x > 3:
        y = x * 2
    elif x > 2:
        y = x - 1
    elif x > 1:
        y = x / 4
    else:
        y = -x
    return y


@pytest.mark.parametrize("x", [4.0, 2.5, 1.5, 0.0])
def test_a_chain_of_branches(x):
    same(chain, Tensor(x))


def test_conditional_expressions_and_logic():
    def f(x, y):
        a = x if x > y else y
        b = 1 if not x > y else 2
        c = x > 0 and y > 0
        d = x > 3 or y > 3
        e = 0 < x <= y < 10
        return a, b, c, d, e

    for x, y in ((1.0, 2.0), (2.0, 1.0), (-1.0, 5.0)):
        same(f, Tensor(x), Tensor(y))


def test_return_in_branches():
    def f(x):
        if x > 2:
            if x > 3:
                return x * 2
            x = x + 10
        elif x < 0:
            return -x
        return x - 1

    for x in (4.0, 2.5, 1.0, -1.0):
        same(f, Tensor(x))


def test_branches_that_change_containers():
    def f(x):
        items, table = [x, x], {"a": x}
        if x > 1:
            items[0] = x * 2
            table["a"] = x * 3
        else:
            items[1] = x * 4
        return items, table

    same(f, ONE)
    same(f, TWO)


def test_branches_with_numbers():
    def f(x):
        n = 2
        if x > 1:
            n = n + 3
        return n, x * n

    same(f, ONE)
    same(f, TWO)


# ---- loops --------------------------------------------------------------------------------------


def test_while_with_else():
    def f(x, limit):
        n = 0
        while x < 100:
            x = x * 3
            n += 1
            if x > limit:
                break
        else:
            x = -x
        return x, n

    same(f, TWO, Tensor(50.0))
    same(f, TWO, Tensor(500.0))


def test_for_with_else_and_break():
    def f(x, limit):
        for i in range(4):
            if x > limit:
                break
            x = x + i
        else:
            x = -x
        return x, i

    same(f, TWO, Tensor(4.0))
    same(f, TWO, Tensor(50.0))


def test_continue_and_return_in_loops():
    def f(x):
        total = x * 0
        for row in (1, 2, 3):
            for column in range(row):
                if column == 1:
                    continue
                total = total + x * row * column
                if total > 20:
                    return total * 100
            total = total + 1
        return total

    same(f, TWO)
    same(f, Tensor(20.0))


def test_for_over_a_tensor():
    def f(x):
        total = ops.zeros_like(x[0])
        for row in x:
            if row > 1:
                total = total * 2 + row
        return total

    same(f, X)


def test_for_over_a_run_time_range():
    def f(x, n):
        for i in range(1, n, 2):
            x = x + i
        return x

    same(f, X, Tensor(8, ms.int32))
    same(f, X, Tensor(0, ms.int32))


def test_functions_called_in_a_loop_of_the_program():
    def square(x):
        return x * x

    def f(x):
        while square(x) < 100:
            x = square(x) + 1
        return x

    same(f, TWO)


def test_while_true():
    def f(x):
        while True:
            x = x * 2
            if x > 50:
                return x

    same(f, TWO)


def test_a_variable_first_assigned_in_a_loop():
    def f(x):
        while x < 50:
            last = x
            x = x * 2
        return last

    same(f, TWO)


# ---- functions ----------------------------------------------------------------------------------


def test_nested_functions_and_closures():
    def f(x):
        scale = x * 2

        def outer(y):
            def inner(z):
                return z * scale + y

            return inner(y) + inner(x)

        scale = scale + 1  # closures see the variable, not the value it had
        return outer(x)

    same(f, X)


def test_nonlocal():
    def f(x):
        count = 0
        total = x

        def add(y):
            nonlocal count, total
            count += 1
            total = total + y

        add(x)
        if x > 1:
            add(x * 2)
        return total, count

    same(f, ONE)
    same(f, TWO)


def test_lambdas_also_inside_calls():
    def apply(g, *args):
        return g(*args)

    def f(x):
        add = lambda a, b=2: a + b
        return (
            add(x),
            apply(lambda a: a * 3, x),
            apply(lambda *a: a[0] - a[1], x, x),
            (lambda y: y * y)(x),
        )

    same(f, X)


def test_two_lambdas_on_one_line():
    pair = (lambda x: x + 1, lambda x: x * 2)
    same(pair[0], X)
    same(pair[1], X)


def test_arguments_of_every_kind():
    def g(a, /, b, c=3, *rest, d, e=5, **others):
        return a + b * c, rest, d * e, others

    same(lambda x: g(x, x, d=x), X)
    same(lambda x: g(x, 2, x, x, x, d=x, k=x), X)
    same(lambda x: g(x, b=x, c=1, e=x, d=2), X)
    same(lambda x: g(*[x] * 3, **{"d": x}), X)


def test_a_default_is_made_once():
    def f(x, y=ops.ones(3) * 2, *, z=4.0):
        return x * y + z

    same(f, X)
    same(f, X, X, z=X)


def test_decorators_inside():
    def twice(g):
        return lambda x: g(g(x))

    def f(x):
        @twice
        def g(y):
            return y * 3

        return g(x)

    same(f, X)


def test_partial_and_reduce():
    def scaled(a, b, c):
        return a * b + c

    def f(x):
        g = functools.partial(scaled, x, c=x * 2)
        return g(x), functools.reduce(lambda a, b: a * b + 1, [x, x, x])

    same(f, X)
