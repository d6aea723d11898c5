"""A run is the same for any number of workers, can be resumed, ends its threads, names errors."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import transforms, vision
from mycelia.dataset.runtime import run, thread_pool
from mycelia.dataset.runtime.bounded_queue import BoundedQueue, QueueClosed


@pytest.fixture(autouse=True)
def _seeded():
    before = dict(ds.config._now)
    ds.config.set_seed(11)
    yield
    ds.config._now.clear()
    ds.config._now.update(before)


def augmented(workers: int) -> ds.Dataset:
    images = np.random.default_rng(0).integers(0, 255, (40, 9, 9, 3)).astype(np.uint8)
    data = ds.NumpySlicesDataset((images, np.arange(40)), ["image", "label"])
    steps = [vision.RandomCrop(6), vision.RandomHorizontalFlip(), vision.RandomColorAdjust(0.4)]
    mapped = data.shuffle(7).map(steps, "image", num_parallel_workers=workers)
    flipped = mapped.map(transforms.RandomApply([vision.VerticalFlip()]), "image")
    return flipped.repeat(2).batch(3, num_parallel_workers=workers)


def stream(dataset: ds.Dataset, epochs: int = 2) -> list[list[np.ndarray]]:
    iterator = dataset.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [row for _ in range(epochs) for row in iterator]


def same(a: list, b: list) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(x, y) for one, other in zip(a, b) for x, y in zip(one, other)
    )


def test_the_stream_is_the_same_for_any_number_of_workers():
    alone = stream(augmented(1))
    assert same(alone, stream(augmented(2)))
    assert same(alone, stream(augmented(8)))
    ds.config.set_debug_mode(True)
    assert same(alone, stream(augmented(2)))


def test_epochs_and_seeds_give_other_streams():
    whole = stream(augmented(2))
    assert not same(whole[:27], whole[27:])
    ds.config.set_seed(12)
    assert not same(whole, stream(augmented(2)))


@pytest.mark.parametrize("at", [0, 1, 5, 26, 27, 33, 53])
def test_a_restored_run_gives_the_identical_remainder(at: int):
    whole = stream(augmented(2))
    first = augmented(2).create_tuple_iterator(num_epochs=2, output_numpy=True)
    taken = 0
    while taken < at:
        if next(first, None) is not None:
            taken += 1
    state = first.state()
    ds.config.set_seed(99)
    other = augmented(4).create_tuple_iterator(num_epochs=2, output_numpy=True)
    other.restore(state)
    rest = [row for _ in range(2 - state["epoch"]) for row in other]
    assert same(whole[at:], rest)


def steps_of_all_kinds() -> ds.Dataset:
    def count():
        yield from ((np.array(i), np.array([i] * (i % 4 + 1))) for i in range(30))

    data = ds.GeneratorDataset(count, ["x", "y"]).filter(lambda x: x % 3 != 0, "x").shuffle(5)
    other = ds.NumpySlicesDataset({"z": np.arange(50.0)}).map(lambda z: z + 1, "z")
    doubled = data.zip(other).concat(data.zip(other).skip(3))
    return doubled.padded_batch(4, pad_info={}).take(7)


@pytest.mark.parametrize("at", range(8))
def test_every_kind_of_step_resumes(at: int):
    whole = stream(steps_of_all_kinds(), 1)
    iterator = steps_of_all_kinds().create_tuple_iterator(num_epochs=1, output_numpy=True)
    iterator.restore({"epoch": 0, "row": at, "seed": 11})
    assert same(whole[at:], list(iterator))


def test_restore_refuses_what_is_no_state():
    with pytest.raises(ValueError, match="not the state of an iterator"):
        augmented(1).create_dict_iterator().restore({"epoch": 1})


def broken(x):
    if x == 7:
        raise KeyError("boo")
    return x


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_names_the_row_the_operation_and_the_users_line(workers: int):
    data = ds.NumpySlicesDataset(list(range(20)), shuffle=False)
    iterator = data.map(broken, num_parallel_workers=workers).create_tuple_iterator(num_epochs=1)
    with pytest.raises(RuntimeError, match="'broken' failed on row 7 of NumpySlicesDataset") as got:
        while True:
            next(iterator)
    assert 'raise KeyError("boo")' in str(got.value)
    assert isinstance(got.value.__cause__, KeyError)
    assert iterator.state()["row"] == 7


def test_errors_in_other_user_functions_name_the_step():
    data = ds.NumpySlicesDataset(list(range(20)), shuffle=False)
    with pytest.raises(RuntimeError, match="filter: the operation 'broken' failed on row 7"):
        stream(data.filter(broken), 1)
    with pytest.raises(RuntimeError, match="batch: the operation 'fail' failed on row 0"):
        stream(data.batch(2, per_batch_map=fail, input_columns=["column_0"]), 1)

    def count():
        yield (1,)
        raise OSError("disk")

    with pytest.raises(RuntimeError, match="row 1 of GeneratorDataset .*OSError: disk"):
        stream(ds.GeneratorDataset(count, ["a"]), 1)


def fail(column, info):
    raise ValueError("no")


def test_bad_rows_are_skipped_or_replaced_if_so_wanted():
    def made():
        data = ds.NumpySlicesDataset(list(range(6, 10)), shuffle=False)
        return [int(row[0]) for row in stream(data.map(broken, num_parallel_workers=2), 1)]

    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    assert made() == [6, 8, 9]
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
    assert made() == [6, 6, 8, 9]


def threads() -> int:
    return sum(thread.name.startswith("dataset") for thread in threading.enumerate())


def wait_for_end() -> None:
    gc.collect()
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_threads_end_when_an_iterator_is_dropped_or_released():
    iterator = augmented(4).create_dict_iterator()
    next(iterator)
    assert threads() > 0
    del iterator
    wait_for_end()
    assert threads() == 0
    other = augmented(4).create_dict_iterator()
    next(other)
    other.release()
    wait_for_end()
    assert threads() == 0


def test_queues_are_bounded():
    asked = []

    def count():
        for i in range(1000):
            asked.append(i)
            yield (i,)

    ds.config.set_prefetch_size(2)
    iterator = ds.GeneratorDataset(count, ["a"]).create_tuple_iterator()
    next(iterator)
    time.sleep(0.1)
    assert len(asked) <= 5


def test_a_closed_channel_wakes_both_ends():
    channel: BoundedQueue[int] = BoundedQueue(1)
    channel.put(1)
    woken = []

    def put() -> None:
        with pytest.raises(QueueClosed):
            channel.put(2)
        woken.append(True)

    thread = threading.Thread(target=put)
    thread.start()
    channel.close()
    thread.join(5)
    assert woken == [True]
    with pytest.raises(QueueClosed):
        channel.get()


def test_workers_run_at_the_same_time():
    barrier = threading.Barrier(2, timeout=5)
    ds.config.set_prefetch_size(4)
    data = ds.NumpySlicesDataset(list(range(34)), shuffle=False)  # tasks of 1, 1, 16, and 16

    def meet(x):
        barrier.wait()  # breaks unless two workers are here together
        return x

    assert len(stream(data.map(meet, num_parallel_workers=2), 1)) == 34


def test_batches_of_arrays_are_gathered_without_single_rows(monkeypatch):
    monkeypatch.setattr("mycelia.dataset.formats.reader.ArrayReader.row", None)
    data = ds.NumpySlicesDataset((np.arange(10), np.ones((10, 2))), shuffle=False)
    made = stream(data.skip(1).take(8).batch(3), 1)
    assert [row[0].tolist() for row in made] == [[1, 2, 3], [4, 5, 6], [7, 8]]
    mixed = stream(data.shuffle(4).repeat(2).batch(20), 1)
    assert sorted(mixed[0][0].tolist()) == sorted([*range(10)] * 2)


def test_gathered_batches_have_the_order_of_single_rows():
    data = ds.NumpySlicesDataset(np.arange(50)).shuffle(9).repeat(2).skip(3)
    gathered = np.concatenate([row[0] for row in stream(data.batch(4))])
    single = np.array([row[0] for row in stream(data)])
    np.testing.assert_array_equal(gathered, single)


def test_tensors_share_the_memory_of_the_batch():
    batch = next(
        ds.NumpySlicesDataset(np.arange(6.0), shuffle=False).batch(3).create_tuple_iterator()
    )
    assert batch[0].asnumpy() is batch[0].asnumpy()
    assert isinstance(batch[0]._data, np.ndarray)


def odd_fails(x):
    if x % 5 == 3:
        raise ValueError("no good")
    return x


@pytest.mark.parametrize("mode", ["SKIP", "REPLACE"])
@pytest.mark.parametrize("at", [0, 3, 4, 5, 9, 15])
def test_a_run_with_bad_rows_resumes_exactly(mode: str, at: int):
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode[mode])
    data = ds.NumpySlicesDataset(np.arange(20), shuffle=False).map(odd_fails)
    whole = stream(data, 1)
    iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    iterator.restore({"epoch": 0, "row": at, "seed": 11})
    assert same(whole[at:], list(iterator))


@pytest.mark.parametrize("workers", [1, 4])
def test_rows_wait_for_the_trainer_also_before_a_map(workers: int):
    data = ds.NumpySlicesDataset(np.arange(1, 11), shuffle=False).sync_wait("lesson", 1)
    data = data.map(lambda x: -x, num_parallel_workers=workers).batch(1)
    got = []
    for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        got.append(int(x[0]))
        data.sync_update("lesson")
    assert got == [-x for x in range(1, 11)]


def test_a_channel_of_small_items_keeps_their_order():
    channel: BoundedQueue[int] = BoundedQueue(16)
    thread = threading.Thread(target=lambda: [channel.put(i) for i in range(160)])
    thread.start()
    assert [channel.get() for _ in range(150)] == list(range(150))
    thread.join(5)
    channel.close()
    with pytest.raises(QueueClosed):
        channel.get()


class LargeRows:
    """Rows of 4 MiB."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, index: int) -> np.ndarray:
        return np.full(2**20, index, np.float32)

    def __len__(self) -> int:
        return self._count


