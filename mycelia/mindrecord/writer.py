"""`FileWriter`: writing MindRecord files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.warn_once import logger
from mycelia.mindrecord.contents import content
from mycelia.mindrecord.dense import (
    HELD_BYTES,
    fitting_header_size,
    fitting_page_size,
    held_size,
)
from mycelia.mindrecord.encryption import seals
from mycelia.mindrecord.exceptions import (
    MindRecordException,
    MRMAddIndexError,
    MRMAddSchemaError,
    MRMCommitError,
    MRMDefineIndexError,
    MRMGetMetaError,
    MRMInvalidHeaderSizeError,
    MRMInvalidPageSizeError,
    MRMOpenError,
    MRMOpenForAppendError,
    MRMSetHeaderError,
    MRMWriteDatasetError,
    ParamTypeError,
    ParamValueError,
)
from mycelia.mindrecord.header import (
    HEADER_SIZE,
    HEADER_SIZES,
    PAGE_SIZE,
    PAGE_SIZES,
    VERSION,
    Header,
    read_header,
)
from mycelia.mindrecord.index import index_path
from mycelia.mindrecord.names import check_file_name
from mycelia.mindrecord.pages import chunks
from mycelia.mindrecord.parallel_writer import ParallelShardWriter
from mycelia.mindrecord.schema import MindRecordSchema, mismatch, parse_schema
from mycelia.mindrecord.shard import PackedRow, ShardFile, pack_row

_MOST_SHARDS = 1000


class FileWriter(CheckedKeywords):
    """Writes rows to one file or several shards. The complete files appear with `commit`."""

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        check_file_name(file_name)
        if not is_int(shard_num) and shard_num is not True:
            raise ParamValueError(f"'shard_num' must be an int, got {shard_num!r}")
        if not 1 <= shard_num <= _MOST_SHARDS:
            raise ParamValueError(f"'shard_num' must be 1 to {_MOST_SHARDS}, got {shard_num}")
        if not isinstance(overwrite, bool):
            raise ParamValueError(f"'overwrite' must be a bool, got {overwrite!r}")
        if seals() and shard_num > 1:
            raise problem(
                RuntimeError,
                "FileWriter: encrypted files cannot be shards of one dataset",
                got=f"shard_num={shard_num}",
                fix="write several files, and read them as a list",
            )
        self._paths = _shard_paths(file_name, int(shard_num))
        self._overwrite = overwrite
        self._schema: MindRecordSchema | None = None
        self._index_fields: list[str] = []
        self._header_size = HEADER_SIZE
        self._page_size = PAGE_SIZE
        self._saved = 0
        self._append = False
        self._shards: list[ShardFile] = []
        self._lanes: ParallelShardWriter | None = None
        self._parallel: bool | None = None
        self._committed = False
        self._held: list[PackedRow] | None = None  # buffered rows of a dense file

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer that appends rows to the dataset of a file, in all its shards."""
        check_file_name(file_name)
        if seals():
            raise problem(
                MRMOpenForAppendError,
                "rows cannot be appended to encrypted files",
                got=file_name,
                fix="write the rows to a new file",
            )
        try:
            header = read_header(file_name, content(file_name))
        except OSError as failed:
            raise problem(
                MRMOpenForAppendError, f"{file_name} cannot be opened: {failed.strerror}"
            ) from failed
        writer = cls(file_name)
        writer.init_append(file_name, header)
        return writer

    def init_append(self, file_name: str, header: Header) -> None:
        """Continue the dataset of a file with this header."""
        if header.version != VERSION:
            raise problem(
                MRMOpenForAppendError,
                f"rows can only be appended to files of version {VERSION}",
                got=f"version {header.version}",
                fix="write the rows to a new file",
            )
        folder = Path(file_name).parent
        self._paths = [str(folder / name) for name in header.shard_names]
        self._schema = header.schema
        self._index_fields = header.index_fields
        self._saved = header.compression_size
        self._append = True

    def add_schema(self, content: dict[str, Any], desc: str | None = None) -> None:
        """Declare the fields of rows: {"name": {"type": ..., "shape": [...]}}."""
        schema = parse_schema(content, desc or "")
        if self._schema is not None:
            raise problem(MRMAddSchemaError, "the file already has a schema")
        self._schema = schema

    def add_index(self, index_fields: list[str]) -> None:
        """Choose the index fields; by default, all fields that can be indexed."""
        if not index_fields or not isinstance(index_fields, list):
            raise ParamTypeError("index_fields", "list")
        if self._schema is None:
            raise problem(MRMGetMetaError, "the schema is missing", fix="call add_schema first")
        for name in index_fields:
            self._add_index_field(self._schema, name)

    def _add_index_field(self, schema: MindRecordSchema, name: str) -> None:
        if not isinstance(name, str):
            raise ParamTypeError("index field", "str")
        if name not in schema.fields:
            raise problem(
                MRMAddIndexError, f"there is no field {name!r}", expected=", ".join(schema.fields)
            )
        if schema.fields[name].is_blob:
            raise problem(
                MRMDefineIndexError, f"{name!r} holds bytes or an array and cannot be indexed"
            )
        if name in self._index_fields:
            raise problem(MRMAddIndexError, f"{name!r} is already an index field")
        self._index_fields.append(name)

    def set_header_size(self, header_size: int) -> None:
        """Set the size of the header, which lists the pages: 16 KiB to 128 MiB."""
        self._header_size = _checked_size(
            "header_size", header_size, HEADER_SIZES, MRMInvalidHeaderSizeError
        )

    def set_page_size(self, page_size: int) -> None:
        """Set the size of a page: 32 KiB to 256 MiB."""
        self._page_size = _checked_size("page_size", page_size, PAGE_SIZES, MRMInvalidPageSizeError)

    def set_dense_pages(self) -> None:
        """Derive both sizes from the rows, so that a file with few rows is small.

        Up to 32 MiB of rows are buffered until the sizes are known.
        """
        if self._shards or self._append:
            raise problem(MRMWriteDatasetError, "set_dense_pages: rows have already been written")
        self._held = []

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> None:
        """Append rows. Rows that do not match the schema are skipped with a warning.

        With `parallel_writer`, each call goes to the next shard, shards are written in parallel,
        and each shard is a separate dataset.
        """
        if self._held is not None:
            self._hold(raw_data, parallel_writer)
            return
        self._open(parallel_writer)
        rows = self._fitting_rows(raw_data)
        if self._lanes is not None:
            self._lanes.write(rows)
            return
        self._write([pack_row(self._shards[0].header, row) for row in rows])

    def _write(self, rows: Sequence[PackedRow]) -> None:
        counts = [shard.header.rows for shard in self._shards]
        extra = extra_shards(counts, len(rows) % len(counts))
        for shard, chunk in zip(self._shards, chunks(len(rows), len(counts), extra)):
            shard.write(rows[chunk.start : chunk.stop])

    def _hold(self, raw_data: list[dict[str, Any]], parallel: bool) -> None:
        """Buffer rows of a dense file."""
        if parallel:
            raise problem(
                ValueError, "write_raw_data: parallel_writer does not support dense pages"
            )
        assert self._held is not None, "only a dense file buffers rows"
        schema, fields = self._checked_schema()
        header = Header(schema, fields, [], page_size=PAGE_SIZES[1])
        self._held += [pack_row(header, row) for row in self._fitting_rows(raw_data)]
        if held_size(self._held) > HELD_BYTES:
            self._release()

    def _release(self) -> None:
        """Write the buffered rows, in pages that fit them."""
        held, self._held = self._held or [], None
        schema, fields = self._checked_schema()
        if held_size(held) <= HELD_BYTES:
            names = [Path(path).name for path in self._paths]
            self._header_size = fitting_header_size(Header(schema, fields, names))
            self._page_size = fitting_page_size(held)
        else:
            largest = max(held, key=lambda row: max(len(row.raw), len(row.blob)))
            self._page_size = max(self._page_size, fitting_page_size([largest]))
        self._open(False)
        if held:
            self._write(held)

    def check_worker_status(self, index: int) -> None:
        """Raise the error of a parallel write to a shard, if any."""
        if self._lanes is not None:
            self._lanes.check(index)

    def check_all_worker_status(self) -> None:
        """Raise the error of a parallel write to any shard, if any."""
        for index in range(len(self._shards) if self._lanes is not None else 0):
            self.check_worker_status(index)

    def commit(self) -> None:
        """Finish the files and their indexes, and rename them to their final names."""
        if self._committed:
            raise problem(MRMCommitError, "the files are already finished")
        if self._held is not None:
            self._release()
        self._open(bool(self._parallel))
        self._committed = True
        try:
            self._finish()
        except BaseException:
            for shard in self._shards:
                shard.discard()
            raise

    def _finish(self) -> None:
        if self._lanes is not None:
            self._lanes.wait()
        total = self._saved + sum(shard.saved for shard in self._shards)
        for shard in self._shards:
            shard.header.compression_size = shard.saved if self._lanes is not None else total
            shard.prepare()
        for shard in self._shards:
            shard.publish()

    def _open(self, parallel: bool) -> None:
        """Open the shards at the first row, or at `commit` if there are no rows."""
        if not isinstance(parallel, bool):
            raise wrong_type("write_raw_data", "parallel_writer", parallel, "bool")
        if self._committed:
            raise problem(
                MRMWriteDatasetError,
                "the files are finished, this writer cannot append rows",
                fix="write before commit, or continue with FileWriter.open_for_append",
            )
        if self._parallel is None:
            self._parallel = parallel
        if self._parallel != parallel:
            raise problem(
                RuntimeError, "write_raw_data: parallel_writer must be the same in all calls"
            )
        if self._shards:
            return
        self._shards = self._opened_for_append() if self._append else self._created()
        if parallel:
            self._lanes = ParallelShardWriter(self._shards)

    def _opened_for_append(self) -> list[ShardFile]:
        shards = []
        for path in self._paths:
            try:
                header = read_header(path, content(path))
                shards.append(ShardFile(path, header, append=True))
            except OSError as failed:
                raise problem(
                    MRMOpenForAppendError, f"{path} cannot be opened: {failed.strerror}"
                ) from failed
        return shards

    def _created(self) -> list[ShardFile]:
        for path in self._paths:
            _check_target(path, self._overwrite)
        schema, index_fields = self._checked_schema()
        names = [Path(path).name for path in self._paths]
        alone = bool(self._parallel)
        return [
            ShardFile(
                path,
                Header(
                    schema,
                    index_fields,
                    [name] if alone else names,
                    0 if alone else number,
                    self._header_size,
                    self._page_size,
                ),
            )
            for number, (path, name) in enumerate(zip(self._paths, names))
        ]

    def _checked_schema(self) -> tuple[MindRecordSchema, list[str]]:
        if self._schema is None:
            raise problem(MRMSetHeaderError, "the schema is missing", fix="call add_schema first")
        fields = self._index_fields or self._schema.scalar_fields
        wrong = [name for name in fields if name[0].isdigit()]
        if wrong:
            raise problem(
                MRMAddIndexError,
                f"the index field {wrong[0]!r} starts with a digit",
                fix="rename the field, or choose other index fields with add_index",
            )
        return self._schema, fields

    def _fitting_rows(self, raw_data: Any) -> list[Mapping[str, Any]]:
        if not isinstance(raw_data, list):
            raise ParamTypeError("raw_data", "list")
        if not all(isinstance(row, dict) for row in raw_data):
            raise ParamTypeError("raw_data item", "dict")
        assert self._schema is not None, "a shard requires a schema"
        rows, why = [], ""
        for number, row in enumerate(raw_data):
            wrong = mismatch(self._schema, row)
            if wrong:
                why = f"row {number} is skipped: {wrong}"
                logger.warning("FileWriter.write_raw_data: %s", why)
            else:
                rows.append(row)
        if not rows:
            raise problem(
                RuntimeError,
                "write_raw_data: no row matches the schema",
                got=why or "no rows",
                expected=str(self._schema.as_json()),
            )
        return rows


