"""Files written whole or not at all, with the permissions users expect."""

import errno
import os

import pytest

from mycelia._engine.core.files.atomic_write import open_locked, unfinished_name, write_atomically


def mode_of(path):
    return path.stat().st_mode & 0o777


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"x")
    write_atomically(tmp_path / "written", [b"a", b"b"])
    assert (tmp_path / "written").read_bytes() == b"ab"
    assert mode_of(tmp_path / "written") == mode_of(tmp_path / "plain")


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, [b"new"])
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)


def test_a_failure_keeps_the_old_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def chunks():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, chunks())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    def chunks():
        yield b"1"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device: .*weights") as caught:
        write_atomically(tmp_path / "weights", chunks())
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_files_of_living_writers_and_of_others_stay(tmp_path):
    mine = unfinished_name(tmp_path / "mine")
    other = tmp_path / ".cache.d41d8cd98f00b204e9800998ecf8427e"
    other.write_bytes(b"of another program")
    with open_locked(mine) as file:
        file.write(b"half")
        write_atomically(tmp_path / "file", [b"x"])
        assert mine.exists()
    write_atomically(tmp_path / "file", [b"y"])
    assert sorted(os.listdir(tmp_path)) == [other.name, "file"]


def test_a_link_named_like_an_unfinished_file_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"x")
    unfinished_name(tmp_path / "file").symlink_to(precious)
    write_atomically(tmp_path / "file", [b"y"])
    assert precious.read_bytes() == b"x"
