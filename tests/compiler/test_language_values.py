"""Python's own functions, printing, objects, and the arguments and results of compiled functions."""

# ruff: noqa: C417, B009, B010
# All ways of writing are tested, also those one would not choose.

from __future__ import annotations

import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

from .compare import compilations, equal, same

X = Tensor([1.0, 2.0, 3.0])
ONE, TWO = Tensor(1.0), Tensor(2.0)


# ---- Python's own functions -----------------------------------------------------------------------


def test_len_range_enumerate_zip():
    def f(x):
        total = x * len(x)
        for i, (row, letter) in enumerate(zip(x, "abc"), start=1):
            total = total + row * i + len(letter)
        for i in range(len(x) - 1, 0, -1):
            total = total * i + x[i]
        return total, list(range(3)), list(zip((1, 2), (3, 4)))

    same(f, X)


def test_map_and_filter():
    def f(x):
        doubled = list(map(lambda y: y * 2, [x, x + 1]))
        added = tuple(map(lambda a, b: a + b, (x, x), (x, 1)))
        kept = [x * n for n in filter(lambda n: n % 2, range(5))]
        return doubled, added, kept, list(filter(None, (0, 1, 2)))

    same(f, X)


def test_sum_min_max_abs_of_tensors():
    def f(x, y):
        return sum([x, y]), sum((x, y), x), min(x, y), max([x, y, x * y]), abs(-x), max(1, 2)

    same(f, ONE, TWO)
    same(f, TWO, -ONE)


def test_min_and_max_with_a_key():
    def f(x):
        return x * max([1, -5, 3], key=abs), min((), default=3), max("bb", "a", key=len)

    same(f, X)


def test_sorted_reversed_any_all():
    def f(x):
        names = sorted(["b", "c", "a"], reverse=True)
        pairs = sorted([(2, "x"), (1, "y")], key=lambda pair: pair[0])
        backwards = [part * i for i, part in enumerate(reversed([x, x + 1]))]
        return names, pairs, backwards, any([0, 1]), all([]), all(n > 1 for n in (2, 3))

    same(f, X)


def test_any_and_all_of_run_time_values():
    def f(x):
        found = 0
        if any(row > 2 for row in x):
            found += 1
        if all(row > 2 for row in x):
            found += 2
        return found

    same(f, X)
    same(f, X + 5)
    same(f, X - 5)


def test_conversions():
    def f(x):
        n, real, flag = int(x), float(x), bool(x)
        return n, real, flag, n + 1, real / 2, not flag, n % 2

    same(f, Tensor(2.7))
    same(f, Tensor(-2.7))


def test_isinstance_type_callable():
    def f(x, n):
        kinds = (
            isinstance(x, Tensor),
            isinstance(n, int),
            isinstance(n, (str, float)),
            type(n) is int,
        )
        return kinds, callable(f), callable(x), isinstance([x], list), isinstance(True, int)

    same(f, X, 3)


def test_hasattr_and_getattr():
    class Holder:
        scale = 3

    def f(x):
        held = Holder()
        setattr(held, "shift", x)
        found = hasattr(held, "scale"), hasattr(held, "nothing"), hasattr(x, "shape")
        return found, x * getattr(held, "scale"), getattr(held, "nothing", x), held.shift

    same(f, X)


def test_divmod_pow_round():
    def f(x):
        return divmod(7, 3), pow(x, 2), pow(2, 5, 7), round(2.567, 1), x // 2, x % 2

    same(f, X)


def test_methods_of_tensors():
    def f(x):
        return (
            x.reshape(3, 1).sum(axis=0), x.mean(), x.max(), x.astype(ms.int32), x.abs().sqrt(), x.T, x.view(1, 3),
            x.argmax(), x.std(), x.clip(1.5, 2.5), x.dtype == ms.float32, x.shape, x.ndim, x.size,
        )  # fmt: skip

    same(f, X)


# ---- printing -----------------------------------------------------------------------------------


def printed(capfd, fn, *args):
    """What `fn` prints, run plainly and twice compiled."""
    fn(*args)
    plain = capfd.readouterr().out
    compiled = ms.jit(fn)
    found = []
    for _ in range(2):
        result = compiled(*args)
        for leaf in result if isinstance(result, tuple) else (result,):
            leaf.asnumpy()
        found.append(capfd.readouterr().out)
    assert plain
    return plain, found


def test_print_of_run_time_values(capfd):
    def f(x):
        print("start", x, x * 2, [x, 1], (2, x), {"a": 1}, sep="|", end="!\n")
        y = x + 1
        print(f"{y} and {y.sum():.2f}", x.shape)
        return y

    plain, found = printed(capfd, f, X)
    assert found == [plain, plain]


