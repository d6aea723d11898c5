"""Checkpoints: round trips, MindSpore's layout, damaged files, partial loads."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from mycelia._engine.core.files.atomic_write import write_atomically


def network():
    return nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4))


def test_a_network_comes_back(tmp_path):
    first, second = network(), network()
    path = str(tmp_path / "net.ckpt")
    ms.save_checkpoint(first, path)
    missing, unused = ms.load_param_into_net(second, ms.load_checkpoint(path))
    assert (missing, unused) == ([], [])
    for a, b in zip(first.get_parameters(), second.get_parameters(), strict=True):
        assert a.name == b.name
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_the_bytes_are_mindspores(tmp_path):
    """`Checkpoint{value: {tag: "w", tensor: {dims, "Float32", bytes}}}` in protobuf."""
    path = tmp_path / "one.ckpt"
    ms.save_checkpoint({"w": Tensor([[1.0, 2.0]])}, str(path))
    tensor = b"\x08\x01\x08\x02" + b"\x12\x07Float32" + b"\x1a\x08" + np.float32([1, 2]).tobytes()
    value = b"\x0a\x01w" + b"\x12" + bytes([len(tensor)]) + tensor
    assert path.read_bytes() == b"\x0a" + bytes([len(value)]) + value


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "int64", "bool_"])
def test_dtypes_and_shapes(tmp_path, dtype):
    path = str(tmp_path / "t.ckpt")
    tensors = {"matrix": Tensor(np.ones((2, 3)), getattr(ms, dtype)), "scalar": Tensor(1, ms.int32)}
    ms.save_checkpoint(tensors, path, append_dict={"epoch": 3, "note": "hello"})
    loaded = ms.load_checkpoint(path)
    assert loaded["matrix"].dtype is getattr(ms, dtype) and loaded["matrix"].shape == (2, 3)
    assert loaded["scalar"].shape == () and int(loaded["epoch"]) == 3
    assert loaded["note"] == "hello"


def test_damaged_files_are_a_clear_error(tmp_path):
    path = tmp_path / "net.ckpt"
    ms.save_checkpoint(network(), str(path))
    whole = path.read_bytes()
    for cut in range(1, len(whole), 7):
        path.write_bytes(whole[:cut])
        try:
            ms.load_checkpoint(str(path))
        except ValueError as error:
            assert "damaged" in str(error)
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint(str(tmp_path / "nowhere.ckpt"))


def test_shapes_must_fit_and_nothing_is_loaded_otherwise(tmp_path):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
    before = net[0].weight.asnumpy().copy()
    wrong = {
        "0.weight": Parameter(Tensor(np.zeros((4, 3), np.float32)), name="0.weight"),
        "1.weight": Parameter(Tensor(np.zeros((5, 5), np.float32)), name="1.weight"),
    }
    with pytest.raises(RuntimeError, match="differs in shape"):
        ms.load_param_into_net(net, wrong)
    np.testing.assert_array_equal(net[0].weight.asnumpy(), before)


def test_partial_loads_say_what_is_missing():
    net = network()
    missing, unused = ms.load_param_into_net(
        net, {"0.bias": net[0].bias, "other": Parameter(Tensor(1.0), name="other")}
    )
    assert "0.weight" in missing and unused == ["other"]


def test_prefixes(tmp_path):
    path = str(tmp_path / "net.ckpt")
    ms.save_checkpoint(network(), path)
    assert set(ms.load_checkpoint(path, specify_prefix="0.")) == {"0.weight", "0.bias"}
    assert not any(n.startswith("1.") for n in ms.load_checkpoint(path, filter_prefix="1."))


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def broken():
        yield b"new"
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, broken())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


class Pair(nn.Cell):
    def __init__(self):
        super().__init__()
        self.d, self.e = nn.Dense(2, 2), nn.Dense(2, 2)


def sevens(*names):
    return {
        name: Parameter(Tensor(np.full((2, 2)[: 1 + ("weight" in name)], 7, np.float32)), name=name)
        for name in names
    }


def test_a_network_that_was_part_of_another_is_found():
    """What MindSpore gives for the same dicts."""
    names = ["d.weight", "d.bias", "e.weight", "e.bias"]
    net = Pair()
    inner = sevens(*(f"net.{name}" for name in names), "global_step")
    missing, unused = ms.load_param_into_net(net, inner)
    assert missing == []
    assert unused == list(inner)
    assert all((p.asnumpy() == 7).all() for p in net.get_parameters())
    assert ms.load_param_into_net(Pair(), sevens("a.b.d.weight", "a.b.e.weight"))[0] == [
        "d.bias",
        "e.bias",
    ]
    assert ms.load_param_into_net(Pair(), sevens("d.weight", "d.bias"))[1] == []


def test_prefixes_and_choices_that_are_none(tmp_path):
    path = str(tmp_path / "pair.ckpt")
    ms.save_checkpoint(Pair(), path)
    with pytest.raises(TypeError, match="filter_prefix"):
        ms.load_checkpoint(path, filter_prefix=["d", 3])
    with pytest.raises(ValueError, match="specify_prefix"):
        ms.load_checkpoint(path, specify_prefix="")
    with pytest.raises(ValueError, match="choice_func"):
        ms.load_checkpoint(path, choice_func=3)
    chosen = ms.load_checkpoint(path, specify_prefix="d.", choice_func=lambda name: False)
    assert list(chosen) == ["d.weight", "d.bias"]
