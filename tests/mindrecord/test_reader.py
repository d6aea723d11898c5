"""Records, FileReader and MindPage."""

from __future__ import annotations

import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mycelia import mindrecord
from mycelia.mindrecord import FileReader, FileWriter, MindPage, Records

SCHEMA = {
    "name": {"type": "string"},
    "label": {"type": "int32"},
    "score": {"type": "float64"},
    "image": {"type": "bytes"},
    "ids": {"type": "int64", "shape": [-1]},
    "box": {"type": "float32", "shape": [2, 2]},
}
ROWS = [
    {
        "name": f"{i}.jpg",
        "label": i % 3,
        "score": i / 7,
        "image": bytes([i]) * i,
        "ids": np.arange(i) * 1000,
        "box": np.full((2, 2), i, np.float32),
    }
    for i in range(14)
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.mindrecord"
    writer = FileWriter(str(path), 2)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(SCHEMA, "rows")
    writer.add_index(["name", "label", "score"])
    writer.write_raw_data(ROWS)
    writer.commit()
    return f"{path}0"


def test_records_are_a_sequence_of_rows(file):
    records = Records(file)
    assert len(records) == 14
    assert records.columns == ["label", "name", "score", "box", "ids", "image"]
    for i in (0, 6, 7, 13, -1):
        row, expected = records[i], ROWS[i]
        assert {k: row[k] for k in ("name", "label", "score", "image")} == {
            k: expected[k] for k in ("name", "label", "score", "image")
        }
        assert row["ids"].dtype == np.int64
        assert row["ids"].tolist() == expected["ids"].tolist()
        assert row["box"].tolist() == expected["box"].tolist()
    with pytest.raises(IndexError):
        records[14]
    assert records.shard_sizes == [7, 7]


def test_columns_are_chosen(file):
    assert Records(file, ["ids", "label"])[3].keys() == {"label", "ids"}
    assert Records(file).select(["name"])[3] == {"name": "3.jpg"}
    assert list(Records(file, ["image", "box"])[1]) == ["image", "box"]
    with pytest.raises(RuntimeError, match="unknown column 'none'"):
        Records(file, ["none"])


def test_many_threads_read_the_same_rows(file):
    records = Records(file)
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda i: records[i % 14]["name"], range(500)))
    assert names == [ROWS[i % 14]["name"] for i in range(500)]


def test_records_go_to_other_processes_and_close(file):
    with Records(file, ["label"]) as records:
        copy = pickle.loads(pickle.dumps(records))
        assert copy[5] == records[5] == {"label": 2}
    assert records[5] == {"label": 2}  # mapped again


def test_index_fields_are_read_and_searched(file):
    records = Records(file)
    assert records.index_fields == ["name", "label", "score"]
    assert records.values("label") == [row["label"] for row in ROWS]
    assert records.find("label", "1") == [1, 4, 7, 10, 13]
    assert records.find("name", "9.jpg") == [9]
    assert records.categories("label") == {"0": 5, "1": 5, "2": 4}
    with pytest.raises(RuntimeError, match="not an index field"):
        records.find("image", "1")


def test_file_reader_gives_the_rows_in_order(file):
    reader = FileReader(file, columns=["label", "image"])
    got = list(reader.get_next())
    assert got == [{"label": row["label"], "image": row["image"]} for row in ROWS]
    assert reader.len() == 14
    assert reader.schema() == SCHEMA
    reader.close()


def test_a_list_of_files_is_read_as_it_is(file):
    second = file[:-1] + "1"
    labels = [row["name"] for row in FileReader([second, file]).get_next()]
    assert labels == [row["name"] for row in ROWS[7:] + ROWS[:7]]
    assert FileReader([second]).len() == 7


@pytest.mark.parametrize("count", [0, -1, 10**6, None, "4"])
def test_bad_numbers_of_consumers_are_refused(file, count):
    with pytest.raises(mindrecord.ParamValueError):
        FileReader(file, num_consumer=count)


