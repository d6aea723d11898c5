"""IMDB's file format: one review per file, positive and negative ones in two folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_text
from mycelia.dataset.formats.parts import ConcatenatedReader, ListedRows, Row

_LABELS = {"pos": 1, "neg": 0}


def open_imdb(folder: str, usage: str) -> ConcatenatedReader:
    """The reviews of one usage, or of both ("all")."""
    usages = ("train", "test") if usage == "all" else (usage,)
    parts = [
        ListedRows([(str(path), (path, value)) for path in _files(Path(folder, part, label))], _row)
        for part in usages
        for label, value in _LABELS.items()
    ]
    return ConcatenatedReader("IMDBDataset", ("text", "label"), parts)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise problem(
            RuntimeError, "IMDBDataset: a folder of the dataset is missing", got=str(folder)
        )
    return sorted(path for path in folder.iterdir() if path.is_file())


def _row(path: Path, label: int) -> Row:
    return read_text(path, "IMDBDataset").rstrip("\n"), np.array(label, np.int32)
