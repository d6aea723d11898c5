"""Splitting a dataset into disjoint parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset import config
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir import samplers as S
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.sources import SourceNode
from mycelia.dataset.runtime.randomness import generator
from mycelia.dataset.runtime.sampler_orders import draw


def split(node: DatasetNode, sizes: Sequence[Any], randomize: bool, rows: int) -> list[DatasetNode]:
    """The nodes of the parts. The source is split if every row comes from exactly one of its rows.

    Otherwise the rows are split in an order that is fixed across epochs.
    """
    if isinstance(node, (O.MapNode, O.ProjectNode, O.RenameNode)):
        return [node.over(part) for part in split(node.child, sizes, randomize, rows)]
    counts = _counts(sizes, rows)
    ends = [sum(counts[: index + 1]) for index in range(len(counts))]
    seed = config.options().seed
    if isinstance(node, SourceNode):
        order = draw(node.sampler, node.reader, seed, 0, config.options().common)
        if randomize:
            order = generator(seed, 0, 0).permutation(order)
        chosen = [order[end - count : end].tolist() for count, end in zip(counts, ends)]
        return [replace(node, sampler=S.SubsetSamplerNode(indices=tuple(part))) for part in chosen]
    if randomize:
        node = O.ShuffleNode(children=(node,), buffer_size=max(rows, 2), reset_each_epoch=False)
    node = O.FixedOrderNode(children=(node,), seed=seed)
    return [
        O.TakeNode(children=(O.SkipNode(children=(node,), count=end - count),), count=count)
        for count, end in zip(counts, ends)
    ]


def _counts(sizes: Sequence[Any], rows: int) -> list[int]:
    if not isinstance(sizes, (list, tuple)):
        raise problem(TypeError, "split: sizes must be a list", got=repr(sizes))
    if not sizes:
        raise problem(ValueError, "split: sizes is empty")
    if all(is_int(size) for size in sizes):
        if any(size <= 0 for size in sizes):
            raise problem(ValueError, "split: each size must be positive", got=str(list(sizes)))
        if sum(sizes) != rows:
            raise problem(
                RuntimeError,
                "split: the sizes must sum to the number of rows of the dataset",
                got=f"{sum(sizes)} of {rows} rows",
            )
        return [int(size) for size in sizes]
    if not all(isinstance(size, float) and 0 < size <= 1 for size in sizes):
        raise problem(
            ValueError,
            "split: sizes must be all ints or all floats in (0, 1]",
            got=str(list(sizes)),
        )
    if abs(sum(sizes) - 1) > 1e-6:
        raise problem(ValueError, "split: the fractions must sum to 1", got=str(sum(sizes)))
    return _from_parts([size * rows for size in sizes], rows)


def _from_parts(wanted: list[float], rows: int) -> list[int]:
    """Rounded sizes; the rounding error goes to the first part that can absorb it."""
    counts = [round(size) for size in wanted]
    if any(count == 0 for count in counts):
        raise problem(RuntimeError, "split: a part is empty", got=f"sizes {counts} of {rows} rows")
    difference = rows - sum(counts)
    for index, count in enumerate(counts):
        if count + difference > 0:
            counts[index] += difference
            break
    return counts
