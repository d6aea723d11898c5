"""Files written whole or not at all, with the permissions users expect."""

import os

import pytest

from mycelia.core.files import write_atomically


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
