"""The operators that choose rows without looking at them: sources, shuffle, repeat, skip, take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np

from mycelia.core.errors import problem
from mycelia.dataset.formats.reader import ArrayReader
from mycelia.dataset.formats.values import row_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.sources import Source, Stream
from mycelia.dataset.runtime.failure import failed
from mycelia.dataset.runtime.operator import Operator
from mycelia.dataset.runtime.randomness import generator
from mycelia.dataset.runtime.row import Row
from mycelia.dataset.runtime.sampling import draw

T = TypeVar("T")


class ReadInOrder(Operator):
    """Rows of a source with random access, not loaded yet."""

    def __init__(self, node: Source, seed: int) -> None:
        self._node = node
        self._seed = seed

    def order(self, epoch: int) -> np.ndarray:
        return draw(self._node.sampler, self._node.reader, self._seed, epoch)

    @property
    def table(self) -> ArrayReader | None:
        reader = self._node.reader
        return reader if isinstance(reader, ArrayReader) else None

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        reader = self._node.reader
        for index, origin in enumerate(self.order(epoch)[start:].tolist(), start):
            yield Row(epoch, index, origin, None, reader)


class ReadStream(Operator):
    """Rows of a user's generator or iterable."""

    def __init__(self, node: Stream) -> None:
        self._node = node

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        node = self._node
        chosen = islice(self._all(epoch), node.shard_id or 0, None, node.num_shards or 1)
        for index, row in enumerate(islice(chosen, start, node.num_samples or None), start):
            row.index = index
            yield row

    def _all(self, epoch: int) -> Iterator[Row]:
        node = self._node
        source = iter(node.start())
        for index in count():
            row = Row(epoch, index, f"row {index} of GeneratorDataset")
            try:
                row.values = row_of(next(source), node.names, node.types)
            except StopIteration:
                return
            except Exception as error:
                raise failed("GeneratorDataset", row, error) from error
            yield row


class ShuffleRows(Operator):
    """Rows drawn at random from a buffer."""

    def __init__(self, node: O.Shuffle, child: Operator, seed: int) -> None:
        self._node = node
        self._child = child
        self._seed = seed

    @property
    def table(self) -> ArrayReader | None:
        return self._child.table

    def order(self, epoch: int) -> np.ndarray | None:
        below = self._child.order(epoch)
        if below is None:
            return None
        if len(below) <= self._node.buffer_size:
            return below[self._random(epoch).permutation(len(below))]
        mixed = shuffled(below.tolist(), self._node.buffer_size, self._random(epoch))
        return np.fromiter(mixed, np.int64, len(below))

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        mixed = shuffled(self._child.rows(epoch), self._node.buffer_size, self._random(epoch))
        return islice(mixed, start, None)

    def _random(self, epoch: int) -> np.random.Generator:
        turn = epoch if self._node.reset_each_epoch else 0
        return generator(self._seed, self._node.number, turn)


def shuffled(items: Iterable[T], size: int, random: np.random.Generator) -> Iterator[T]:
    """Each item drawn from a buffer of `size`, which the next item refills; then the rest."""
    buffer: list[T] = []
    draws: Iterator[int] = iter(())
    for item in items:
        if len(buffer) < size:
            buffer.append(item)
            continue
        slot = next(draws, -1)
        if slot < 0:
            draws = iter(random.integers(0, size, 1024).tolist())
            slot = next(draws)
        yield buffer[slot]
        buffer[slot] = item
    for slot in random.permutation(len(buffer)):
        yield buffer[slot]


class RepeatRows(Operator):
    """All rows of several epochs of the child in one."""

    def __init__(self, node: O.Repeat, child: Operator) -> None:
        self._count = node.count
        self._child = child

    @property
    def table(self) -> ArrayReader | None:
        return self._child.table

    def order(self, epoch: int) -> np.ndarray | None:
        if self._count == -1:
            return None
        turns = [self._child.order(epoch * self._count + turn) for turn in range(self._count)]
        known = [turn for turn in turns if turn is not None]
        return np.concatenate(known) if len(known) == len(turns) else None

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        turns = (
            count(epoch << 32)
            if self._count == -1
            else range(epoch * self._count, (epoch + 1) * self._count)
        )
        index = 0
        for turn in turns:
            before = index
            for row in self._child.rows(turn):
                index += 1
                if index > start:
                    yield row
            if index == before:
                return


class SkipRows(Operator):
    """All rows but the first."""

    def __init__(self, node: O.Skip, child: Operator) -> None:
        self._count = node.count
        self._child = child

    @property
    def table(self) -> ArrayReader | None:
        return self._child.table

    def order(self, epoch: int) -> np.ndarray | None:
        below = self._child.order(epoch)
        return None if below is None else below[self._count :]

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        return self._child.rows(epoch, start + self._count)


class TakeRows(Operator):
    """The first rows only."""

    def __init__(self, node: O.Take, child: Operator) -> None:
        self._count = node.count
        self._child = child

    @property
    def table(self) -> ArrayReader | None:
        return self._child.table

    def order(self, epoch: int) -> np.ndarray | None:
        below = self._child.order(epoch)
        return below if below is None or self._count == -1 else below[: self._count]

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        rows = self._child.rows(epoch, start)
        return rows if self._count == -1 else islice(rows, max(self._count - start, 0))


class FixedRows(Operator):
    """The rows of the first epoch in every epoch."""

    def __init__(self, child: Operator) -> None:
        self._child = child

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        for row in self._child.rows(0, start):
            yield Row(epoch, row.index, row.name(), row.load())


class ConcatRows(Operator):
    """The rows of one child after those of another; a sampler may choose among them."""

    def __init__(self, node: O.Concat, children: list[Operator], seed: int) -> None:
        self._node = node
        self._children = children
        self._seed = seed

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        chosen = self._all(epoch) if self._node.sampler is None else self._sampled(epoch)
        for index, row in enumerate(chosen):
            if index >= start:
                yield Row(epoch, index, row.name(), row.load())

    def _all(self, epoch: int) -> Iterator[Row]:
        for child in self._children:
            yield from child.rows(epoch)

    def _sampled(self, epoch: int) -> Iterator[Row]:
        size = sum(child.size() or 0 for child in self._node.children)
        chosen = draw(self._node.sampler, _Positions(size), self._seed, epoch)
        places: dict[int, list[int]] = {}
        for place, row in enumerate(chosen.tolist()):
            places.setdefault(row, []).append(place)
        kept: list[Any] = [None] * len(chosen)
        for position, row in enumerate(self._all(epoch)):
            for place in places.get(position, ()):
                kept[place] = row
        return iter(kept)


class _Positions:
    """Rows known by their number alone."""

    columns: tuple[str, ...] = ()

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def row(self, index: int) -> Any:
        raise problem(RuntimeError, "concat: this sampler must look at rows", got=f"row {index}")

    def describe(self, index: int) -> str:
        return f"row {index}"
