"""set_enc_key, set_enc_mode, set_dec_mode: files sealed, opened, and told apart from plain ones."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia import mindrecord
from mycelia.mindrecord import FileReader, FileWriter, Records

KEY = "0123456789abcdef"
ROWS = [{"label": i, "name": f"n{i}", "ids": np.arange(i) * 1000} for i in range(5)]


@pytest.fixture(autouse=True)
def settings():
    mindrecord.set_enc_key(KEY)
    yield
    mindrecord.set_enc_key(None)
    mindrecord.set_enc_mode()
    mindrecord.set_dec_mode(None)


def write(path):
    writer = FileWriter(str(path))
    writer.set_dense_pages()
    writer.add_schema(
        {
            "label": {"type": "int32"},
            "name": {"type": "string"},
            "ids": {"type": "int64", "shape": [-1]},
        }
    )
    writer.write_raw_data(ROWS)
    writer.commit()
    return str(path)


def flipped(source, size, target, key):
    """A cipher of the user, its own inverse."""
    assert key == KEY
    target.write(bytes(byte ^ 1 for byte in source.read(size)))


def check_rows(path):
    for row, expected in zip(FileReader(path).get_next(), ROWS, strict=True):
        assert row["name"] == expected["name"]
        assert row["ids"].tolist() == expected["ids"].tolist()
    dataset = ds.MindDataset(path, ["name", "label"], shuffle=False)
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [(str(name), int(label)) for name, label in rows] == [(f"n{i}", i) for i in range(5)]
    assert Records(path).find("name", "n3") == [3]


def test_sealed_files_hide_their_rows_and_are_read(tmp_path):
    path = write(tmp_path / "a")
    for file in (tmp_path / "a", tmp_path / "a.db"):
        data = file.read_bytes()
        assert data.endswith(b"\0\0\0\0AES-GCMENCRYPT")
        assert b"name" not in data
        assert b"SQLite" not in data
    check_rows(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "a.db"]


def test_a_file_that_the_real_one_sealed_is_read(tmp_path):
    zipfile.ZipFile(Path(__file__).with_name("encrypted.zip")).extractall(tmp_path)
    rows = list(FileReader(str(tmp_path / "real.mr")).get_next())
    assert rows == [{"label": i, "name": f"n{i}"} for i in range(5)]


def test_a_function_of_the_user_seals(tmp_path):
    mindrecord.set_enc_mode(flipped)
    path = write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes().endswith(b"\0\0\0\0UDF-ENCENCRYPT")
    check_rows(path)
    mindrecord.set_dec_mode(flipped)
    check_rows(path)
    mindrecord.set_dec_mode("AES-GCM")
    with pytest.raises(RuntimeError, match="another mode"):
        Records(path)


def test_other_keys_and_plain_files_are_told_apart(tmp_path):
    path = write(tmp_path / "a")
    mindrecord.set_enc_key("f" * 32)
    with pytest.raises(RuntimeError, match="wrong key"):
        ds.MindDataset(path)
    mindrecord.set_enc_key(None)
    with pytest.raises(RuntimeError, match="is encrypted"):
        FileReader(path)
    plain = write(tmp_path / "b")
    check_rows(plain)
    mindrecord.set_enc_key(KEY)
    with pytest.raises(RuntimeError, match="is not encrypted"):
        FileReader(plain)


def test_damaged_sealed_files_are_refused(tmp_path):
    path = write(tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    for place in (0, 5, 10, 40, len(data) // 2):
        changed = bytearray(data)
        changed[place] ^= 1
        (tmp_path / "a").write_bytes(changed)
        with pytest.raises(RuntimeError, match="cannot be decrypted"):
            Records(path)
    (tmp_path / "a").write_bytes(data[:100] + data[-18:])
    with pytest.raises(RuntimeError, match="cannot be decrypted"):
        Records(path)


def test_shards_and_more_rows_do_not_go_with_a_key(tmp_path):
    with pytest.raises(RuntimeError, match="shards"):
        FileWriter(str(tmp_path / "a"), 2)
    path = write(tmp_path / "a")
    with pytest.raises(RuntimeError, match="cannot be appended"):
        FileWriter.open_for_append(path)


@pytest.mark.parametrize("key", [b"0" * 16, "short", 5])
def test_bad_keys_are_refused(key):
    with pytest.raises(ValueError, match="set_enc_key"):
        mindrecord.set_enc_key(key)


@pytest.mark.parametrize("mode", ["AES-CBC", "X", 5])
def test_bad_modes_are_refused(mode):
    with pytest.raises(ValueError, match="set_enc_mode"):
        mindrecord.set_enc_mode(mode)
    with pytest.raises(ValueError, match="set_dec_mode"):
        mindrecord.set_dec_mode(mode)
