"""Checkpoint files in another format and read in the background: as the real MindSpore 2.10 does."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.train import checkpoint_conversion as train

NAMES = ["0.bias", "0.weight", "1.bias", "1.weight"]


@pytest.fixture
def folder(tmp_path):
    """A folder with files of two processes and some that belong to none."""
    for place in ("rank_0/a", "rank_0/b", "rank_1/a", "other/c", "d"):
        path = tmp_path / f"in/{place}.ckpt"
        path.parent.mkdir(parents=True, exist_ok=True)
        ms.save_checkpoint(network(), str(path), append_dict={"epoch": 3})
    return tmp_path / "in"


def network():
    return nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 1))


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_file_there_and_back(folder, tmp_path):
    ms_file = str(folder / "d.ckpt")
    train.ckpt_to_safetensors(ms_file, str(tmp_path / "out"), {"0.weight": "first"})
    path = tmp_path / "out/d.safetensors"
    renamed = ms.load_checkpoint(str(path), format="safetensors")
    assert sorted(renamed) == ["0.bias", "1.bias", "1.weight", "epoch", "first"]
    train.safetensors_to_ckpt(str(path), str(tmp_path / "back"), {"first": "0.weight"})
    before, after = ms.load_checkpoint(ms_file), ms.load_checkpoint(str(tmp_path / "back/d.ckpt"))
    assert sorted(after) == sorted(before) == [*NAMES, "epoch"]
    for name, value in before.items():
        assert after[name].dtype is value.dtype
        np.testing.assert_array_equal(after[name].asnumpy(), value.asnumpy())


def test_files_stand_beside_the_old_ones(folder):
    train.ckpt_to_safetensors(str(folder / "d.ckpt"))
    assert files(folder)[:2] == ["d.ckpt", "d.safetensors"]


def test_folders_of_processes(folder, tmp_path):
    train.ckpt_to_safetensors(str(folder), str(tmp_path / "out"), processes_num=2)
    assert files(tmp_path / "out") == [
        "rank_0/a.safetensors", "rank_0/b.safetensors", "rank_1/a.safetensors",
    ]  # fmt: skip
    train.ckpt_to_safetensors(str(folder), str(tmp_path / "some"), file_name_regex="b")
    assert files(tmp_path / "some") == ["rank_0/b.safetensors"]
    train.ckpt_to_safetensors(str(folder), str(tmp_path / "none"), file_name_regex="^a$")
    assert files(tmp_path / "none") == []
    train.safetensors_to_ckpt(str(tmp_path / "out"), str(tmp_path / "back"))
    assert files(tmp_path / "back") == ["rank_0/a.ckpt", "rank_0/b.ckpt", "rank_1/a.ckpt"]


@pytest.mark.parametrize(
    ("kind", "convert"),
    [
        (ValueError, lambda f: train.ckpt_to_safetensors(str(f / "none.ckpt"))),
        (ValueError, lambda f: train.ckpt_to_safetensors(3)),
        (ValueError, lambda f: train.ckpt_to_safetensors(str(f / "other"))),
        (ValueError, lambda f: train.ckpt_to_safetensors(str(f / "d.ckpt"), None, 3)),
        (ValueError, lambda f: train.ckpt_to_safetensors(str(f / "d.ckpt"), None, None, "zz")),
        (TypeError, lambda f: train.ckpt_to_safetensors(str(f / "d.ckpt"), None, None, 3)),
        (TypeError, lambda f: train.ckpt_to_safetensors(str(f / "d.ckpt"), 3)),
        (ValueError, lambda f: train.safetensors_to_ckpt(str(f / "d.ckpt"))),
        (ValueError, lambda f: train.safetensors_to_ckpt(str(f / "none.safetensors"))),
    ],
)
def test_bad_arguments_are_refused(kind, convert, folder):
    with pytest.raises(kind):
        convert(folder)


def test_a_file_is_read_in_the_background(folder):
    path, net = str(folder / "d.ckpt"), network()
    reading = train.load_checkpoint_async(path)
    assert isinstance(reading, Future) and sorted(reading.result()) == [*NAMES, "epoch"]
    net[0].weight.set_data(Tensor(np.zeros((2, 2), np.float32)))
    chosen = train.load_checkpoint_async(path, net, specify_prefix="0.").result()
    assert sorted(chosen) == ["0.bias", "0.weight"]
    np.testing.assert_array_equal(net[0].weight.asnumpy(), chosen["0.weight"].asnumpy())
    failing = train.load_checkpoint_async(str(folder / "none.ckpt"))
    with pytest.raises(ValueError, match="does not exist"):
        failing.result()
