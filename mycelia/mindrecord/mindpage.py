"""`MindPage`: paginated access to the rows of one category."""

from __future__ import annotations

import json
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.mindrecord.exceptions import (
    MRMDefineCategoryError,
    MRMFetchDataError,
    MRMReadCategoryInfoError,
    ParamTypeError,
    ParamValueError,
)
from mycelia.mindrecord.index import column_of
from mycelia.mindrecord.names import check_consumers, check_file_names
from mycelia.mindrecord.records import Records


class MindPage(CheckedKeywords):
    """Groups the rows of MindRecord files by an index field and reads the groups page by page."""

    def __init__(self, file_name: str | list[str], num_consumer: int = 4) -> None:
        check_file_names(file_name)
        check_consumers(num_consumer)
        self._records = Records(file_name)
        self._field: str | None = None

    @property
    def candidate_fields(self) -> list[str]:
        """The fields that can group rows."""
        return list(self._records.index_fields)

    @property
    def category_field(self) -> str | None:
        """The field that groups rows."""
        return self._field

    @category_field.setter
    def category_field(self, category_field: str) -> None:
        if not category_field or not isinstance(category_field, str):
            raise ParamTypeError("category_field", "str")
        if category_field not in self.candidate_fields:
            raise problem(
                MRMDefineCategoryError,
                f"{category_field!r} is not an index field",
                expected=", ".join(self.candidate_fields),
            )
        self._field = category_field

    def read_category_info(self) -> str:
        """The groups as JSON: id, name, and number of rows of each."""
        field = self._chosen_field()
        groups = [
            {"count": count, "id": number, "name": name}
            for number, (name, count) in enumerate(self._records.categories(field).items())
        ]
        content = {"categories": groups, "key": column_of(field)}
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[dict[str, Any]]:
        """Read a page of a group, by the id of the group."""
        if not is_int(category_id) or category_id < 0:
            raise ParamValueError(f"category_id must be an int >= 0, got {category_id!r}")
        _check_page(page, num_row)
        names = list(self._records.categories(self._chosen_field()))
        if category_id >= len(names):
            raise problem(
                MRMFetchDataError, f"there is no category {category_id}, only {len(names)}"
            )
        return self._read(names[category_id], page, num_row)

    def read_at_page_by_name(
        self, category_name: str, page: int, num_row: int
    ) -> list[dict[str, Any]]:
        """Read a page of a group, by the name of the group."""
        if not isinstance(category_name, str):
            raise ParamValueError(f"category_name must be a str, got {category_name!r}")
        _check_page(page, num_row)
        return self._read(category_name, page, num_row)

    def _read(self, name: str, page: int, num_row: int) -> list[dict[str, Any]]:
        rows = self._records.find(self._chosen_field(), name)
        if not rows:
            raise problem(MRMFetchDataError, f"there is no category {name!r}")
        chosen = rows[page * num_row : (page + 1) * num_row]
        if not chosen:
            raise problem(
                MRMFetchDataError,
                f"category {name!r} has no page {page} of {num_row} rows",
                got=f"{len(rows)} rows in all",
            )
        return [self._records[row] for row in chosen]

    def _chosen_field(self) -> str:
        if self._field is None:
            raise problem(
                MRMReadCategoryInfoError,
                "no category field is set",
                fix="set category_field to one of candidate_fields",
            )
        return self._field


def _check_page(page: int, num_row: int) -> None:
    if not is_int(page) or page < 0:
        raise ParamValueError(f"page must be an int >= 0, got {page!r}")
    if not is_int(num_row) or num_row <= 0:
        raise ParamValueError(f"num_row must be an int > 0, got {num_row!r}")
