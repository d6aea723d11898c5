"""What the steps of a pipeline give, compared with plain Python or with MindSpore's results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds


@pytest.fixture(autouse=True)
def _seeded():
    before = dict(ds.config._now)
    ds.config.set_seed(3)
    yield
    ds.config._now.clear()
    ds.config._now.update(before)


def four(**options) -> ds.Dataset:
    data = {"a": np.arange(4, dtype=np.int32), "b": np.arange(4.0)}
    return ds.NumpySlicesDataset(data, shuffle=False, **options)


def ragged() -> ds.Dataset:
    rows = [(np.arange(i + 1), np.ones((i + 1, 2), np.float32)) for i in range(4)]
    return ds.GeneratorDataset(rows, ["a", "b"], shuffle=False)


def rows(dataset: ds.Dataset) -> list[dict]:
    return [
        {name: value.tolist() for name, value in row.items()}
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    ]


def column(dataset: ds.Dataset, place: int = 0) -> list:
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [row[place].tolist() for row in iterator]


class Squares:
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int):
        return np.array([index]), index * index


def test_numpy_slices_of_arrays_lists_and_dicts():
    pair = ds.NumpySlicesDataset((np.arange(6).reshape(3, 2), [1.5, 2.5, 3.5]), shuffle=False)
    assert pair.get_col_names() == ["column_0", "column_1"]
    assert pair.output_shapes() == [[2], []]
    assert pair.output_types() == [np.dtype("int64"), np.dtype("float64")]
    assert rows(pair)[1] == {"column_0": [2, 3], "column_1": 2.5}
    texts = ds.NumpySlicesDataset({"t": ["x", "yy"]}, shuffle=False)
    assert column(texts) == ["x", "yy"]
    assert isinstance(next(texts.create_dict_iterator())["t"], np.ndarray)
    uneven = ds.NumpySlicesDataset([[1, 2], [3]], shuffle=False)
    assert column(uneven) == [[1, 2], [3]]


def test_generator_dataset_takes_functions_iterables_and_random_access():
    def count():
        yield from ((i,) for i in range(4))

    assert column(ds.GeneratorDataset(count, ["a"])) == [0, 1, 2, 3]
    assert column(ds.GeneratorDataset(iter_of(5), ["a"], num_samples=3)) == [0, 1, 2]
    with pytest.raises(ValueError, match="num_shards requires a source with random access"):
        ds.GeneratorDataset(iter_of(5), ["a"], num_shards=2, shard_id=1)
    assert rows(ds.GeneratorDataset(Squares(), ["x", "y"], shuffle=False))[2] == {"x": [2], "y": 4}
    assert column(ds.GeneratorDataset(Squares(), ["x", "y"], sampler=[4, 1]), 1) == [16, 1]
    assert sorted(column(ds.GeneratorDataset(Squares(), ["x", "y"]), 1)) == [0, 1, 4, 9, 16, 25]
    typed = ds.GeneratorDataset(count, ["a"], column_types=[ms.float32])
    with pytest.raises(RuntimeError, match="a different type than column_types"):
        rows(typed)


def test_generator_dataset_with_a_batch_sampler():
    batches = ds.GeneratorDataset(Squares(), ["x", "y"], batch_sampler=[[0, 1], [5]])
    assert batches.get_dataset_size() == 2
    assert column(batches, 1) == [[0, 1], [25]]
    assert batches.get_batch_size() == -1
    total = ds.GeneratorDataset(
        Squares(),
        ["x", "y"],
        batch_sampler=[[1, 2]],
        collate_fn=lambda x, y: (np.stack(x), sum(y)),
    )
    assert rows(total) == [{"x": [[1], [2]], "y": 5}]


def test_iterators_as_sources_give_their_rows_again():
    for source in (iter([1, 2, 3]), (i for i in (1, 2, 3)), map(int, "123")):
        data = ds.GeneratorDataset(source, ["a"])
        assert data.get_dataset_size() == 3
        assert column(data) == [1, 2, 3]
        assert column(data) == [1, 2, 3]
    pairs = ds.GeneratorDataset(zip([1, 2], [3, 4]), ["a", "b"], shuffle=False)
    assert column(pairs.repeat(2)) == [1, 2, 1, 2]


def test_a_source_without_end_is_not_read_ahead_of_its_use():
    data = ds.GeneratorDataset(((i,) for i in itertools.count()), ["a"]).take(3)
    assert column(data) == [0, 1, 2]
    assert column(data) == [0, 1, 2]


def test_rows_are_found_by_their_place_in_the_order_of_the_sampler():
    data = ds.GeneratorDataset(Squares(), ["x", "y"], num_shards=2, shard_id=1, shuffle=False)
    assert [int(data[place][1]) for place in range(3)] == [1, 9, 25]
    with pytest.raises(RuntimeError, match="row index out of range"):
        data[3]
    with pytest.raises(TypeError, match="index"):
        data["x"]
    assert ds.NumpySlicesDataset({"t": ["x", "yy"]}, shuffle=False)[1] == ("yy",)
    with pytest.raises(RuntimeError, match="no random access"):
        ds.GeneratorDataset(iter_of(5), ["a"])[0]


def test_a_schema_names_and_types_the_columns_of_a_generator():
    schema = ds.Schema()
    schema.add_column("n", ms.int64, [])
    schema.add_column("half", ms.float32, [])
    data = ds.GeneratorDataset([(1, np.float32(0.5))], schema=schema)
    assert rows(data) == [{"n": 1, "half": 0.5}]
    with pytest.raises(RuntimeError, match="a different type than column_types"):
        rows(ds.GeneratorDataset([(1, 0.5)], schema=schema))
    assert rows(ds.GeneratorDataset([(1, 0.5)], ["a", "b"], [ms.int64, None]))


def test_samplers_of_users_say_how_many_rows_come_and_are_reset_between_epochs():
    class Counting(ds.Sampler):
        turn = 0

        def __iter__(self):
            return iter([self.turn] * 2)

        def reset(self):
            self.turn += 1

    data = ds.GeneratorDataset(Squares(), ["x", "y"], sampler=Counting())
    assert data.get_dataset_size() == 2
    assert column(data.repeat(3), 1) == [0, 0, 1, 1, 4, 4]
    short = ds.GeneratorDataset(Squares(), ["x", "y"], sampler=ds.IterSampler([1, 2], 3))
    with pytest.raises(RuntimeError, match="the number of rows differs from the declared one"):
        rows(short)


def iter_of(count: int):
    class Counting:
        def __iter__(self):
            return ((i,) for i in range(count))

    return Counting()


def test_padded_dataset_gives_its_samples():
    padding = ds.PaddedDataset([{"x": np.array([1])}, {"x": np.array([2])}])
    assert padding.get_col_names() == ["x"]
    assert column(padding) == [[1], [2]]
    joined = ds.NumpySlicesDataset({"x": [[7]]}, shuffle=False) + padding
    assert column(joined) == [[7], [1], [2]]


def test_map_places_columns_as_mindspore_does():
    three = four().map(lambda a, b: (a, b, a + b), ["a", "b"], ["x", "y", "z"])
    assert list(rows(three)[1]) == ["x", "y", "z"]
    assert list(rows(four().map(lambda b: (b, b), ["b"], ["x", "y"]))[0]) == ["x", "y", "a"]
    assert rows(four().map(lambda a, b: a + b, ["a", "b"], ["c"]))[3] == {"c": 6.0}
    assert rows(four().map([lambda a: a + 1, lambda a: a * 10]))[1] == {"a": 20, "b": 1.0}
    assert rows(four().map(lambda a: "hello", "a"))[0]["a"] == "hello"
    assert rows(four().map(lambda a: [a, a], "a"))[2]["a"] == [2, 2]


def test_batch_stacks_and_keeps_or_drops_the_rest():
    assert column(four().batch(3)) == [[0, 1, 2], [3]]
    assert column(four().batch(3, drop_remainder=True)) == [[0, 1, 2]]
    assert four().batch(3, drop_remainder=True).get_dataset_size() == 1
    growing = four().batch(lambda info: info.get_batch_num() + 1)
    assert column(growing) == [[0], [1, 2], [3]]
    assert (growing.get_dataset_size(), growing.get_batch_size()) == (3, -1)


def test_per_batch_map_changes_lists_of_rows():
    def add(a, b, info):
        return [x + info.get_batch_num() for x in a], b

    assert column(four().batch(2, per_batch_map=add, input_columns=["a", "b"])) == [[0, 1], [3, 4]]
    info = ds.BatchInfo()
    assert (info.get_epoch_num(), info.get_batch_num()) == (0, 0)
    renamed = four().batch(
        2,
        per_batch_map=lambda a, info: (a, [info.get_epoch_num()] * 2),
        input_columns=["a"],
        output_columns=["p", "q"],
    )
    assert rows(renamed)[1] == {"p": [2, 3], "q": [0, 0], "b": [2.0, 3.0]}


def test_padded_batch_fills_up():
    info = {"a": ([6], -1), "b": ([None, 3], 0.5)}
    first, second = rows(ragged().padded_batch(2, pad_info=info))
    assert first["a"] == [[0, -1, -1, -1, -1, -1], [0, 1, -1, -1, -1, -1]]
    assert first["b"][0] == [[1.0, 1.0, 0.5], [0.5, 0.5, 0.5]]
    assert np.shape(second["b"]) == (2, 4, 3)
    cut = rows(ragged().padded_batch(2, pad_info={"a": ([2], -1), "b": None}))
    assert cut[1]["a"] == [[0, 1], [0, 1]]


def test_bucket_batch_by_length_keeps_similar_lengths_together():
    info = {"a": ([None], 0), "b": ([None, 2], 0)}
    made = rows(ragged().bucket_batch_by_length(["a"], [2, 4], [1, 2, 1], pad_info=info))
    assert [row["a"] for row in made] == [[[0]], [[0, 1, 0], [0, 1, 2]], [[0, 1, 2, 3]]]
    by_function = ragged().bucket_batch_by_length(
        ["a"], [10], [4, 1], lambda a: len(a) + 1, info, drop_remainder=True
    )
    assert len(rows(by_function)) == 1
    bounded = ragged().bucket_batch_by_length(
        ["a"], [6], [4, 1], None, {"a": ([None], -1), "b": None}, pad_to_bucket_boundary=True
    )
    assert rows(bounded)[0]["a"][0] == [0, -1, -1, -1, -1]


def test_filter_flat_map_skip_take_repeat_project_rename():
    assert column(four().filter(lambda a: a > 1, ["a"])) == [2, 3]
    assert four().filter(lambda a: a > 1, ["a"]).get_dataset_size() == 2
    twice = ds.NumpySlicesDataset([1, 2], shuffle=False).flat_map(
        lambda x: ds.NumpySlicesDataset([int(x)] * 2, shuffle=False)
    )
    assert column(twice) == [1, 1, 2, 2]
    assert column(four().skip(1).take(2)) == [1, 2]
    assert column(four().skip(9)) == []
    assert column(four().take(2).repeat(2)) == [0, 1, 0, 1]
    assert four().project(["b", "a"]).get_col_names() == ["b", "a"]
    assert rows(four().rename("a", "z"))[3] == {"z": 3, "b": 3.0}
    endless = four().repeat().create_tuple_iterator(output_numpy=True)
    assert [int(next(endless)[0]) for _ in range(6)] == [0, 1, 2, 3, 0, 1]
    batches = four().repeat().batch(3).create_tuple_iterator(output_numpy=True)
    assert [next(batches)[0].tolist() for _ in range(2)] == [[0, 1, 2], [3, 0, 1]]


def test_zip_concat_and_apply():
    other = four().rename(["a", "b"], ["c", "d"]).take(2)
    assert rows(ds.zip((four(), other)))[1] == {"a": 1, "b": 1.0, "c": 1, "d": 1.0}
    assert len(rows(four().zip(other))) == 2
    assert column(four().concat(four().map(lambda a: a + np.int32(10), "a"))) == [
        *range(4),
        *range(10, 14),
    ]
    assert column(four().apply(lambda d: d.batch(2))) == [[0, 1], [2, 3]]
    both = four() + four()
    both.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
    assert column(both) == [1, 3, 1, 3]
    assert both.get_dataset_size() == 4


def test_split_cuts_without_a_row_in_common():
    first, second = four().split([0.7, 0.3], randomize=False)
    assert (column(first), column(second)) == ([0, 1, 2], [3])
    parts = ds.NumpySlicesDataset(list(range(10))).split([6, 4])
    assert sorted(column(parts[0]) + column(parts[1])) == list(range(10))
    later = four().map(lambda a: a, "a").split([3, 1])
    assert sorted(column(later[0]) + column(later[1])) == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="cache: wrong type"):
        four().map(abs, "a", cache=object())
    with pytest.raises(RuntimeError, match="must sum to the number of rows"):
        four().split([1, 1])


@pytest.mark.parametrize("randomize", [True, False])
def test_parts_stay_apart_in_every_epoch_without_a_seed(randomize: bool):
    ds.config._now["seed"] = None
    source = ds.NumpySlicesDataset(list(range(20)))
    for data in (source, source.map(lambda x: x), source.filter(lambda x: x < 15).repeat(1)):
        size = data.get_dataset_size()
        parts = data.split([size - 4, 4], randomize)
        iterators = [part.create_tuple_iterator(num_epochs=2, output_numpy=True) for part in parts]
        seen = [{int(row[0]) for _ in range(2) for row in iterator} for iterator in iterators]
        assert [len(rows) for rows in seen] == [size - 4, 4]
        assert seen[0] | seen[1] == set(range(size))


def test_shuffle_gives_every_row_once_in_another_order():
    data = ds.NumpySlicesDataset(list(range(100)), shuffle=False)
    for size in (2, 30, 200):
        mixed = column(data.shuffle(size))
        assert sorted(mixed) == list(range(100))
        assert mixed != list(range(100))
    small = column(data.shuffle(2))
    assert all(row <= place + 2 for place, row in enumerate(small))


def test_getters_are_answered_by_the_tree():
    data = four().repeat(2).batch(3)
    assert (data.get_dataset_size(), data.get_batch_size(), data.get_repeat_count()) == (3, 3, 2)
    assert len(four().repeat(3)) == 12
    assert four().repeat().get_dataset_size() == 4
    assert four().take(-1).get_dataset_size() == 4
    assert four().num_classes() is None
    assert four().get_class_indexing() == {}
    assert ragged().output_shapes() == [[1], [1, 2]]
    assert ragged().output_shapes(estimate=True) == [[None], [None, 2]]
    assert ragged().dynamic_min_max_shapes() == ([[1], [1, 2]], [[4], [4, 2]])
    data.set_dynamic_columns({"a": [None]})
    data.set_init_step(4)
    data.reset()
    assert data.get_init_step() == 4


def test_iterators_give_tensors_or_arrays_epoch_by_epoch():
    row = next(four().create_dict_iterator())
    assert isinstance(row["a"], ms.Tensor)
    assert row["a"].dtype == ms.int32
    assert next(four().create_tuple_iterator(["b"], output_numpy=True)) == [0.0]
    two = four().create_tuple_iterator(num_epochs=2, do_copy=True)
    assert [len(list(two)), len(list(two))] == [4, 4]
    with pytest.raises(RuntimeError, match="all epochs of this iterator are over"):
        next(two)
    assert len(list(four())) == 4
    assert two.get_next is not None


def test_rows_do_not_share_memory_with_the_source():
    data = np.arange(4)
    source = ds.NumpySlicesDataset(data, shuffle=False)
    for row in source.create_tuple_iterator(num_epochs=1, output_numpy=True):
        row[0][...] = -1
    assert data.tolist() == [0, 1, 2, 3]


BAD = [
    (lambda: ds.GeneratorDataset(3, ["a"]), TypeError, "the source is not iterable"),
    (
        lambda: ds.GeneratorDataset(lambda: iter(()), None),
        ValueError,
        "column_names or schema is required",
    ),
    (lambda: ds.NumpySlicesDataset(3), TypeError, "data: wrong type"),
    (lambda: ds.NumpySlicesDataset([]), ValueError, "data is empty"),
    (lambda: ds.NumpySlicesDataset(([1, 2], [1])), ValueError, "different lengths"),
    (lambda: ds.NumpySlicesDataset([1], ["a", "b"]), ValueError, "must name every column"),
    (lambda: ds.NumpySlicesDataset([1], num_shards=2), ValueError, "set both or neither"),
    (
        lambda: ds.NumpySlicesDataset([1], num_shards=2, shard_id=2),
        ValueError,
        "must be less than num_shards",
    ),
    (
        lambda: ds.NumpySlicesDataset([1], shuffle=True, sampler=ds.SequentialSampler()),
        ValueError,
        "conflicts with the other arguments",
    ),
    (lambda: four().batch(0), ValueError, "batch_size: out of range"),
    (lambda: four().batch(1.5), TypeError, "batch_size must be a number"),
    (lambda: four().batch(2, foo=1), TypeError, "no argument called 'foo'"),
    (lambda: four().repeat(0), ValueError, "count is out of range"),
    (lambda: four().skip(-1), ValueError, "count: out of range"),
    (lambda: four().take(0), ValueError, "positive number of rows"),
    (lambda: four().shuffle(1), ValueError, "buffer_size: out of range"),
    (lambda: four().map(3), ValueError, "must be a function or a transform"),
    (lambda: four().map(abs, "zz"), RuntimeError, "unknown columns 'zz'"),
    (lambda: four().filter(3), TypeError, "predicate must be a function"),
    (lambda: four().project("zz"), RuntimeError, "unknown columns 'zz'"),
    (lambda: four().rename("a", "b"), RuntimeError, "two columns would have the same name"),
    (lambda: four().zip(four()), RuntimeError, "column with the same name"),
    (lambda: four().zip(3), TypeError, "datasets: wrong type"),
    (lambda: four().concat(four().rename("a", "z")), RuntimeError, "different columns"),
    (lambda: four().concat(3), TypeError, "datasets: wrong type"),
    (lambda: four().create_dict_iterator(num_epochs=0), RuntimeError, "num_epochs: out of range"),
    (lambda: four().create_tuple_iterator(["zz"]), RuntimeError, "unknown columns"),
    (lambda: rows(ragged().batch(2)), RuntimeError, "row 0 of list and .* from row 1 of list"),
    (lambda: rows(four().map(lambda a: None, "a")), RuntimeError, "value of a row is None"),
    (lambda: rows(four().map(lambda a: (a, a), "a")), RuntimeError, "number of values differs"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_map_that_works_in_place_leaves_the_users_arrays_alone():
    def ten_more(x):
        x += 10
        return x

    for rows in (
        ds.GeneratorDataset([np.zeros(2)], ["x"], shuffle=False),
        ds.NumpySlicesDataset({"x": [np.zeros(2), np.zeros(3)]}, shuffle=False),
    ):
        data = rows.map(ten_more, "x")
        for _ in range(2):
            (x, *_) = next(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
            np.testing.assert_array_equal(x, [10, 10])
