"""The sources of rows in record files: MindRecord and TFRecord, and the orders of their files."""

from __future__ import annotations

from dataclasses import dataclass, field

from mycelia.dataset.formats.reader import Reader
from mycelia.dataset.formats.records import RecordReader
from mycelia.dataset.formats.tfrecords import ExampleReader
from mycelia.dataset.ir.sources import Source


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
