"""Random pipelines give the same rows however they are run: rewritten or not, by any number of
workers, in turn, from any position on, and from their own JSON."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mycelia.dataset as ds
from mycelia.dataset import transforms, vision
from mycelia.dataset.ir import optimizer

EPOCHS = 2
POINTS: list[tuple[int, int]] = []  # epochs and rows that runs were resumed from


# Trees -------------------------------------------------------------------------------------------


def arrays(size: int, shuffle: bool) -> ds.Dataset:
    """Small images and their numbers."""
    images = np.arange(size * 24, dtype=np.uint8).reshape(size, 4, 3, 2)
    return ds.NumpySlicesDataset({"x": images, "y": np.arange(size)}, shuffle=shuffle)


class Items:
    """Rows of changing length, read in any order."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> tuple:
        return np.full((index % 3 + 1, 2, 2), index, np.uint8), np.array(index)


def items(size: int, shuffle: bool) -> ds.Dataset:
    return ds.GeneratorDataset(Items(size), ["x", "y"], shuffle=shuffle)


def generated(size: int, shuffle: bool) -> ds.Dataset:
    """A stream, which has no random access."""
    return ds.GeneratorDataset(lambda: (Items(size)[i] for i in range(size)), ["x", "y"])


def in_a_line(x):
    return x.astype(np.float32).ravel()


def joined(parts: list) -> ds.Dataset:
    """Datasets after one another, which must have values of one type and rank."""
    filled = [part.map(in_a_line, "x").map(in_a_line, "y") for part in parts if len(part)]
    return filled[0].concat(filled[1:]) if len(filled) > 1 else parts[0]


def plus_one(x):
    return x + 1


def of_both(x, y):
    return (x + y).astype(np.float32), y


def keeps(y):
    return int(np.sum(y)) % 3 != 1


PLAIN = [
    lambda: transforms.TypeCast(np.float32),
    lambda: plus_one,
    lambda: transforms.Fill(3),
    lambda: transforms.Mask(transforms.Relational.GT, 5),
    lambda: vision.Rescale(0.5, 1.0),
]
RANDOM = [
    lambda: transforms.RandomApply([transforms.Fill(9)]),
    lambda: transforms.RandomChoice([transforms.Fill(1), transforms.Fill(2)]),
    lambda: transforms.RandomOrder([transforms.Fill(1), transforms.Fill(2)]),
]


def mapped(data: ds.Dataset, picks: list[int], column: str, workers: int | None) -> ds.Dataset:
    steps = [*PLAIN, *RANDOM]
    chosen = [steps[pick % len(steps)]() for pick in picks]
    return data.map(chosen, column, num_parallel_workers=workers)


def there_and_back(data: ds.Dataset) -> ds.Dataset:
    return data.rename(["x"], ["z"]).rename(["z", "y"], ["y", "x"]).rename(["x", "y"], ["y", "x"])


def zipped(data: ds.Dataset, size: int) -> ds.Dataset:
    other = arrays(size, True).rename(["x", "y"], ["u", "v"]).map(plus_one, "v")
    return data.zip(other).project(["x", "v"]).rename("v", "y")


SIZES = st.integers(1, 9)
LENGTHS = st.sampled_from([17, 8, 13, 30, 1])
SOURCES = st.builds(
    lambda make, size, shuffle: make(size, shuffle),
    st.sampled_from([arrays, items, generated]),
    LENGTHS,
    st.booleans(),
)
STEPS = st.one_of(
    st.builds(
        lambda picks, column, workers: lambda d: mapped(d, picks, column, workers),
        st.lists(st.integers(0, 7), min_size=1, max_size=3),
        st.sampled_from(["x", "y"]),
        st.sampled_from([None, 2]),
    ),
    st.builds(
        lambda one, two: lambda d: mapped(mapped(d, [one, 0], "x", 2), [1, two], "x", None),
        st.integers(5, 7),
        st.integers(5, 7),
    ),
    st.just(lambda d: d.map(of_both, ["x", "y"])),
    st.builds(lambda n: lambda d: d.shuffle(n + 1), SIZES),
    st.builds(lambda n: lambda d: d.repeat(n), st.integers(1, 3)),
    st.builds(lambda n: lambda d: d.skip(n), st.integers(0, 4)),
    st.builds(lambda n: lambda d: d.take(n), st.sampled_from([11, 23, -1, 4, 1])),
    st.just(lambda d: d.project(["y", "x"]).project(["x", "y"])),
    st.just(there_and_back),
    st.just(lambda d: d.filter(keeps, "y")),
    st.builds(lambda n: lambda d: zipped(d, n), LENGTHS),
    st.builds(lambda n: lambda d: joined([d, arrays(n, True)]), LENGTHS),
    st.builds(lambda n: lambda d: joined([d, items(n, False), d]), LENGTHS),
)
ENDS = st.one_of(
    st.just(lambda d: d),
    st.builds(lambda n, drop: lambda d: alike(d).batch(n, drop), SIZES, st.booleans()),
    st.builds(
        lambda n, drop: lambda d: flat(d).padded_batch(n, drop, pad_info={}), SIZES, st.booleans()
    ),
    st.builds(lambda n: lambda d: alike(d).batch(n).map(plus_one, "x").repeat(2), SIZES),
)


