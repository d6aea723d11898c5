"""Small folders of pixels in few files, in the layouts of the known sets."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from scipy.io import savemat
from scipy.sparse import csc_matrix

from tests.dataset.image_set_writing import idx, lines, png, put


def _digits(folder: Path, images: str, labels: str, count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    put(folder / images, idx(draw.integers(0, 256, (count, 28, 28)).astype(np.uint8)))
    put(folder / labels, idx(draw.integers(0, 10, count).astype(np.uint8)))


def write_kmnist(folder: Path) -> None:
    for part, count in (("train", 3), ("t10k", 2)):
        _digits(folder, f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte", count, count)


def write_emnist(folder: Path) -> None:
    for seed, name in enumerate(("byclass", "bymerge", "balanced", "letters", "digits", "mnist")):
        for part, count in (("train", 3), ("test", 2)):
            start = f"emnist-{name}-{part}"
            _digits(
                folder,
                f"{start}-images-idx3-ubyte",
                f"{start}-labels-idx1-ubyte",
                count,
                10 * seed + count,
            )


def write_qmnist(folder: Path) -> None:
    draw = np.random.default_rng(4)
    for images, labels, count in (
        ("qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int", 3),
        ("qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int", 10003),
        ("xnist-images-idx3-ubyte", "xnist-labels-idx2-int", 2),
    ):
        put(folder / images, idx(draw.integers(0, 256, (count, 28, 28)).astype(np.uint8)))
        put(folder / labels, idx(draw.integers(0, 10, (count, 8)).astype(np.int32)))


def write_usps(folder: Path) -> None:
    draw = np.random.default_rng(5)
    for name, count in (("usps", 3), ("usps.t", 2)):
        told = []
        for _ in range(count):
            values = np.round(draw.uniform(-1, 1, 256), 3)
            values[:2] = (-1, 1)
            fields = " ".join(f"{place}:{value}" for place, value in enumerate(values, 1))
            told.append(f"{draw.integers(1, 11)} {fields} ")
        put(folder / name, lines(told))


def write_semeion(folder: Path) -> None:
    draw = np.random.default_rng(6)
    told = []
    for number in (3, 0, 9):
        pixels = " ".join(f"{value}.0000" for value in draw.integers(0, 2, 256))
        told.append(f"{pixels} {' '.join(str(int(digit == number)) for digit in range(10))} ")
    put(folder / "semeion.data", lines(told))


def write_stl10(folder: Path) -> None:
    draw = np.random.default_rng(7)
    for part, count in (("train", 2), ("test", 2), ("unlabeled", 1)):
        put(
            folder / f"{part}_X.bin",
            draw.integers(0, 256, (count, 3, 96, 96)).astype(np.uint8).tobytes(),
        )
        if part != "unlabeled":
            put(folder / f"{part}_y.bin", draw.integers(1, 11, count).astype(np.uint8).tobytes())
    put(
        folder / "class_names.txt",
        lines("airplane bird car cat deer dog horse monkey ship truck".split()),
    )


def write_photo_tour(folder: Path) -> None:
    for name in ("liberty", "yosemite_harris"):
        start = folder / name
        put(start / "patches0000.bmp", _sheet(8))
        put(start / "info.txt", lines(f"{n // 2} 0" for n in range(5)))
        put(start / "interest.txt", lines("1 2 3 4 5" for _ in range(5)))
        put(
            start / "m50_100000_100000_0.txt",
            lines(("0 0 0 1 0 0 0", "0 0 0 2 1 0 0", "3 1 0 4 2 0 0")),
        )


def _sheet(seed: int) -> bytes:
    """A grey 1024 x 1024 bitmap: 16 x 16 patches, each of one shade."""
    shades = np.random.default_rng(seed).integers(0, 256, (16, 16)).astype(np.uint8)
    pixels = np.kron(shades, np.ones((64, 64), np.uint8))
    palette = b"".join(struct.pack("BBBB", n, n, n, 0) for n in range(256))
    size = 54 + len(palette)
    head = struct.pack("<2sIHHI", b"BM", size + pixels.size, 0, 0, size)
    info = struct.pack("<IiiHHIIiiII", 40, 1024, 1024, 1, 8, 0, pixels.size, 0, 0, 256, 0)
    return head + info + palette + pixels[::-1].tobytes()


def write_svhn(folder: Path) -> None:
    draw = np.random.default_rng(9)
    for part, count in (("train", 3), ("test", 2), ("extra", 2)):
        images = draw.integers(0, 256, (32, 32, 3, count)).astype(np.uint8)
        labels = np.array([[10], [3], [1]], np.uint8)[:count]
        folder.mkdir(parents=True, exist_ok=True)
        savemat(folder / f"{part}_32x32.mat", {"X": images, "y": labels})


def write_caltech101(folder: Path) -> None:
    seed = 0
    for name, marks in (
        ("Faces", "Faces_2"),
        ("Motorbikes", "Motorbikes_16"),
        ("accordion", "accordion"),
        ("BACKGROUND_Google", ""),
    ):
        for number in (2, 1):
            seed += 1
            put(folder / "101_ObjectCategories" / name / f"image_{number:04d}.jpg", png(seed))
            if marks:
                start = folder / "Annotations" / marks
                start.mkdir(parents=True, exist_ok=True)
                contour = (
                    np.random.default_rng(seed).integers(0, 99, (2, 3 + number)).astype(np.float64)
                )
                savemat(
                    start / f"annotation_{number:04d}.mat",
                    {"obj_contour": contour, "box_coord": np.zeros((1, 4))},
                )


def write_flowers102(folder: Path) -> None:
    for number in range(1, 7):
        put(folder / "jpg" / f"image_{number:05d}.jpg", png(number))
        put(folder / "segmim" / f"segmim_{number:05d}.jpg", png(number + 20))
    savemat(folder / "imagelabels.mat", {"labels": np.array([[77, 1, 5, 102, 3, 1]], np.uint8)})
    parts = {
        "trnid": np.array([[4, 1]], np.uint16),
        "valid": np.array([[2]], np.uint16),
        "tstid": np.array([[6, 3, 5]], np.uint16),
    }
    savemat(folder / "setid.mat", parts)


def write_sb(folder: Path) -> None:
    for number, name in enumerate(("2008_01", "2008_02", "2008_03")):
        put(folder / "img" / f"{name}.jpg", png(number))
        draw = np.random.default_rng(number)
        for part, key in (("cls", "GTcls"), ("inst", "GTinst")):
            edges = np.empty((20, 1), object)
            for row in range(20):
                edges[row, 0] = csc_matrix(
                    draw.integers(0, 2, (3, 4)).astype(np.uint8).astype(bool)
                )
            told = {
                "Segmentation": draw.integers(0, 20, (3, 4)).astype(np.uint8),
                "Boundaries": edges,
            }
            (folder / part).mkdir(parents=True, exist_ok=True)
            savemat(folder / part / f"{name}.mat", {key: told})
    put(folder / "train.txt", lines(("2008_02", "2008_01")))
    put(folder / "val.txt", "2008_03\n")
    put(folder / "train_noval.txt", "2008_01\n")
