"""Rows of image files with labels and annotations, read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_text
from mycelia.dataset.formats.folder import file_bytes

Decoder = Callable[[np.ndarray], np.ndarray]
Rows = list[tuple[Any, ...]]


class ImageRows:
    """Rows of files, functions, and values: files are read (and decoded), functions called."""

    def __init__(
        self,
        columns: Sequence[str],
        rows: Rows,
        name: str,
        decode: Decoder | None = None,
        decrypt: Callable[[str], bytes] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self._rows = rows
        self._name = name
        self._decode = decode
        self._decrypt = decrypt

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> tuple[Any, ...]:
        return tuple(self._value(part) for part in self._rows[index])

    def value(self, index: int, position: int) -> Any:
        """One column of a row, without reading the others."""
        return self._value(self._rows[index][position])

    def describe(self, index: int) -> str:
        paths = [str(part) for part in self._rows[index] if isinstance(part, Path)]
        return f"row {index} of {self._name}" + (f" ({paths[0]})" if paths else "")

    def _value(self, part: Any) -> Any:
        if isinstance(part, Path):
            data = self._bytes(part)
            return data if self._decode is None else self._decode(data)
        return part() if callable(part) else part

    def _bytes(self, path: Path) -> np.ndarray:
        if self._decrypt is not None:
            return np.frombuffer(self._decrypt(str(path)), np.uint8)
        try:
            return file_bytes(path)
        except OSError as error:
            raise problem(
                RuntimeError, f"{self._name}: an image cannot be read", got=f"{path}: {error}"
            ) from error


def needed_file(path: Path, name: str, kind: type[Exception] = RuntimeError) -> Path:
    """Check that a file exists."""
    if not path.is_file():
        raise problem(kind, f"{name}: a file is missing", got=str(path))
    return path


def needed_folder(path: Path, name: str, kind: type[Exception] = RuntimeError) -> Path:
    """Check that a folder exists."""
    if not path.is_dir():
        raise problem(kind, f"{name}: a folder is missing", got=str(path))
    return path


def text_lines(path: Path, name: str, kind: type[Exception] = RuntimeError) -> list[str]:
    """The lines of a file that are not empty."""
    needed_file(path, name, kind)
    return [line for line in read_text(path, name).splitlines() if line.strip()]


def bad_line(name: str, path: Path, line: str, expected: str) -> RuntimeError:
    """The error for an annotation line that cannot be parsed."""
    return problem(
        RuntimeError, f"{name}: a line of {path} cannot be read", got=repr(line), expected=expected
    )


def some_rows(rows: Rows, name: str, where: Any) -> Rows:
    """Check that there is at least one row."""
    if not rows:
        raise problem(RuntimeError, f"{name}: no images found", got=str(where))
    return rows


def folder_names(folder: Path) -> list[str]:
    """The names of the folders in a folder, in order."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def file_paths(folder: Path, pattern: str = "*") -> list[Path]:
    """The files of a folder, ordered by name."""
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def column(values: Iterable[Any], kind: Any) -> np.ndarray:
    """Lists of numbers as rows of one array; short ones are padded with -1."""
    lines = [list(value) for value in values]
    longest = max((len(line) for line in lines), default=0)
    return np.array([line + [-1] * (longest - len(line)) for line in lines], kind)
