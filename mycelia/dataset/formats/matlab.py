"""MATLAB files, read by SciPy if it is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from mycelia.core.errors import problem
from mycelia.dataset.formats.image_rows import needed_file


def read_matlab(path: Path, names: tuple[str, ...], owner: str) -> list[Any]:
    """The named arrays of a file."""
    try:
        loadmat = import_module("scipy.io").loadmat  # here, because SciPy is slow to import
    except ImportError as error:
        raise problem(
            ImportError,
            f"{owner}: needs SciPy to read MATLAB files, which is not installed",
            fix="pip install 'mycelia[audio]', which brings SciPy",
        ) from error
    needed_file(path, owner, FileNotFoundError)
    try:
        told = loadmat(path)
    except Exception as error:
        raise problem(
            RuntimeError, f"{owner}: the file is no MATLAB file", got=f"{path}: {error}"
        ) from error
    absent = [name for name in names if name not in told]
    if absent:
        raise problem(
            RuntimeError,
            f"{owner}: the MATLAB file lacks an array",
            got=f"{', '.join(absent)} in {path}",
        )
    return [told[name] for name in names]
