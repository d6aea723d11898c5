"""Text datasets of lines, tables, or tagged words, described in one table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.parts import ConcatenatedReader, PieceRows, Row, present
from mycelia.dataset.formats.pieces import (
    Pieces,
    all_lines,
    blocks,
    filled_lines,
    quoted_lines,
)


@dataclass(frozen=True)
class TextTableFormat:
    """The file format of a dataset.

    `files` maps usages to files, in the order in which usage "all" reads them. With a delimiter,
    the pieces are fields between delimiters; `tagged` files have one line per word.
    """

    files: Mapping[str, str]
    columns: tuple[str, ...]
    cut: Callable[[Path], Pieces] = quoted_lines
    delimiter: str = ""
    tagged: bool = False
    has_head: bool = False
    fewer: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # usage -> its columns


_THREE = ("test", "train", "valid")
_TEST_FIRST = {"test": "test.csv", "train": "train.csv"}
_TRAIN_FIRST = {"train": "train.csv", "test": "test.csv"}

SETS: dict[str, TextTableFormat] = {
    "WikiTextDataset": TextTableFormat(
        {usage: f"wiki.{usage}.tokens" for usage in _THREE}, ("text",), filled_lines
    ),
    "PennTreebankDataset": TextTableFormat(
        {usage: f"ptb.{usage}.txt" for usage in _THREE}, ("text",), filled_lines
    ),
    "EnWik9Dataset": TextTableFormat({"train": "enwik9"}, ("text",), all_lines),
    "YelpReviewDataset": TextTableFormat(_TRAIN_FIRST, ("label", "text"), delimiter=","),
    "AmazonReviewDataset": TextTableFormat(
        _TEST_FIRST, ("label", "title", "content"), delimiter=","
    ),
    "AGNewsDataset": TextTableFormat(_TEST_FIRST, ("index", "title", "description"), delimiter=","),
    "DBpediaDataset": TextTableFormat(_TEST_FIRST, ("class", "title", "content"), delimiter=","),
    "YahooAnswersDataset": TextTableFormat(
        _TEST_FIRST, ("class", "title", "content", "answer"), delimiter=","
    ),
    "SogouNewsDataset": TextTableFormat(_TRAIN_FIRST, ("index", "title", "content"), delimiter=","),
    "SST2Dataset": TextTableFormat(
        {usage: f"{usage}.tsv" for usage in ("train", "test", "dev")},
        ("sentence", "label"),
        delimiter="\t",
        has_head=True,
        fewer={"test": ("sentence",)},
    ),
    "UDPOSDataset": TextTableFormat(
        {
            usage: f"en-ud-tag.v2.{file}.txt"
            for usage, file in (("valid", "dev"), ("test", "test"), ("train", "train"))
        },
        ("word", "universal", "stanford"),
        blocks,
        "\t",
        tagged=True,
    ),
    "CoNLL2000Dataset": TextTableFormat(
        {"test": "test.txt", "train": "train.txt"},
        ("word", "pos_tag", "chunk_tag"),
        blocks,
        " ",
        tagged=True,
    ),
}


def open_text_set(owner: str, folder: str, usage: str) -> ConcatenatedReader:
    """The rows of one usage of a dataset, or of all."""
    layout = SETS[owner]
    files = layout.files.values() if usage == "all" else [layout.files[usage]]
    paths = [present(owner, Path(folder) / file) for file in files]
    columns = layout.fewer.get(usage, layout.columns)
    parts = [_part(owner, layout, columns, layout.cut(path)) for path in paths]
    return ConcatenatedReader(owner, columns, parts)


def _part(
    owner: str, layout: TextTableFormat, columns: tuple[str, ...], pieces: Pieces
) -> PieceRows:
    if not layout.delimiter:
        return PieceRows(pieces, lambda text: (text,))
    if layout.tagged:
        return PieceRows(pieces, partial(_tagged, layout.delimiter, len(columns)))
    if not layout.has_head:
        width = len(columns)
        return PieceRows(pieces, partial(_fields, layout.delimiter, width, range(width)))
    head = fields_of(pieces.text(0), layout.delimiter) if len(pieces) else []
    if not set(columns) <= set(head):
        raise problem(
            RuntimeError,
            f"{owner}: the first line of {pieces.path} must name the columns",
            got=", ".join(map(repr, head)) or "no line",
            expected=", ".join(map(repr, columns)),
        )
    chosen = [head.index(column) for column in columns]
    rows = pieces.kept(np.arange(len(pieces)) > 0)
    return PieceRows(rows, partial(_fields, layout.delimiter, len(head), chosen))


def _fields(delimiter: str, width: int, chosen: range | list[int], text: str) -> Row:
    fields = fields_of(text, delimiter)
    if len(fields) != width:
        raise problem(
            RuntimeError,
            "the line has a different number of fields than there are columns",
            got=f"{len(fields)}: {text!r:.80}",
            expected=str(width),
        )
    return tuple(fields[number] for number in chosen)


def _tagged(delimiter: str, width: int, text: str) -> Row:
    """Words and their tags, one array per column."""
    words = [line.split(delimiter)[:width] for line in text.split("\n")]
    short = next((word for word in words if len(word) < width), None)
    if short is not None:
        raise problem(
            RuntimeError,
            "a line has fewer fields than there are columns",
            got=repr(delimiter.join(short)),
            expected=f"{width}, between {delimiter!r}",
        )
    return tuple(np.array(column) for column in zip(*words))


def fields_of(text: str, delimiter: str) -> list[str]:
    """The fields of a line; quoted fields may contain delimiters and doubled quotes."""
    if '"' not in text:
        return text.split(delimiter)
    found = list(_field(delimiter).finditer(text + delimiter))
    if sum(len(match[0]) for match in found) != len(text) + 1:
        raise problem(
            RuntimeError,
            "unexpected double quote",
            got=f"{text!r:.80}",
            expected="quotes around whole fields, and doubled ones inside them",
        )
    return [match[1].replace('""', '"') if match[1] else match[2] or "" for match in found]


@cache
def _field(delimiter: str) -> re.Pattern[str]:
    return re.compile(f'(?:"((?:[^"]++|"")*+)"|([^"{delimiter}]*+)){delimiter}')
