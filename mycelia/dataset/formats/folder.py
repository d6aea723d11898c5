"""Image files in folders, one folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem


class FolderReader:
    """The bytes (or pixels) of files, with labels by folder."""

    columns: tuple[str, ...] = ("image", "label")

    def __init__(
        self,
        files: list[tuple[str, int]],
        decode: Callable[[np.ndarray], np.ndarray] | None,
        decrypt: Callable[[str], bytes] | None,
    ) -> None:
        self._files = files
        self._decode = decode
        self._decrypt = decrypt

    def __len__(self) -> int:
        return len(self._files)

    def row(self, index: int) -> tuple[Any, Any]:
        path, label = self._files[index]
        if self._decrypt is not None:
            data = np.frombuffer(self._decrypt(path), np.uint8)
        else:
            data = file_bytes(path)
        return data if self._decode is None else self._decode(data), np.array(label, np.int32)

    def label(self, index: int) -> int:
        """The label only, without reading the file."""
        return self._files[index][1]

    def describe(self, index: int) -> str:
        return f"row {index} of ImageFolderDataset ({self._files[index][0]})"


def file_bytes(path: Path | str) -> np.ndarray:
    """The bytes of a file."""
    with open(path, "rb", buffering=0) as file:
        data = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
        done = file.readinto(data)  # type: ignore[arg-type]
        while done < len(data):  # a read may return fewer bytes than requested
            more = file.readinto(data[done:])  # type: ignore[arg-type]
            if not more:
                break
            done += more
    return data[:done]


def class_folders(folder: str, class_indexing: dict[str, int] | None) -> dict[str, int]:
    """The labels of the folders: in the order of their names, unless specified."""
    present = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
    if class_indexing is None:
        return {name: label for label, name in enumerate(present)}
    absent = [name for name in class_indexing if name not in present]
    if absent:
        raise problem(
            RuntimeError,
            "ImageFolderDataset: class_indexing names a folder that does not exist",
            got=", ".join(absent),
            expected=f"some of {', '.join(present)}",
        )
    return dict(class_indexing)


def files_below(folder: str) -> Iterator[str]:
    """All files in a folder and its subfolders; links to folders are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path)
            elif entry.is_file():
                yield entry.path


def class_files(
    folder: str, labels: dict[str, int], extensions: tuple[str, ...] | None
) -> list[tuple[str, int]]:
    """The files below each class folder, ordered by name."""
    found = [
        (path, labels[name])
        for name in sorted(labels)
        for path in sorted(files_below(os.path.join(folder, name)))
        if extensions is None or os.path.splitext(path)[1] in extensions
    ]
    if not found:
        raise problem(
            RuntimeError,
            "ImageFolderDataset: the folders have no files",
            got=f"{folder}, extensions {extensions}",
        )
    return found
