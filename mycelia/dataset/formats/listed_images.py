"""File formats of datasets in text lists: Food-101, Places365, SBU; and the pairs of DIV2K."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count
from mycelia.dataset.formats.image_rows import (
    Rows,
    bad_line,
    file_paths,
    needed_file,
    needed_folder,
    some_rows,
    text_lines,
)

_PLACES_LISTS = {
    "train-standard": "places365_train_standard.txt",
    "train-challenge": "places365_train_challenge.txt",
    "val": "places365_val.txt",
}
_SBU_URLS = "SBU_captioned_photo_dataset_urls.txt"
_SBU_CAPTIONS = "SBU_captioned_photo_dataset_captions.txt"
_DIV2K_MARKS = {"mild": "m", "difficult": "d", "wild": "w"}


def food101_rows(folder: str, usage: str) -> Rows:
    """Each dish with the name of its class."""
    root = Path(folder)
    needed_folder(root / "images", "Food101Dataset")
    parts = ("train", "test") if usage == "all" else (usage,)
    lines = [
        line.strip()
        for part in parts
        for line in text_lines(root / "meta" / f"{part}.txt", "Food101Dataset")
    ]
    rows: Rows = [
        (root / "images" / f"{line}.jpg", np.array(line.partition("/")[0])) for line in lines
    ]
    return some_rows(rows, "Food101Dataset", folder)


def places365_rows(folder: str, usage: str, small: bool) -> Rows:
    """Each scene with its class; `small` images are 256 x 256."""
    name, root = "Places365Dataset", Path(folder)
    if usage != "val":
        text_lines(root / "categories_places365.txt", name)
    size = "256" if small else "large"
    part = usage.removeprefix("train-")
    images = root / (f"val_{size}" if usage == "val" else f"data_{size}_{part}")
    path = root / _PLACES_LISTS[usage]
    rows: Rows = []
    for line in text_lines(path, name):
        file, space, label = line.strip().rpartition(" ")
        if not space or not is_count(label):
            raise bad_line(name, path, line, "/a/abbey/00000001.jpg 0")
        rows.append((needed_file(images / file.lstrip("/"), name), np.array(label, np.uint32)))
    return some_rows(rows, name, path)


def sbu_files(folder: str) -> tuple[Path, Path]:
    """The files of URLs and of captions."""
    return Path(folder) / _SBU_URLS, Path(folder) / _SBU_CAPTIONS


def sbu_rows(folder: str) -> Rows:
    """Each downloaded photo, with its caption."""
    name, (urls, captions) = "SBUDataset", sbu_files(folder)
    addresses, told = (text_lines(path, name, ValueError) for path in (urls, captions))
    if len(addresses) != len(told):
        raise problem(
            RuntimeError,
            f"{name}: the numbers of URLs and captions differ",
            got=f"{len(addresses)} in {urls}, {len(told)} in {captions}",
        )
    images = needed_folder(Path(folder) / "sbu_images", name)
    paths = [images / _sbu_name(urls, address) for address in addresses]
    rows: Rows = [
        (path, np.array(caption.strip())) for path, caption in zip(paths, told) if path.is_file()
    ]
    return some_rows(rows, name, images)


def _sbu_name(urls: Path, address: str) -> str:
    """http://static.flickr.com/12/34_ab.jpg is stored as m_12_34_ab.jpg."""
    _, dot, rest = address.strip().partition(".com/")
    if not dot:
        raise bad_line("SBUDataset", urls, address, "http://static.flickr.com/12/34_ab.jpg")
    return f"m_{rest.replace('/', '_')}"


def div2k_rows(folder: str, usage: str, downgrade: str, scale: int) -> Rows:
    """Each image in high resolution, with its low-resolution version."""
    name = "DIV2KDataset"
    rows: Rows = []
    for part in ("train", "valid") if usage == "all" else (usage,):
        whole = needed_folder(Path(folder) / f"DIV2K_{part}_HR", name)
        start = Path(folder) / f"DIV2K_{part}_LR_{downgrade}"
        mark = _DIV2K_MARKS.get(downgrade, "")
        if not mark:
            start /= f"X{scale}"
        if downgrade == "bicubic" and scale == 8:
            start = Path(folder) / f"DIV2K_{part}_LR_x8"
        for path in file_paths(whole, "*.png"):
            worse = needed_folder(start, name) / f"{path.stem}x{scale}{mark}.png"
            rows.append((path, needed_file(worse, name)))
    return some_rows(rows, name, folder)
