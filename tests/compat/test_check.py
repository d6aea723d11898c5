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


METHODS = """import mindspore as ms
from mindspore import Tensor, nn
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2)
        self.set_trainn()
    def construct(self, x: Tensor, y):
        y.anything()
        return self.dense(x.abss()) + self.helper(x.abs())
    def helper(self, x):
        return Tensor(x).foo()
class Own(nn.Optimizer):
    def construct(self, gradients):
        self.assignadd(self.global_step, 1)
        self.get_lr()
class Named(nn.Cell):
    def __init__(self):
        super().__init__()
        setattr(self, "made", 1)
    def construct(self, x):
        return self.made(x)
t = ms.Tensor([1.0])
t.reshapee(1)
t.view(1)
u = t
u.unknown()
"""
STARS = """from mindspore.nn import *
from mindspore import *
d = Dense(3, 2)
e = Densee(3, 2)
t = Tensor([len("a")])
"""


def test_methods_of_objects_whose_class_the_source_tells(tmp_path, capsys):
    (tmp_path / "methods.py").write_text(METHODS)
    assert main(["check", str(tmp_path), "--all"]) == 1
    said = capsys.readouterr().out
    missing = {line.split()[1] for line in said.splitlines() if line.startswith("missing")}
    assert missing == {
        "mindspore.nn.Cell.set_trainn",
        "mindspore.Tensor.abss",
        "mindspore.Tensor.foo",
        "mindspore.Tensor.reshapee",
    }
    assert "served      mindspore.Tensor.view" in said
    assert "not checked: 2 method calls on objects of unknown class" in said


def test_names_of_an_import_of_everything(tmp_path, capsys):
    (tmp_path / "stars.py").write_text(STARS)
    assert main(["check", str(tmp_path), "--all"]) == 1
    said = capsys.readouterr().out
    assert "unknown     Densee" in said and "import *" in said
    assert "served      mindspore.nn.Dense " in said and "served      mindspore.Tensor " in said
    assert "len" not in said.replace("length", "")


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
