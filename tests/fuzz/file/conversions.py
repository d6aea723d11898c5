"""Files that are written in another format, or kept as a cache, and read there."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mycelia as ms
import mycelia.dataset as ds
from mycelia import Parameter, Tensor, mindrecord
from mycelia.mindrecord.tfrecord import FixedLenFeature
from tests.dataset import record_cases
from tests.dataset.written_files import write_idx
from tests.fuzz.file.format import Format, plain

_GROUP = "conversions"


def formats() -> list[Format]:
    """All of them."""
    return [
        Format("CSV to MindRecord", _GROUP, _write_csv, _read_csv),
        Format("MNIST to MindRecord", _GROUP, _write_mnist, _read_mnist),
        Format("CIFAR to MindRecord", _GROUP, _write_cifar, _read_cifar),
        Format("TFRecord to MindRecord", _GROUP, _write_examples, _read_examples),
        Format("ImageNet to MindRecord", _GROUP, _write_images, _read_images),
        Format("ckpt to safetensors", _GROUP, _write_checkpoint("ckpt"), _convert("ckpt")),
        Format(
            "safetensors to ckpt", _GROUP, _write_checkpoint("safetensors"), _convert("safetensors")
        ),
        Format("safetensors into a network", _GROUP, _write_checkpoint("safetensors"), _load_files),
        Format("cache of rows", _GROUP, _write_cache, _read_cache, sealed=True),
    ]


def _converted(folder: Path, converter: Any) -> Any:
    converter.transform()
    with mindrecord.Records(str(folder / "out")) as found:
        return plain(list(found))


def _write_csv(folder: Path) -> None:
    (folder / "a.csv").write_text("a,b,c\n1,2.5,x\n-3,1e3,é\n")


def _read_csv(folder: Path) -> Any:
    return _converted(folder, mindrecord.CsvToMR(str(folder / "a.csv"), str(folder / "out")))


def _write_mnist(folder: Path) -> None:
    for part in ("train", "t10k"):
        write_idx(folder / f"{part}-images-idx3-ubyte", np.ones((2, 28, 28), np.uint8))
        write_idx(folder / f"{part}-labels-idx1-ubyte", np.arange(2, dtype=np.uint8))
    for file in list(folder.iterdir()):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()


def _read_mnist(folder: Path) -> Any:
    converter = mindrecord.MnistToMR(str(folder), str(folder / "out"))
    converter.transform()
    with mindrecord.Records(str(folder / "out_train.mindrecord")) as found:
        return plain(list(found))


def _write_cifar(folder: Path) -> None:
    content = {b"data": np.ones((2, 3072), np.uint8), b"labels": [3, 4]}
    for name in ("data_batch_1", "test_batch"):
        (folder / name).write_bytes(pickle.dumps(content, protocol=3))


def _read_cifar(folder: Path) -> Any:
    return _converted(folder, mindrecord.Cifar10ToMR(str(folder), str(folder / "out")))


def _write_examples(folder: Path) -> None:
    record_cases.write_examples(folder / "a.tfrecord", record_cases.example_rows(3))


def _read_examples(folder: Path) -> Any:
    features = {"label": FixedLenFeature([], "int64"), "name": FixedLenFeature([], "string")}
    source, target = str(folder / "a.tfrecord"), str(folder / "out")
    return _converted(folder, mindrecord.TFRecordToMR(source, target, features))


def _write_images(folder: Path) -> None:
    (folder / "images" / "cat").mkdir(parents=True)
    (folder / "images" / "cat" / "a.jpg").write_bytes(b"no picture, but nobody looks")
    (folder / "map.txt").write_text("cat 3\ndog 4\n")


def _read_images(folder: Path) -> Any:
    source = str(folder / "map.txt"), str(folder / "images")
    rows = _converted(folder, mindrecord.ImageNetToMR(*source, str(folder / "out")))
    return [row["image"] for row in rows]


def _write_checkpoint(format_: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        content = {"weight": Tensor(np.ones((3, 4), np.float32)), "steps": Tensor([7], ms.int32)}
        ms.save_checkpoint(content, str(folder / "net"), format=format_)

    return write


def _convert(old: str) -> Callable[[Path], Any]:
    new = "safetensors" if old == "ckpt" else "ckpt"

    def read(folder: Path) -> Any:
        getattr(ms, f"{old}_to_{new}")(str(folder / f"net.{old}"))
        return plain(ms.load_checkpoint(str(folder / f"net.{new}"), format=new))

    return read


def _load_files(folder: Path) -> Any:
    network = _Network()
    ms.load_distributed_checkpoint(network, [str(folder / "net.safetensors")])
    return plain({p.name: p for p in network.get_parameters()})


class _Network(ms.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.zeros((3, 4), np.float32)), name="weight")

    def construct(self) -> None:
        """Never called: the cell only holds a parameter."""


# ---- a cache ------------------------------------------------------------------------------------


def _write_cache(folder: Path) -> None:
    _read_cache(folder)


def _read_cache(folder: Path) -> Any:
    """The rows; those that cannot be read from the cache are made anew."""
    rows = {"x": np.arange(12, dtype=np.float32).reshape(4, 3), "name": ["a", "b", "c", "d"]}
    data = ds.NumpySlicesDataset(rows, shuffle=False).cache(folder=str(folder))
    return plain(list(data.create_tuple_iterator(num_epochs=1, output_numpy=True)))
