"""Errors of the compiler name the problem, show the user's line with a caret, and offer a fix."""

# ruff: noqa: F821, F841
# The mistakes in the compiled functions are what is tested.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

X = Tensor([1.0, 2.0, 3.0])
ONE = Tensor(1.0)


def fails(kind: type[Exception], fn: Callable[..., Any], *args: Any) -> str:
    """The message that compiling `fn` fails with."""
    with pytest.raises(kind) as caught:
        ms.jit(fn)(*args)
    return str(caught.value)


def shows(message: str, line: str, *words: str, fix: str = "") -> None:
    """Check that a message holds all words, a fix, and a line of the user's with carets below."""
    lines = message.splitlines()
    places = [i for i, found in enumerate(lines) if found.strip() == line]
    assert places, f"the line {line!r} is not shown:\n{message}"
    below = lines[places[0] + 1 : places[0] + 2]
    assert below and set(below[0].strip()) == {"^"}, f"no caret:\n{message}"
    assert "test_errors.py:" in message, message
    for word in words:
        assert word in message, f"{word!r} is not said:\n{message}"
    assert "fix:" in message and fix in message, message


# ---- Python that is not read ----------------------------------------------------------------------


def test_yield():
    def values(x):
        yield x
        yield x * 2

    def f(x):
        return sum(values(x))

    shows(fails(SyntaxError, f, X), "return sum(values(x))", "yield", fix="list")


def test_yield_in_the_compiled_function():
    def f(x):
        yield x

    message = fails(SyntaxError, f, X)
    assert "yield" in message and "fix:" in message


def test_async():
    def f(x):
        async def later(y):
            return y

        return x

    shows(fails(SyntaxError, f, X), "async def later(y):", "async def", fix="ordinary function")


def test_await():
    async def f(x):
        return await x

    message = fails(SyntaxError, f, X)
    assert "async" in message and "fix:" in message


def test_class_inside():
    def f(x):
        class Inner:
            pass

        return x

    shows(fails(SyntaxError, f, X), "class Inner:", "class", fix="module level")


# ---- branches that do not fit: they run in Python -------------------------------------------------


def runs_in_python(fn: Callable[..., Any], x: Tensor, *words: str) -> None:
    """Check that a compiled function gives what it gives in eager mode, and says why it runs so."""
    compiled = ms.jit(fn)
    found, expected = compiled(x), fn(x)
    assert str(found) == str(expected)
    label = ms.jit.explain(compiled).labels[0]
    assert label.startswith("vm"), label
    for word in words:
        assert word in label, f"{word!r} is not said: {label}"


def test_branches_of_different_dtypes():
    def f(x):
        if x > 0:
            y = x
        else:
            y = x.astype(ms.int32)
        return y + 1

    runs_in_python(f, ONE, "dtypes differ", "f32", "i32")
    runs_in_python(f, -ONE, "dtypes differ")


def test_branches_of_different_shapes():
    def f(x):
        if x.sum() > 0:
            y = x
        else:
            y = x[:2]
        return y + 1

    runs_in_python(f, X, "shapes differ", "f32[3]", "f32[2]")


def test_branches_of_which_one_gives_none():
    def f(x):
        y = None
        if x > 0:
            y = x
        return y + 1

    runs_in_python(f, ONE, "None", "f32[]")
    with pytest.raises(TypeError):
        ms.jit(f)(-ONE)


def test_a_function_that_returns_on_some_paths_only():
    def f(x):
        if x > 0:
            return x

    runs_in_python(f, ONE, "f returns a value on some paths")
    runs_in_python(f, -ONE)


def test_results_of_different_types():
    def f(x):
        if x > 0:
            return x
        return (x, x)

    runs_in_python(f, ONE, "tuple", "tensor")


def test_expressions_of_different_shapes():
    def f(x):
        return (x if x.sum() > 0 else x.sum()) * 2

    runs_in_python(f, X, "f32[3]", "f32[]")


def test_a_loop_that_changes_a_shape():
    def f(x):
        y = x
        while y.sum() < 100:
            y = ops.concat((y, x))
        return y

    runs_in_python(f, X, "f32[3]", "f32[6]")


# ---- names --------------------------------------------------------------------------------------


def test_a_name_without_a_value():
    def f(x):
        return x + nothing

    message = fails(NameError, f, X)
    assert "nothing" in message and "^" in message and "fix:" in message