def alike(data: ds.Dataset) -> ds.Dataset:
    """Rows of one shape and type."""
    return data.map(lambda x, y: (np.float64(x.sum()), np.float32(y)), ["x", "y"])


def flat(data: ds.Dataset) -> ds.Dataset:
    """Rows of one rank and type."""
    return data.map(lambda x, y: (x.reshape(-1).astype(np.float32), np.float32(y)), ["x", "y"])


@st.composite
def trees(draw) -> ds.Dataset:
    data = draw(SOURCES)
    for step in draw(st.lists(STEPS, min_size=2, max_size=6)):
        data = step(data)
    return draw(ENDS)(data)


# Ways to run them --------------------------------------------------------------------------------


@contextmanager
def settings_of(**wanted):
    before = dict(ds.config._now)
    ds.config._now.update(wanted)
    try:
        yield
    finally:
        ds.config._now.clear()
        ds.config._now.update(before)


def rows(data: ds.Dataset, state: dict | None = None) -> list[list[list[np.ndarray]]]:
    """The rows of all epochs, or of what is left of them after a state."""
    iterator = data.create_tuple_iterator(num_epochs=EPOCHS, output_numpy=True)
    if state is not None:
        iterator.restore(state)
    left = EPOCHS - (0 if state is None else state["epoch"])
    made = [list(iterator) for _ in range(left)]
    iterator.release()
    return made


def assert_same(one: list, other: list) -> None:
    assert [len(epoch) for epoch in one] == [len(epoch) for epoch in other]
    for a, b in zip(chain.from_iterable(one), chain.from_iterable(other), strict=True):
        for x, y in zip(a, b, strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            np.testing.assert_array_equal(x, y)


def check(examples: int):
    """Settings of a property: always the same examples, never a deadline."""
    unhealthy = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=unhealthy,
    )


@check(150)
@given(trees())
def test_rewriting_changes_no_row(data: ds.Dataset):
    with settings_of(seed=11, debug_mode=True):
        expected = rows(data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(optimizer, "RULES", ())
            assert_same(rows(data), expected)


@check(30)
@given(trees())
def test_workers_and_turns_change_no_row(data: ds.Dataset):
    with settings_of(seed=11, num_parallel_workers=1):
        expected = rows(data)
    for workers in (2, 8):
        with settings_of(seed=11, num_parallel_workers=workers):
            assert_same(rows(data), expected)
    with settings_of(seed=11, debug_mode=True):
        assert_same(rows(data), expected)
    with pytest.MonkeyPatch.context() as patch, settings_of(seed=11, num_parallel_workers=2):
        patch.setattr(optimizer, "RULES", ())
        assert_same(rows(data), expected)


@check(40)
@given(trees(), st.integers(0, 2**32))
def test_a_run_goes_on_from_any_position(data: ds.Dataset, chance: int):
    random = Random(chance)
    with settings_of(seed=11, num_parallel_workers=2):
        expected = rows(data)
    for epoch in (0, 1, 0):
        row = random.randint(0, len(expected[epoch]))
        POINTS.append((epoch, row))
        with settings_of(seed=99, num_parallel_workers=random.randint(1, 4)):
            rest = rows(data, {"epoch": epoch, "row": row, "seed": 11})
        assert_same(rest, [expected[epoch][row:], *expected[epoch + 1 :]])


def test_runs_were_resumed_from_many_positions():
    if not POINTS:
        pytest.skip("the test before has not run")
    assert len(POINTS) >= 50
    assert len(set(POINTS)) >= 20


# JSON --------------------------------------------------------------------------------------------

SERIAL_STEPS = st.one_of(
    st.builds(lambda n: lambda d: d.map(PLAIN[n](), "text"), st.sampled_from([2])),
    st.builds(lambda n: lambda d: d.map(RANDOM[n](), "text"), st.integers(0, 2)),
    st.builds(lambda n: lambda d: d.shuffle(n + 1), SIZES),
    st.builds(lambda n: lambda d: d.repeat(n), st.integers(1, 3)),
    st.builds(lambda n: lambda d: d.skip(n), st.integers(0, 4)),
    st.builds(lambda n: lambda d: d.take(n), st.sampled_from([11, 23, -1, 4, 1])),
    st.just(lambda d: d.project("text")),
    st.just(lambda d: d.rename("text", "t").rename("t", "text")),
    st.just(lambda d: d.concat(d) if len(d) else d),
    st.just(lambda d: d.zip(d.rename("text", "t")).project("text")),
    st.builds(lambda n: lambda d: d.batch(n, drop_remainder=True), SIZES),
)


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_text("".join(f"{number:03}\n" for number in range(13)))
    return str(path)


@check(30)
@given(st.booleans(), st.lists(SERIAL_STEPS, max_size=5))
def test_a_tree_that_came_back_from_json_gives_the_same_rows(lines, shuffle: bool, steps: list):
    data = ds.TextFileDataset(lines, shuffle=shuffle)
    for step in steps:
        data = step(data)
    with settings_of(seed=11, num_parallel_workers=2):
        returned = ds.deserialize(ds.serialize(data))
        assert_same(rows(returned), rows(data))
    assert ds.serialize(returned) == ds.serialize(data)
