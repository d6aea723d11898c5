"""What a file format brings along to be fuzzed: how its files are written and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True)
class Format:
    """Files of one format, written into a folder, and their content as users read it.

    A `sealed` format has a checksum: what is read is the content that was written, or an error.
    `reseal` makes the checksums and lengths of changed bytes right again, so that changes reach
    what is behind them. `lists_files` says that the files may name other files wherever they are.
    With `by_rows` each row has a checksum of its own, and rows may be left out or repeated.
    """

    name: str
    group: str
    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    sealed: bool = False
    reseal: Callable[[bytes], bytes] | None = None
    lists_files: bool = False
    by_rows: bool = False


def plain(value: Any) -> Any:
    """A value that is equal to another if their contents are, bit for bit."""
    if isinstance(value, Tensor):
        value = value.asnumpy()
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.kind in "OSU" else value.tobytes()
        return str(value.dtype), value.shape, content
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