def extra_shards(counts: Sequence[int], extra: int) -> list[int]:
    """The shards that get an additional row: those with the fewest rows so far."""
    return sorted(range(len(counts)), key=lambda shard: (counts[shard], shard))[:extra]


def _shard_paths(file_name: str, count: int) -> list[str]:
    if count == 1:
        return [file_name]
    width = len(str(count - 1))
    return [f"{file_name}{number:0{width}}" for number in range(count)]


def _checked_size(
    name: str, size: int, limits: tuple[int, int], kind: type[MindRecordException]
) -> int:
    if not is_int(size):
        raise wrong_type(f"set_{name}", name, size, "int")
    low, high = limits
    if not low <= size <= high or size % 4:
        raise problem(
            kind,
            f"set_{name}: {size} bytes is out of range",
            expected=f"{low} to {high} bytes, a multiple of 4",
        )
    return int(size)


def _check_target(path: str, overwrite: bool) -> None:
    if not Path(path).parent.is_dir():
        raise problem(
            MRMOpenError,
            f"{path}: its folder does not exist",
            fix="create the folder before the first row is written",
        )
    taken = [file for file in (path, index_path(path)) if Path(file).exists()]
    if taken and not overwrite:
        raise problem(
            MRMOpenError,
            f"{taken[0]} already exists",
            fix="remove it, or use FileWriter(..., overwrite=True)",
        )
