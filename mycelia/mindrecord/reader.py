"""`FileReader`: sequential reading of MindRecord files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.warn_once import warn_once
from mycelia.mindrecord.exceptions import ParamTypeError
from mycelia.mindrecord.names import check_consumers, check_file_names
from mycelia.mindrecord.records import Records


class FileReader(CheckedKeywords):
    """Reads all shards next to `file_name`, or exactly the files of a list.

    `num_consumer` is only validated; rows always come in order.
    """

    def __init__(
        self,
        file_name: str | list[str],
        num_consumer: int = 4,
        columns: list[str] | None = None,
        operator: Any = None,
    ) -> None:
        check_file_names(file_name)
        check_consumers(num_consumer)
        if columns and not isinstance(columns, list):
            raise ParamTypeError("columns", "list")
        if operator is not None:
            warn_once("FileReader: the parameter 'operator' has no effect")
        self._records = Records(file_name, columns or None)
        self._rows: Iterator[dict[str, Any]] | None = iter(self._records)

    def get_next(self) -> Iterator[dict[str, Any]]:
        """Yield the remaining rows in order, each as a dict of the columns."""
        while self._rows is not None:
            row = next(self._rows, None)
            if row is None:
                return
            yield row

    def close(self) -> None:
        """Close the files; no more rows are returned."""
        self._rows = None
        self._records.close()

    def schema(self) -> dict[str, dict[str, Any]]:
        """The schema, as it was added."""
        return self._records.schema.as_json()

    def len(self) -> int:
        """The number of rows."""
        return len(self._records)
