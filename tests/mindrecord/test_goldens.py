"""Files equal to those of the real MindSpore, byte by byte; its files and queries read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import mycelia.mindrecord as mindrecord
from mycelia.mindrecord import Records, writer
from tests.goldens import mindrecord_cases as cases

ZIP = zipfile.ZipFile(Path(__file__).parent.parent / "goldens" / "mindrecord.zip")
SUMS = json.loads(ZIP.read("checksums.json"))
LONG_SUMS = json.loads(ZIP.read("long_checksums.json"))
QUERIES = json.loads(ZIP.read("queries.json"))
STEP = 40


@pytest.mark.parametrize("start", range(0, len(SUMS), STEP))
def test_files_and_indexes_are_those_of_the_real_one(start, tmp_path, monkeypatch):
    for seed in range(start, start + STEP):
        real = SUMS[str(seed)]
        monkeypatch.setattr(writer, "extra_shards", lambda *_, real=real: real["extra"])
        files = cases.write_case(mindrecord, tmp_path / str(seed), cases.make_case(seed))
        assert [list(cases.checksum(file)) for file in files] == real["files"], seed


def test_files_of_many_rows_and_of_any_page_size_are_those_of_the_real_one(tmp_path, monkeypatch):
    for seed, real in LONG_SUMS.items():
        monkeypatch.setattr(writer, "extra_shards", lambda *_, real=real: real["extra"])
        case = cases.make_long_case(int(seed))
        files = cases.write_case(mindrecord, tmp_path / seed, case)
        assert [list(cases.checksum(file)) for file in files] == real["files"], seed


@pytest.mark.parametrize("seed", [int(seed) for seed in QUERIES if seed.isdigit()])
def test_whole_files_of_the_real_one_are_read(seed, tmp_path):
    files = unpacked(tmp_path, str(seed))
    expected = cases.plain_rows(cases.make_case(seed))
    assert all(map(cases.same, expected, cases.read_rows(mindrecord, files)))
    assert len(Records(files[0])) == len(expected)
    check_queries(files[0], QUERIES[str(seed)])


def test_whole_files_are_written_as_the_real_one_does(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "extra_shards", lambda *_: SUMS["7"]["extra"])
    real = unpacked(tmp_path, "7")
    ours = cases.write_case(mindrecord, tmp_path / "ours", cases.make_case(7))
    for mine, theirs in zip(ours, real, strict=True):
        assert mine.read_bytes() == theirs.read_bytes()
        assert cases.index_content(mine) == cases.index_content(theirs)


def test_version_2_is_read_and_not_added_to(tmp_path):
    (file,) = unpacked(tmp_path, "version2")
    rows = cases.read_rows(mindrecord, [file])
    assert len(rows) == 5
    assert all(map(cases.same, cases.VERSION_2_ROWS, rows))
    assert Records(file).values("s") == ["n0", "n1", "n0", "n1", "n0"]
    assert Records(file).categories("s") == {"n0": 3, "n1": 2}
    assert Records(file).find("s", "n1") == [1, 3]
    assert Records(file).find("i", "4") == [4]
    with pytest.raises(mindrecord.MRMOpenForAppendError, match=r"version 2\.0"):
        mindrecord.FileWriter.open_for_append(str(file))


def check_queries(file: Path, answers: dict[str, str]) -> None:
    page = mindrecord.MindPage(str(file))
    assert page.candidate_fields == list(answers)
    for field, answer in answers.items():
        page.category_field = field
        assert page.read_category_info() == answer


def unpacked(folder: Path, name: str) -> list[Path]:
    members = [member for member in ZIP.namelist() if member.startswith(f"{name}/")]
    ZIP.extractall(folder, members)
    return [folder / member for member in members if not member.endswith(".db")]
