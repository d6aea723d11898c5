"""Checks of options shared by writers of summaries."""

from __future__ import annotations

import os
from typing import Any

from mycelia._engine.core.checks import check_instance
from mycelia._engine.core.errors import problem, wrong_type, wrong_value

TENSOR_FORMAT = "tensor_format"
_FORMATS = {TENSOR_FORMAT: ("npy",)}


def checked_directory(owner: str, argument: str, path: Any) -> str:
    """The absolute path of a directory, which is created if needed."""
    if not isinstance(path, str):
        raise wrong_type(owner, argument, path, "str")
    if not path.strip():
        raise wrong_value(owner, argument, path, "a path, not blank")
    directory = os.path.realpath(path)
    if os.path.isfile(directory):
        raise problem(NotADirectoryError, f"{owner}: {argument} is a file", got=directory)
    os.makedirs(directory, exist_ok=True)
    return directory


def checked_export(owner: str, options: Any) -> dict[str, str]:
    """Check export formats, such as `{"tensor_format": "npy"}`."""
    check_instance(owner, "export_options", options, (dict, type(None)))
    formats = options or {}
    for key, value in formats.items():
        check_instance(owner, "export_options", key, str)
        check_instance(owner, "export_options", value, (str, type(None)))
    for key, value in formats.items():
        if key not in _FORMATS:
            raise wrong_value(owner, "export_options", key, f"a dict with keys in {list(_FORMATS)}")
        if value is not None and value not in _FORMATS[key]:
            raise wrong_value(owner, key, value, f"in {list(_FORMATS[key])}")
    return {key: value for key, value in formats.items() if value is not None}
