"""Manifest files: a JSON line per image, with its usage and its labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value
from mycelia.dataset.formats.image_rows import Rows, needed_file, some_rows, text_lines

NAME = "ManifestDataset"


@dataclass(frozen=True)
class ManifestEntry:
    """One image and the names of its labels."""

    path: Path
    labels: tuple[str, ...]


def manifest_entries(file: str, usage: str) -> list[ManifestEntry]:
    """The images of a usage."""
    lines = text_lines(Path(file), NAME, ValueError)
    found = [_entry(f"{file}:{number}", line, usage) for number, line in enumerate(lines, 1)]
    return [entry for entry in found if entry is not None]


def manifest_rows(entries: list[ManifestEntry], labels: dict[str, int], file: str) -> Rows:
    """Each image with a known label: one number, or several in a row."""
    rows: Rows = []
    for entry in entries:
        numbers = [labels[name] for name in entry.labels if name in labels]
        if numbers:
            needed_file(entry.path, NAME)
            value = numbers[0] if len(numbers) == 1 else numbers
            rows.append((entry.path, np.array(value, np.int32)))
    return some_rows(rows, NAME, file)


def _entry(location: str, line: str, usage: str) -> ManifestEntry | None:
    try:
        told = json_value(line)
    except ValueError as error:
        raise problem(
            RuntimeError, f"{NAME}: {location} is not valid JSON", got=line[:120]
        ) from error
    if _text(location, told, "usage").lower() != usage:
        return None
    notes = told.get("annotation")
    if not isinstance(notes, list):
        raise problem(RuntimeError, f"{NAME}: {location} has no 'annotation'", got=line[:120])
    names = tuple(_text(location, note, "name") for note in notes)
    return ManifestEntry(Path(_text(location, told, "source")), names)


def _text(location: str, told: Any, key: str) -> str:
    value = told.get(key) if isinstance(told, dict) else None
    if not isinstance(value, str):
        raise problem(RuntimeError, f"{NAME}: {location} has no {key!r}", got=str(told)[:120])
    return value