def test_bad_files_are_refused(file, tmp_path):
    with pytest.raises(RuntimeError, match="cannot be opened"):
        FileReader(str(tmp_path / "none"))
    with pytest.raises(mindrecord.ParamTypeError):
        FileReader(file, columns="label")
    with pytest.raises(RuntimeError, match="list of files is empty"):
        Records([])


def test_missing_and_renamed_files_are_named(file, tmp_path):
    for name in ("rows.mindrecord0", "rows.mindrecord0.db", "rows.mindrecord1"):
        shutil.copy(Path(file).with_name(name), tmp_path)
    with pytest.raises(mindrecord.MRMOpenError, match=r"rows.mindrecord1.db is missing"):
        Records(tmp_path / "rows.mindrecord0")
    assert len(Records([tmp_path / "rows.mindrecord0"])) == 7
    for end in ("", ".db"):
        (tmp_path / f"rows.mindrecord0{end}").rename(tmp_path / f"other{end}")
    with pytest.raises(mindrecord.MRMOpenError, match="another file"):
        Records([tmp_path / "other"])


def test_files_of_different_datasets_do_not_mix(file, tmp_path):
    writer = FileWriter(str(tmp_path / "a"))
    writer.add_schema({"x": {"type": "int32"}})
    writer.commit()
    with pytest.raises(mindrecord.MRMOpenError, match="different datasets"):
        Records([file, tmp_path / "a"])


def test_pages_of_categories(file):
    page = MindPage(file)
    assert page.candidate_fields == ["name", "label", "score"]
    assert page.category_field is None
    page.category_field = "label"
    assert page.category_field == "label"
    assert json.loads(page.read_category_info()) == {
        "categories": [
            {"count": 5, "id": 0, "name": "0"},
            {"count": 5, "id": 1, "name": "1"},
            {"count": 4, "id": 2, "name": "2"},
        ],
        "key": "label_0",
    }
    assert [row["name"] for row in page.read_at_page_by_id(2, 1, 3)] == ["11.jpg"]
    assert [row["name"] for row in page.read_at_page_by_name("1", 0, 2)] == ["1.jpg", "4.jpg"]
    page.category_field = "score"
    assert page.read_at_page_by_name("0.142857142857143", 0, 1)[0]["name"] == "1.jpg"


def test_bad_queries_are_refused(file):
    page = MindPage(file)
    with pytest.raises(RuntimeError, match="category_field"):
        page.read_category_info()
    with pytest.raises(mindrecord.ParamTypeError):
        page.category_field = 3
    with pytest.raises(mindrecord.MRMDefineCategoryError):
        page.category_field = "image"
    page.category_field = "label"
    with pytest.raises(RuntimeError, match="no category 9"):
        page.read_at_page_by_id(9, 0, 1)
    with pytest.raises(RuntimeError, match="no category '9'"):
        page.read_at_page_by_name("9", 0, 1)
    with pytest.raises(RuntimeError, match="no page 5"):
        page.read_at_page_by_name("1", 5, 1)
    for arguments in ((-1, 0, 1), ("1", 0, 1), (0, -1, 1), (0, 0, 0)):
        with pytest.raises(mindrecord.ParamValueError):
            page.read_at_page_by_id(*arguments)
    with pytest.raises(mindrecord.ParamValueError):
        page.read_at_page_by_name(1, 0, 1)


def test_a_reader_gives_each_row_once_and_none_after_it_is_closed(file):
    reader = FileReader(file)
    first = next(reader.get_next())
    assert first["name"] == "0.jpg"
    assert [row["name"] for row in reader.get_next()] == [f"{i}.jpg" for i in range(1, len(ROWS))]
    assert list(reader.get_next()) == []

    reader = FileReader(file)
    taken = 0
    for _ in reader.get_next():
        taken += 1
        if taken == 5:
            reader.close()
    assert taken == 5
    assert list(reader.get_next()) == []
