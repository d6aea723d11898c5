"""SQuAD's JSON files: questions about paragraphs, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_json
from mycelia.dataset.formats.parts import ConcatenatedReader, ListedRows, Row
from mycelia.dataset.formats.values import fitting

_COLUMNS = ("context", "question", "text", "answer_start")
_VERSIONS = ("1.1", "2.0")


def open_squad(folder: str, usage: str) -> ConcatenatedReader:
    """The questions of one usage ("train", "dev"), or of both ("all")."""
    parts = []
    for part in ("train", "dev") if usage == "all" else (usage,):
        paths = [Path(folder) / f"{part}-v{version}.json" for version in _VERSIONS]
        found = [path for path in paths if path.is_file()]
        if not found:
            raise problem(
                RuntimeError,
                f"SQuADDataset: the folder has no file of '{part}'",
                got=folder,
                expected=" or ".join(path.name for path in paths),
            )
        parts += [ListedRows(list(_questions(path)), _row) for path in found]
    return ConcatenatedReader("SQuADDataset", _COLUMNS, parts)


def _questions(path: Path) -> Iterator[tuple[str, Row]]:
    """Each question with its location and its paragraph."""
    tree = read_json(path, "SQuADDataset")
    for i, article in enumerate(_entry(tree, "data", list, str(path))):
        place = f"{path}: data[{i}]"
        for j, paragraph in enumerate(_entry(article, "paragraphs", list, place)):
            here = f"{place}.paragraphs[{j}]"
            context = _entry(paragraph, "context", str, here)
            for k, question in enumerate(_entry(paragraph, "qas", list, here)):
                yield f"{here}.qas[{k}]", (context, question, f"{here}.qas[{k}]")


def _row(context: str, question: Any, place: str) -> Row:
    answers = _entry(question, "answers", list, place)
    texts = [_entry(answer, "text", str, place) for answer in answers]
    starts = [_entry(answer, "answer_start", int, place) for answer in answers]
    return (
        context,
        _entry(question, "question", str, place),
        np.array(texts or [""]),
        _starts(starts or [-1], place),
    )


def _starts(starts: list[int], place: str) -> np.ndarray:
    try:
        return fitting(starts, np.int32).astype(np.uint32)  # MindSpore's type
    except ValueError as error:
        raise problem(RuntimeError, f"SQuADDataset: {place} has {error}", got=str(starts)) from None


def _entry(tree: Any, key: str, kind: type, place: str) -> Any:
    found = tree.get(key) if isinstance(tree, dict) else None
    if not isinstance(found, kind):
        raise problem(
            RuntimeError,
            f"SQuADDataset: {place} has no {key!r} of type {kind.__name__}",
            got=f"{found!r:.80}",
        )
    return found
