"""Pipelines whose rows, sizes and errors are those of the real MindSpore.

Imported by Mycelia's tests and by make_datasets.py under the real MindSpore, so it imports
neither: `ds` is the package of the one or the other. A case is a function of `ds` and a folder.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.dataset.record_cases import write_examples

Case = Callable[[Any, Path], Any]
FILE_ROWS = (3, 5, 1, 4, 2)


def write_files(folder: Path) -> None:
    """The files that the cases read: row j of file i is the number 10 * (i + 1) + j."""
    for i, count in enumerate(FILE_ROWS):
        numbers = [10 * (i + 1) + j for j in range(count)]
        rows = [{"label": [number]} for number in numbers]
        write_examples(folder / f"{i}.tfrecord", rows)
        write_examples(folder / f"{i}.GZIP", rows, wrap=gzip.compress)
        write_examples(folder / f"{i}.ZLIB", rows, wrap=zlib.compress)
        lines = "".join(f"{number}\n" for number in numbers)
        (folder / f"{i}.txt").write_text(lines)
        (folder / f"{i}.csv").write_text("number\n" + lines)


def told(case: Case, ds: Any, folder: Path) -> Any:
    """What a case gives, as JSON has it, or the name of the error."""
    try:
        return plain(case(ds, folder))
    except Exception as error:
        return f"raises {type(error).__name__}"


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, types as names."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value.decode("latin1") if isinstance(value, bytes) else value


def rows(dataset: Any, epochs: int = 1) -> list[Any]:
    """The rows of some epochs; of one column, its values alone."""
    iterator = dataset.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    made = []
    for _ in range(epochs):
        for row in iterator:
            values = [plain(value) for value in row]
            made.append(values[0] if len(values) == 1 else values)
    return made


def numbers(dataset: Any) -> list[int]:
    """The rows of one column of one number or text each."""
    return [int(np.ravel(value)[0]) for value in rows(dataset)]


def all_cases() -> dict[str, Case]:
    """The cases by name."""
    return dict(file_cases())


def file_cases() -> Iterator[tuple[str, Case]]:
    """Shards and samples of several files, read side by side."""
    shards = (None, (1, 0), (2, 0), (2, 1), (3, 2), (5, 4), (20, 19))
    for count, shard, samples, workers in product((1, 2, 5), shards, (None, 1, 3, 7), (1, 2)):
        given: dict[str, Any] = {"num_samples": samples, "num_parallel_workers": workers}
        if shard is not None:
            given |= {"num_shards": shard[0], "shard_id": shard[1]}
        name = f"{count} files, shard {shard}, {samples} samples, {workers} workers"
        yield f"text: {name}", _text(count, given)
        yield f"csv: {name}", _csv(count, given)
        for kind, equal in product(("tfrecord", "GZIP", "ZLIB"), (False, True)):
            more = {"shard_equal_rows": equal}
            if kind != "tfrecord":
                more["compression_type"] = kind
            yield f"{kind}: {name}, {equal}", _examples(count, kind, given | more)


def _text(count: int, given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / f"{i}.txt") for i in range(count)]
        data = ds.TextFileDataset(files, shuffle=False, **given)
        return [data.get_dataset_size(), numbers(data)]

    return case


def _csv(count: int, given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / f"{i}.csv") for i in range(count)]
        data = ds.CSVDataset(files, shuffle=False, **given)
        return [data.get_dataset_size(), numbers(data)]

    return case


def _examples(count: int, kind: str, given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / f"{i}.{kind}") for i in range(count)]
        data = ds.TFRecordDataset(files, shuffle=False, **given)
        return [data.get_dataset_size(), numbers(data)]

    return case
