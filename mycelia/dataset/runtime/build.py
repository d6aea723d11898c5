"""Building runtime operators from pipeline nodes, with a table by node type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.reader import ArrayReader
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import DatasetNode, walk
from mycelia.dataset.ir.optimizer import prepare
from mycelia.dataset.ir.sources import SourceNode, StreamSourceNode
from mycelia.dataset.runtime.batch import BatchRows, BucketRows
from mycelia.dataset.runtime.block_steps import ApplyOperations, BlockStep, SelectColumns
from mycelia.dataset.runtime.cache_operators import (
    CachedReader,
    CachedRows,
    CachedStream,
    refuse_random,
)
from mycelia.dataset.runtime.operator import ErrorPolicy, RowOperator, RunOptions
from mycelia.dataset.runtime.parallel_map import MapRows
from mycelia.dataset.runtime.row_operators import FilterRows, FlatMapRows, ZipRows
from mycelia.dataset.runtime.row_selection import (
    ConcatRows,
    FixedOrderRows,
    ReadInOrder,
    ReadStream,
    RepeatRows,
    ShuffleRows,
    SkipRows,
    TakeRows,
)
from mycelia.dataset.runtime.row_store import store_of
from mycelia.dataset.runtime.run_metrics import RunMetrics, StepMeter
from mycelia.dataset.runtime.sync_gate import GatedRows


def build(root: DatasetNode, options: RunOptions) -> RowOperator:
    """The operators that run `root`; their rows are loaded."""
    return _loaded(prepare(root, loses_rows=options.policy == ErrorPolicy.SKIP), options)


def drawn_order(source: SourceNode, options: RunOptions) -> np.ndarray:
    """The row indices of the first epoch of a source."""
    node = prepare(source)
    assert isinstance(node, SourceNode)
    return ReadInOrder(node, options, node.reader).order(0).origins


def _build(node: DatasetNode, options: RunOptions) -> RowOperator:
    for kind, make in _TABLE:
        if isinstance(node, kind):
            return make(node, options)
    raise problem(TypeError, f"dataset: no operator runs a {node.op_type}")


def _loaded(node: DatasetNode, options: RunOptions) -> RowOperator:
    """The operator of `node`, followed by workers that load its rows if it does not."""
    operator = _build(node, options)
    if not _is_lazy(node):
        return operator
    return MapRows(operator, (), _meter("read", (node.source(),), options), options)


def _is_lazy(node: DatasetNode) -> bool:
    chooses = (O.ShuffleNode, O.RepeatNode, O.SkipNode, O.TakeNode, O.RenameNode)
    if isinstance(node, O.CacheNode):
        return _is_lazy(_stacked(node.child)[1])
    return isinstance(node, SourceNode) or (isinstance(node, chooses) and _is_lazy(node.child))


def _meter(name: str, nodes: Sequence[DatasetNode], options: RunOptions) -> StepMeter:
    """A meter for workers; the nodes determine how many."""
    wanted = max(node.num_parallel_workers or 0 for node in nodes) or options.workers
    waits = any(isinstance(below, O.SyncWaitNode) for node in nodes for below in walk(node))
    numbers = tuple(node.number for node in nodes)
    return options.meters.step(name, 1 if options.single_threaded or waits else wanted, numbers)


def _batch(node: O.BatchNode, options: RunOptions) -> RowOperator:
    size = node.batch if isinstance(node.batch, int) else 1
    child = _loaded(node.child, replace(options, at_once=options.at_once * size))
    return BatchRows(node, child, _meter("batch", (node,), options), options)


def _worked(node: O.MapNode | O.ProjectNode, options: RunOptions) -> RowOperator:
    """Consecutive maps, projections, and renames as steps of the same workers."""
    nodes, below = _stacked(node)
    child = _build(below, options)
    meter = _meter("map", nodes, options)
    callbacks = [c for n in nodes if isinstance(n, O.MapNode) for c in n.callbacks]
    return MapRows(child, _steps(nodes, meter, options), meter, options, callbacks)


def _gated(node: O.SyncWaitNode, options: RunOptions) -> RowOperator:
    options.gates.append(GatedRows(_loaded(node.child, options), node.gate, options.at_once))
    return options.gates[-1]


def _stacked(node: DatasetNode) -> tuple[list[O.MapNode | O.ProjectNode], DatasetNode]:
    """The consecutive maps and projections at the top, first one first, and the node below."""
    nodes: list[O.MapNode | O.ProjectNode] = []
    while isinstance(node, (O.MapNode, O.ProjectNode, O.RenameNode)):
        if not isinstance(node, O.RenameNode):
            nodes.insert(0, node)
        node = node.child
    return nodes, node


def _steps(
    nodes: Sequence[O.MapNode | O.ProjectNode], meter: StepMeter, options: RunOptions
) -> list[BlockStep]:
    return [
        ApplyOperations(n, options, meter) if isinstance(n, O.MapNode) else SelectColumns(n)
        for n in nodes
    ]


def _cache(node: O.CacheNode, options: RunOptions) -> RowOperator:
    """Cached rows, keyed by their index in the source if possible, else in the stream."""
    nodes, below = _stacked(node.child)
    if _is_lazy(below):
        refuse_random(nodes)
        child = _build(below, options)
        meter = _meter("cache", (node, *nodes), options)
        steps = _steps(nodes, meter, options)
        return CachedRows(child, steps, node.columns(), store_of(node.cache_options), meter)
    refuse_random(walk(node))
    return CachedStream(_loaded(node.child, options), store_of(node.cache_options))


def _source(node: SourceNode, options: RunOptions) -> RowOperator:
    reader = node.reader
    if node.cache is not None and not isinstance(reader, ArrayReader):  # arrays are in memory
        reader = CachedReader(reader, store_of(node.cache))
    return ReadInOrder(node, options, reader)


def _flat_map(node: O.FlatMapNode, options: RunOptions) -> RowOperator:
    child = _loaded(node.child, options)
    meter = options.meters.step("flat_map")
    inside = replace(options, meters=RunMetrics())  # inner datasets are not steps of this run
    return FlatMapRows(node, child, lambda made: build(made, inside), meter)


_TABLE: tuple[tuple[type[DatasetNode], Callable[[Any, RunOptions], RowOperator]], ...] = (
    (SourceNode, _source),
    (StreamSourceNode, lambda n, o: ReadStream(n, o.meters.step("read"))),
    (O.MapNode, _worked),
    (O.ProjectNode, _worked),
    (O.CacheNode, _cache),
    (O.BatchNode, _batch),
    (O.BucketBatchNode, lambda n, o: BucketRows(n, _loaded(n.child, o))),
    (O.FilterNode, lambda n, o: FilterRows(n, _loaded(n.child, o), o.meters.step("filter"))),
    (O.FlatMapNode, _flat_map),
    (O.ShuffleNode, lambda n, o: ShuffleRows(n, _build(n.child, o), o.seed)),
    (O.FixedOrderNode, lambda n, o: FixedOrderRows(_loaded(n.child, replace(o, seed=n.seed)))),
    (O.RepeatNode, lambda n, o: RepeatRows(n, _build(n.child, o), o)),
    (O.SkipNode, lambda n, o: SkipRows(n, _build(n.child, o))),
    (O.TakeNode, lambda n, o: TakeRows(n, _build(n.child, o))),
    (O.ZipNode, lambda n, o: ZipRows([_loaded(child, o) for child in n.children])),
    (O.ConcatNode, lambda n, o: ConcatRows(n, [_loaded(child, o) for child in n.children], o)),
    (O.SyncWaitNode, _gated),
    (O.RenameNode, lambda n, o: _build(n.child, o)),
)
