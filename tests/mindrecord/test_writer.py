"""FileWriter: what it writes, when files appear, and what it refuses."""

from __future__ import annotations

import gc
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from mycelia import mindrecord
from mycelia.mindrecord import FileReader, FileWriter, Records
from mycelia.mindrecord.header import read_header
from mycelia.mindrecord.writer import extra_shards

SCHEMA = {"label": {"type": "int32"}, "data": {"type": "bytes"}}


def rows(*labels):
    return [{"label": label, "data": bytes([label] * 3)} for label in labels]


def small(path, shards=1, schema=None, **options):
    writer = FileWriter(str(path), shards, **options)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(schema or SCHEMA, "some")
    return writer


def header(path):
    return read_header(str(path), Path(path).read_bytes())


def test_files_appear_at_commit_and_whole(tmp_path):
    writer = small(tmp_path / "a")
    writer.write_raw_data(rows(1, 2))
    assert not (tmp_path / "a").exists()
    writer.commit()
    assert sorted(os.listdir(tmp_path)) == ["a", "a.db"]
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a.db")} == {0o600}
    assert [row["label"] for row in FileReader(str(tmp_path / "a")).get_next()] == [1, 2]


def test_a_writer_let_go_leaves_nothing(tmp_path):
    writer = small(tmp_path / "a")
    writer.write_raw_data(rows(1))
    del writer
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_an_existing_file_is_kept_unless_asked(tmp_path):
    for _ in range(2):
        writer = small(tmp_path / "a", overwrite=True)
        writer.write_raw_data(rows(7))
        writer.commit()
    writer = small(tmp_path / "a")
    with pytest.raises(RuntimeError, match="already exists"):
        writer.write_raw_data(rows(1))
    with pytest.raises(mindrecord.MRMOpenError):
        writer.commit()
    assert Records(tmp_path / "a")[0]["label"] == 7


def test_shards_share_the_rows_evenly(tmp_path):
    writer = small(tmp_path / "a", 3)
    for labels in ((0, 1, 2, 3), (4,), (5, 6)):
        writer.write_raw_data(rows(*labels))
    writer.commit()
    records = Records(tmp_path / "a1")
    assert records.shard_sizes == [3, 2, 2]
    assert [row["label"] for row in records] == [0, 1, 5, 2, 4, 3, 6]
    assert header(tmp_path / "a2").shard_names == ["a0", "a1", "a2"]
    assert extra_shards([4, 2, 3], 2) == [1, 2]
    assert small(tmp_path / "b", 12)._paths[3] == str(tmp_path / "b03")


def test_parallel_shards_are_datasets_of_their_own(tmp_path):
    writer = small(tmp_path / "a", 2)
    for label in range(9):
        writer.write_raw_data(rows(label, label + 10), parallel_writer=True)
        writer.check_worker_status(0)
    writer.check_all_worker_status()
    writer.commit()
    labels = [[row["label"] for row in Records(tmp_path / f"a{i}")] for i in range(2)]
    assert labels[0] == [0, 10, 2, 12, 4, 14, 6, 16, 8, 18]
    assert labels[1] == [1, 11, 3, 13, 5, 15, 7, 17]
    assert header(tmp_path / "a1").shard_names == ["a1"]
    assert len(Records([tmp_path / "a0", tmp_path / "a1"])) == 18
    with pytest.raises(RuntimeError, match="finished"):
        writer.write_raw_data(rows(1), True)


def test_an_error_of_a_parallel_shard_comes_up(tmp_path):
    writer = small(tmp_path / "a", 2)
    writer.write_raw_data([{"label": 1 << 40, "data": b"x"}], True)
    with pytest.raises(mindrecord.MRMValidateDataError, match="int32"):
        writer.commit()
    assert os.listdir(tmp_path) == []
    writer = small(tmp_path / "b")
    writer.write_raw_data(rows(1), True)
    with pytest.raises(RuntimeError, match="the same in all calls"):
        writer.write_raw_data(rows(1), False)
    with pytest.raises(TypeError, match="bool"):
        writer.write_raw_data(rows(1), 1)


