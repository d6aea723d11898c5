"""Tracing a function to a program, and optimizing its graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.graph_builder import constant
from mycelia._engine.compiler.frontend.guards import Guards
from mycelia._engine.compiler.frontend.interpreter.trace_stack import with_stack
from mycelia._engine.compiler.frontend.mutation_journal import MISSING
from mycelia._engine.compiler.frontend.path_conflict import PathConflict, conflict_error
from mycelia._engine.compiler.frontend.program_state import (
    ProgramState,
    ResultAliases,
    StateChange,
    StateFound,
    changes_anything,
    changes_of,
    refuse_unfinished,
    stand_in_for_state,
)
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber
from mycelia._engine.compiler.frontend.tracer import KEY, Tracer
from mycelia._engine.compiler.frontend.value_structure import (
    Structure,
    containers_in,
    leaf_data,
    leaf_type,
    output_structure_of,
)
from mycelia._engine.compiler.passes.layers_to_scan import roll_layers
from mycelia._engine.compiler.passes.memory_estimate import type_bytes
from mycelia._engine.compiler.passes.pipeline import optimize
from mycelia._engine.compiler.slice_pushdown.pushdown import push_down_slices
from mycelia._engine.core import settings
from mycelia._engine.core.atomic_assignment import assign_atomically
from mycelia._engine.core.errors import IndexOutOfRangeError
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.core.pending_checks import wait_for_checks
from mycelia._engine.core.seed import drawing, peek_key
from mycelia._engine.core.source_location import traced_source
from mycelia._engine.core.tracebacks import mark_call
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.program import InputSource, Program, ProgramInput
from mycelia._engine.ir.program_copy import copy_program
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor

if TYPE_CHECKING:
    from mycelia._engine.compiler.frontend.interpreter import interpreter as source_reader
else:
    source_reader = LazyModule("mycelia._engine.compiler.frontend.interpreter.interpreter")

DEEPEST = 20_000  # recursion limit while tracing: each nested user call needs several frames


@dataclass(eq=False)
class TracedProgram:
    """A function traced for one structure of arguments."""

    program: Program
    plain: Program  # before the passes; this one is differentiated
    result: Structure
    guards: Guards
    seconds: dict[str, float]  # by stage
    stages: list[tuple[str, Graph]]
    narrowed: int = 0  # operators reduced by slice pushdown
    changes: tuple[
        StateChange, ...
    ] = ()  # of attributes and containers; their leaves follow the result
    identities: ResultAliases = field(default_factory=lambda: ResultAliases({}, {}))
    constants: frozenset[int] = frozenset()  # ids of tensors used as constants
    restores: bool = False  # whether a call writes state, or restores aliases in its result


def trace(
    fn: Callable[..., Any],
    name: str,
    arguments: Structure,
    capacity: int = 64,
    budget: int | None = None,
    state: ProgramState | None = None,
    firsts: tuple[int, ...] = (),
) -> TracedProgram:
    """Trace `fn` to a program whose inputs are the leaves of `arguments`, a pair (args, kwargs).

    If `state` has locations, their values are the third element of `arguments`. Raises StateFound
    if there is more state. `firsts` maps each leaf to the first leaf that is the same tensor; it is
    empty if all differ.

    If the program might need more memory than `budget` (by default that of the settings), it is
    traced again, and gradients store only residuals that fit besides the inputs.
    """
    state = state or ProgramState.empty()
    found = _trace(fn, name, arguments, capacity, None, state, firsts)
    budget = settings.memory_budget() if budget is None else budget
    if budget is None:
        return found
    given = sum(type_bytes(p.type) for p in found.program.graph.parameters)
    return _trace(fn, name, arguments, capacity, max(budget - given, 0), state, firsts)


def _trace(
    fn: Callable[..., Any],
    name: str,
    arguments: Structure,
    capacity: int,
    allowed: int | None,
    state: ProgramState,
    firsts: tuple[int, ...],
) -> TracedProgram:
    started = perf_counter()
    tracer = Tracer(name, capacity, allowed)
    interpreter = source_reader.Interpreter(tracer)
    targets = [target for _, target in arguments.leaves(MISSING)]
    nodes = [tracer.root.parameter(f"x{i}", leaf_type(t)) for i, t in enumerate(targets)]
    given = [Tensor._wrap(node) for node in nodes]
    given = [given[first] for first in firsts or range(len(given))]
    outer_span, traced_source.span = traced_source.span, lambda: tracer.span
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, DEEPEST))
    try:
        with tracer.active(
            interpreter.call_from_python, _not_known, interpreter.enclosed, interpreter.when
        ):
            stand_in_for_state(tracer, arguments, state, given, firsts)
            args, kwargs, *values = arguments.build(iter(given))
            tracer.take(containers_in(arguments, (args, kwargs, *values)), given)
            state.enter(tracer, values[0] if values else ())
            result = interpreter.call(fn, args, kwargs)
            if isinstance(result, PathConflict):
                raise conflict_error(result)
            return _finish(tracer, given, nodes, result, started)
    except (GraphBreak, StateFound):
        raise
    except Exception as error:
        if changes_anything(tracer):
            why = f"it raises {type(error).__name__} after it has changed state"
            raise GraphBreak(None, why) from error
        raise with_stack(error) from error.__cause__
    finally:
        tracer.undo_log.undo()
        traced_source.span = outer_span
        sys.setrecursionlimit(depth)


def _not_known(node: GraphNode) -> Any:
    raise GraphBreak(node, "Python needs the value of a tensor")


def _finish(
    tracer: Tracer, given: list[Tensor], nodes: list[Any], result: Any, started: float
) -> TracedProgram:
    refuse_unfinished(result)
    form = output_structure_of(result, tracer.is_outer, tracer.is_new_leaf)
    changes, changed = changes_of(tracer)
    found = [*form.leaves(result), *changed]
    identities = ResultAliases.of([value for value, _ in found], given)
    leaves = [leaf_data(v, t) for v, t in found]
    firsts = {id(t): i for i, t in reversed([*enumerate(given)])}
    writes: list[Any] = [i for i in sorted(firsts.values()) if given[i]._data is not nodes[i]]
    updates: list[Any] = [given[i]._data for i in writes]
    for bound in tracer.inputs.values():
        if bound.tensor._data is not bound.node:
            writes.append(bound.tensor)
            updates.append(bound.tensor._data)
    drawn = tracer.world["<drawn>"]
    rest = [drawn._data] if isinstance(drawn, SymbolicNumber) else []
    token = tracer.world.get("<token>")
    needed = tracer.world.get("<needed>")
    unbound = tracer.world.get("<unbound>")
    for extra in (needed, unbound, token):
        rest += [extra._data] if extra is not None else []
    outputs = tuple(
        [o if isinstance(o, GraphNode) else constant(o) for o in (*leaves, *updates, *rest)]
    )
    graph = tracer.root.graph
    tracer.root.finish(
        tracer.root.tuple(tuple(push_down_slices(tracer, roll_layers(tracer, outputs))))
    )
    by_node = {
        bound.node: ProgramInput(InputSource.STATE, bound.tensor)
        for bound in tracer.inputs.values()
    }
    by_node |= {node: ProgramInput(InputSource.ARGUMENT, i) for i, node in enumerate(nodes)}
    if tracer.key is not None:
        by_node[tracer.key] = ProgramInput(InputSource.RANDOM)
    plain = Program(
        graph,
        tuple(by_node[p] for p in graph.parameters),
        len(leaves),
        tuple(writes),
        None if isinstance(drawn, SymbolicNumber) else drawn,
        None if needed is None else tracer.capacity,
        () if unbound is None else tuple(tracer.unbound),
    )
    read_in = perf_counter() - started
    stages: list[tuple[str, Graph]] = [("read", graph)]
    better = _optimized(graph, stages)
    seconds = {"read": read_in, "optimise": perf_counter() - started - read_in}
    for tensor in tracer.captured.values():
        tracer.guards.tensor(tensor)
    tracer.store.journals[0].take_back()
    for cell in tracer.cells.values():
        tracer.guards.network(cell, tracer.changed_names(cell.__dict__))
    program = replace(plain, graph=better)
    return TracedProgram(
        program,
        plain,
        form,
        tracer.guards,
        seconds,
        stages,
        tracer.narrowed,
        tuple(changes),
        identities,
        frozenset(tracer.captured),
        bool(changes or identities.arguments or identities.results),
    )


def _optimized(graph: Graph, stages: list[tuple[str, Graph]]) -> Graph:
    """An optimized copy; with `save_graphs`, `stages` receives a copy after each effective pass."""

    def report(name: str, _: float, made: int, after: Graph) -> None:
        if made and settings.current().save_graphs >= 2:
            stages.append((name, copy_program(after)))

    better = optimize(copy_program(graph), report)
    stages.append(("optimized", better))
    return better


def run_in_vm(fn: Callable[..., Any], name: str, args: Any, kwargs: Any, segments: Any) -> Any:
    """Run `fn` in the VM: Python executes control flow, and `segments` runs compiled segments.

    Afterwards, all live tensors have values, even if `fn` raised. If an index was out of range,
    tensors from before the call have their old values.
    """
    tracer = Tracer(name)
    tracer.materialized = segments.values
    tracer.key = tracer.root.parameter("random", KEY)
    segments.values[tracer.key] = peek_key()
    raised: Exception | None = None
    try:
        with tracer.active(_call_plainly, segments.force):
            for tensor in tensors_of((args, kwargs)):
                tracer.bind(tensor)
            try:
                result = fn(*args, **kwargs)
            except Exception as error:
                raised, result = error, None
            finished = tracer.left()
            nodes = [t._data for t in finished if isinstance(t._data, GraphNode)]
            known = dict(zip(nodes, segments.arrays(nodes), strict=True))
            arrays = [
                known.get(t._data, t._data) if isinstance(t._data, GraphNode) else t._data
                for t in finished
            ]
            drawn = int(tracer.world["<drawn>"])
            try:
                wait_for_checks()
            except IndexOutOfRangeError as error:
                raised = error
    finally:
        tracer.undo_log.undo()
    owner, place, before = drawing()
    old = tracer.inputs.keys() if isinstance(raised, IndexOutOfRangeError) else ()
    pairs = zip(finished, arrays, strict=True)
    new = [(tensor, "_data", array) for tensor, array in pairs if id(tensor) not in old]
    assign_atomically([*new, (owner, place, before + drawn)])
    if raised is not None:
        raise raised
    return result


def _call_plainly(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return fn(*args, **kwargs)
    except TypeError as error:
        mark_call(error)
        raise
