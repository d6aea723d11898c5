"""Dense pages, and the progress that long conversions show."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from mycelia.mindrecord import FileReader, FileWriter, Records, progress
from mycelia.mindrecord.dense import HELD_BYTES

SCHEMA = {"label": {"type": "int32"}, "data": {"type": "bytes"}}


def dense_writer(path, shards=1):
    writer = FileWriter(str(path), shards)
    writer.add_schema(SCHEMA)
    writer.set_dense_pages()
    return writer


def rows(count, size=10):
    return [{"label": i, "data": bytes([i % 256]) * size} for i in range(count)]


def test_a_file_of_few_rows_is_small(tmp_path):
    writer = dense_writer(tmp_path / "a")
    for row in rows(5):
        writer.write_raw_data([row])
    writer.commit()
    assert (tmp_path / "a").stat().st_size < 50_000
    assert list(FileReader(str(tmp_path / "a")).get_next()) == rows(5)


def test_pages_grow_with_the_rows(tmp_path):
    writer = dense_writer(tmp_path / "a", 2)
    writer.write_raw_data(rows(300, 5000))
    writer.commit()
    sizes = [(tmp_path / f"a{i}").stat().st_size for i in range(2)]
    assert sum(sizes) < 2 * 300 * 5000 + 200_000
    assert [row["label"] for row in Records(tmp_path / "a0")] == list(range(300))


def test_a_large_file_has_the_usual_sizes(tmp_path):
    writer = dense_writer(tmp_path / "a")
    large = rows(3, HELD_BYTES // 2)
    writer.write_raw_data(large)
    writer.write_raw_data(rows(4)[3:])
    writer.commit()
    assert [len(row["data"]) for row in Records(tmp_path / "a")] == [HELD_BYTES // 2] * 3 + [10]


def test_dense_files_may_be_empty_and_take_more_rows(tmp_path):
    dense_writer(tmp_path / "a").commit()
    assert len(Records(tmp_path / "a")) == 0
    assert Records(tmp_path / "a").gather([]) == [[], []]
    writer = FileWriter.open_for_append(str(tmp_path / "a"))
    writer.write_raw_data(rows(3))
    writer.commit()
    assert list(Records(tmp_path / "a")) == rows(3)


def test_dense_pages_come_before_rows_and_in_one_lane(tmp_path):
    writer = FileWriter(str(tmp_path / "a"))
    writer.add_schema(SCHEMA)
    writer.write_raw_data(rows(1))
    with pytest.raises(RuntimeError, match="already"):
        writer.set_dense_pages()
    with pytest.raises(ValueError, match="parallel_writer"):
        dense_writer(tmp_path / "b").write_raw_data(rows(1), parallel_writer=True)


def test_rows_of_several_shards_are_gathered_in_the_order_asked_for(tmp_path):
    writer = FileWriter(str(tmp_path / "a"), 3)
    writer.add_schema({"v": {"type": "int32", "shape": [2]}, "w": {"type": "int32", "shape": [-1]}})
    made = [{"v": np.full(2, i, np.int32), "w": np.arange(i, dtype=np.int32)} for i in range(9)]
    writer.write_raw_data(made)
    writer.commit()
    stacked, ragged = Records(tmp_path / "a0").gather([8, 0, 4, 7, 0])
    assert stacked.tolist() == [[i, i] for i in (8, 0, 4, 7, 0)]
    assert [len(values) for values in ragged] == [8, 0, 4, 7, 0]
    with pytest.raises(IndexError):
        Records(tmp_path / "a0").gather([9])


class Terminal(io.StringIO):
    """An output that a person looks at."""

    def isatty(self):
        return True


def test_progress_is_silent_without_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(progress.shown(range(3), "rows", 3)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


def test_progress_counts_rows_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "rich_progress", None)
    monkeypatch.setattr(progress, "_PAUSE", -1.0)
    assert list(progress.shown(iter("abc"), "MnistToMR", 3)) == list("abc")
    assert sys.stderr.getvalue().split("\r")[1] == "MnistToMR: 1 of 3 rows"
    assert sys.stderr.getvalue().endswith("MnistToMR: 3 of 3 rows\n")
    assert list(progress.shown([], "none")) == []
    assert sys.stderr.getvalue().endswith("none: 0 rows\n")


def test_progress_is_a_bar_where_rich_is(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress.shown(iter("abc"), "bar", 3)) == list("abc")
