"""The labels of all rows of a source, for samplers that need classes."""

from __future__ import annotations

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.folder import FolderReader
from mycelia.dataset.formats.reader import ArrayReader, RowReader


def labels_of(reader: RowReader, column: str) -> np.ndarray:
    """The label of each row."""
    if hasattr(reader, "labels"):  # also covers fields that are not columns
        return reader.labels(column)
    if column not in reader.columns:
        raise problem(
            RuntimeError,
            "PKSampler: the source has no such column",
            got=column,
            expected=f"one of {', '.join(reader.columns)}",
        )
    position = reader.columns.index(column)
    if isinstance(reader, FolderReader):
        return np.array([reader.label(row) for row in range(len(reader))])
    if isinstance(reader, ArrayReader):
        return reader.arrays[position]
    if hasattr(reader, "value"):  # reads one column without the others
        return np.array([int(reader.value(row, position)) for row in range(len(reader))])
    return np.array([int(np.asarray(reader.row(row)[position])) for row in range(len(reader))])
