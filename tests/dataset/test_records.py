"""MindDataset, TFRecordDataset and Dataset.save: rows as the real MindSpore gives them."""

from __future__ import annotations

import builtins
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mycelia.dataset as ds
from mycelia import mindrecord
from mycelia.dataset import transforms, vision
from mycelia.dataset.api.save import save
from mycelia.dataset.formats.records import RecordReader
from tests.dataset import record_cases as cases

GOLDENS = json.loads(Path(__file__).with_name("goldens_records.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("records")
    cases.write_files(mindrecord, made)
    return made


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Three shards with 4, 4 and 3 rows."""
    path = tmp_path_factory.mktemp("shards") / "s.mr"
    writer = mindrecord.FileWriter(str(path), 3)
    writer.add_schema(cases.SCHEMA)
    writer.write_raw_data(cases.record_rows(11))
    writer.commit()
    return f"{path}0"


@pytest.fixture(autouse=True)
def seed():
    before = ds.config.get_seed()
    ds.config.set_seed(7)
    yield
    ds.config.set_seed(before)


def names(dataset):
    rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [str(row["name"].ravel()[0]) for row in rows]


def example_names(dataset):
    rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [row["name"].tobytes().decode() for row in rows]


@pytest.mark.parametrize("case", cases.CASES)
def test_rows_are_those_of_the_real_one(case, folder):
    dataset = cases.CASES[case](ds, folder)
    result = cases.result(dataset)
    assert result == GOLDENS["results"][case]
    assert dataset.get_dataset_size() == len(result["rows"])


@pytest.mark.parametrize("case", cases.ERRORS)
def test_errors_are_of_the_type_of_the_real_one(case, folder):
    with pytest.raises(Exception) as caught:
        cases.result(cases.ERRORS[case](ds, folder))
    assert isinstance(caught.value, getattr(builtins, GOLDENS["errors"][case]))
    assert len(str(caught.value)) > 20


def test_all_shards_beside_a_file_are_read(shards):
    expected = [f"n{i}" for i in range(11)]
    assert names(ds.MindDataset(shards, shuffle=False)) == expected
    assert names(ds.MindDataset(shards[:-1] + "1", shuffle=False)) == expected
    assert names(ds.MindDataset([shards], shuffle=False)) == expected[:4]


@pytest.mark.parametrize("shuffle", [None, True, ds.Shuffle.GLOBAL, ds.Shuffle.ADAPTIVE])
def test_rows_are_mixed_anew_in_every_epoch(shards, shuffle):
    iterator = ds.MindDataset(shards, ["name"], shuffle=shuffle).create_tuple_iterator(
        num_epochs=2, output_numpy=True
    )
    epochs = [[str(row[0]) for row in iterator] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [sorted(f"n{i}" for i in range(11))] * 2
    assert epochs[0] != epochs[1]


def by_file(found, sizes=(4, 4, 3)):
    """The rows of each file, in the order in which files come."""
    ends = np.cumsum(sizes)
    files = [int(np.searchsorted(ends, int(name[1:]), "right")) for name in found]
    order = list(dict.fromkeys(files))
    assert files == sorted(files, key=order.index)  # no file is torn apart
    return order, [[name for name, f in zip(found, files) if f == file] for file in order]


def test_files_are_mixed_and_rows_stay_in_order(shards):
    orders = set()
    for number in range(12):
        ds.config.set_seed(number)
        order, rows = by_file(names(ds.MindDataset(shards, shuffle=ds.Shuffle.FILES)))
        assert all(part == sorted(part, key=lambda name: int(name[1:])) for part in rows)
        orders.add(tuple(order))
    assert len(orders) > 2


def test_rows_are_mixed_in_their_files(shards):
    found = names(ds.MindDataset(shards, shuffle=ds.Shuffle.INFILE))
    order, rows = by_file(found)
    assert order == [0, 1, 2]
    assert found != [f"n{i}" for i in range(11)]
    assert sorted(rows[2]) == ["n10", "n8", "n9"]


@pytest.mark.parametrize("shuffle", [ds.Shuffle.FILES, ds.Shuffle.INFILE, True, False])
def test_shards_have_all_rows_between_them(shards, shuffle):
    parts = [
        names(ds.MindDataset(shards, shuffle=shuffle, num_shards=2, shard_id=i)) for i in range(2)
    ]
    assert [len(part) for part in parts] == [6, 6]
    assert set(parts[0] + parts[1]) == {f"n{i}" for i in range(11)}


@pytest.mark.parametrize("shuffle", [ds.Shuffle.FILES, ds.Shuffle.INFILE])
def test_padded_rows_come_after_mixed_files(shards, shuffle):
    dataset = ds.MindDataset(
        shards, list(cases.PADDED), shuffle=shuffle, padded_sample=cases.PADDED, num_padded=2
    )
    assert names(dataset)[-2:] == ["pad", "pad"]
    mixed = ds.MindDataset(
        shards, list(cases.PADDED), padded_sample=cases.PADDED, num_padded=50, num_samples=20
    )
    assert 0 < names(mixed).count("pad") < 20


def test_rows_of_each_class_are_drawn(folder):
    path = str(folder / "a.mr")
    dataset = ds.MindDataset(path, ["label", "name"], sampler=ds.PKSampler(2))
    labels = [int(row[0]) for row in dataset.create_tuple_iterator(num_epochs=1)]
    assert labels == [0, 0, 1, 1, 2, 2]
    assert dataset.get_dataset_size() == 6


def test_all_other_samplers_choose_rows_too(folder):
    path = str(folder / "a.mr")
    assert sorted(names(ds.MindDataset(path, sampler=ds.RandomSampler()))) == sorted(
        f"n{i}" for i in range(10)
    )
    assert names(ds.MindDataset(path, sampler=ds.IterSampler([4, 2]))) == ["n4", "n2"]
    weights = [0.0] * 9 + [1.0]
    weighted = ds.MindDataset(path, sampler=ds.WeightedRandomSampler(weights, 3))
    assert names(weighted) == ["n9"] * 3
    dataset = ds.MindDataset(path, shuffle=False)
    dataset.use_sampler(ds.SubsetRandomSampler([1, 2]))
    assert sorted(names(dataset)) == ["n1", "n2"]
    with pytest.raises(RuntimeError, match="row index out of range"):
        names(ds.MindDataset(path, sampler=ds.SubsetSampler([30])))


def test_bytes_keep_their_length_and_are_decoded_in_a_map(tmp_path):
    picture = (np.arange(12 * 10 * 3) % 255).astype(np.uint8).reshape(12, 10, 3)
    file = io.BytesIO()
    np.save(file, picture)
    writer = mindrecord.FileWriter(str(tmp_path / "a"))
    writer.add_schema({"data": {"type": "bytes"}})
    contents = [file.getvalue(), b"end\0\0", b""]
    writer.write_raw_data([{"data": content} for content in contents])
    writer.commit()
    dataset = ds.MindDataset(str(tmp_path / "a"), shuffle=False)
    rows = [row[0] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert [row.shape for row in rows] == [(1,)] * 3
    assert [row.tobytes() for row in rows[:2]] == contents[:2]
    assert rows[2].tolist() == [b""]
    mapped = dataset.take(1).map(lambda data: np.load(io.BytesIO(data.tobytes())), ["data"])
    (made,) = mapped.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert (made[0] == picture).all()


def test_record_pictures_go_through_vision(tmp_path):
    pixels = np.full((8, 8, 3), 100, np.uint8)
    writer = mindrecord.FileWriter(str(tmp_path / "a"))
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}})
    jpeg = vision.encode_jpeg(pixels)
    writer.write_raw_data([{"image": np.asarray(jpeg).tobytes(), "label": i} for i in range(3)])
    writer.commit()
    dataset = ds.MindDataset(str(tmp_path / "a"), shuffle=False).map(vision.Decode(), ["image"])
    dataset = dataset.map(transforms.TypeCast("int64"), ["label"]).batch(3)
    (batch,) = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert batch[0].shape == (3, 8, 8, 3)
    assert abs(int(batch[0].mean()) - 100) <= 2
    assert batch[1].tolist() == [0, 1, 2]


def test_many_rows_are_read_at_once(folder):
    reader = RecordReader(str(folder / "a.mr"), ["name", "label", "box", "ids"])
    columns = reader.gather(np.array([7, 0, 3]))
    assert columns[1].tolist() == [1, 0, 0]
    assert columns[1].dtype == np.int32
    assert columns[2].shape == (3, 2, 2)
    assert [len(ids) for ids in columns[3]] == [8, 1, 4]
    rows = reader.rows([7, 0, 3])
    assert [str(row[0]) for row in rows] == ["n7", "n0", "n3"]
    assert [row[2].shape for row in rows] == [(2, 2)] * 3
    rows[0][2][:] = -1  # rows are the reader's no more
    assert reader.row(7)[2].tolist() == [[7, 7], [7, 7]]
    assert reader.labels("label").tolist() == [i % 3 for i in range(10)]
    assert "a.mr" in reader.describe(7)
    copy = pickle.loads(pickle.dumps(reader))
    assert str(copy.row(4)[0]) == "n4"


def test_workers_and_a_restored_iterator_give_the_same_rows(shards):
    few = names(ds.MindDataset(shards, num_parallel_workers=1))
    assert names(ds.MindDataset(shards, num_parallel_workers=4)) == few
    iterator = ds.MindDataset(shards, ["name"]).create_tuple_iterator(
        num_epochs=1, output_numpy=True
    )
    head = [str(next(iterator)[0]) for _ in range(4)]
    state = iterator.state()
    rest = [str(row[0]) for row in iterator]
    again = ds.MindDataset(shards, ["name"]).create_tuple_iterator(num_epochs=1, output_numpy=True)
    again.restore(state)
    assert [str(row[0]) for row in again] == rest
    assert head + rest == few


def test_damaged_records_are_named(folder, tmp_path):
    data = bytearray((folder / "a.mr").read_bytes())
    place = data.index(b"\xa4name\xa2n5")
    data[place] = 0xC1  # begins nothing in MessagePack
    (tmp_path / "a.mr").write_bytes(data)
    (tmp_path / "a.mr.db").write_bytes((folder / "a.mr.db").read_bytes())
    dataset = ds.MindDataset(str(tmp_path / "a.mr"), shuffle=False)
    with pytest.raises(RuntimeError, match="row 5"):
        names(dataset)
    assert names(dataset.take(5)) == [f"n{i}" for i in range(5)]
    (tmp_path / "a.mr").write_bytes(b"no record" * 100)
    with pytest.raises(RuntimeError, match="not a valid MindRecord file"):
        ds.MindDataset(str(tmp_path / "a.mr"))
    (tmp_path / "a.mr.db").unlink()
    (tmp_path / "a.mr").write_bytes(data)
    with pytest.raises(RuntimeError, match="is missing"):
        ds.MindDataset(str(tmp_path / "a.mr"))


# TFRecord --------------------------------------------------------------------------------------


def test_examples_are_mixed(folder):
    files = [str(folder / "a.tfrecord"), str(folder / "b.tfrecord")]
    first = [f"n{i}" for i in range(5)]
    second = [f"b{i}" for i in range(3)]
    mixed = example_names(ds.TFRecordDataset(files))
    assert sorted(mixed) == sorted(first + second)
    assert mixed not in (first + second, second + first)
    found = set()
    for number in range(8):
        ds.config.set_seed(number)
        one = ds.TFRecordDataset(files, shuffle=ds.Shuffle.FILES, num_parallel_workers=1)
        found.add(tuple(example_names(one)))
    assert found == {(*first, *second), (*second, *first)}


def test_example_shards_of_rows_are_equal(folder):
    files = [str(folder / "a.tfrecord"), str(folder / "b.tfrecord")]
    parts = [
        ds.TFRecordDataset(
            files, shuffle=False, num_shards=3, shard_id=i, shard_equal_rows=True
        ).get_dataset_size()
        for i in range(3)
    ]
    assert parts == [3, 3, 3]
    own = [example_names(ds.TFRecordDataset(files, num_shards=2, shard_id=i)) for i in range(2)]
    assert [sorted(part) for part in own] == [[f"n{i}" for i in range(5)], ["b0", "b1", "b2"]]


def test_examples_in_a_pipeline(folder):
    schema = ds.Schema()
    schema.add_column("label", "int32", [])
    schema.add_column("vec", "float32", [2])
    dataset = ds.TFRecordDataset(str(folder / "a.tfrecord"), schema, shuffle=False)
    dataset = dataset.map(lambda vec: vec * 2, ["vec"]).batch(5)
    (batch,) = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert batch[0].tolist() == [0, 1, 2, 3, 4]
    assert batch[1].tolist() == [[2 * i, 2 * i + 1] for i in range(5)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-3], "truncated"),
        (lambda data: data[: len(data) // 2], "truncated"),
        (lambda data: data[:9] + b"\0" + data[10:], "checksum"),
        (lambda data: b"", "no records"),
        (lambda data: b"something else altogether", "truncated"),
    ],
)
def test_damaged_example_files_are_refused(folder, tmp_path, change, reason):
    path = tmp_path / "a"
    path.write_bytes(change((folder / "a.tfrecord").read_bytes()))
    with pytest.raises(RuntimeError, match=reason):
        ds.TFRecordDataset(str(path)).get_dataset_size()
    path.write_bytes(b"\x1f\x8b" + change((folder / "a.gz").read_bytes())[2:30])
    with pytest.raises(RuntimeError, match="not a complete TFRecord file"):
        ds.TFRecordDataset(str(path), compression_type="GZIP").get_dataset_size()


def test_damaged_examples_are_named(tmp_path):
    cases.write_examples(tmp_path / "a", [*cases.example_rows(2), b"\x0a\xff\xff", b"\x0b"])
    dataset = ds.TFRecordDataset(str(tmp_path / "a"), shuffle=False)
    with pytest.raises(RuntimeError, match="row 2 of"):
        example_names(dataset)
    assert example_names(dataset.take(2)) == ["n0", "n1"]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_flipped_bytes_in_examples_never_crash(tmp_path, place, byte):
    data = bytearray(cases.example(cases.example_rows(4)[3]))
    data[place % len(data)] = byte
    path = tmp_path / f"{place}-{byte}"
    cases.write_examples(path, [bytes(data)])
    try:
        rows = list(ds.TFRecordDataset(str(path)).create_tuple_iterator(num_epochs=1))
    except RuntimeError:
        return
    assert len(rows) == 1


# Saving ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        *((kind, "int32") for kind in ("bool", "int8", "uint8", "int16", "uint16", "int32")),
        *((kind, "int64") for kind in ("uint32", "int64", "uint64")),
        *((kind, kind) for kind in ("float32", "float64")),
        ("float16", "float32"),
    ],
)
def test_saved_numbers_have_the_types_of_the_real_one(tmp_path, kind, stored):
    values = np.array([[1, 0], [1, 1]], kind)
    save(
        ds.NumpySlicesDataset((values[:, 0], values), ["x", "v"], shuffle=False),
        str(tmp_path / "a"),
    )
    reader = mindrecord.FileReader(str(tmp_path / "a"))
    assert reader.schema() == {"v": {"type": stored, "shape": [-1]}, "x": {"type": stored}}
    rows = list(reader.get_next())
    assert [row["x"] for row in rows] == [1, 1]
    assert [row["v"].tolist() for row in rows] == values.tolist()


def test_saved_rows_are_read_again(tmp_path, folder):
    source = ds.MindDataset(str(folder / "a.mr"), shuffle=False)
    save(source, str(tmp_path / "one"))
    back = ds.MindDataset(str(tmp_path / "one"), shuffle=False)
    for row, again in zip(source, back, strict=True):
        for value, other in zip(row, again, strict=True):
            assert np.array_equal(np.asarray(value), np.asarray(other))
    save(source.project(["box"]).batch(4, drop_remainder=True), str(tmp_path / "b-1"), 2)
    assert ds.MindDataset(str(tmp_path / "b-10")).output_shapes() == [[4, 2, 2]]
    save(source.rename(["name"], ["a-b"]).project(["a-b"]), str(tmp_path / "n"))
    assert ds.MindDataset(str(tmp_path / "n")).get_col_names() == ["a_b"]


def test_what_cannot_be_saved_is_refused_and_leaves_nothing(tmp_path):
    numbers = ds.NumpySlicesDataset([1, 2], shuffle=False)
    path = str(tmp_path / "a")
    with pytest.raises(TypeError):
        save(numbers, 5)
    for arguments in ((0,), (1001,), (1, "tfrecord")):
        with pytest.raises(ValueError, match="save"):
            save(numbers, path, *arguments)
    with pytest.raises(RuntimeError, match="dataset is empty"):
        save(numbers.skip(2), path)
    growing = ds.GeneratorDataset(lambda: iter([(np.ones((i, i)),) for i in (1, 2)]), ["x"])
    with pytest.raises(RuntimeError, match="varies"):
        save(growing, path)
    texts = ds.GeneratorDataset(lambda: iter([(np.array(["a", "b"]),)]), ["x"])
    with pytest.raises(RuntimeError, match="unsupported type"):
        save(texts, path)
    large = ds.NumpySlicesDataset(np.array([2**63], np.uint64))
    with pytest.raises(RuntimeError, match="fit int64"):
        save(large, path)
    assert list(tmp_path.iterdir()) == []
    save(numbers, path)
    with pytest.raises(RuntimeError, match="already exists"):
        save(numbers, path)
    with pytest.raises(RuntimeError, match="folder"):
        save(numbers, str(tmp_path / "none" / "a"))


def test_shards_are_runs_of_rows_if_the_switch_of_mindspore_says_so(folder, monkeypatch):
    third = {"num_shards": 3, "shard_id": 2}
    data = ds.MindDataset(str(folder / "a.mr"), ["name"], shuffle=False, **third)
    assert names(data)[:3] == ["n2", "n5", "n8"]
    monkeypatch.setenv("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", "true")
    assert names(data) == ["n8", "n9", "n0", "n1"]
    mixed = [
        names(ds.MindDataset(str(folder / "a.mr"), ["name"], num_shards=2, shard_id=number))
        for number in range(2)
    ]
    assert sorted(mixed[0] + mixed[1]) == [f"n{i}" for i in range(10)]
