"""Record file datasets: MindRecord and TFRecord."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_json
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.cache import cache_options
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.files import lane_count
from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import Shuffle, check_shards, chosen_sampler, sampler_node
from mycelia.dataset.api.schema import Schema
from mycelia.dataset.formats.lines import matching_files
from mycelia.dataset.formats.records import RecordReader
from mycelia.dataset.formats.schema import ColumnSchema, listed_columns
from mycelia.dataset.ir import samplers as S
from mycelia.dataset.ir.records import MindData, TFRecord
from mycelia.dataset.ir.samplers import FileOrderNode

_BY_FILE = (Shuffle.FILES, Shuffle.INFILE)
_COMPRESSIONS = ("", "ZLIB", "GZIP")


class MindDataset(MappableDataset):
    """The rows of MindRecord files: all shards next to one file, or a list of files."""

    def __init__(
        self,
        dataset_files: str | list[str],
        columns_list: list[str] | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Any = None,
        padded_sample: dict[str, Any] | None = None,
        num_padded: int | None = None,
        num_samples: int | None = None,
        cache: Any = None,
    ) -> None:
        files = _record_files(dataset_files)
        columns = _columns(columns_list)
        _check_shuffle(shuffle)
        check.workers(num_parallel_workers)
        _check_together(sampler, shuffle, num_shards, shard_id, num_samples)
        count = _checked_padding(columns, padded_sample, num_padded)
        reader = RecordReader(files, columns, padded_sample, count)
        if sampler is not None:
            chosen = sampler_node(sampler, None)
        elif shuffle in _BY_FILE:
            sizes = tuple(reader.file_sizes)
            chosen = _by_file(sizes, shuffle, num_samples, num_shards, shard_id)
        else:
            mixes = shuffle is not False
            chosen = chosen_sampler(num_samples, None, mixes, num_shards, shard_id)
        if count:
            _check_even(chosen, len(reader))
        super().__init__(
            MindData(
                dataset_files=files,
                columns_list=columns,
                padded_sample=padded_sample if count else None,
                num_padded=count,
                opened=[reader],
                num_parallel_workers=num_parallel_workers,
                cache=cache_options(cache),
                sampler=chosen,
            )
        )


class TFRecordDataset(Dataset):
    """The examples of TFRecord files: columns of a schema, or all features of the first example."""

    def __init__(
        self,
        dataset_files: str | list[str],
        schema: str | Schema | None = None,
        columns_list: list[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        shard_equal_rows: bool = False,
        cache: Any = None,
        compression_type: str | None = None,
    ) -> None:
        names = _matching(dataset_files)
        columns = _columns(columns_list)
        _check_shuffle(shuffle)
        _check_together(None, None, num_shards, shard_id, num_samples)
        equal = check.flag("shard_equal_rows", shard_equal_rows)
        compression = compression_type or ""
        if compression not in _COMPRESSIONS:
            raise problem(
                ValueError,
                "TFRecordDataset: unknown compression type",
                got=f"compression_type={compression_type!r}",
                expected=", ".join(map(repr, _COMPRESSIONS)),
            )
        is_shared = bool(compression and num_samples)
        if is_shared and num_shards is not None and len(names) < num_shards:
            raise problem(
                ValueError,
                "num_shards: some shards would get no compressed file",
                got=f"{len(names)} files for {num_shards} shards",
            )
        told = None if schema is None else schema_columns(schema)
        if isinstance(schema, str) and not num_samples:
            num_samples = Schema(schema).num_rows or None
        lanes = (S.SharedInterleavedFilesNode if is_shared else S.InterleavedFilesNode)(
            lanes=lane_count(num_parallel_workers),
            mixes_files=shuffle in _BY_FILE,
            num_shards=num_shards or 1,
            shard_id=shard_id or 0,
            equal_rows=equal or num_shards is None,
            num_samples=num_samples,
        )
        super().__init__(
            TFRecord(
                dataset_files=names,
                columns_list=columns,
                compression_type=compression,
                schema=told,
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=lanes if shuffle is False or shuffle in _BY_FILE else _mixed(lanes),
            )
        )


def _mixed(lanes: S.InterleavedFilesNode) -> S.SamplerNode:
    """All rows of the files in a random order."""
    rows = (
        lanes
        if isinstance(lanes, S.SharedInterleavedFilesNode)
        else replace(lanes, num_samples=None)
    )
    return S.RandomSamplerNode(num_samples=lanes.num_samples, child=rows)


def _record_files(value: Any) -> str | tuple[str, ...]:
    paths = value if isinstance(value, list) else [value]
    if not paths:
        raise problem(RuntimeError, "MindDataset: dataset_files is empty")
    for path in paths:
        if not Path(check.text("dataset_files", path)).is_file():
            raise problem(ValueError, "dataset_files: the file does not exist", got=str(path))
    return tuple(paths) if isinstance(value, list) else value


def _matching(value: Any) -> tuple[str, ...]:
    patterns = value if isinstance(value, list) else [value]
    if not patterns:
        raise problem(ValueError, "TFRecordDataset: dataset_files is empty")
    return matching_files([check.text("dataset_files", pattern) for pattern in patterns])


def _columns(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise check.wrong_type("columns_list", value, "list")
    names = [check.text("columns_list", name) for name in value]
    if len(set(names)) != len(names):
        raise problem(RuntimeError, "columns_list: duplicate column names", got=str(names))
    return tuple(names)


def _check_shuffle(value: Any) -> None:
    if value is not None and not isinstance(value, (bool, Shuffle)):
        raise check.wrong_type("shuffle", value, "bool, or one of Shuffle")


def _check_together(
    sampler: Any, shuffle: Any, num_shards: Any, shard_id: Any, num_samples: Any
) -> None:
    """Check that the arguments that choose rows do not contradict each other."""
    given = {"shuffle": shuffle, "num_shards": num_shards, "num_samples": num_samples}
    both = [name for name, value in given.items() if value is not None]
    if sampler is not None and both:
        raise problem(
            RuntimeError,
            "sampler: conflicts with the other arguments that choose rows",
            got=f"a sampler, and {', '.join(both)}",
            fix="pass only the sampler",
        )
    if (num_shards is None) != (shard_id is None):
        raise problem(RuntimeError, "num_shards, shard_id: set both or neither")
    check_shards(num_shards, shard_id)
    if num_samples is not None and check.integer("num_samples", num_samples) < 0:
        raise problem(ValueError, "num_samples: out of range", got=str(num_samples))
    if num_samples is not None and shuffle in _BY_FILE:
        raise problem(
            ValueError,
            "num_samples: cannot be combined with shuffling files as a whole",
            got=f"num_samples={num_samples}, shuffle={shuffle}",
            fix="leave out one of them, or use take",
        )


def _checked_padding(columns: Sequence[str], sample: Any, count: Any) -> int:
    """The number of padded rows; sample and count must come together, with columns_list."""
    if sample is None and count is None:
        return 0
    if sample is None:
        raise problem(RuntimeError, "num_padded: requires padded_sample")
    if not isinstance(sample, dict):
        raise check.wrong_type("padded_sample", sample, "dict")
    if not columns:
        raise problem(RuntimeError, "padded_sample: requires columns_list")
    if count is None:
        raise problem(RuntimeError, "padded_sample: requires num_padded")
    absent = [name for name in columns if name not in sample]
    if absent:
        raise problem(
            ValueError, "padded_sample: columns are missing", got=f"none for {', '.join(absent)}"
        )
    return check.not_negative("num_padded", count)


def _check_even(sampler: S.SamplerNode, size: int) -> None:
    """Check that the padded rows make all shards equal."""
    if isinstance(sampler, S.DistributedSamplerNode) and size % sampler.num_shards:
        raise problem(
            RuntimeError,
            "num_padded: the rows do not divide evenly among the shards",
            got=f"{size} rows including the padded ones, {sampler.num_shards} shards",
            fix="choose num_padded so that num_shards divides the sum",
        )


def _by_file(
    sizes: tuple[int, ...],
    shuffle: Any,
    num_samples: int | None,
    num_shards: int | None,
    shard_id: int | None,
) -> S.SamplerNode:
    """Shuffle whole files, or the rows within each; a shard takes every n-th row of the result."""
    order = FileOrderNode(
        sizes=sizes,
        mixes_files=shuffle == Shuffle.FILES,
        mixes_rows=shuffle == Shuffle.INFILE,
        num_samples=num_samples,
    )
    if num_shards is None or shard_id is None:
        return order
    return S.DistributedSamplerNode(
        num_shards=num_shards, shard_id=shard_id, shuffle=False, child=order
    )


def schema_columns(schema: Any) -> tuple[ColumnSchema, ...]:
    """The columns of a schema; in a file, a column without a shape has any length."""
    if isinstance(schema, Schema):
        return schema.columns
    Schema(check.text("schema", schema))
    return listed_columns(read_json(schema, "Schema")["columns"])
