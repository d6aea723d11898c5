"""What Python does, when and how often: special methods, iterators, attributes, exceptions.

Each case makes a function and what shows its state. The function runs several times in eager mode
and compiled; results and state agree after each call.
"""

from __future__ import annotations

import heapq
import itertools
import operator
import random
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import FrozenInstanceError, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor

from .compare import equal

CALLS = ([0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-0.5, 1.0, -2.0])
CASES: list[Callable[[], Any]] = []


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    """A test case: gives a function of one tensor, and what shows its state."""
    CASES.append(make)
    return make


class Space:
    """Any attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_results_and_state_are_those_of_eager_mode(make: Callable[[], Any]):
    def outcome(fn: Any, show: Any, numbers: list[float]) -> Any:
        try:
            result = fn(Tensor(np.array(numbers)))
        except (KeyError, ValueError, FrozenInstanceError) as error:
            result = type(error).__name__
        return result, show()

    plain, show_plain = make()
    fn, show = make()
    compiled = ms.jit(fn)
    for numbers in CALLS:
        equal(outcome(compiled, show, numbers), outcome(plain, show_plain, numbers))


# ---- special methods ----------------------------------------------------------------------------


class Counted:
    """A number that counts what is done with it."""

    def __init__(self, v: Any) -> None:
        self.v, self.n = v, 0

    def __add__(self, other: Any) -> Any:
        self.n += 1
        return Counted(self.v + getattr(other, "v", other))

    def __radd__(self, other: Any) -> Any:
        self.n += 2
        return Counted(other + self.v)

    def __iadd__(self, other: Any) -> Any:
        self.v, self.n = self.v + other, self.n + 10
        return self

    def __getitem__(self, i: Any) -> Any:
        self.n += 1
        return self.v[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        self.n += 1
        self.v[i] = value

    def __len__(self) -> int:
        self.n += 1
        return 3

    def __iter__(self) -> Any:
        self.n += 1
        return iter([self.v, self.v * 2])

    def __contains__(self, value: Any) -> bool:
        self.n += 1
        return True

    def __eq__(self, other: object) -> bool:
        self.n += 1
        return True

    def __lt__(self, other: Any) -> Any:
        self.n += 1
        return self.v[0] < other.v[0]

    def __bool__(self) -> bool:
        self.n += 1
        return True

    def __neg__(self) -> Any:
        self.n += 1
        return Counted(-self.v)

    def __enter__(self) -> Any:
        self.n += 1
        return self

    def __exit__(self, *error: Any) -> bool:
        self.n += 100
        self.v[0] = 9.0
        return error[0] is KeyError


@case
def operators_of_an_object_outside():
    kept = Counted(Tensor(np.ones(3)))

    def fn(x):
        kept[0] = x[1]
        total = (kept + x).v + (1 + kept).v + (-kept).v + kept[1]
        for part in kept:
            total = total + part
        if kept and kept == 3 and 1 in kept:
            total = total * len(kept)
        return total

    return fn, lambda: (kept.v, kept.n)


@case
def an_object_added_to_in_place():
    def fn(x):
        one = Counted(x * 1)
        other = one
        one += x
        if x[0] > 0:
            one += 1
        return other.v, other.n

    return fn, lambda: None


@case
def the_least_of_objects():
    def fn(x):
        one, other = Counted(x * 1), Counted(x * 2)
        return min(one, other).v, one.n + other.n

    return fn, lambda: None


@case
def with_in_a_branch_and_around_an_exception():
    log = []

    class Logged(Counted):
        def __enter__(self):
            log.append("in")
            return super().__enter__()

    def fn(x):
        one = Logged(x * 1)
        if x[0] > 0:
            with one as same:
                y = same.v * one.n
        else:
            y = x * 3
        with one, suppress(ZeroDivisionError):
            y = y + one.n
            raise KeyError("dropped")
        return y, one.v, one.n

    return fn, lambda: list(log)


@case
def a_generator_as_context_manager():
    space = Space(n=0, ended=0)

    @contextmanager
    def counting():
        space.n += 1
        yield space
        space.ended += 1

    def fn(x):
        with counting() as found:
            y = x * found.n
        return y

    return fn, lambda: (space.n, space.ended)


@case
def suppress_does_not_hide_what_needs_numbers():
    def fn(x):
        y = x * 1
        with suppress(Exception):
            y = y[: int(abs(x[2]))] * 2
        return y

    return fn, lambda: None


# ---- each expression once, in order ---------------------------------------------------------------


@case
def a_target_is_evaluated_once():
    space = Space(i=0, items=[1, 2, 3])

    def index():
        space.i += 1
        return space.i % 3

    def fn(x):
        y = x * 1
        y[index()] += 1
        places = [2, 1]
        y[places.pop()] *= 3
        space.items[index()] += len(places)
        return y

    return fn, lambda: (space.i, list(space.items))


@case
def comparisons_stop():
    def fn(x):
        log = []
        count = [x[0] * 0]

        def logged(value):
            log.append(1)
            return value

        def counted(value):
            count[0] = count[0] + 1
            return value

        found = logged(5) < logged(3) < logged(4)
        items, i = [1], 3
        inside = i < len(items) <= items[i] if i > 2 else 1
        if counted(x[0]) > counted(0) < counted(x[1] + 5):
            x = x * 2
        return x * len(log), count[0], found, inside

    return fn, lambda: None


@case
def a_condition_of_a_loop_is_evaluated_once_more_than_its_body():
    space = Space(n=0)

    def noted(value):
        space.n += 1
        return value

    def fn(x):
        count, i, rest = x[0] * 0, 0, x * 1
        while i < 3 and noted(x[0]) > 0:
            i += 1
        while (total := rest.sum()) < 5:
            rest = rest + 1
            if noted(rest)[1] > 3:
                break
        else:
            count = count + 10
        while -1 < noted(rest[0]) < 3:
            rest = rest + 1
            if rest[2] > 6:
                return rest * 2, total, count, i
        return rest, total, count, i

    return fn, lambda: space.n


@case
def any_and_all_stop():
    def fn(x):
        log = []
        count = [x[0] * 0]

        def logged(k):
            log.append(k)
            return k == 1

        def positive(value):
            count[0] = count[0] + 1
            return value > 0

        found = any(logged(k) for k in range(3)), all(logged(k) for k in range(3))
        either = any(positive(v) for v in x)
        return x * len(log), count[0], found, either

    return fn, lambda: None


# ---- iterators ------------------------------------------------------------------------------------


@case
def iterators_end():
    def fn(x):
        source = iter([x, x * 2, x * 3])
        first, second = next(source), next(source)
        rest, after = list(source), next(source, x * 9)
        pairs = zip([x, x * 2], [x * 3, x * 4])
        sums, again = [p + q for p, q in pairs], [p + q for p, q in pairs]
        doubled = map(operator.neg, [x, x + 1])
        total, none = sum(doubled), list(doubled)
        return first, second, rest, after, sums, len(again), total, len(none)

    return fn, lambda: None


@case
def generators_see_variables_late():
    def fn(x):
        k = 1
        scaled = (t * k for t in [x, x * 2])
        k = 5
        log = []
        unused = map(log.append, [1, 2])
        before = len(log)
        list(unused)
        return sum(scaled), before, len(log)

    return fn, lambda: None


@case
def iterators_from_outside():
    numbers, counter = iter(range(1, 20)), itertools.count(1)

    def fn(x):
        for number in numbers:
            if number % 2 == 0:
                break
            x = x * number
        return x * next(counter)

    return fn, lambda: None


@case
def an_iterator_left_by_a_tensor():
    def fn(x):
        source = iter([1, 2, 3])
        for k in source:
            if x[k - 1] > 1:
                break
        return x * sum(source)

    return fn, lambda: None


@case
def lists_that_change_while_they_are_looped_over():
    def fn(x):
        parts, numbers, total = [x, x * 2], [1, 2, 3, 4], 0
        for part in parts:
            if len(parts) < 5:
                parts.append(part * 3)
        for number in numbers:
            numbers.pop()
            total += number
        return sum(parts) * total

    return fn, lambda: None


# ---- attributes -----------------------------------------------------------------------------------


@case
def attributes_that_come_to_exist():
    space, other, third = Space(), Space(), Space()

    def fn(x):
        if not hasattr(space, "total"):
            space.total = x * 0
        space.total = space.total + x
        before = getattr(other, "last", None)
        other.last = x * 2 if before is None else before + x
        try:
            third.n += 1
        except AttributeError:
            third.n = 1
        return space.total * third.n + other.last

    return fn, lambda: (space.total, other.last, third.n)


@case
def an_attribute_of_some_paths():
    space = Space()

    def fn(x):
        if x[0] > 1:
            space.late = x * 2
        return x + (space.late if hasattr(space, "late") else 1)

    return fn, lambda: getattr(space, "late", None)


@case
def attributes_that_are_removed():
    space = Space(n=5, m=1)

    def fn(x):
        if hasattr(space, "n"):
            delattr(space, "n")
            return x * 2
        space.n = 4
        space.m += 1
        object.__setattr__(space, "m", space.m * 2)
        return x * space.m

    return fn, lambda: dict(vars(space))


class Watched:
    """Properties and hooks that count."""

    def __init__(self) -> None:
        self.held, self.reads = {"w": 2}, 0

    @property
    def doubled(self) -> int:
        self.reads += 1
        return self.held["w"] * 2

    @doubled.setter
    def doubled(self, value: int) -> None:
        self.held["w"] = value // 2

    @cached_property
    def once(self) -> int:
        self.reads += 1
        return 7

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("held", "reads", "once"):
            raise AttributeError(name)
        self.reads += 10
        return self.held[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("held", "reads", "doubled"):
            super().__setattr__(name, value)
        else:
            self.held[name] = value


@case
def properties_and_hooks():
    watched = Watched()

    def fn(x):
        watched.doubled = watched.doubled + 2
        watched.doubled += 2
        watched.w = watched.w + 1
        watched.q = x
        return x * watched.w * watched.once

    return fn, lambda: (dict(watched.held), watched.reads)


class WithDefaults:
    n = 3
    items: list[int] = []


def test_class_attributes_are_guarded():
    space = WithDefaults()

    @ms.jit
    def fn(x):
        return x * space.n * WithDefaults.n

    x = Tensor(np.ones(3))
    equal(fn(x), x * 9)
    WithDefaults.n = 4
    try:
        equal(fn(x), x * 16)
        space.n = 2
        equal(fn(x), x * 8)
    finally:
        WithDefaults.n = 3


@dataclass
class Record:
    a: Any
    b: Any = None
    items: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    a: Any


@case
def dataclasses_made_inside():
    made = []

    @dataclass
    class Registered(Record):
        def __post_init__(self):
            made.append(len(made))

    def fn(x):
        record = Record(x * 1, b=x * 2)
        record.items.append(record.a)
        if x[0] > 0:
            record.a[0] = 5
        else:
            record.b = record.a
        record.items[0][1] = 8
        return record.a, record.b, record.items, Registered(x).a * len(made)

    return fn, lambda: list(made)


@case
def frozen_dataclasses_refuse():
    def fn(x):
        frozen = Frozen(x)
        frozen.a = x * 2
        return frozen.a

    return fn, lambda: None


# ---- containers changed by Python's own code ------------------------------------------------------


@case
def containers_changed_by_library_functions():
    heap, counter, entries, items, numbers = [], Counter(a=2), {"n": 1}, [], {1, 2, 3}

    def fn(x):
        heapq.heappush(heap, len(heap))
        counter.update(a=1)
        operator.setitem(entries, "n", entries["n"] + 1)
        list.append(items, 1)
        numbers.difference_update({len(numbers)})
        return x * len(heap) * counter["a"] * entries["n"] * len(items) * (1 + len(numbers))

    return fn, lambda: (list(heap), dict(counter), dict(entries), list(items), sorted(numbers))


@case
def containers_changed_on_one_path():
    def fn(x):
        counter, numbers = Counter(a=2), {1, 2, 3}
        if x[0] > 0:
            counter.update("aa")
            numbers.intersection_update({1})
        return x * counter["a"] * len(numbers)

    return fn, lambda: None


@case
def the_order_of_keys_depends_on_the_run():
    def fn(x):
        entries, ordered = {"a": x * 1, "b": x * 2}, OrderedDict(a=x * 1, b=x * 2)
        if x[0] > 0:
            entries["a"] = entries.pop("a")
            ordered.move_to_end("a")
        return list(entries.values()), list(entries), list(ordered.values())

    return fn, lambda: None


@case
def keys_and_attributes_with_numbers_of_tensors():
    space = Space(name="")

    def fn(x):
        number = int(x[2] + 3)
        entries = {f"k{number}": x}
        entries[f"j{number}"] = x * 2
        space.name = f"v{number}"
        return len(entries), entries.get("k5", x * 7)

    return fn, lambda: space.name


@case
def random_numbers_of_python():
    mine, other = random.Random(3), np.random.default_rng(3)

    def fn(x):
        return x * mine.random() + float(other.uniform())

    return fn, lambda: None


# ---- identity -------------------------------------------------------------------------------------


@case
def whether_two_names_hold_one_object():
    def fn(x):
        one, other = x * 1, x * 2
        chosen = one if x[0] > 0 else other
        lists = [x], [x]
        picked = lists[0] if x[0] > 0 else lists[1]
        looped = one
        for i in range(3):
            if x[i] > 0:
                looped = other
        found = [chosen is one, chosen is not other, picked is lists[1], looped is other]
        return x, [int(f) for f in found]

    return fn, lambda: None


@case
def a_list_that_may_have_grown():
    def fn(x):
        record = Record(x)
        if x[0] > 0:
            record.items.append(x)
        return len(record.items)

    return fn, lambda: None


def test_results_are_one_tensor_where_they_are_in_eager_mode():
    @ms.jit
    def fn(x, y):
        z = x * y
        return z, [z, x], {"y": y}

    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    first, (second, third), entries = fn(x, y)
    assert first is second and third is x and entries["y"] is y


# ---- exceptions -----------------------------------------------------------------------------------


@case
def finally_decides():
    log = []

    def swallowed(x):
        try:
            raise ValueError("dropped")
        finally:
            return x * 2  # noqa: B012

    def on_some_paths(x):
        try:
            return x * 1
        finally:
            if x[0] > 0:
                return x * 5  # noqa: B012

    def fn(x):
        try:
            part = x[: int(abs(x[2]))]
        finally:
            log.append(part.shape)
        return swallowed(x), on_some_paths(x), part

    return fn, lambda: list(log)


@case
def an_exception_of_one_path():
    space = Space(n=0)

    def fn(x):
        space.n += 1
        if x[0] > 1:
            try:
                space.n += 10
                raise ValueError("stop")
            except KeyError:
                space.n += 1000
        return x * space.n

    return fn, lambda: space.n
