"""Text files cut into pieces that are read only when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import decoded

_CHUNK = 1 << 24
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where the pieces of one file lie: its lines, or runs of lines."""

    path: Path
    data: np.ndarray
    starts: np.ndarray
    stops: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, index: int) -> str:
        """One piece, without the newline at its end."""
        try:
            return decoded(self.data[self.starts[index] : self.stops[index]].tobytes())
        except ValueError as error:
            raise problem(
                RuntimeError, "the line is no text", got=f"{self.place(index)}: {error}"
            ) from None

    def place(self, index: int) -> str:
        """The file, and the line where a piece begins."""
        above = np.count_nonzero(self.data[: self.starts[index]] == _NEWLINE)
        return f"{self.path}:{above + 1}"

    def kept(self, which: np.ndarray) -> Pieces:
        """Some of the pieces: those where `which` is true."""
        return replace(self, starts=self.starts[which], stops=self.stops[which])

    def are_empty(self) -> np.ndarray:
        """Which pieces hold nothing."""
        return self.starts == self.stops


def all_lines(path: Path) -> Pieces:
    """The lines of a file, empty ones too."""
    return _cut(path, quoted=False)


def filled_lines(path: Path) -> Pieces:
    """The lines of a file that are not empty."""
    lines = all_lines(path)
    return lines.kept(~lines.are_empty())


def quoted_lines(path: Path) -> Pieces:
    """The filled lines of a file, in which a newline between double quotes ends no line."""
    lines = _cut(path, quoted=True)
    filled = lines.kept(~lines.are_empty())
    bare = replace(filled, stops=filled.stops - (filled.data[filled.stops - 1] == _RETURN))
    return bare.kept(~bare.are_empty())


def blocks(path: Path) -> Pieces:
    """The runs of filled lines between empty ones."""
    lines = all_lines(path)
    filled = np.concatenate([[False], ~lines.are_empty(), [False]])
    return replace(
        lines,
        starts=lines.starts[filled[1:-1] & ~filled[:-2]],
        stops=lines.stops[filled[1:-1] & ~filled[2:]],
    )


def _cut(path: Path, *, quoted: bool) -> Pieces:
    data = np.empty(0, np.uint8)
    if path.stat().st_size:
        data = np.asarray(np.memmap(path, np.uint8, "r"))  # slices of a plain array are faster
    stops = _line_ends(data, quoted)
    if len(data) and not (len(stops) and stops[-1] == len(data) - 1):
        stops = np.append(stops, len(data))
    starts = np.concatenate([np.zeros(1, np.int64), stops + 1])[: len(stops)]
    return Pieces(path, data, starts, stops)


def _line_ends(data: np.ndarray, quoted: bool) -> np.ndarray:
    """Where newlines are; the file is looked through in chunks, so that large ones fit."""
    found = [np.empty(0, np.int64)]
    inside = np.False_
    for start in range(0, len(data), _CHUNK):
        chunk = np.asarray(data[start : start + _CHUNK])
        ends = chunk == _NEWLINE
        if quoted:
            between = np.logical_xor.accumulate(chunk == _QUOTE) ^ inside
            ends &= ~between
            inside = between[-1]
        found.append(np.flatnonzero(ends) + start)
    return np.concatenate(found)
