"""A converter from MNIST's four compressed files to MindRecord."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.mindrecord.converters.conversion import (
    check_jpeg,
    check_partition_number,
    image_writer,
    to_jpeg,
    write_rows,
)
from mycelia.mindrecord.exceptions import SUCCESS, ConversionStatus
from mycelia.mindrecord.names import check_file_name
from mycelia.mindrecord.writer import FileWriter

_SCHEMA = {"label": {"type": "int64"}, "data": {"type": "bytes"}}
_IMAGES, _LABELS = 0x803, 0x801  # the magic numbers of the two kinds of files


class MnistToMR(CheckedKeywords):
    """Writes `<destination>_train.mindrecord` and `<destination>_test.mindrecord`."""

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        check_jpeg("MnistToMR")
        self.source = check_file_name(source, "source")
        self.partition_number = check_partition_number(partition_number)
        check_file_name(destination, "destination")
        self.writer_train = self._writer(f"{destination}_train.mindrecord")
        self.writer_test = self._writer(f"{destination}_test.mindrecord")

    def _writer(self, file_name: str) -> FileWriter:
        writer = image_writer(file_name, self.partition_number, _SCHEMA, "mnist_schema")
        writer.add_index(["label"])
        return writer

    def run(self) -> ConversionStatus:
        """Convert the training and test sets."""
        write_rows(self.writer_train, self._rows("train"), label="MnistToMR, train")
        write_rows(self.writer_test, self._rows("t10k"), label="MnistToMR, test")
        return SUCCESS

    def transform(self) -> None:
        """Convert the training and test sets."""
        self.run()

    def _rows(self, part: str) -> Iterator[dict[str, Any]]:
        folder = self.source
        images = _read(os.path.join(folder, f"{part}-images-idx3-ubyte.gz"), _IMAGES)
        labels = _read(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz"), _LABELS)
        if len(images) != len(labels):
            raise problem(
                ValueError, f"MnistToMR: {len(images)} images and {len(labels)} labels in {folder}"
            )
        for image, label in zip(images, labels):
            yield {"label": int(label), "data": to_jpeg(image)}


def _read(path: str, magic: int) -> np.ndarray:
    """The array of an IDX file: magic number, sizes, bytes."""
    try:
        with gzip.open(path, "rb") as file:
            data = file.read()
        dimensions = magic & 0xFF
        found, *sizes = struct.unpack_from(f">{1 + dimensions}I", data)
        if found != magic:
            raise ValueError(f"its magic number is {found:#x}, not {magic:#x}")
        return np.frombuffer(data, np.uint8, offset=4 * (1 + dimensions)).reshape(sizes)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile, struct.error) as broken:
        raise problem(
            ValueError, f"MnistToMR: {path} is not a valid MNIST file: {broken}"
        ) from broken