@pytest.mark.parametrize("remotely", [False, True])
@pytest.mark.parametrize(
    "source", [LargeRows(60), lambda: map(LargeRows(60).__getitem__, range(60))]
)
def test_few_large_rows_are_held_at_once(source, remotely, monkeypatch):
    monkeypatch.setattr(thread_pool, "MOST_AHEAD", 2**23)
    monkeypatch.setattr(run, "_MOST_BYTES", 2**22)
    data = ds.GeneratorDataset(source, ["a"], shuffle=None if callable(source) else False)
    data = data.map(np.sqrt, "a", num_parallel_workers=2, python_multiprocessing=remotely)
    tracemalloc.start()
    try:
        rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        assert sum(1 for _ in rows) == 60
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 2**22


def test_memory_of_large_rows_goes_back_to_the_system_at_the_end(monkeypatch):
    returned = []
    monkeypatch.setattr(run, "release_free_memory", lambda: returned.append(True))
    monkeypatch.setattr(run, "_LARGE", 2**22)
    list(ds.NumpySlicesDataset(np.zeros((3, 2)), ["a"]).create_tuple_iterator(num_epochs=1))
    gc.collect()
    assert not returned
    list(ds.GeneratorDataset(LargeRows(2), ["a"]).create_tuple_iterator(num_epochs=1))
    gc.collect()
    assert returned


def test_shapes_that_an_iterator_has_seen_are_not_computed_again():
    calls = []
    data = ds.GeneratorDataset(LargeRows(1), ["a"]).map(lambda a: calls.append(1) or a[:3])
    list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert data.output_shapes() == [[3]]
    assert data.output_types() == [np.dtype("float32")]
    assert len(calls) == 1
