"""Helpers of converters: writing rows in batches, and JPEG encoding."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import optional_module
from mycelia.mindrecord.progress import shown
from mycelia.mindrecord.writer import FileWriter

Image = optional_module("PIL.Image")
_ROWS_AT_A_TIME = 256
_JPEG_QUALITY = 95
_LARGE_PAGE = 1 << 26


def write_rows(
    writer: FileWriter,
    rows: Iterable[dict[str, Any]],
    *,
    label: str,
    total: int | None = None,
    parallel_writer: bool = False,
) -> None:
    """Write all rows and finish the files; a terminal shows the progress."""
    source = shown(rows, label, total)
    while some := list(islice(source, _ROWS_AT_A_TIME)):
        writer.write_raw_data(some, parallel_writer)
    writer.commit()


def image_writer(
    destination: str, partition_number: int, schema: dict[str, Any], description: str
) -> FileWriter:
    """A writer with pages large enough for images."""
    writer = FileWriter(destination, partition_number)
    writer.set_page_size(_LARGE_PAGE)
    writer.add_schema(schema, description)
    return writer


def check_partition_number(value: Any) -> int:
    """Check the number of files to write."""
    if not is_int(value):
        raise problem(ValueError, f"'partition_number' must be an int, got {value!r}")
    return int(value)


def check_jpeg(owner: str) -> None:
    """Check that Pillow is installed, which encodes images."""
    if Image is None:
        raise problem(
            ImportError,
            f"{owner}: requires Pillow, which is not installed",
            fix="pip install 'mycelia[dataset]'",
        )


def to_jpeg(pixels: np.ndarray) -> bytes:
    """Encode a grayscale (H, W) or RGB (H, W, 3) image as JPEG."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()