def test_a_name_assigned_on_one_path_only():
    def f(x):
        if x > 0:
            y = x
        return y

    shows(fails(UnboundLocalError, f, -ONE), "return y", "y", fix="every path")


def test_a_name_assigned_in_a_loop_that_is_not_entered():
    def f(x):
        while x < 0:
            y = x
            x = x + 1
        return y

    shows(fails(UnboundLocalError, f, ONE), "return y", "y", fix="every path")


def test_a_name_used_after_del():
    def f(x):
        y = x
        del y
        return y

    shows(fails(UnboundLocalError, f, ONE), "return y", "y")


def test_a_name_used_before_it_is_assigned():
    def f(x):
        z = y + 1
        y = x
        return z

    shows(fails(UnboundLocalError, f, ONE), "z = y + 1", "y")


# ---- programs without an end -----------------------------------------------------------------------


def test_recursion_without_end():
    def down(x, n):
        return down(x, n + 1)

    message = fails(RecursionError, lambda x: down(x, 0), X)
    shows(message, "return down(x, n + 1)", "down", "400")


def test_an_unrolled_loop_without_end():
    def f(x):
        n = 1
        while n > 0:
            n += 1
            x = x + 1
        return x

    message = fails(RuntimeError, f, X)
    shows(message, "while n > 0:", "f", fix="tensor")
    assert any(character.isdigit() for character in message)


# ---- errors of operators ----------------------------------------------------------------------------


def inner(x, y):
    return ops.matmul(x, y)


def middle(x, y):
    z = inner(x, y)
    return z * 2


def test_a_shape_error_in_nested_calls():
    x, y = ops.ones((2, 3)), ops.ones((4, 5))
    shows(fails(ValueError, middle, x, y), "return ops.matmul(x, y)", "3", "4")


def test_a_shape_error_in_a_branch():
    def f(x):
        if x.sum() > 0:
            return x + ops.ones(2)
        return x

    shows(fails(ValueError, f, X), "return x + ops.ones(2)", "3", "2")


def test_a_shape_error_in_a_loop():
    def f(x):
        while x.sum() < 100:
            x = inner(x, x)
        return x

    shows(fails(ValueError, f, ops.ones((2, 3))), "return ops.matmul(x, y)", "2", "3")


def test_a_shape_error_in_a_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(ops.ones((4, 5)), name="weight")

        def construct(self, x):
            return ops.matmul(x, self.weight)

    message = fails(ValueError, Net(), ops.ones((2, 3)))
    shows(message, "return ops.matmul(x, self.weight)", "3", "4")


def test_a_shape_error_under_a_gradient():
    def loss(x, y):
        return inner(x, y).sum()

    def f(x, y):
        return ms.grad(loss)(x, y)

    message = fails(ValueError, f, ops.ones((2, 3)), ops.ones((4, 5)))
    shows(message, "return ops.matmul(x, y)", "3", "4")


def test_the_error_is_the_one_of_eager_mode():
    x, y = ops.ones((2, 3)), ops.ones((4, 5))
    with pytest.raises(ValueError) as plain:
        middle(x, y)
    assert fails(ValueError, middle, x, y).splitlines()[0] == str(plain.value).splitlines()[0]


def test_a_wrong_call():
    def f(x):
        return inner(x)

    shows(fails(TypeError, f, X), "return inner(x)", "inner", "'y'")


def test_an_unknown_attribute():
    def f(x):
        return x.not_there()

    with pytest.raises(AttributeError, match="not_there"):
        ms.jit(f)(X)


def test_an_exception_of_the_user_comes_through():
    def f(x):
        if x.ndim != 2:
            raise ValueError(f"two axes are needed, not {x.ndim}")
        return x

    assert fails(ValueError, f, X) == "two axes are needed, not 1"


def test_a_function_without_source():
    scope: dict[str, Any] = {}
    exec("def f(x):\n    return x + 1\n", scope)
    message = fails(RuntimeError, scope["f"], X)
    assert "source" in message and "fix:" in message


def test_a_failed_compilation_changes_nothing():
    weight = Parameter(Tensor(1.0), name="weight")

    def f(x):
        ops.assign(weight, x)
        return x + ops.ones((2, 2)) @ ops.ones((3, 3))

    fails(ValueError, f, ONE)
    assert float(weight) == 1
    assert float(weight + 1) == 2