def test_print_in_branches_and_loops(capfd):
    def f(x):
        n = 0
        while x < 20:
            print("pass", n, x)
            if x > 5:
                print("large", x)
            else:
                print("small")
            x = x * 2
            n += 1
        print("end", n)
        return x

    plain, found = printed(capfd, f, TWO)
    assert found == [plain, plain]


def test_print_under_a_gradient_happens_once(capfd):
    def f(x):
        print("value", x)
        return x * x

    plain, found = printed(capfd, ms.grad(f), TWO)
    assert found == [plain, plain]


# ---- objects ------------------------------------------------------------------------------------


class Counter:
    """A plain class with state."""

    def __init__(self, start):
        self.value = start
        self.history = []

    def add(this, amount):
        this.history.append(this.value)
        this.value = this.value + amount
        return this

    @property
    def doubled(self):
        return self.value * 2

    @staticmethod
    def scaled(x, factor):
        return x * factor

    @classmethod
    def at(cls, x):
        return cls(x)

    def __add__(self, other):
        return Counter(self.value + other.value)

    def __getitem__(self, i):
        return self.history[i]

    def __len__(self):
        return len(self.history)

    def __call__(self, x):
        return x * self.value


class Loud(Counter):
    def add(self, amount):
        return super().add(amount * 10)


@pytest.mark.parametrize("kind", [Counter, Loud])
def test_objects_made_inside(kind):
    def f(x):
        counter = kind.at(x).add(1).add(x)
        if x > 1:
            counter.value = counter.doubled + 5
        both = counter + Counter(x)
        return counter.value, counter.doubled, kind.scaled(x, 3), both.value, counter[0], counter(x)

    same(f, ONE)
    same(f, TWO)


def test_objects_in_loops():
    def f(x):
        counter = Counter(x)
        while counter.value < 50:
            counter.value = counter.value * 2
        return counter.value

    same(f, TWO)


def test_objects_made_outside_are_read():
    held = Counter(X)

    def f(x):
        return held(x) + held.doubled, len(held)

    same(f, X)


@dataclass
class Options:
    rate: float
    steps: int = 2


def test_dataclasses():
    options = Options(0.5)

    def f(x):
        made = Options(2.0, steps=3)
        for _ in range(options.steps * made.steps):
            x = x * options.rate + made.rate
        return x

    same(f, X)


def test_a_changed_attribute_is_noticed():
    options = Options(0.5)
    compiled = ms.jit(lambda x: x * options.rate)
    equal(compiled(TWO), ONE)
    options.rate = 2.0
    equal(compiled(ONE), TWO)


# ---- globals ------------------------------------------------------------------------------------

RATE = 2.0
TABLE = {"scale": 3.0}
WEIGHTS = [1.0, 2.0]
OFFSET = Tensor(1.0)


def uses_globals(x):
    return x * RATE + OFFSET


def test_a_changed_global_is_noticed(monkeypatch):
    compiled = ms.jit(uses_globals)
    equal(compiled(X), X * 2 + 1)
    equal(compiled(X), X * 2 + 1)
    assert compilations(compiled) == 1
    monkeypatch.setitem(globals(), "RATE", 5.0)
    equal(compiled(X), X * 5 + 1)
    monkeypatch.setitem(globals(), "OFFSET", Tensor(7.0))
    equal(compiled(X), X * 5 + 7)
    assert compilations(compiled) == 3


def test_a_changed_global_container_is_noticed(monkeypatch):
    compiled = ms.jit(lambda x: x * TABLE["scale"] + sum(WEIGHTS))
    equal(compiled(X), X * 3 + 3)
    monkeypatch.setitem(TABLE, "scale", 4.0)
    equal(compiled(X), X * 4 + 3)
    monkeypatch.setattr(sys.modules[__name__], "WEIGHTS", WEIGHTS.copy())
    WEIGHTS[0] = 5.0
    equal(compiled(X), X * 4 + 7)


def test_a_changed_closure_variable_is_noticed():
    scale = 2.0

    def f(x):
        return x * scale

    compiled = ms.jit(f)
    equal(compiled(X), X * 2)
    scale = 3.0
    equal(compiled(X), X * 3)


def test_a_changed_global_tensor_is_noticed():
    held = Tensor([1.0, 1.0, 1.0])
    compiled = ms.jit(lambda x: x + held)
    equal(compiled(X), X + 1)
    held[0] = 5.0
    equal(compiled(X), X + held)


