"""Stores what MindSpore reads from record files, and which errors it raises.

Run with a Python that has mindspore 2.10: `python tests/dataset/make_record_goldens.py`.
It writes goldens_records.json.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore.dataset as ds
import mindspore.mindrecord as mindrecord
from record_cases import CASES, ERRORS, result, write_files

FILE = Path(__file__).with_name("goldens_records.json")


def error_of(make: Callable[..., Any], folder: Path) -> str:
    """The type of error that a dataset raises when it is made or read."""
    try:
        result(make(ds, folder))
    except Exception as error:
        return type(error).__name__
    return "none"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        write_files(mindrecord, Path(name))
        results = {key: result(make(ds, Path(name))) for key, make in CASES.items()}
        errors = {key: error_of(make, Path(name)) for key, make in ERRORS.items()}
    told = {"results": results, "errors": errors}
    FILE.write_text(json.dumps(told, separators=(",", ":")) + "\n")
