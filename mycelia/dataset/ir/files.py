"""Source nodes for files: MNIST, CIFAR, image folders, text files, and CSV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats import cifar, folder, idx, lines
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.ir.known_sets import KnownSet
from mycelia.dataset.ir.sources import SourceNode


@dataclass(frozen=True, eq=False, kw_only=True)
class Mnist(KnownSet):
    """MNIST handwritten digits."""

    op_type = "MnistDataset"

    def open(self) -> RowReader:
        return idx.open_mnist(self.dataset_dir, self.usage, self.op_type)


@dataclass(frozen=True, eq=False, kw_only=True)
class FashionMnist(Mnist):
    """Fashion-MNIST clothing, in MNIST's file format."""

    op_type = "FashionMnistDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class Cifar10(KnownSet):
    """CIFAR-10: small color images of ten classes."""

    op_type = "Cifar10Dataset"

    def open(self) -> RowReader:
        parts = {
            "train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
            "test": ("test_batch.bin",),
        }
        files = parts.get(self.usage, parts["train"] + parts["test"])
        return cifar.open_cifar(self.dataset_dir, files, ("image", "label"), self.op_type)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cifar100(KnownSet):
    """CIFAR-100: small color images of a hundred classes in twenty groups."""

    op_type = "Cifar100Dataset"

    def open(self) -> RowReader:
        names = ("train", "test") if self.usage == "all" else (self.usage,)
        columns = ("image", "coarse_label", "fine_label")
        files = tuple(f"{name}.bin" for name in names)
        return cifar.open_cifar(self.dataset_dir, files, columns, self.op_type)


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageFolder(KnownSet):
    """Image files in one folder per class."""

    op_type = "ImageFolderDataset"
    extensions: tuple[str, ...] | None = None
    indexing: dict[str, int] | None = field(default=None, metadata={"name": "class_indexing"})
    decode: bool = False
    decoder: Callable[[np.ndarray], np.ndarray] | None = field(
        default=None, metadata={"json": False}
    )
    decrypt: Callable[[str], bytes] | None = field(default=None, metadata={"json": False})

    @cached_property
    def _labels(self) -> dict[str, int]:
        return folder.class_folders(self.dataset_dir, self.indexing)

    def open(self) -> RowReader:
        files = folder.class_files(self.dataset_dir, self._labels, self.extensions)
        return folder.FolderReader(files, self.decoder if self.decode else None, self.decrypt)

    def class_indexing(self) -> dict[str, Any]:
        return dict(self._labels)

    def num_classes(self) -> int | None:
        return len(self._labels)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextFile(SourceNode):
    """The lines of text files."""

    op_type = "TextFileDataset"
    dataset_files: tuple[str, ...]

    def open(self) -> RowReader:
        return lines.open_text(self.dataset_files)


@dataclass(frozen=True, eq=False, kw_only=True)
class CSV(SourceNode):
    """The fields of comma-separated files."""

    op_type = "CSVDataset"
    dataset_files: tuple[str, ...]
    field_delim: str = ","
    column_defaults: tuple[Any, ...] | None = None
    column_names: tuple[str, ...] | None = None

    def open(self) -> RowReader:
        names = self.column_names or lines.csv_names(self.dataset_files, self.field_delim)
        defaults = self.column_defaults
        if defaults is not None and len(defaults) != len(names):
            raise problem(
                RuntimeError,
                "CSVDataset: column_defaults must have one value per column",
                got=f"{len(defaults)} defaults",
                expected=f"{len(names)}, for {', '.join(names)}",
            )
        has_head = self.column_names is None
        return lines.open_csv(self.dataset_files, self.field_delim, defaults, names, has_head)
