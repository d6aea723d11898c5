"""From a function and its arguments to a program: reading, then tidying what was read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mycelia.compiler.building import constant, type_of_array
from mycelia.compiler.footprint import type_bytes
from mycelia.compiler.forms import Conflict, Form, form_of, leaf_data, leaf_type
from mycelia.compiler.guards import Guards
from mycelia.compiler.narrowing.narrow import narrow
from mycelia.compiler.passes.pipeline import optimize
from mycelia.compiler.reader.stack_notes import with_stack
from mycelia.compiler.rolling import roll
from mycelia.compiler.store import MISSING, Numbers
from mycelia.compiler.symbolic import Number, ValueNeeded
from mycelia.compiler.tracer import KEY, Tracer, conflict_error
from mycelia.core import settings
from mycelia.core.indivisible import assign_at_once
from mycelia.core.lazy import LazyModule
from mycelia.core.seed import drawing, peek_key
from mycelia.core.source import reading
from mycelia.ir.graph import Graph
from mycelia.ir.node import Node
from mycelia.ir.program import Input, Program, Source
from mycelia.ir.snapshot import snapshot
from mycelia.tensor.tensor import Tensor

if TYPE_CHECKING:
    from mycelia.compiler.reader import interpreter as source_reader
else:
    source_reader = LazyModule("mycelia.compiler.reader.interpreter")

DEEPEST = 20_000  # Python frames while reading: nested user code takes several each


@dataclass(eq=False)
class Read:
    """A function read for one kind of arguments."""

    program: Program
    plain: Program  # before the passes: what gradients are taken of
    result: Form
    guards: Guards
    seconds: dict[str, float]  # for each stage
    stages: list[tuple[str, Graph]]
    narrowed: int = 0  # operators that are computed only for what is read


def read(
    fn: Callable[..., Any],
    name: str,
    arguments: Form,
    capacity: int = 64,
    budget: int | None = None,
) -> Read:
    """Read `fn` into a program; its inputs are the leaves of `arguments`, a pair (args, kwargs).

    If the program might need more memory than its `budget`, that of the settings if none is given,
    it is read again, and gradients remember no more than what is left besides the inputs.
    """
    found = _read(fn, name, arguments, capacity, None)
    budget = settings.memory_budget() if budget is None else budget
    if budget is None:
        return found
    given = sum(type_bytes(p.type) for p in found.program.graph.parameters)
    return _read(fn, name, arguments, capacity, max(budget - given, 0))


def _read(
    fn: Callable[..., Any], name: str, arguments: Form, capacity: int, allowed: int | None
) -> Read:
    started = perf_counter()
    tracer = Tracer(name, capacity, allowed)
    interpreter = source_reader.Interpreter(tracer)
    targets = [target for _, target in arguments.leaves(MISSING)]
    nodes = [tracer.root.parameter(f"x{i}", leaf_type(t)) for i, t in enumerate(targets)]
    given = [Tensor._wrap(node) for node in nodes]
    args, kwargs = arguments.build(iter(given))
    outer_span, reading.span = reading.span, lambda: tracer.span
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, DEEPEST))
    try:
        with tracer.active(
            interpreter.call_from_python, _not_known, interpreter.enclosed, interpreter.when
        ):
            result = interpreter.call(fn, args, kwargs)
            if isinstance(result, Conflict):
                raise conflict_error(result, result.span)
            return _finish(tracer, given, nodes, result, started)
    except ValueNeeded:
        raise
    except Exception as error:
        raise with_stack(error) from error.__cause__
    finally:
        tracer.undo_log.undo()
        reading.span = outer_span
        sys.setrecursionlimit(depth)


def _not_known(node: Node) -> Any:
    raise ValueNeeded(node, "Python needs the number of a tensor")


def _finish(
    tracer: Tracer, given: list[Tensor], nodes: list[Any], result: Any, started: float
) -> Read:
    form = form_of(result)
    leaves = [leaf_data(v, t) for v, t in form.leaves(result)]
    writes: list[Any] = [i for i, t in enumerate(given) if t._data is not nodes[i]]
    updates: list[Any] = [given[i]._data for i in writes]
    for bound in tracer.inputs.values():
        if bound.tensor._data is not bound.node:
            writes.append(bound.tensor)
            updates.append(bound.tensor._data)
    for place, before in tracer.store.journals[0].before.values():
        if isinstance(place, Numbers) and id(place.tensor) not in tracer.inputs:
            if place.tensor._data is not before._data and not isinstance(before._data, Node):
                writes.append(place.tensor)
                updates.append(place.tensor._data)
            place.write(before)
    drawn = tracer.world["<drawn>"]
    rest = [drawn._data] if isinstance(drawn, Number) else []
    token = tracer.world.get("<token>")
    needed = tracer.world.get("<needed>")
    unbound = tracer.world.get("<unbound>")
    for extra in (needed, unbound, token):
        rest += [extra._data] if extra is not None else []
    outputs = tuple([o if isinstance(o, Node) else constant(o) for o in (*leaves, *updates, *rest)])
    graph = tracer.root.graph
    tracer.root.finish(tracer.root.tuple(tuple(narrow(tracer, roll(tracer, outputs)))))
    by_node = {bound.node: Input(Source.STATE, bound.tensor) for bound in tracer.inputs.values()}
    by_node |= {node: Input(Source.ARGUMENT, i) for i, node in enumerate(nodes)}
    if tracer.key is not None:
        by_node[tracer.key] = Input(Source.RANDOM)
    plain = Program(
        graph,
        tuple(by_node[p] for p in graph.parameters),
        len(leaves),
        tuple(writes),
        None if isinstance(drawn, Number) else drawn,
        None if needed is None else tracer.capacity,
        () if unbound is None else tuple(tracer.unbound),
    )
    read_in = perf_counter() - started
    stages: list[tuple[str, Graph]] = [("read", graph)]
    better = _optimized(graph, stages)
    seconds = {"read": read_in, "optimise": perf_counter() - started - read_in}
    for tensor in tracer.captured.values():
        tracer.guards.tensor(tensor)
    for cell in tracer.cells.values():
        tracer.guards.network(cell)
    program = replace(plain, graph=better)
    return Read(program, plain, form, tracer.guards, seconds, stages, tracer.narrowed)


def _optimized(graph: Graph, stages: list[tuple[str, Graph]]) -> Graph:
    """A better copy; `stages` gets a copy after each pass that did something, if files want it."""

    def report(name: str, _: float, made: int, after: Graph) -> None:
        if made and settings.current().save_graphs >= 2:
            stages.append((name, snapshot(after)))

    better = optimize(snapshot(graph), report)
    stages.append(("optimized", better))
    return better


def read_lazily(fn: Callable[..., Any], name: str, args: Any, kwargs: Any, segments: Any) -> Any:
    """Run `fn` in the vm: Python decides, and `segments` computes what it asks for."""
    tracer = Tracer(name)
    tracer.materialized = segments.values
    tracer.key = tracer.root.parameter("random", KEY)
    segments.values[tracer.key] = peek_key()

    def given(value: Any) -> Any:
        if type(value) is Tensor:
            node = tracer.root.parameter("x", type_of_array(value._data))
            segments.values[node] = value._data
            return Tensor._wrap(node)
        if type(value) in (tuple, list):
            return type(value)(given(v) for v in value)
        return value

    try:
        with tracer.active(_call_plainly, segments.force):
            result = fn(*given(args), **{k: given(v) for k, v in kwargs.items()})
            nodes = [t._data for t in _nodes_in(result)]
            written = [b for b in tracer.inputs.values() if b.tensor._data is not b.node]
            arrays = segments.arrays([*nodes, *(b.tensor._data for b in written)])
            drawn = int(tracer.world["<drawn>"])
    finally:
        tracer.undo_log.undo()
    owner, name, before = drawing()
    tensors = [bound.tensor for bound in written]
    new = zip(tensors, repeat("_data"), arrays[len(nodes) :], strict=False)
    assign_at_once([*new, (owner, name, before + drawn)])
    found = dict(zip(nodes, arrays, strict=False))
    return _with_arrays(result, found)


def _call_plainly(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _nodes_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value] if isinstance(value._data, Node) else []
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _nodes_in(v)]
    return [t for v in value.values() for t in _nodes_in(v)] if isinstance(value, dict) else []


def _with_arrays(value: Any, found: dict[Node, Any]) -> Any:
    if isinstance(value, Tensor):
        return Tensor._wrap(found[value._data]) if isinstance(value._data, Node) else value
    if isinstance(value, (tuple, list)):
        return type(value)([_with_arrays(v, found) for v in value])
    if isinstance(value, dict):
        return {k: _with_arrays(v, found) for k, v in value.items()}
    return value
