"""Operators made from nodes: one entry of a table for each kind of node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mycelia.core.errors import problem
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import Node
from mycelia.dataset.ir.optimiser import prepare
from mycelia.dataset.ir.sources import Source, Stream
from mycelia.dataset.runtime.batching import BatchRows, BucketRows, GatherBatches
from mycelia.dataset.runtime.changing import (
    FilterRows,
    FlatMapRows,
    Load,
    MapRows,
    ProjectRows,
    ZipRows,
)
from mycelia.dataset.runtime.choosing import (
    ConcatRows,
    FixedRows,
    ReadInOrder,
    ReadStream,
    RepeatRows,
    ShuffleRows,
    SkipRows,
    TakeRows,
)
from mycelia.dataset.runtime.operator import ErrorPolicy, Operator, Options


def build(root: Node, options: Options) -> Operator:
    """The operators that run `root`; rows come out loaded."""
    return _loaded(prepare(root, loses_rows=options.policy == ErrorPolicy.SKIP), options)


def _build(node: Node, options: Options) -> Operator:
    for kind, make in _TABLE:
        if isinstance(node, kind):
            return make(node, options)
    raise problem(TypeError, f"dataset: no operator runs a {node.op_type}")


def _loaded(node: Node, options: Options) -> Operator:
    """The operator of `node`, with workers that load its rows if it gives them unloaded."""
    operator = _build(node, options)
    if not _is_lazy(node):
        return operator
    return Load(operator, _workers(node.source(), options), options)


def _is_lazy(node: Node) -> bool:
    chooses = (O.Shuffle, O.Repeat, O.Skip, O.Take, O.Rename)
    return isinstance(node, Source) or (isinstance(node, chooses) and _is_lazy(node.child))


def _workers(node: Node, options: Options) -> int:
    return 1 if options.in_turn else node.num_parallel_workers or options.workers


def _batch(node: O.Batch, options: Options) -> Operator:
    plain = isinstance(node.batch, int) and node.per_batch_map is None and node.pad_info is None
    child = _build(node.child, options)
    if plain and child.table is not None and _is_lazy(node.child) and _is_finite(node.child):
        return GatherBatches(node, child, options)
    return BatchRows(node, _loaded(node.child, options), _workers(node, options), options)


def _is_finite(node: Node) -> bool:
    endless = isinstance(node, O.Repeat) and node.count == -1
    return not endless and all(_is_finite(child) for child in node.children)


def _map(node: O.Map, options: Options) -> Operator:
    return MapRows(node, _build(node.child, options), _workers(node, options), options)


_TABLE: tuple[tuple[type[Node], Callable[[Any, Options], Operator]], ...] = (
    (Source, lambda n, o: ReadInOrder(n, o.seed)),
    (Stream, lambda n, o: ReadStream(n)),
    (O.Map, _map),
    (O.Batch, _batch),
    (O.BucketBatch, lambda n, o: BucketRows(n, _loaded(n.child, o))),
    (O.Filter, lambda n, o: FilterRows(n, _loaded(n.child, o))),
    (O.FlatMap, lambda n, o: FlatMapRows(n, _loaded(n.child, o), lambda made: build(made, o))),
    (O.Shuffle, lambda n, o: ShuffleRows(n, _build(n.child, o), o.seed)),
    (O.Fixed, lambda n, o: FixedRows(_loaded(n.child, replace(o, seed=n.seed)))),
    (O.Repeat, lambda n, o: RepeatRows(n, _build(n.child, o))),
    (O.Skip, lambda n, o: SkipRows(n, _build(n.child, o))),
    (O.Take, lambda n, o: TakeRows(n, _build(n.child, o))),
    (O.Zip, lambda n, o: ZipRows([_loaded(child, o) for child in n.children])),
    (O.Concat, lambda n, o: ConcatRows(n, [_loaded(child, o) for child in n.children], o.seed)),
    (O.Project, lambda n, o: ProjectRows(n, _loaded(n.child, o))),
    (O.Rename, lambda n, o: _build(n.child, o)),
)