def test_rows_are_added_to_all_shards(tmp_path):
    writer = small(tmp_path / "a", 2)
    writer.write_raw_data(rows(0, 1, 2))
    writer.commit()
    writer = FileWriter.open_for_append(str(tmp_path / "a1"))
    writer.write_raw_data(rows(3, 4, 5))
    before = Records(tmp_path / "a0")
    assert [row["label"] for row in before] == [0, 1, 2]  # not to be seen before commit
    writer.commit()
    assert [row["label"] for row in Records(tmp_path / "a0")] == [0, 1, 3, 2, 4, 5]
    with pytest.raises(RuntimeError, match="cannot be opened"):
        FileWriter.open_for_append(str(tmp_path / "none"))
    again = FileWriter("append")
    again.init_append(str(tmp_path / "a0"), header(tmp_path / "a0"))
    again.write_raw_data(rows(6))
    again.commit()
    assert Records(tmp_path / "a0").shard_sizes == [4, 3]


def test_a_group_moves_to_a_new_page_when_rows_continue_it(tmp_path):
    writer = small(tmp_path / "a", schema={"s": {"type": "string"}, "b": {"type": "bytes"}})
    long, short = {"s": "x" * 9000, "b": b"y" * 10}, {"s": "z", "b": b"w" * 20000}
    for group in ([long, long], [short, short], [long, long], [long]):
        writer.write_raw_data(group)
    writer.commit()
    pages = [page for page in header(tmp_path / "a").pages if page.kind == "RAW_DATA"]
    assert [page.groups for page in pages] == [[(0, 0)], [(1, 0)]]
    assert [len(row["s"]) for row in Records(tmp_path / "a")] == [
        9000,
        9000,
        1,
        1,
        9000,
        9000,
        9000,
    ]


def test_a_file_without_rows_is_one(tmp_path):
    writer = small(tmp_path / "a")
    writer.commit()
    reader = FileReader(str(tmp_path / "a"))
    assert reader.len() == 0
    assert list(reader.get_next()) == []
    assert header(tmp_path / "a").index_fields == ["label"]
    with pytest.raises(RuntimeError, match="already"):
        writer.commit()


def test_scalars_keep_their_type_and_empty_values_come_back(tmp_path):
    schema = {
        "f": {"type": "float32"},
        "s": {"type": "string"},
        "b": {"type": "bytes"},
    }
    given = [{"f": 1.0, "s": "", "b": b""}, {"f": float("inf"), "s": "a\0é", "b": b"x"}]
    writer = small(tmp_path / "a", schema=schema)
    writer.write_raw_data(given)
    writer.commit()
    back = list(Records(tmp_path / "a"))
    assert back == given
    assert type(back[0]["f"]) is float


def test_rows_that_do_not_fit_are_left_out_with_a_warning(tmp_path, caplog):
    writer = small(tmp_path / "a", schema=SCHEMA | {"x": {"type": "int64", "shape": [2, -1]}})
    good = {"label": np.int32(3), "data": b"d", "x": np.arange(4), "more": 1}
    bad = [
        good | {"label": "3"},
        good | {"label": True},
        good | {"label": np.int64(3)},
        good | {"data": bytearray(b"d")},
        good | {"x": np.arange(3)},
        good | {"x": np.arange(4, dtype=np.int32)},
        good | {"x": [1, 2]},
        {"label": 1, "data": b"d"},
    ]
    writer.write_raw_data([bad[0], good, *bad[1:]])
    writer.commit()
    assert len([r for r in caplog.records if "skipped" in r.message]) == len(bad)
    (row,) = Records(tmp_path / "a")
    assert row["label"] == 3
    assert row["x"].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((1,), mindrecord.ParamTypeError, "raw_data"),
        ([1], mindrecord.ParamTypeError, "raw_data item"),
        ([], RuntimeError, "no row matches"),
        ([{"label": 1}], RuntimeError, "'data' is missing"),
        ([{"label": 1 << 31, "data": b""}], mindrecord.MRMValidateDataError, "int32"),
        ([{"label": 1, "data": bytes(1 << 15)}], RuntimeError, "set_page_size"),
    ],
)
def test_bad_rows_are_refused(tmp_path, given, kind, message):
    with pytest.raises(kind, match=message):
        small(tmp_path / "a").write_raw_data(given)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({}, mindrecord.MRMInvalidSchemaError),
        ([1], mindrecord.MRMInvalidSchemaError),
        ({"a b": {"type": "int32"}}, mindrecord.MRMInvalidSchemaError),
        ({"a": {"type": "int8"}}, mindrecord.MRMInvalidSchemaError),
        ({"a": {}}, mindrecord.MRMInvalidSchemaError),
        ({"a": {"type": "int32", "shape": 3}}, mindrecord.MRMInvalidSchemaError),
        ({"a": {"type": "bytes", "shape": [1]}}, mindrecord.MRMInvalidSchemaError),
        ({"a": {"type": "int32", "other": [1]}}, mindrecord.MRMInvalidSchemaError),
        ({"a": {"type": "int32", "shape": [-1, -1]}}, mindrecord.MRMBuildSchemaError),
        ({"a": {"type": "int32", "shape": [0]}}, mindrecord.MRMBuildSchemaError),
    ],
)
def test_bad_schemas_are_refused(tmp_path, content, kind):
    with pytest.raises(kind):
        FileWriter(str(tmp_path / "a")).add_schema(content)


