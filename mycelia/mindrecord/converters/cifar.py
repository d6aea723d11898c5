"""Converters from CIFAR-10 and CIFAR-100 (the Python versions) to MindRecord."""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.mindrecord.converters.conversion import check_jpeg, to_jpeg, write_rows
from mycelia.mindrecord.exceptions import SUCCESS, ConversionStatus, PathNotExistsError
from mycelia.mindrecord.names import check_file_name
from mycelia.mindrecord.writer import FileWriter

_reconstruct = np.empty(0).__reduce__()[0]  # by which pickles make arrays


class _CifarToMR(CheckedKeywords):
    """Writes the training set to `destination` and the test set to `<destination>_test`."""

    train: str  # pattern of the file names
    test: str
    labels: dict[str, bytes]  # field name -> key in the files

    def __init__(self, source: str, destination: str) -> None:
        check_jpeg(type(self).__name__)
        self.source = check_file_name(source, "source")
        self._files(self.train)
        self._files(self.test)
        self.destination = check_file_name(destination, "destination")

    def run(self, fields: list[str] | None = None) -> ConversionStatus:
        """Convert both sets; `fields` are the index fields, by default all scalars."""
        if fields and not isinstance(fields, list):
            raise problem(ValueError, f"'fields' must be None or a list, got {fields!r}")
        self._convert(self.destination, self.train, "img_train", fields)
        self._convert(f"{self.destination}_test", self.test, "img_test", fields)
        return SUCCESS

    def transform(self, fields: list[str] | None = None) -> None:
        """Convert both sets; `fields` are the index fields, by default all scalars."""
        self.run(fields)

    def _convert(
        self, destination: str, pattern: str, description: str, fields: list[str] | None
    ) -> None:
        writer = FileWriter(destination)
        scalars = {name: {"type": "int64"} for name in ("id", *self.labels)}
        writer.add_schema(scalars | {"data": {"type": "bytes"}}, description)
        if fields:
            writer.add_index(fields)
        write_rows(writer, self._rows(pattern), label=type(self).__name__)

    def _files(self, pattern: str) -> list[str]:
        names = sorted(name for name in os.listdir(self.source) if re.match(pattern, name))
        if not names:
            raise PathNotExistsError(os.path.join(self.source, pattern))
        return names

    def _rows(self, pattern: str) -> Iterator[dict[str, Any]]:
        number = 0
        for name in self._files(pattern):
            images, labels = self._batch(os.path.join(self.source, name))
            for image, *values in zip(images, *labels):
                found = {field: int(value) for field, value in zip(self.labels, values)}
                yield {"id": number, "data": to_jpeg(image), **found}
                number += 1

    def _batch(self, path: str) -> tuple[np.ndarray, list[Any]]:
        """The images (N, 32, 32, 3) of a file, and its labels."""
        try:
            with open(path, "rb") as file:
                content = _Unpickler(io.BytesIO(file.read()), encoding="bytes").load()
            images = np.asarray(content[b"data"], np.uint8).reshape(-1, 3, 32, 32)
            labels = [content[key] for key in self.labels.values()]
            if any(len(label) != len(images) for label in labels):
                raise ValueError("the numbers of labels and images differ")
        except Exception as broken:  # a damaged pickle can raise anything
            raise problem(
                RuntimeError, f"{type(self).__name__}: {path} is not a CIFAR file: {broken}"
            ) from broken
        return np.ascontiguousarray(images.transpose(0, 2, 3, 1)), labels


class Cifar10ToMR(_CifarToMR):
    """Converts CIFAR-10 to the fields id, label, and data (JPEG)."""

    train = "data_batch_"
    test = "test_batch"
    labels = {"label": b"labels"}


class Cifar100ToMR(_CifarToMR):
    """Converts CIFAR-100 to the fields id, fine_label, coarse_label, and data (JPEG)."""

    train = "train$"
    test = "test$"
    labels = {"fine_label": b"fine_labels", "coarse_label": b"coarse_labels"}


class _Unpickler(pickle.Unpickler):
    """Unpickles only arrays and plain values, so that a file cannot run code."""

    _ALLOWED = {
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return self._ALLOWED[module, name]
