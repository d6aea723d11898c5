"""Caches of rows: `DatasetCache`, and the key under which a pipeline's rows are stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.dataset.api import arguments as check
from mycelia.dataset.ir.cache import CacheOptions
from mycelia.dataset.ir.node import DatasetNode, walk
from mycelia.dataset.ir.operation import Operation


class DatasetCache(CheckedKeywords):
    """Caches rows in memory up to `size` megabytes, then, with `spilling`, on disk.

    MindSpore caches rows in a separate server. Here they stay in the process, so `session_id`
    is only a name, and the arguments that address the server have no effect.
    """

    def __init__(
        self,
        session_id: int,
        size: int = 0,
        spilling: bool = False,
        hostname: str | None = None,
        port: int | None = None,
        num_connections: int | None = None,
        prefetch_size: int | None = None,
    ) -> None:
        self.session_id = check.integer("session_id", session_id)
        self.size = check.not_negative("size", size)
        self.spilling = check.flag("spilling", spilling)
        self.hostname = hostname
        self.port = port
        self.num_connections = num_connections
        self.prefetch_size = prefetch_size


def cache_options(cache: Any) -> CacheOptions | None:
    """The options of a `cache` argument."""
    if cache is None:
        return None
    if not isinstance(cache, DatasetCache):
        raise check.wrong_type("cache", cache, "DatasetCache")
    return CacheOptions(megabytes=cache.size, spilling=cache.spilling)


def key_of(root: DatasetNode) -> str:
    """A cache key for the rows of a pipeline, from its steps, their parameters, and its files."""
    facts = [(node.op_type, len(node.children), _fields(node, ())) for node in walk(root)]
    return sha256(repr(facts).encode()).hexdigest()[:32]


_NO_FACTS = {  # fields that do not change the rows
    "children",
    "opened",
    "cache",
    "cache_options",
    "number",
    "num_parallel_workers",
    "python_multiprocessing",
}
_Within = tuple[FunctionType, ...]  # the functions being inspected, to detect recursion


def _fields(value: Any, within: _Within) -> Any:
    kept = [f.name for f in fields(value) if f.name not in _NO_FACTS]
    return [(name, _known(getattr(value, name), within)) for name in kept]


def _known(value: Any, within: _Within) -> Any:
    """A value whose text identifies it completely."""
    match value:
        case np.ndarray() if value.dtype != object:
            return value.dtype.str, value.shape, sha256(value.tobytes()).hexdigest()
        case dict():
            return "dict", [(repr(key), _known(entry, within)) for key, entry in value.items()]
        case list() | tuple():
            return type(value).__name__, [_known(entry, within) for entry in value]
        case Operation():
            return type(value).__name__, _known(value.parameters(), within)
        case str() | PurePath():
            return str(value), None if within else _file_facts(Path(value))
        case FunctionType():
            return _function_facts(value, within)
        case type() | BuiltinFunctionType() | np.ufunc():
            return getattr(value, "__module__", None), value.__name__
        case ModuleType():
            return value.__name__
        case None | int() | float() | complex() | bytes() | Enum() | np.generic():
            return repr(value)
        case np.dtype() | DType() | slice() | range() | EllipsisType():
            return repr(value)
        case _ if is_dataclass(value):
            return type(value).__name__, _fields(value, within)
    raise problem(
        TypeError,
        "cache: an object in the pipeline has no identity that another process would recognize",
        got=repr(value)[:100],
        fix="call cache() without a folder",
    )


def _function_facts(function: FunctionType, within: _Within) -> Any:
    """What identifies a function: its code and the values it closes over, not files it opens."""
    if function in within:
        return function.__qualname__
    inside = (*within, function)
    codes = list(_codes(function.__code__))
    around = {name: function.__globals__.get(name) for code in codes for name in code.co_names}
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return (
        [(code.co_code, code.co_names, code.co_varnames, _constants(code)) for code in codes],
        _known([function.__defaults__, function.__kwdefaults__, cells, around], inside),
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _constants(code: CodeType) -> str:
    return repr([c for c in code.co_consts if not isinstance(c, CodeType)])


def _file_facts(path: Path) -> Any:
    """The size and modification time of a file, or of all files below a folder."""
    if not os.path.exists(path):  # also for strings that cannot be paths
        return None
    found = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in found]