# ---- arguments and results ------------------------------------------------------------------------


def test_other_numbers_do_not_recompile():
    compiled = ms.jit(lambda x, n, rate: x * n + rate)
    for n, rate in ((1, 0.5), (2, 0.5), (3, 0.25)):
        equal(compiled(X, n, rate), X * n + rate)
    assert compilations(compiled) == 1
    equal(compiled(X, 1.5, 2), X * 1.5 + 2)
    assert compilations(compiled) == 2


def test_numbers_are_weakly_typed():
    compiled = ms.jit(lambda x, n: (x * n, x + n, n / 2, n // 2, n * 2))
    for x in (Tensor([1, 2], ms.int32), Tensor([1.0], ms.float16), X):
        equal(compiled(x, 3), (x * 3, x + 3, 1.5, 1, 6))


def test_numbers_that_decide_shapes():
    def f(x, n):
        return ops.ones((n, 2)) * x

    compiled = ms.jit(f)
    for n in (1, 2, 2, 1):
        equal(compiled(TWO, n), f(TWO, n))
    assert compilations(compiled) <= 3


def test_numbers_that_decide_branches():
    def f(x, n):
        if n > 2:
            return x * n
        return x - n

    compiled = ms.jit(f)
    for n in (1, 3, 2, 7):
        equal(compiled(X, n), f(X, n))
    assert compilations(compiled) == 1


def test_numbers_that_decide_structure():
    def f(x, n):
        return [x * i for i in range(n)]

    compiled = ms.jit(f)
    for n in (1, 3, 0):
        equal(compiled(X, n), f(X, n))


@pytest.mark.parametrize("option", ["sum", "mean", None, True, False])
def test_text_none_and_truth_as_arguments(option):
    def f(x, option):
        if option is None:
            return x
        if isinstance(option, bool):
            return x * 2 if option else -x
        return x.sum() if option == "sum" else x.mean()

    same(f, X, option)
    same(f, X, option=option)


def test_options_compile_once_each():
    compiled = ms.jit(lambda x, name: x.sum() if name == "sum" else x.mean())
    for name in ("sum", "mean", "sum"):
        compiled(X, name)
    assert compilations(compiled) == 2


Pair = namedtuple("Pair", "left right")


def test_structured_arguments_and_results():
    def f(pair, items, table, *rest, **named):
        table = {**table, "more": items[0] * 2}
        return Pair(pair.right, items), (table, rest), named, {1: pair, "k": None}, "text", 2, 0.5

    same(f, Pair(X, 2 * X), [X, (X, 1)], {"a": X, "b": [X]}, X, 3.0, key=X, flag=True)


def test_ordered_dicts_keep_their_type():
    same(lambda table: OrderedDict((k, v * 2) for k, v in table.items()), OrderedDict(b=X, a=X))


def test_numpy_arrays_as_constants():
    table = np.array([1.0, 2.0, 3.0], np.float32)
    same(lambda x: (x * Tensor(table), x * table[1], table.shape), X)


def test_no_arguments_and_no_result():
    assert ms.jit(lambda: None)() is None
    equal(ms.jit(lambda: ops.ones(2))(), ops.ones(2))
    assert ms.jit(lambda x: "done")(X) == "done"


def test_augmented_assignment_of_an_argument_acts_as_in_eager_mode():
    def f(x):
        x += 1
        return x * 2

    plain, given = Tensor([1.0]), Tensor([1.0])
    equal(ms.jit(f)(given), f(plain))
    equal(given, plain)


def test_an_item_assigned_to_an_argument_acts_as_in_eager_mode():
    def f(x):
        x[0] = 5.0
        return x * 2

    plain, given = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    equal(ms.jit(f)(given), f(plain))
    equal(given, plain)


def test_gradients_through_a_compiled_function():
    def f(x):
        while x < 10:
            x = x * x
        return x

    equal(ms.grad(ms.jit(f))(TWO), ms.grad(f)(TWO))
    equal(ms.jit(ms.grad(ms.jit(f)))(TWO), ms.grad(f)(TWO))
    value, gradient = ms.value_and_grad(lambda x: ms.jit(f)(x) * x)(TWO)
    equal((value, gradient), ms.value_and_grad(lambda x: f(x) * x)(TWO))


def test_jit_with_parentheses_and_on_methods():
    class Model:
        def __init__(self):
            self.scale = 3.0

        @ms.jit()
        def run(self, x):
            return x * self.scale

    equal(Model().run(X), X * 3)
