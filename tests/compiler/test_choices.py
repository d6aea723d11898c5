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
