"""A cache makes rows once, keeps them within its limits, and is found again by other processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import transforms, vision
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import walk
from mycelia.dataset.runtime.row_store import store_of

pytestmark = pytest.mark.usefixtures("seeded")


class Counted:
    """A function that knows how often it was called."""

    def __init__(self, function=lambda x: x * 2) -> None:
        self.calls = 0
        self._function = function

    def __call__(self, *values):
        self.calls += 1
        return self._function(*values)


def numbers(count: int = 20, **options) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(count)}, **(options or {"shuffle": False}))


def epochs(dataset: ds.Dataset, count: int = 1) -> list[list]:
    iterator = dataset.create_tuple_iterator(num_epochs=count, output_numpy=True)
    return [[[v.tolist() for v in row] for row in iterator] for _ in range(count)]


def stores(dataset: ds.Dataset) -> list:
    return [store_of(n.cache_options) for n in walk(dataset.node) if isinstance(n, O.CacheNode)]


# What is kept ------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 4])
def test_a_cached_map_calls_its_function_once_for_each_row(workers: int):
    double = Counted()
    data = numbers().map(double, "x", num_parallel_workers=workers).cache()
    assert epochs(data, 3) == [[[2 * i] for i in range(20)]] * 3
    assert double.calls == 20
    assert epochs(data.batch(5)) == [[[[2 * i for i in range(k, k + 5)]] for k in (0, 5, 10, 15)]]
    assert double.calls == 20  # another tree over the same cache


def test_rows_below_a_sampler_are_known_by_their_number():
    double = Counted()
    data = numbers(sampler=ds.RandomSampler()).map(double, "x").cache()
    first, second = epochs(data, 2)
    assert first != second
    assert sorted(first) == sorted(second) == [[2 * i] for i in range(20)]
    assert double.calls == 20


def test_a_cache_changes_no_order():
    def made(kept: bool) -> list:
        data = numbers(shuffle=True).shuffle(7).map(lambda x: x + 1, "x")
        return epochs((data.cache() if kept else data).repeat(2).batch(3), 2)

    assert made(True) == made(False)


def test_random_steps_above_a_cache_stay_random():
    data = numbers().map(lambda x: np.full((6, 6, 3), x, np.uint8), "x").cache()
    crops = data.map(vision.RandomCrop(3, padding=2), "x")
    first, second = epochs(crops, 2)
    assert first != second


def test_a_subset_keeps_only_what_it_reads():
    double = Counted()
    data = numbers(sampler=ds.SubsetSampler([3, 5, 3])).map(double, "x").cache()
    assert epochs(data, 2) == [[[6], [10], [6]]] * 2
    assert double.calls == 2


def test_batches_and_filters_are_kept_by_place():
    even = Counted(lambda x: x % 2 == 0)
    data = numbers().filter(even, "x").batch(4).cache()
    expected = [[[0, 2, 4, 6]], [[8, 10, 12, 14]], [[16, 18]]]
    assert epochs(data, 3) == [expected] * 3
    assert even.calls == 20
    assert epochs(data.skip(1)) == [expected[1:]]
    assert even.calls == 20


def test_the_first_rows_of_a_stream_are_enough_for_those_who_take_them():
    double = Counted()
    data = numbers().batch(2).map(double, "x").cache().take(3)
    assert epochs(data, 3) == [[[[0, 2]], [[4, 6]], [[8, 10]]]] * 3
    assert double.calls <= 10 + 2 * 16  # made ahead once, not in each epoch


def test_an_epoch_that_was_left_early_spoils_nothing():
    data = numbers(50).filter(lambda x: True, "x").cache(megabytes=1)
    iterator = data.create_tuple_iterator(num_epochs=1)
    next(iterator)
    iterator.release()
    assert epochs(data, 2) == [[[i] for i in range(50)]] * 2
    (store,) = stores(data)
    assert len(store) == 50
    assert store._bytes == 50 * 8  # each row is counted once


def test_a_run_can_be_resumed_in_the_middle_of_a_cache():
    data = numbers().filter(lambda x: x % 3 != 0, "x").cache()
    for _ in range(2):  # before and after the cache is full
        iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        iterator.restore({"epoch": 0, "row": 5, "seed": 11})
        assert [int(x) for (x,) in iterator] == [8, 10, 11, 13, 14, 16, 17, 19]
    assert epochs(data)[0][:3] == [[1], [2], [4]]


def test_kept_rows_do_not_change_with_those_given_out():
    data = numbers(3).map(lambda x: np.full(4, x), "x").cache()
    for _ in range(2):
        for (row,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            row += 100
    assert epochs(data) == [[[[i] * 4] for i in range(3)]]


def test_repeats_without_end_are_kept_once():
    double = Counted()
    data = numbers(5).map(double, "x").repeat().cache().take(12)
    assert epochs(data) == [[[2 * (i % 5)] for i in range(12)]]
    assert double.calls == 5


# DatasetCache ------------------------------------------------------------------------------------


def test_dataset_cache_on_a_source_reads_files_once(image_folder: Path):
    cache = ds.DatasetCache(session_id=1, size=0)
    data = ds.ImageFolderDataset(str(image_folder), shuffle=True, cache=cache)
    first = epochs(data)
    for path in image_folder.rglob("*.jpg"):
        path.write_bytes(b"gone")
    assert sorted(map(str, epochs(data)[0])) == sorted(map(str, first[0]))


def test_dataset_cache_on_a_map():
    double = Counted()
    cache = ds.DatasetCache(session_id=1, size=1, spilling=True)
    data = numbers().map(double, "x", cache=cache)
    assert epochs(data, 2) == [[[2 * i] for i in range(20)]] * 2
    assert double.calls == 20


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: ds.DatasetCache("one"), TypeError, "session_id"),
        (lambda: ds.DatasetCache(1, size=-1), ValueError, "size"),
        (lambda: ds.DatasetCache(1, spilling=1), TypeError, "spilling"),
        (lambda: numbers().map(len, cache=3), TypeError, "cache: wrong type"),
        (lambda: numbers().cache(-1), ValueError, "megabytes"),
    ],
)
def test_bad_arguments_are_named(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


# Limits ------------------------------------------------------------------------------------------


def big(count: int = 12) -> ds.Dataset:
    """Rows of a quarter of a megabyte."""
    return numbers(count).map(lambda x: np.full(2**15, x, np.int64), "x")


def first_numbers(dataset: ds.Dataset) -> list[int]:
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [int(x[0]) for (x,) in rows if (x == x[0]).all()]


def test_rows_beyond_the_limit_go_to_a_file_that_ends_with_the_dataset(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = big().cache(megabytes=1)
    for _ in range(2):
        assert first_numbers(data) == list(range(12))
    (store,) = stores(data)
    assert store._bytes <= 2**20
    assert len(store._memory) == 4
    assert len(store) == 12
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size == 8 * 2**18
    del data, store
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("by_place", "again"), [(False, 8), (True, 12)])  # a filter starts anew
def test_without_spilling_what_is_beyond_the_limit_is_made_again(
    by_place, again, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    same = Counted(lambda x: x)
    data = big().map(same, "x")
    kept = (data.filter(lambda x: True, "x") if by_place else data).cache(1, spilling=False)
    assert first_numbers(kept) == first_numbers(kept) == list(range(12))
    assert same.calls == 12 + again
    assert list(tmp_path.iterdir()) == []


def made_rows(x) -> tuple:
    number = int(x)
    return (
        np.array(["text" * number, ""]),
        np.zeros((number % 2, 3), np.float32),
        np.array(number).astype(ml_dtypes.bfloat16),
        np.array([b"\x00\xff", b"bytes"]),
    )


@pytest.mark.parametrize("place", ["memory", "spilled", "folder"])
def test_rows_of_all_kinds_come_back_as_they_were(place: str, tmp_path: Path):
    names = ["text", "empty", "small", "bytes"]
    data = numbers(6).map(made_rows, "x", names)
    data = data.cache(folder=str(tmp_path)) if place == "folder" else data.cache()
    if place == "spilled":
        stores(data)[0]._limit = 1
    for _ in range(2):
        rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        for number, row in enumerate(rows):
            for value, expected in zip(row, made_rows(number), strict=True):
                assert value.dtype == expected.dtype
                np.testing.assert_array_equal(value, expected)


def test_rows_of_empty_arrays_only_are_kept(tmp_path: Path):
    empty = Counted(lambda x: np.zeros((0, 2)))
    data = numbers(4).map(empty, "x").cache(megabytes=1)
    stores(data)[0]._limit = -1
    for _ in range(2):
        rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        assert [x.shape for (x,) in rows] == [(0, 2)] * 4
    assert empty.calls == 4


@pytest.mark.parametrize("spilled", [False, True])
def test_columns_of_dicts_are_kept(spilled: bool):
    nest = Counted(lambda x: {"a": x, "b": {"c": np.full(3, x)}})
    data = numbers(4).map(nest, "x").cache()
    stores(data)[0]._limit = 1 if spilled else None
    for _ in range(2):
        rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        made = [(int(row["x"]["a"]), row["x"]["b"]["c"].tolist()) for row in rows]
        assert made == [(i, [i] * 3) for i in range(4)]
    assert nest.calls == 4


# Random steps below ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (lambda: numbers().map(transforms.RandomApply([transforms.Fill(1)])), "RandomApply"),
        (lambda: numbers().shuffle(4).batch(2), "Shuffle"),
        (lambda: numbers(shuffle=True).batch(2), "the sampler of NumpySlicesDataset"),
        (lambda: numbers().batch(2).map(transforms.RandomApply([transforms.Fill(1)])), "Random"),
    ],
)
def test_rows_that_change_from_epoch_to_epoch_are_refused(data, name: str):
    with pytest.raises(RuntimeError, match=f"(?s){name}.*fix: *put the cache before the random"):
        epochs(data().cache())


# Folders -----------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
import mycelia.dataset as ds

kept, log, factor = sys.argv[1], sys.argv[2], int(sys.argv[3])

def scaled(x):
    with open(log, "a") as file:
        file.write("x")
    return np.array([len(x), factor])

data = ds.TextFileDataset(sys.argv[4], shuffle=False).map(scaled, "text").cache(folder=kept)
rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
print([x.tolist() for (x,) in rows])
"""


