"""Runtime operators that select rows: sources, shuffle, repeat, skip, take, and concat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.formats.values import own_copy, row_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.records import MindData
from mycelia.dataset.ir.sources import SourceNode, StreamSourceNode
from mycelia.dataset.runtime.operator import ErrorPolicy, RowOperator, RunOptions, ordered_rows
from mycelia.dataset.runtime.order import RowOrder, joined
from mycelia.dataset.runtime.randomness import generator
from mycelia.dataset.runtime.row import Row
from mycelia.dataset.runtime.row_errors import failed
from mycelia.dataset.runtime.run_metrics import StepMeter
from mycelia.dataset.runtime.sampler_orders import RunSamplers, as_contiguous_shards, draw

T = TypeVar("T")
_LONGEST = 4_000_000  # maximum rows of an order that is held in memory as a whole


class ReadInOrder(RowOperator):
    """Unread rows of a source with random access."""

    def __init__(self, node: SourceNode, options: RunOptions, reader: RowReader) -> None:
        self._options = options
        self._reader = reader
        by_runs = options.contiguous_shards and isinstance(node, MindData)
        sampler = as_contiguous_shards(node.sampler) if by_runs else node.sampler
        self._samplers = RunSamplers(sampler)

    def order(self, epoch: int) -> RowOrder:
        seed, common = self._options.seed, self._options.common
        return RowOrder.of(draw(self._samplers.at(epoch), self._reader, seed, epoch, common), epoch)

    @property
    def reader(self) -> RowReader:
        return self._reader

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        return ordered_rows(self.order(epoch), self._reader, start)


class ReadStream(RowOperator):
    """Rows of a user's generator or iterable."""

    def __init__(self, node: StreamSourceNode, meter: StepMeter) -> None:
        self._node = node
        self._meter = meter

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        chosen = islice(self._all(epoch), start, self._node.num_samples or None)
        given = start
        for row in chosen:
            given += 1
            yield row
        self._check_count(given)

    def _all(self, epoch: int) -> Iterator[Row]:
        node = self._node
        source: Iterator[Any] | None = None
        for index in count():
            row = Row(epoch, index, f"row {index} of GeneratorDataset")
            try:
                with self._meter.timing():
                    source = iter(node.start()) if source is None else source
                    made = row_of(next(source), node.names, node.types)
                    row.values = tuple(map(own_copy, made))
            except StopIteration:
                return
            except Exception as error:
                raise failed("GeneratorDataset", row, error) from error
            yield row

    def _check_count(self, given: int) -> None:
        """Check that a source yields as many rows as it declares."""
        told = self._node.size()
        if told is not None and given != told:
            raise problem(
                RuntimeError,
                "GeneratorDataset: the source yields a different number of rows than it declares",
                got=f"{given} rows",
                expected=f"{told}, by its __len__",
            )


class RowSelection(RowOperator):
    """A step that only selects and reorders the rows of its child."""

    def __init__(self, child: RowOperator) -> None:
        self._child = child

    @property
    def reader(self) -> RowReader | None:
        return self._child.reader

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        order = self.order(epoch)
        if order is not None and self.reader is not None:
            return ordered_rows(order, self.reader, start)
        return self.streamed(epoch, start)

    def streamed(self, epoch: int, start: int) -> Iterator[Row]:
        """The rows if the child has no order, or one that is too long to hold."""
        raise NotImplementedError


class ShuffleRows(RowSelection):
    """Rows shuffled with a buffer."""

    def __init__(self, node: O.ShuffleNode, child: RowOperator, seed: int) -> None:
        super().__init__(child)
        self._node = node
        self._seed = seed

    def order(self, epoch: int) -> RowOrder | None:
        below = self._child.order(epoch)
        if below is None:
            return None
        if len(below) <= self._node.buffer_size:
            return below[self._random(epoch).permutation(len(below))]
        mixed = shuffled(range(len(below)), self._node.buffer_size, self._random(epoch))
        return below[np.fromiter(mixed, np.int64, len(below))]

    def streamed(self, epoch: int, start: int) -> Iterator[Row]:
        mixed = shuffled(self._child.rows(epoch), self._node.buffer_size, self._random(epoch))
        return islice(mixed, start, None)

    def _random(self, epoch: int) -> np.random.Generator:
        turn = epoch if self._node.reset_each_epoch else 0
        return generator(self._seed, self._node.number, turn)


def shuffled(items: Iterable[T], size: int, random: np.random.Generator) -> Iterator[T]:
    """Draw items from a buffer of `size` that the next item refills; then the rest."""
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


