"""Text files split into pieces that are read on demand."""

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
    """The offsets of the pieces of one file: its lines, or runs of lines."""

    path: Path
    data: np.ndarray
    starts: np.ndarray
    stops: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, index: int) -> str:
        """One piece, without its trailing newline."""
        try:
            return decoded(self.data[self.starts[index] : self.stops[index]].tobytes())
        except ValueError as error:
            raise problem(
                RuntimeError, "the line is not valid text", got=f"{self.place(index)}: {error}"
            ) from None

    def place(self, index: int) -> str:
        """The file, and the line where a piece starts."""
        above = np.count_nonzero(self.data[: self.starts[index]] == _NEWLINE)
        return f"{self.path}:{above + 1}"

    def kept(self, which: np.ndarray) -> Pieces:
        """The pieces for which `which` is true."""
        return replace(self, starts=self.starts[which], stops=self.stops[which])

    def are_empty(self) -> np.ndarray:
        """Which pieces are empty."""
        return self.starts == self.stops


def all_lines(path: Path) -> Pieces:
    """The lines of a file, including empty ones."""
    return _cut(path, quoted=False)


def filled_lines(path: Path) -> Pieces:
    """The non-empty lines of a file."""
    lines = all_lines(path)
    return lines.kept(~lines.are_empty())


def quoted_lines(path: Path) -> Pieces:
    """The non-empty lines of a file; a newline between double quotes does not end a line."""
    lines = _cut(path, quoted=True)
    filled = lines.kept(~lines.are_empty())
    bare = replace(filled, stops=filled.stops - (filled.data[filled.stops - 1] == _RETURN))
    return bare.kept(~bare.are_empty())


def blocks(path: Path) -> Pieces:
    """The runs of non-empty lines between empty ones."""
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
    """The offsets of newlines; reads in chunks, so that large files fit into memory."""
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