def test_one_schema_is_enough(tmp_path):
    with pytest.raises(mindrecord.MRMAddSchemaError):
        small(tmp_path / "a").add_schema(SCHEMA)
    with pytest.raises(mindrecord.MRMSetHeaderError, match="add_schema"):
        FileWriter(str(tmp_path / "b")).write_raw_data(rows(1))


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ([], mindrecord.ParamTypeError),
        ("label", mindrecord.ParamTypeError),
        ([1], mindrecord.ParamTypeError),
        (["data"], mindrecord.MRMDefineIndexError),
        (["none"], RuntimeError),
        (["label", "label"], mindrecord.MRMAddIndexError),
    ],
)
def test_bad_index_fields_are_refused(tmp_path, fields, kind):
    with pytest.raises(kind):
        small(tmp_path / "a").add_index(fields)


def test_index_fields_need_a_schema_and_a_name_sqlite_takes(tmp_path):
    with pytest.raises(mindrecord.MRMGetMetaError):
        FileWriter(str(tmp_path / "a")).add_index(["label"])
    with pytest.raises(RuntimeError, match="digit"):
        small(tmp_path / "a", schema={"1a": {"type": "int32"}}).write_raw_data([{"1a": 1}])
    clash = small(tmp_path / "a", schema={"a": {"type": "int32"}, "A": {"type": "int32"}})
    clash.write_raw_data([{"a": 1, "A": 2}])
    with pytest.raises(mindrecord.MRMGenerateIndexError, match="more than case"):
        clash.commit()


@pytest.mark.parametrize("size", [100, (1 << 14) + 1, 1 << 29])
def test_sizes_have_limits(tmp_path, size):
    writer = FileWriter(str(tmp_path / "a"))
    with pytest.raises(mindrecord.MRMInvalidHeaderSizeError):
        writer.set_header_size(size)
    with pytest.raises(RuntimeError, match="multiple of 4"):
        writer.set_page_size(size)
    with pytest.raises(TypeError, match="int"):
        writer.set_page_size("many")


def test_a_header_that_does_not_fit_is_an_error(tmp_path):
    writer = small(tmp_path / "a", schema={f"field_{i}": {"type": "int32"} for i in range(400)})
    writer.write_raw_data([{f"field_{i}": i for i in range(400)}])
    with pytest.raises(mindrecord.MRMSetHeaderError, match="set_header_size"):
        writer.commit()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["", None, 3, "a/", "a:b", " a", "x/ y "])
def test_bad_names_are_refused(name):
    with pytest.raises(mindrecord.ParamValueError):
        FileWriter(name)


@pytest.mark.parametrize("shards", [0, 1001, "1", None])
def test_bad_numbers_of_shards_are_refused(shards):
    with pytest.raises(mindrecord.ParamValueError):
        FileWriter("a", shards)


def test_other_bad_arguments_are_refused(tmp_path):
    with pytest.raises(mindrecord.ParamValueError, match="overwrite"):
        FileWriter("a", 1, 1)
    with pytest.raises(mindrecord.MRMOpenError, match="folder"):
        small(tmp_path / "none" / "a").write_raw_data(rows(1))
