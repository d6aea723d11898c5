"""Functions chosen at run time, also among functions chosen before."""

import pytest

import mycelia as ms
from mycelia import Tensor


def chained(s, n):
    first = (lambda v: v + s) if n % 2 else (lambda v: v * 1.04)
    second = (lambda v: -v) if s > 1 else first
    third = second if n > 2 else first
    return third(s)


def picked_inside_a_branch(s, n):
    if s > 1:
        functions = (lambda v: v + s, lambda v: v * 3)
        chosen = functions[n % 2]
    else:
        chosen = lambda v: -v
    return chosen(s)


@pytest.mark.parametrize("fn", [chained, picked_inside_a_branch])
@pytest.mark.parametrize("s", [0.5, 1.5])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_choice_among_choices(fn, s, n):
    given = Tensor(s), Tensor(n)
    compiled = ms.jit(fn)
    assert float(compiled(*given)) == float(fn(*given))
    assert ms.jit.explain(compiled).labels == ("xla",)
    gradient = ms.jit(ms.grad(fn))
    assert float(gradient(*given)) == pytest.approx(float(ms.grad(fn)(*given)))


def test_a_chosen_function_changes_its_own_variables():
    def f(s, n):
        def change(p):
            nonlocal s
            s = s * 0.5 + p
            return s

        chosen = (lambda a: a - s, change)[n % 2]
        first = chosen(s * 3)
        return first, s, change(s), s

    for n in (0, 1):
        given = Tensor(2.0), Tensor(n)
        found, wanted = ms.jit(f)(*given), f(*given)
        assert [float(v) for v in found] == [float(v) for v in wanted]


def test_a_default_that_a_branch_computed():
    def f(s, n):
        if s > 1:

            def scaled(a=s * 2):
                return a + 1
        else:

            def scaled(a=s * 3, *, b=s - 1):
                return a - b

        return scaled()

    for s in (0.5, 1.5):
        given = Tensor(s), Tensor(1)
        assert float(ms.jit(f)(*given)) == float(f(*given))


def defined_in_some_passes(s, n):
    k = n * 0
    while k < n:
        k = k + 1
        for i in (1, 2, 3):
            if s > i:
                t = s * 2

                def change(a=t + 1):
                    nonlocal s
                    s = s * 0.5 - a
                    return t  # noqa: B023

        if k > 1:
            s = s + change()
    return s


def defined_and_never_called(s, n):
    k = n * 0
    while k < n:
        k = k + 1
        for _ in (1, 2, 3):
            if s > 1:
                t, u = s * 2, s

                def unused(a):
                    return s - u + t  # noqa: B023

    return s


@pytest.mark.parametrize("fn", [defined_in_some_passes, defined_and_never_called])
@pytest.mark.parametrize("n", [1, 3])
def test_a_function_defined_in_some_passes_of_a_loop(fn, n):
    given = Tensor(3.5), Tensor(n)
    assert float(ms.jit(fn)(*given)) == pytest.approx(float(fn(*given)))