class Elsewhere:
    """Runs of a script over text files, with a count of the calls of its function."""

    def __init__(self, folder: Path) -> None:
        self.script, self.log, self.kept = folder / "s.py", folder / "log", folder / "kept"
        self.text = folder / "text.txt"
        self.text.write_text("a\nbb\nccc\n")
        self.script.write_text(textwrap.dedent(SCRIPT).replace("len(x)", "len(str(x))"))

    def run(self, factor: int = 2) -> tuple[str, int]:
        self.log.write_text("")
        arguments = [self.script, self.kept, self.log, str(factor), self.text]
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), len(self.log.read_text())

    def files(self) -> int:
        return len(list(self.kept.iterdir()))


def test_another_process_finds_the_rows(tmp_path: Path):
    elsewhere = Elsewhere(tmp_path)
    assert elsewhere.run() == ("[[1, 2], [2, 2], [3, 2]]", 3)
    assert elsewhere.run() == ("[[1, 2], [2, 2], [3, 2]]", 0)
    assert elsewhere.files() == 1
    assert elsewhere.run(factor=5) == ("[[1, 5], [2, 5], [3, 5]]", 3)  # another function
    elsewhere.text.write_text("a\nbb\nccc\ndddd\n")
    assert elsewhere.run() == ("[[1, 2], [2, 2], [3, 2], [4, 2]]", 4)  # another file
    assert elsewhere.files() == 3


