"""The sources of rows in record files: MindRecord and TFRecord, and the orders of their files."""

from __future__ import annotations

from dataclasses import dataclass, field

from mycelia.dataset.formats.reader import Reader
from mycelia.dataset.formats.records import RecordReader
from mycelia.dataset.formats.tfrecords import ExampleReader
from mycelia.dataset.ir.samplers import SamplerNode
from mycelia.dataset.ir.sources import Source


@dataclass(frozen=True, eq=False, kw_only=True)
class FileOrder(SamplerNode):
    """Rows file by file: the files or the rows in each mixed, some files only.

    Rows that are in no file (padded ones) come last.
    """

    sampler_name = "FileOrderSampler"
    sizes: tuple[int, ...]
    mixes_files: bool = False
    mixes_rows: bool = False
    num_shards: int = 1
    shard_id: int = 0

    def count_of(self, available: int) -> int:
        own = self.sizes[self.shard_id :: self.num_shards]
        return sum(own) + available - sum(self.sizes)


@dataclass(frozen=True, eq=False, kw_only=True)
class MindData(Source):
    """The rows of MindRecord files, opened once for all runs."""

    op_type = "MindDataDataset"
    records: RecordReader = field(metadata={"json": False})

    def open(self) -> Reader:
        return self.records


@dataclass(frozen=True, eq=False, kw_only=True)
class TFRecord(Source):
    """The examples of TFRecord files, opened once for all runs."""

    op_type = "TFRecordDataset"
    dataset_files: tuple[str, ...]
    columns_list: tuple[str, ...] = ()
    compression_type: str = ""
    examples: ExampleReader = field(metadata={"json": False})

    def open(self) -> Reader:
        return self.examples
