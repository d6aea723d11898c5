"""The captions of Flickr8k and Flickr30k: lines of `image.jpg#number`, a tab, a caption."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia.dataset.formats.image_rows import (
    Rows,
    bad_line,
    needed_file,
    some_rows,
    text_lines,
)

NAME = "FlickrDataset"


def flickr_rows(folder: str, file: str) -> Rows:
    """Each image with its captions, ordered by name."""
    captions: dict[str, list[str]] = {}
    for line in text_lines(Path(file), NAME, ValueError):
        key, tab, caption = line.partition("\t")
        name, mark, _ = key.rpartition("#")
        if not tab or not mark:
            raise bad_line(NAME, Path(file), line, "image.jpg#0<tab>caption")
        captions.setdefault(name, []).append(caption)
    rows = [
        (needed_file(Path(folder) / name, NAME), np.array(told))
        for name, told in sorted(captions.items())
    ]
    return some_rows(rows, NAME, file)
