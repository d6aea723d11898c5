"""Operators made from nodes: one entry of a table for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mycelia.core.errors import problem
from mycelia.dataset.formats.reader import ArrayReader
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import Node, walk
from mycelia.dataset.ir.optimiser import prepare
from mycelia.dataset.ir.sources import Source, Stream
from mycelia.dataset.runtime.batching import BatchRows, BucketRows
from mycelia.dataset.runtime.changing import FilterRows, FlatMapRows, ZipRows
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
from mycelia.dataset.runtime.gate import GatedRows
from mycelia.dataset.runtime.keeping import KeptReader, KeptRows, KeptStream, refuse_random
from mycelia.dataset.runtime.metering import Meter, Meters
from mycelia.dataset.runtime.operator import ErrorPolicy, Operator, Options
from mycelia.dataset.runtime.steps import Choose, Operate, Step
from mycelia.dataset.runtime.store import store_of
from mycelia.dataset.runtime.working import Worked


def build(root: Node, options: Options) -> Operator:
    """The operators that run `root`; rows come out loaded."""
    return _loaded(prepare(root, loses_rows=options.policy == ErrorPolicy.SKIP), options)


def drawn_order(source: Source, options: Options) -> np.ndarray:
    """The row numbers of the first epoch of a source."""
    node = prepare(source)
    assert isinstance(node, Source)
    return ReadInOrder(node, options, node.reader).order(0).origins


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
    return Worked(operator, (), _meter("read", (node.source(),), options), options)


def _is_lazy(node: Node) -> bool:
    chooses = (O.Shuffle, O.Repeat, O.Skip, O.Take, O.Rename)
    if isinstance(node, O.Cache):
        return _is_lazy(_stacked(node.child)[1])
    return isinstance(node, Source) or (isinstance(node, chooses) and _is_lazy(node.child))


def _meter(name: str, nodes: Sequence[Node], options: Options) -> Meter:
    """A meter for workers, as many as one of the nodes wants."""
    wanted = max(node.num_parallel_workers or 0 for node in nodes) or options.workers
    waits = any(isinstance(below, O.SyncWait) for node in nodes for below in walk(node))
    numbers = tuple(node.number for node in nodes)
    return options.meters.step(name, 1 if options.in_turn or waits else wanted, numbers)


def _batch(node: O.Batch, options: Options) -> Operator:
    size = node.batch if isinstance(node.batch, int) else 1
    child = _loaded(node.child, replace(options, at_once=options.at_once * size))
    return BatchRows(node, child, _meter("batch", (node,), options), options)


def _worked(node: O.Map | O.Project, options: Options) -> Operator:
    """Maps, projections and renamings on top of each other, as steps of the same workers."""
    nodes, below = _stacked(node)
    child = _build(below, options)
    meter = _meter("map", nodes, options)
    callbacks = [c for n in nodes if isinstance(n, O.Map) for c in n.callbacks]
    return Worked(child, _steps(nodes, meter, options), meter, options, callbacks)


def _gated(node: O.SyncWait, options: Options) -> Operator:
    options.gates.append(GatedRows(_loaded(node.child, options), node.gate, options.at_once))
    return options.gates[-1]


def _stacked(node: Node) -> tuple[list[O.Map | O.Project], Node]:
    """The maps and projections on top of each other, lowest first, and what is below them."""
    nodes: list[O.Map | O.Project] = []
    while isinstance(node, (O.Map, O.Project, O.Rename)):
        if not isinstance(node, O.Rename):
            nodes.insert(0, node)
        node = node.child
    return nodes, node


def _steps(nodes: Sequence[O.Map | O.Project], meter: Meter, options: Options) -> list[Step]:
    return [Operate(n, options, meter) if isinstance(n, O.Map) else Choose(n) for n in nodes]


def _cache(node: O.Cache, options: Options) -> Operator:
    """Rows kept under their number at the source, if there is one, else under their place."""
    nodes, below = _stacked(node.child)
    if _is_lazy(below):
        refuse_random(nodes)
        child = _build(below, options)
        meter = _meter("cache", (node, *nodes), options)
        steps = _steps(nodes, meter, options)
        return KeptRows(child, steps, node.columns(), store_of(node.keeping), meter)
    refuse_random(walk(node))
    return KeptStream(_loaded(node.child, options), store_of(node.keeping))


def _source(node: Source, options: Options) -> Operator:
    reader = node.reader
    if node.cache is not None and not isinstance(reader, ArrayReader):  # arrays are there anyway
        reader = KeptReader(reader, store_of(node.cache))
    return ReadInOrder(node, options, reader)


def _flat_map(node: O.FlatMap, options: Options) -> Operator:
    child = _loaded(node.child, options)
    meter = options.meters.step("flat_map")
    inside = replace(options, meters=Meters())  # a dataset for each row: not steps of this run
    return FlatMapRows(node, child, lambda made: build(made, inside), meter)


_TABLE: tuple[tuple[type[Node], Callable[[Any, Options], Operator]], ...] = (
    (Source, _source),
    (Stream, lambda n, o: ReadStream(n, o.meters.step("read"))),
    (O.Map, _worked),
    (O.Project, _worked),
    (O.Cache, _cache),
    (O.Batch, _batch),
    (O.BucketBatch, lambda n, o: BucketRows(n, _loaded(n.child, o))),
    (O.Filter, lambda n, o: FilterRows(n, _loaded(n.child, o), o.meters.step("filter"))),
    (O.FlatMap, _flat_map),
    (O.Shuffle, lambda n, o: ShuffleRows(n, _build(n.child, o), o.seed)),
    (O.Fixed, lambda n, o: FixedRows(_loaded(n.child, replace(o, seed=n.seed)))),
    (O.Repeat, lambda n, o: RepeatRows(n, _build(n.child, o), o)),
    (O.Skip, lambda n, o: SkipRows(n, _build(n.child, o))),
    (O.Take, lambda n, o: TakeRows(n, _build(n.child, o))),
    (O.Zip, lambda n, o: ZipRows([_loaded(child, o) for child in n.children])),
    (O.Concat, lambda n, o: ConcatRows(n, [_loaded(child, o) for child in n.children], o)),
    (O.SyncWait, _gated),
    (O.Rename, lambda n, o: _build(n.child, o)),
)