def key(dataset: ds.Dataset, folder: Path) -> str:
    return dataset.cache(folder=str(folder)).node.cache_options.key


def scaled_by(factor: float) -> ds.Dataset:
    return numbers().map(lambda x: x * factor, "x")


FACTOR = 3


def by_a_global(x):
    return helped(x)


def helped(x):
    return x * FACTOR


def test_the_name_of_rows_follows_what_makes_them(tmp_path: Path, monkeypatch):
    one_hot = transforms.OneHot(20)
    pairs = [
        (numbers(), numbers(21)),
        (numbers(), numbers(sampler=ds.SubsetSampler([1]))),
        (numbers().map(one_hot), numbers().map(transforms.OneHot(21))),
        (numbers().map(transforms.TypeCast(np.int8)), numbers().map(transforms.TypeCast(np.int16))),
        (numbers().map(np.sqrt), numbers().map(np.cbrt)),
        (scaled_by(2), scaled_by(3)),
        (numbers().map(lambda x: x + 1), numbers().map(lambda x: x + 2)),
        (numbers().map(lambda x, y=1: x + y), numbers().map(lambda x, y=2: x + y)),
        (numbers().map(lambda x: max(x, 1)), numbers().map(lambda x: min(x, 1))),
        (numbers().batch(2), numbers().batch(2, drop_remainder=True)),
        (numbers().skip(1), numbers().take(1)),
        (
            numbers()
            .zip(numbers().rename("x", "y"))
            .concat(numbers().zip(scaled_by(1).rename("x", "y"))),
            numbers()
            .zip(scaled_by(1).rename("x", "y"))
            .concat(numbers().zip(numbers().rename("x", "y"))),
        ),
    ]
    for one, other in pairs:
        assert key(one, tmp_path) == key(one, tmp_path)
        assert key(one, tmp_path) != key(other, tmp_path), (str(one), str(other))
    before = key(numbers().map(by_a_global), tmp_path)
    monkeypatch.setitem(globals(), "FACTOR", 4)
    assert key(numbers().map(by_a_global), tmp_path) != before
    assert key(numbers().map(one_hot, num_parallel_workers=4), tmp_path) == key(
        numbers().map(one_hot), tmp_path
    )


