"""The IDX files of MNIST and its relatives, plain or gzipped."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.reader import ArrayReader

_PARTS = {"train": ("train",), "test": ("t10k",), "all": ("t10k", "train")}


def open_mnist(folder: str, usage: str, name: str) -> ArrayReader:
    """The images and labels of a folder with MNIST's four files."""
    parts = [part for part in _PARTS[usage] if _find(folder, f"{part}-images-idx3-ubyte")]
    if not parts:
        raise problem(
            RuntimeError,
            f"{name}: the folder has no image file",
            got=folder,
            expected=" or ".join(f"{part}-images-idx3-ubyte" for part in _PARTS[usage]),
        )
    pairs = [_pair(folder, part, name) for part in parts]
    images, labels = (np.concatenate(column) for column in zip(*pairs))
    return ArrayReader(("image", "label"), (images[..., None], labels.astype(np.uint32)), name)


def _pair(folder: str, part: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    found = [_find(folder, f"{part}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1")]
    if found[1] is None or found[0] is None:
        raise problem(RuntimeError, f"{name}: the labels of '{part}' are missing", got=folder)
    images, labels = (read_idx(path) for path in found if path is not None)
    if len(images) != len(labels):
        raise problem(
            RuntimeError,
            f"{name}: the numbers of images and labels differ",
            got=f"{len(images)} and {len(labels)} in {folder}",
        )
    return images, labels


def _find(folder: str, name: str) -> Path | None:
    for path in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def read_idx(path: Path) -> np.ndarray:
    """The uint8 array in an IDX file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        data = file.read()
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise problem(
            RuntimeError, "the file is not an IDX file of bytes", got=f"{path}: starts {data[:4]!r}"
        )
    rank = data[3]
    start = 4 + 4 * rank
    if len(data) < start:
        raise problem(RuntimeError, "the header of the IDX file is truncated", got=str(path))
    shape = struct.unpack(f">{rank}I", data[4:start])
    wanted = start + int(np.prod(shape))
    if len(data) != wanted:
        raise problem(
            RuntimeError,
            "the length of the IDX file does not match its header",
            got=f"{path}: {len(data)} bytes",
            expected=f"{wanted} bytes for shape {shape}",
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
