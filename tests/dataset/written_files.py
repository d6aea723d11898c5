"""Small files for tests: digits in MNIST's form, lines of text."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np


def write_files(folder: Path) -> None:
    """MNIST's four files with 5 and 3 images, and a file of five lines."""
    draw = np.random.default_rng(0)
    for part, count in (("train", 5), ("t10k", 3)):
        images = draw.integers(0, 255, (count, 28, 28)).astype(np.uint8)
        write_idx(folder / f"{part}-images-idx3-ubyte", images)
        write_idx(folder / f"{part}-labels-idx1-ubyte", np.arange(count, dtype=np.uint8))
    (folder / "lines.txt").write_text("".join(f"l{i}\n" for i in range(5)))


def write_idx(path: Path, array: np.ndarray) -> None:
    """An array of bytes in the form of MNIST's files."""
    head = struct.pack(">I", 0x800 | array.ndim)
    sizes = b"".join(struct.pack(">I", size) for size in array.shape)
    path.write_bytes(head + sizes + array.tobytes())