class RepeatRows(RowSelection):
    """All rows of several epochs of the child as one epoch."""

    def __init__(self, node: O.RepeatNode, child: RowOperator, options: RunOptions) -> None:
        super().__init__(child)
        self._count = node.count
        self._size = None if options.policy == ErrorPolicy.SKIP else node.child.size()

    def order(self, epoch: int) -> RowOrder | None:
        if self._count == -1 or self._size is None or self._size * self._count > _LONGEST:
            return None
        turns = [self._child.order(turn) for turn in self._turns(epoch)]
        known = [turn for turn in turns if turn is not None]
        return joined(known) if len(known) == len(turns) else None

    def _turns(self, epoch: int) -> Iterable[int]:
        if self._count == -1:
            return count(epoch << 32)
        return range(epoch * self._count, (epoch + 1) * self._count)

    def streamed(self, epoch: int, start: int) -> Iterator[Row]:
        whole, rest = divmod(start, self._size) if self._size else (0, start)
        turns = islice(self._turns(epoch), whole, None)
        if self._size:
            return self._one_after_another(turns, rest)
        return islice(self._one_after_another(turns, 0), rest, None)

    def _one_after_another(self, turns: Iterable[int], first: int) -> Iterator[Row]:
        for turn in turns:
            is_empty = True
            for row in self._child.rows(turn, first):
                is_empty = False
                yield row
            if is_empty and not first:
                return  # the child is empty in every epoch
            first = 0


class SkipRows(RowSelection):
    """All rows except the first ones."""

    def __init__(self, node: O.SkipNode, child: RowOperator) -> None:
        super().__init__(child)
        self._count = node.count

    def order(self, epoch: int) -> RowOrder | None:
        below = self._child.order(epoch)
        return None if below is None else below[self._count :]

    def streamed(self, epoch: int, start: int) -> Iterator[Row]:
        return self._child.rows(epoch, start + self._count)


class TakeRows(RowSelection):
    """Only the first rows."""

    def __init__(self, node: O.TakeNode, child: RowOperator) -> None:
        super().__init__(child)
        self._count = node.count

    def order(self, epoch: int) -> RowOrder | None:
        below = self._child.order(epoch)
        return below if below is None or self._count == -1 else below[: self._count]

    def streamed(self, epoch: int, start: int) -> Iterator[Row]:
        rows = self._child.rows(epoch, start)
        return rows if self._count == -1 else islice(rows, max(self._count - start, 0))


class FixedOrderRows(RowOperator):
    """The order of the first epoch in every epoch."""

    def __init__(self, child: RowOperator) -> None:
        self._child = child

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        for row in self._child.rows(0, start):
            yield Row(epoch, row.index, row.name(), row.load())


class ConcatRows(RowOperator):
    """The rows of one child, then those of the next; a sampler may choose among them."""

    def __init__(
        self, node: O.ConcatNode, children: list[RowOperator], options: RunOptions
    ) -> None:
        self._node = node
        self._children = children
        self._seed, self._common = options.seed, options.common
        loses = options.policy == ErrorPolicy.SKIP
        self._sizes = [None if loses else child.size() for child in node.children]

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        sampled = self._node.sampler is not None
        chosen = islice(self._sampled(epoch), start, None) if sampled else self._all(epoch, start)
        for index, row in enumerate(chosen, start):
            yield Row(epoch, index, row.name(), row.load())

    def _all(self, epoch: int, start: int = 0) -> Iterator[Row]:
        kinds: list[tuple[Any, int]] | None = None
        last: RowOperator | None = None
        for child, row in self._parts(epoch, start):
            if child is not last:
                kinds, last = self._same_kinds(kinds, row), child
            yield row

    def _same_kinds(self, kinds: list[tuple[Any, int]] | None, row: Row) -> list[tuple[Any, int]]:
        """The type and rank of each column, which all datasets must share."""
        found = [kind_of(value) for value in row.load()]
        if kinds is not None and found != kinds:
            raise problem(
                RuntimeError,
                "concat: the datasets have columns of different types or ranks",
                got=f"{found} in {row.name()}",
                expected=str(kinds),
            )
        return found

    def _parts(self, epoch: int, start: int) -> Iterator[tuple[RowOperator, Row]]:
        for child, size in zip(self._children, self._sizes):
            if size is None:
                for row in child.rows(epoch):
                    if start == 0:
                        yield child, row
                    start = max(start - 1, 0)
                continue
            if start < size:
                yield from ((child, row) for row in child.rows(epoch, start))
            start = max(start - size, 0)

    def _sampled(self, epoch: int) -> Iterator[Row]:
        size = sum(child.size() or 0 for child in self._node.children)
        chosen = draw(self._node.sampler, _Positions(size), self._seed, epoch, self._common)
        places: dict[int, list[int]] = {}
        for place, row in enumerate(chosen.tolist()):
            places.setdefault(row, []).append(place)
        kept: list[Any] = [None] * len(chosen)
        for position, row in enumerate(self._all(epoch)):
            for place in places.get(position, ()):
                kept[place] = row
        return iter(kept)


def kind_of(value: Any) -> tuple[Any, int]:
    """The type of a value and its rank; strings may have any length."""
    if isinstance(value, dict):
        return "dict", 0
    kind = value.dtype
    return (kind.kind if kind.kind in "US" else kind.name), value.ndim


class _Positions:
    """Rows identified only by their index."""

    columns: tuple[str, ...] = ()

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def row(self, index: int) -> Any:
        raise problem(
            RuntimeError, "concat: this sampler needs the values of rows", got=f"row {index}"
        )

    def describe(self, index: int) -> str:
        return f"row {index}"
