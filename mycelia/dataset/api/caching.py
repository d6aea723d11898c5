"""The cache that users hand to sources and maps."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mycelia.core.errors import problem
from mycelia.dataset.api import arguments as check
from mycelia.dataset.ir.caching import Keeping
from mycelia.dataset.ir.node import Node, walk
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.ir.samplers import SamplerNode


class DatasetCache:
    """Rows made once and kept: in memory up to `size` megabytes, then on disk with `spilling`.

    MindSpore keeps them in a server of its own. Here they stay in the process, so `session_id`
    is only a name, and the arguments that say where the server is have no work to do.
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


def keeping(cache: Any) -> Keeping | None:
    """What a tree keeps of a `cache` argument."""
    if cache is None:
        return None
    if not isinstance(cache, DatasetCache):
        raise check.wrong_type("cache", cache, "DatasetCache")
    return Keeping(megabytes=cache.size, spilling=cache.spilling)


def key_of(root: Node) -> str:
    """A name for the rows of a tree: other steps, parameters or files give another name."""
    facts: list[Any] = []
    for node in walk(root):
        values = {f.name: getattr(node, f.name) for f in fields(node)}
        for name in ("children", "opened", "cache", "number"):
            values.pop(name, None)
        facts.append((node.op_type, _known(values)))
    return sha256(repr(facts).encode()).hexdigest()[:32]


def _known(value: Any) -> Any:
    """A value as something whose text says all of it."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, sha256(value.tobytes()).hexdigest()
    if isinstance(value, dict):
        return [(key, _known(entry)) for key, entry in value.items()]
    if isinstance(value, (list, tuple)):
        return [_known(entry) for entry in value]
    if isinstance(value, Operation):
        return type(value).__name__, _known(value.parameters())
    if isinstance(value, SamplerNode):
        return type(value).__name__, _known({f.name: getattr(value, f.name) for f in fields(value)})
    if isinstance(value, str):
        return value, _file_facts(Path(value)) if "/" in value else None
    if callable(value) and hasattr(value, "__code__"):
        code = value.__code__
        return value.__qualname__, code.co_code, repr(code.co_consts), repr(value.__defaults__)
    if value is None or isinstance(value, (int, float, bytes, Enum, np.generic)):
        return repr(value)
    raise problem(
        TypeError,
        "cache: rows with this object in them have no name that another process would find",
        got=repr(value)[:100],
        fix="cache() without a folder",
    )


def _file_facts(path: Path) -> Any:
    """The sizes and times of a file, or of all files below a folder."""
    if not path.exists():
        return None
    found = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in found]
