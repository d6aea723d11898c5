"""Source nodes of record files: MindRecord and TFRecord."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.formats.records import RecordReader
from mycelia.dataset.formats.schema import ColumnSchema, chosen_columns
from mycelia.dataset.formats.tfrecords import ExampleFile, ExampleReader
from mycelia.dataset.ir.samplers import InterleavedFilesNode, SamplerNode
from mycelia.dataset.ir.sources import SourceNode


@dataclass(frozen=True, eq=False, kw_only=True)
class MindData(SourceNode):
    """The rows of MindRecord files, with optional padded samples."""

    op_type = "MindDataDataset"
    dataset_files: str | tuple[str, ...]
    columns_list: tuple[str, ...] = ()
    padded_sample: dict[str, Any] | None = None
    num_padded: int = 0

    def open(self) -> RowReader:
        given = (self.columns_list, self.padded_sample, self.num_padded)
        return RecordReader(self.dataset_files, *given)


@dataclass(frozen=True, eq=False, kw_only=True)
class TFRecord(SourceNode):
    """The examples of TFRecord files: columns of a schema, or all features of the first example."""

    op_type = "TFRecordDataset"
    dataset_files: tuple[str, ...]
    columns_list: tuple[str, ...] = ()
    compression_type: str = ""
    schema: tuple[ColumnSchema, ...] | None = None

    def open(self) -> RowReader:
        check_files(self.sampler, len(self.dataset_files), bool(self.compression_type))
        files = [ExampleFile(name, self.compression_type) for name in self.dataset_files]
        columns = None
        if self.schema is not None:
            columns = chosen_columns(self.schema, self.columns_list)
        return ExampleReader(files, columns, self.columns_list)


def check_files(sampler: SamplerNode | None, files: int, compressed: bool) -> None:
    """Check that every shard of whole files gets one; compressed files cannot be split."""
    while sampler is not None and not isinstance(sampler, InterleavedFilesNode):
        sampler = sampler.child
    if sampler is None or files >= sampler.num_shards:
        return
    if compressed or not sampler.equal_rows:
        raise problem(
            RuntimeError,
            "num_shards: some shards would get no file",
            got=f"{files} files for {sampler.num_shards} shards",
            fix="use shard_equal_rows=True with plain files, or fewer shards",
        )