def test_the_name_of_rows_follows_changed_files(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\n")
    kept = tmp_path / "kept"
    before = [key(ds.TextFileDataset(name), kept) for name in ("lines.txt", str(file))]
    os.utime(file, (time.time() + 10, time.time() + 10))
    after = [key(ds.TextFileDataset(name), kept) for name in ("lines.txt", str(file))]
    assert not set(before) & set(after)


def test_objects_without_a_name_are_refused(tmp_path: Path):
    with pytest.raises(
        TypeError, match=r"(?s)no identity.*Counted.*fix: *call cache\(\) without a folder"
    ):
        numbers().map(Counted(), "x").cache(folder=str(tmp_path))

    class Scale:
        factor = 2

        def times(self, x):
            return x * self.factor

    with pytest.raises(TypeError, match="no identity"):
        numbers().map(Scale().times, "x").cache(folder=str(tmp_path))


def test_an_unfinished_epoch_leaves_no_finished_file(tmp_path: Path):
    data = (
        numbers(200).map(lambda x: x + 1, "x", num_parallel_workers=1).cache(folder=str(tmp_path))
    )
    ds.config.set_prefetch_size(2)
    iterator = data.create_tuple_iterator(num_epochs=1)
    next(iterator)
    iterator.release()
    assert [p.suffix for p in tmp_path.iterdir()] == [".part"]
    del data, iterator
    deadline = time.monotonic() + 5
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_a_second_dataset_in_this_process_finds_the_rows(tmp_path: Path):
    for _ in range(2):
        data = numbers(5).map(by_a_global, "x").batch(2).cache(folder=str(tmp_path))
        assert epochs(data) == [[[[0, 3]], [[6, 9]], [[12]]]]
        del data
        gc.collect()
        assert [p.suffix for p in tmp_path.iterdir()] == [".rows"]


@pytest.mark.parametrize("damage", [b"", b"short", bytes(200)])
def test_a_damaged_file_is_made_anew(tmp_path, damage, caplog):
    def rows() -> list[int]:
        data = ds.NumpySlicesDataset({"x": [np.arange(n) for n in (1, 2, 3)]}, shuffle=False)
        kept = data.cache(folder=str(tmp_path))
        return [len(x) for (x,) in kept.create_tuple_iterator(num_epochs=1, output_numpy=True)]

    assert rows() == [1, 2, 3]
    (file,) = tmp_path.glob("*.rows")
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert rows() == [1, 2, 3]
    assert "damaged and is" in caplog.text
    assert file.read_bytes() == whole
