"""Writing to several shards in parallel: each call goes to the next shard."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from mycelia.mindrecord.shard import ShardFile, pack_row

_WAITING = 2  # calls that may wait for a shard before the next one blocks


class ParallelShardWriter:
    """One queue of calls per shard, processed by at most as many threads as cores."""

    def __init__(self, shards: Sequence[ShardFile]) -> None:
        self._shards = shards
        threads = min(len(shards), os.cpu_count() or 1)
        self._threads = [ThreadPoolExecutor(1, "mindrecord") for _ in range(threads)]
        self._pending: list[deque[Future[None]]] = [deque() for _ in shards]
        self._next = 0

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Queue rows for the next shard. An earlier error of that shard is raised here."""
        index = self._next
        pending = self._pending[index]
        self.check(index)
        while len(pending) >= _WAITING:
            pending.popleft().result()
        pending.append(self._threads[index % len(self._threads)].submit(self._write, index, rows))
        self._next = (index + 1) % len(self._shards)

    def check(self, index: int) -> None:
        """Raise the error of a shard, if any."""
        pending = self._pending[index]
        while pending and pending[0].done():
            pending.popleft().result()

    def wait(self) -> None:
        """Wait until all rows are written."""
        for thread in self._threads:
            thread.shutdown()
        for index in range(len(self._shards)):
            self.check(index)

    def _write(self, index: int, rows: Sequence[Mapping[str, Any]]) -> None:
        shard = self._shards[index]
        shard.write([pack_row(shard.header, row) for row in rows])
