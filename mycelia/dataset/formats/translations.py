"""Translation datasets: two parallel files."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.parts import (
    ConcatenatedReader,
    ListedRows,
    PairRows,
    Row,
    RowSource,
    present,
)
from mycelia.dataset.formats.pieces import Pieces, all_lines

Pair = tuple[str, str]
_COLUMNS = ("text", "translation")
_MULTI30K = {
    "test": "mmt16_task1_test/test",
    "train": "training/train",
    "valid": "validation/val",
}
_TAGS = re.compile(rb"<(?:url|keywords|talkid|description|reviewer|translator|title|speaker|doc)")


def open_multi30k(folder: str, usage: str, languages: Pair) -> ConcatenatedReader:
    """Captions of images in two languages."""
    owner = "Multi30kDataset"
    stems = _MULTI30K.values() if usage == "all" else [_MULTI30K[usage]]
    parts = []
    for stem in stems:
        left, right = _parallel_lines(
            owner, [Path(folder) / f"{stem}.{name}" for name in languages]
        )
        filled = ~(left.are_empty() & right.are_empty())
        parts.append(PairRows(left.kept(filled), right.kept(filled)))
    return ConcatenatedReader(owner, _COLUMNS, parts)


def open_iwslt(
    owner: str, folder: Path, languages: Pair, talks: str, sets: dict[str, str], usage: str
) -> ConcatenatedReader:
    """Talks in two languages; `sets` names the talks of usages other than "train"."""
    parts: list[RowSource] = []
    joined = "-".join(languages)
    if usage in ("train", "all"):
        files = [folder / f"train.tags.{joined}.{name}" for name in languages]
        parts.append(_tagged(owner, files))
    for part, name in sets.items():
        if usage in (part, "all"):
            stem = f"{talks}.TED.{name}.{joined}"
            parts.append(_segments(owner, [folder / f"{stem}.{side}.xml" for side in languages]))
    return ConcatenatedReader(owner, _COLUMNS, parts)


def _parallel_lines(owner: str, paths: list[Path]) -> tuple[Pieces, Pieces]:
    """The lines of two files, which must have the same number of lines."""
    left, right = (all_lines(present(owner, path)) for path in paths)
    _check_equal(owner, paths, (len(left), len(right)), "lines")
    return left, right


def _check_equal(owner: str, paths: list[Path], counts: tuple[int, int], what: str) -> None:
    if counts[0] != counts[1]:
        raise problem(
            RuntimeError,
            f"{owner}: a text and its translation differ in their number of {what}",
            got=" and ".join(f"{path}: {count}" for path, count in zip(paths, counts)),
        )


def _tagged(owner: str, paths: list[Path]) -> PairRows:
    """The lines of two files, without metadata lines."""
    left, right = _parallel_lines(owner, paths)
    told = np.zeros(len(left), bool)
    for side in (left, right):
        indices = [match.start() for match in _TAGS.finditer(side.data.data)]
        told[np.searchsorted(side.stops, indices)] = True
    return PairRows(left.kept(~told), right.kept(~told), _stripped)


def _stripped(*pair: str) -> Row:
    if "" in pair:
        raise problem(RuntimeError, "a line is empty", got=repr(pair))
    return tuple(text.strip(" \n") for text in pair)


def _segments(owner: str, paths: list[Path]) -> ListedRows:
    """The segments of two XML files."""
    left, right = (_read_segments(owner, present(owner, path)) for path in paths)
    _check_equal(owner, paths, (len(left), len(right)), "segments")
    names = " and ".join(map(str, paths))
    rows = [(f"{names}: segment {number + 1}", row) for number, row in enumerate(zip(left, right))]
    return ListedRows(rows)


def _read_segments(owner: str, path: Path) -> list[str]:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise problem(
            RuntimeError, f"{owner}: {path}:{error.position[0]} is not valid XML", got=str(error)
        ) from error
    return [(segment.text or "").strip(" \n") for segment in root.iter("seg")]
