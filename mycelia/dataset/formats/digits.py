"""The IDX files of EMNIST and QMNIST."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.idx import read_idx
from mycelia.dataset.formats.image_rows import needed_file
from mycelia.dataset.formats.reader import ArrayReader

_EMNIST_PARTS = {"train": ("train",), "test": ("test",), "all": ("test", "train")}
_QMNIST_TEST = ("qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int")
_QMNIST_FILES = {
    "train": ("qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int"),
    "test": _QMNIST_TEST,
    "test10k": _QMNIST_TEST,
    "test50k": _QMNIST_TEST,
    "nist": ("xnist-images-idx3-ubyte", "xnist-labels-idx2-int"),
}
_QMNIST_ROWS = {"test10k": slice(10000), "test50k": slice(10000, 60000)}
_INTS = b"\0\0\x0c\2"


def open_emnist(folder: str, name: str, usage: str) -> ArrayReader:
    """The images and labels of one of EMNIST's six datasets."""
    pairs = []
    for part in _EMNIST_PARTS[usage]:
        start = f"emnist-{name}-{part}"
        found = [
            read_idx(_file(folder, f"{start}-{kind}-ubyte", "EMnistDataset"))
            for kind in ("images-idx3", "labels-idx1")
        ]
        pairs.append(_checked(found[0], found[1], f"{folder}/{start}", "EMnistDataset"))
    images, labels = (np.concatenate(column) for column in zip(*pairs))
    return _reader(images, labels, "EMnistDataset")


def open_qmnist(folder: str, usage: str, compat: bool) -> ArrayReader:
    """The images of QMNIST, with the digit alone (`compat`) or all eight label fields."""
    pairs = []
    for part in ("train", "test", "nist") if usage == "all" else (usage,):
        images_file, labels_file = _QMNIST_FILES[part]
        images = read_idx(_file(folder, images_file, "QMnistDataset"))
        facts = _read_ints(_file(folder, labels_file, "QMnistDataset"))
        _checked(images, facts, f"{folder}/{images_file}", "QMnistDataset")
        rows = _QMNIST_ROWS.get(part, slice(None))
        pairs.append((images[rows], facts[rows]))
    images, facts = (np.concatenate(column) for column in zip(*pairs))
    return _reader(images, facts[:, 0] if compat else facts, "QMnistDataset")


def _reader(images: np.ndarray, labels: np.ndarray, name: str) -> ArrayReader:
    columns = (images[..., None], labels.astype(np.uint32))
    return ArrayReader(("image", "label"), columns, name)


def _file(folder: str, file: str, name: str) -> Path:
    zipped = Path(folder) / f"{file}.gz"
    return zipped if zipped.is_file() else needed_file(Path(folder) / file, name)


def _checked(
    images: np.ndarray, labels: np.ndarray, where: str, name: str
) -> tuple[np.ndarray, np.ndarray]:
    if len(images) != len(labels):
        raise problem(
            RuntimeError,
            f"{name}: the numbers of images and labels differ",
            got=f"{len(images)} and {len(labels)} in {where}",
        )
    return images, labels


def _read_ints(path: Path) -> np.ndarray:
    """The matrix of int32 values in an IDX file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        data = file.read()
    if len(data) < 12 or data[:4] != _INTS:
        raise problem(
            RuntimeError,
            "the file is not an IDX file of an int matrix",
            got=f"{path}: {data[:4]!r}",
        )
    shape = struct.unpack(">2I", data[4:12])
    if len(data) != 12 + 4 * shape[0] * shape[1]:
        raise problem(
            RuntimeError,
            "the length of the IDX file does not match its header",
            got=f"{path}: {len(data)} bytes for shape {shape}",
        )
    return np.frombuffer(data, ">i4", offset=12).reshape(shape)
