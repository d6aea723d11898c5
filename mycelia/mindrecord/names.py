"""Checks of file names and of the number of reader threads."""

from __future__ import annotations

import os
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.mindrecord.exceptions import ParamValueError

DEFAULT_CONSUMERS = 4
_FORBIDDEN = set("\\/:*?\"<>|`&';")


def check_file_name(path: Any, argument: str = "file_name") -> str:
    """Check that a path can be the name of a MindRecord file."""
    if not isinstance(path, str) or not path:
        raise problem(ParamValueError, f"'{argument}' must be a path", got=repr(path))
    name = os.path.basename(path)
    if not name:
        raise problem(ParamValueError, f"'{argument}' must not end with '/'", got=repr(path))
    if set(name) & _FORBIDDEN or name != name.strip(" "):
        raise problem(
            ParamValueError,
            f"'{argument}' is not a valid file name",
            got=repr(path),
            expected=f"none of {''.join(sorted(_FORBIDDEN))}, no space at the start or end",
        )
    return path


def check_file_names(paths: Any) -> None:
    """Check one path, or a list of them."""
    for path in paths if isinstance(paths, list) else [paths]:
        check_file_name(path)


def check_consumers(count: Any) -> None:
    """Check a number of workers: at most the number of cores, or the default."""
    most = max(os.cpu_count() or 1, DEFAULT_CONSUMERS)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
        raise problem(
            ParamValueError,
            "'num_consumer' is out of range",
            got=repr(count),
            expected=f"1 to {most}",
        )
