"""Damaged files give an error of ours or rows of the right types, and never anything else."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mycelia.mindrecord import FileWriter, MindPage, MindRecordException, Records
from tests.goldens import mindrecord_cases as cases

SCHEMA = {
    "label": {"type": "int32"},
    "name": {"type": "string"},
    "ids": {"type": "int32", "shape": [-1]},
    "data": {"type": "bytes"},
}
TYPES = {"label": int, "name": str, "ids": np.ndarray, "data": bytes}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "rows"
    writer = FileWriter(str(path))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(SCHEMA)
    writer.write_raw_data(
        [
            {"label": i, "name": f"n{i}", "ids": np.arange(i * 50, dtype=np.int32), "data": b"d"}
            for i in range(5)
        ]
    )
    writer.commit()
    return path


@pytest.fixture
def damaged(whole, tmp_path):
    for end in ("", ".db"):
        shutil.copy(f"{whole}{end}", tmp_path / f"rows{end}")
    return tmp_path / "rows"


def read_all(path):
    """Read rows and queries of a file that may be damaged; whether it was whole."""
    try:
        records = Records(path)
        for row in records:
            assert {name: type(value) for name, value in row.items()} == TYPES
        page = MindPage(str(path))
        for field in page.candidate_fields:
            page.category_field = field
            page.read_category_info()
    except MindRecordException:
        return False
    return True


def written_places(data):
    """The bytes of a file that are not holes."""
    return [i for i, byte in enumerate(data) if byte]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bits_of_the_data_never_crash(whole, damaged, data):
    original = whole.read_bytes()
    places = data.draw(st.lists(st.sampled_from(written_places(original)), min_size=1, max_size=3))
    changed = bytearray(original)
    for place in places:
        changed[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged.write_bytes(changed)
    read_all(damaged)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bytes_of_the_index_never_crash(whole, damaged, data):
    changed = bytearray(whole.with_suffix(".db").read_bytes())
    place = data.draw(st.sampled_from(written_places(changed)))
    changed[place] = data.draw(st.integers(0, 255))
    damaged.with_suffix(".db").write_bytes(changed)
    read_all(damaged)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=st.floats(0, 1, exclude_max=True))
def test_cut_off_data_is_an_error(whole, damaged, part):
    original = whole.read_bytes()
    damaged.write_bytes(original[: int(len(original) * part)])
    assert not read_all(damaged)


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 9000])
def test_a_cut_off_index_is_an_error(damaged, size):
    index = damaged.with_suffix(".db")
    index.write_bytes(index.read_bytes()[:size])
    assert not read_all(damaged)


def test_a_whole_file_is_whole(damaged):
    assert read_all(damaged)


def test_an_index_of_an_older_writing_is_noticed(damaged, tmp_path):
    old = damaged.with_suffix(".db").read_bytes()
    writer = FileWriter.open_for_append(str(damaged))
    writer.write_raw_data([{"label": 9, "name": "", "ids": np.zeros(1, np.int32), "data": b""}])
    writer.commit()
    assert len(Records(damaged)) == 6
    damaged.with_suffix(".db").write_bytes(old)
    with pytest.raises(RuntimeError, match="its index has 5 rows, the file has 6"):
        Records(damaged)


def test_a_lost_index_is_made_again(damaged):
    expected = cases.index_content(damaged)
    damaged.with_suffix(".db").unlink()
    with pytest.raises(RuntimeError, match="is missing"):
        Records(damaged)
    FileWriter.open_for_append(str(damaged)).commit()
    assert cases.index_content(damaged) == expected
    assert read_all(damaged)


def test_other_files_are_no_mindrecord(tmp_path):
    for content in (b"", b"\x02" + bytes(7) + b"{}", b"\x01" + bytes(7) + b"[", bytes(3000)):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(RuntimeError, match="not a valid MindRecord file"):
            Records(tmp_path / "a")
