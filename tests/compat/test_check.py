"""`mycelia check`: what scripts use, with lines and an exit code."""

import json

import pytest

from mycelia.cli import main
from mycelia.compat.scan import uses

GOOD = """import mindspore as ms
from mindspore import nn, ops as P
import numpy as np
net = nn.Dense(3, 2)
y = P.ReLU()(net(ms.Tensor(np.ones(3))))
"""
BAD = """import mindspore
from mindspore.nn import Dense, Densee
mindspore.ops.operations.Addd()
x = mindspore.nn.Dense.construct
"""


def test_uses_have_lines():
    assert uses(GOOD) == {
        "mindspore": [1],
        "mindspore.nn": [2],
        "mindspore.ops": [2],
        "mindspore.nn.Dense": [4],
        "mindspore.ops.ReLU": [5],
        "mindspore.Tensor": [5],
    }


def test_attributes_of_classes_are_theirs():
    assert "mindspore.nn.Dense.construct" not in uses(BAD)


def test_good_scripts(tmp_path, capsys):
    (tmp_path / "good.py").write_text(GOOD)
    assert main(["check", str(tmp_path), "--all"]) == 0
    said = capsys.readouterr().out
    assert "1 file(s), 6 names used, 6 served" in said and f"{tmp_path}/good.py:4" in said


def test_missing_names(tmp_path, capsys):
    (tmp_path / "bad.py").write_text(BAD)
    assert main(["check", str(tmp_path / "bad.py")]) == 1
    said = capsys.readouterr().out
    assert f"mindspore.nn.Densee  {tmp_path}/bad.py:2" in said and "mindspore.nn.Dense," in said
    assert f"mindspore.ops.operations.Addd  {tmp_path}/bad.py:3" in said


def test_json(tmp_path, capsys):
    (tmp_path / "bad.py").write_text(BAD)
    main(["check", str(tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert set(found["missing"]) == {"mindspore.nn.Densee", "mindspore.ops.operations.Addd"}
    assert "mindspore.nn.Dense" in found["served"] and found["files"] == 1


@pytest.mark.parametrize("text", [b"def f(:\n", b"\xff\xfe\x00bad"])
def test_unreadable_files_do_not_hide_the_others(tmp_path, capsys, text):
    (tmp_path / "broken.py").write_bytes(text)
    (tmp_path / "good.py").write_text(GOOD)
    assert main(["check", str(tmp_path)]) == 2
    said = capsys.readouterr().out
    assert "unreadable" in said and "broken.py" in said and "6 served" in said


def test_no_such_file(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.py")]) == 2
    assert "no such file" in capsys.readouterr().err
