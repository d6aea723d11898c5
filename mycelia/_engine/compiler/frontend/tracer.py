"""The tracer: operators called while it is active become nodes of its graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any
from weakref import ref

import numpy as np

from mycelia._engine.compiler.frontend.constant_arguments import (
    FOLDED,
    check_static,
    is_known,
    is_outer_view,
    is_small,
    known_array,
    promote_numbers,
)
from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder, constant, type_of_array
from mycelia._engine.compiler.frontend.guards import Guards
from mycelia._engine.compiler.frontend.hooks import hook_tensor
from mycelia._engine.compiler.frontend.mutation_journal import (
    ContainerLocation,
    JournaledStore,
    Key,
    OuterLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.path_conflict import PathConflict, conflict_error
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, convert
from mycelia._engine.compiler.frontend.type_inference import result_type
from mycelia._engine.core import settings
from mycelia._engine.core.atomic_assignment import UndoLog
from mycelia._engine.core.dtype import bool_, uint32
from mycelia._engine.core.errors import located
from mycelia._engine.core.source_location import Span, user_span
from mycelia._engine.ir.control_flow import Custom, Effect
from mycelia._engine.ir.handlers import Handlers, handlers
from mycelia._engine.ir.node import GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.index_bounds import check
from mycelia.ops.elementwise.arithmetic import Add, maximum
from mycelia.ops.indexing.assign import Replacement
from mycelia.ops.shapes.concat import Stack
from mycelia.ops.shapes.reshape import Cast
from mycelia.tensor.consumed_array import check_not_consumed
from mycelia.tensor.promotion import have_same_dtype, not_a_tensor, promote
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import relate, root_of

TOKEN = TensorType(bool_, ())
KEY = TensorType(uint32, (2,))
_REPLACEMENT = Replacement.of()


@dataclass(frozen=True, eq=False)
class TracedInput:
    """A parameter as an input of the program, with the array it holds outside."""

    tensor: Tensor
    node: GraphParameter
    array: Any
    shared: bool


class _ActiveTracer(threading.local):
    tracer: Tracer | None = None


_ACTIVE = _ActiveTracer()


def active_tracer() -> Tracer | None:
    """The tracer that is active in this thread, or None."""
    return _ACTIVE.tracer


class Tracer:
    """The state of tracing one program: current graph, mutation journal, inputs, and effects."""

    def __init__(self, name: str, capacity: int = 64, allowed: int | None = None) -> None:
        self.capacity = capacity  # of the stacks that store residuals of loops
        self.allowed = allowed  # bytes of residuals that gradients may store
        self.root = self.builder = GraphBuilder(name)
        self.store = JournaledStore(self._remember)
        self.span: Span | None = None
        self.inputs: dict[int, TracedInput] = {}
        self.world: dict[str, Any] = {"<drawn>": 0}
        self.captured: dict[int, Tensor] = {}
        self.guards = Guards()
        self.unbound: list[tuple[str, Span | None]] = []  # uses of possibly unbound variables
        self.key: GraphParameter | None = None
        self.materialized: dict[GraphNode, Any] | None = None  # in the VM: the values known so far
        self.given: dict[int, int] = {}  # container id to index among the arguments
        self.arguments: list[Tensor] = []
        self.created: dict[int, Tensor] = {}  # tensors that tracing created
        self.kept_inputs: dict[int, Tensor] = {}  # inputs held by attributes and containers
        self.kept: list[Any] = []  # kept alive because they are identified by id
        self._outside: dict[Key, OuterLocation] = {}
        self.state: set[Key] = set()  # outside locations whose values are inputs
        self._wrapped: list[ref[Tensor]] = []  # in the VM: tensors created and written
        self.cells: dict[int, Any] = {}  # called cells, whose flags are guarded
        self.undo_log = UndoLog()  # the data of outside tensors, and the handlers of the thread
        self.narrowed = 0  # number of operators reduced by slice pushdown
        self.depth = 0  # number of enclosing run-time branches and loops

    # ---- activation -------------------------------------------------------------------------

    @contextmanager
    def active(
        self,
        call: Callable[..., Any],
        force: Callable[[GraphNode], Any],
        enclosed: Callable[[Any, Callable[[], Any]], Any] | None = None,
        when: Callable[[Any, Callable[[], None]], None] | None = None,
    ) -> Iterator[None]:
        """Route operators, tensor writes, and user functions of this thread to this tracer.

        An interruption may skip the end of the block; `undo_log.undo` then restores the state.
        """
        names = (
            "dispatch",
            "force",
            "before_write",
            "replacement",
            "call",
            "effect",
            "enclosed",
            "when",
            "rely",
            "hook",
        )
        before = {name: getattr(handlers, name) for name in names}
        self.undo_log.note(handlers, *names)
        self.undo_log.note(_ACTIVE, "tracer")
        outer, _ACTIVE.tracer = _ACTIVE.tracer, self
        handlers.dispatch, handlers.force = self.dispatch, force
        handlers.before_write, handlers.call, handlers.enclosed = self.before_write, call, enclosed
        handlers.replacement = None if self.materialized is not None else self.replacement
        handlers.effect = None if self.materialized is not None else self.effect_on_tensors
        handlers.when, handlers.rely = when, self.guards.fact
        handlers.hook = partial(hook_tensor, self)
        try:
            yield
        finally:
            _ACTIVE.tracer = outer
            for name, door in before.items():
                setattr(handlers, name, door)
            for bound in self.inputs.values():
                bound.tensor._data, bound.tensor._shared = bound.array, bound.shared

    @contextmanager
    def building(self, builder: GraphBuilder) -> Iterator[None]:
        """Add new nodes to `builder` inside the block."""
        before = self.builder
        self.builder = builder
        try:
            yield
        finally:
            self.builder = before

    # ---- operators --------------------------------------------------------------------------

    def dispatch(self, op: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle an operator call: add a node, or evaluate it if its inputs are constant."""
        result = self._dispatch(op, args, kwargs)
        if not op.writes and op.view is None:
            for part in result if type(result) is tuple else (result,):
                if type(part) is Tensor:
                    self.created_tensor(part)
        return result

    def created_tensor(self, tensor: Tensor) -> None:
        """Record that tracing created a tensor, symbolic or constant."""
        self.store.made(tensor)
        self.created[id(tensor)] = tensor

    def is_new_leaf(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of the program: symbolic, or a constant made by tracing.

        Each call returns such a constant as a new tensor: callers may write to it.
        """
        return isinstance(tensor._data, GraphNode) or id(root_of(tensor)) in self.created

    def _relate(
        self, op: Primitive, data: tuple[Any, ...], static: tuple[Any, ...], result: Any
    ) -> Any:
        """`result`, linked to its base tensor if `op` creates a view."""
        if op.view is not None and isinstance(data[0], Tensor):
            relate(op, data[0], data[1:], static, result)
            self.store.made_views(result if isinstance(result, tuple) else (result,))
        return result

    def _dispatch(self, op: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        data, static = op.arguments.bind(op.name, args, kwargs)
        for value in static:
            check_static(op, value)
        if self._foldable(op, data, static):
            self._rely_on(data)
            return self._relate(op, data, static, Handlers.dispatch(op, args, kwargs))
        data = tuple(
            [a.strong if isinstance(a, SymbolicNumber) else a for a in self._promoted(op, data)]
        )
        if op.bounds is not None and not self.depth and settings.current().check_indices:
            check(op, op.arguments.merge(data, static), known_array)
        if op.host_only:
            return self._run_on_host(op, data, static)
        if op.draws:
            data = (*data, self.next_key())
        result = self.apply(op, [self.node(op, a) for a in data], static)
        if not op.writes:
            return self._relate(op, data, static, self.wrap(result))
        value, updates = self.wrap(result)
        self._write(op, data, updates)
        return data[op.arguments.names.index(op.writes[0])] if value is None else value

    def _run_on_host(self, op: Primitive, data: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
        """Run an operator whose result shape depends on values; only the VM knows them."""
        nodes = [self.node(op, a) for a in data]
        if self.materialized is None:
            why = f"the result shape of {op.name} depends on runtime values"
            raise GraphBreak(
                next((n for n in nodes if not isinstance(n, GraphConstant)), None), why
            )
        known = tuple([Tensor._wrap(np.asarray(n)) if n.type is not None else None for n in nodes])
        found = Handlers.dispatch(op, op.arguments.merge(known, static), {})
        parts = found if isinstance(found, tuple) else (found,)
        types = tuple([type_of_array(p._data) for p in parts])
        args = tuple(
            [
                a if isinstance(a, GraphNode) else GraphConstant(a)
                for a in op.arguments.merge(tuple(nodes), static)
            ]
        )
        type_ = types if isinstance(found, tuple) else types[0]
        node = self.builder.apply(op, args, type_, self.span)
        items = (
            [self.builder.item(node, i) for i in range(len(parts))]
            if isinstance(found, tuple)
            else [node]
        )
        for item, part in zip(items, parts, strict=True):
            self.materialized[item] = part._data
        return self.wrap(node)

    def apply(self, op: Primitive, nodes: list[GraphNode], static: tuple[Any, ...]) -> GraphNode:
        """Add an application of `op` to the current graph."""
        type_ = result_type(op, tuple([n.type for n in nodes]), static)
        merged = op.arguments.merge(tuple(nodes), static)
        args = tuple([a if isinstance(a, GraphNode) else GraphConstant(a) for a in merged])
        span = user_span() if self.span is None and op.bounds is not None else self.span
        return self.builder.apply(op, args, type_, span)

    def wrap(self, node: GraphNode) -> Any:
        """A node as a Python value: a tensor, None, or a tuple."""
        return self._wrap(node, node.type)

    def _wrap(self, node: GraphNode, type_: Any) -> Any:
        if isinstance(type_, tuple):
            return tuple([self.wrap(self.builder.item(node, i)) for i in range(len(type_))])
        if type_ is None:
            return None
        tensor = Tensor._wrap(node)
        if self.materialized is not None:
            self._wrapped.append(ref(tensor))
        return tensor

    def node(self, op: Primitive, value: Any) -> GraphNode:
        """The node of an operator argument."""
        if isinstance(value, Tensor):
            return self.data_node(value)
        if value is None:
            return GraphConstant(None)
        if isinstance(value, np.generic | np.ndarray):
            return constant(value)
        if isinstance(value, (tuple, list)) and op.takes_sequences:
            return self.builder.tuple(tuple([self.node(op, v) for v in value]))
        if isinstance(value, PathConflict):
            raise conflict_error(value)
        raise not_a_tensor(op, value)

    def data_node(self, tensor: Tensor) -> GraphNode:
        """The node of a tensor: its node if symbolic, an input for a parameter, else a constant."""
        data = self.bound(tensor)._data
        if isinstance(data, GraphNode):
            return self.builder.local(data)
        self.captured.setdefault(id(tensor), tensor)
        return constant(data)

    def bound(self, value: Any) -> Any:
        """`value`; a tensor that other code may change becomes an input of the program."""
        if not isinstance(value, Tensor) or id(value) in self.inputs:
            return value
        if not (value._is_parameter or value._shared or is_outer_view(value)):
            return value
        return self.bind(value)

    def bind(self, value: Tensor) -> Tensor:
        """Make a tensor from outside an input of the program."""
        if id(value) in self.inputs or isinstance(value._data, GraphNode):
            return value
        check_not_consumed(value._data)
        name = getattr(value, "name", "shared")
        node = self.root.parameter(name, type_of_array(value._data))
        self.inputs[id(value)] = TracedInput(value, node, value._data, value._shared)
        if self.materialized is not None:
            self.materialized[node] = value._data
        self.undo_log.note(value, "_data", "_shared")
        value._data = node
        return value

    # ---- attributes and containers outside ----------------------------------------------------

    def take(self, containers: list[Any], tensors: list[Tensor]) -> None:
        """Register the stand-ins for the arguments of the program."""
        self.given |= {id(container): i for i, container in enumerate(containers)}
        self.kept += containers
        self.arguments += tensors

    def write_outside(self, place: OuterLocation, value: Any) -> None:
        """Write a location from outside; an interruption restores it."""
        self.note_outside(place)
        place.write(value)

    def note_outside(self, place: OuterLocation) -> None:
        """Record a location from outside that is about to change."""
        if place.key not in self._outside:
            self._outside[place.key] = place
            self.undo_log.note_calls(*place.writing_calls(place.read()))
        self.store.note(place)

    def is_changed(self, place: OuterLocation) -> bool:
        """Whether the program has written an outside location, or has its value as an input."""
        return place.key in self._outside

    def changed_names(self, holder: dict[str, Any]) -> frozenset[str]:
        """The attributes of an object that the program writes or has as inputs."""
        entries = [p for p in self._outside.values() if isinstance(p, VariableLocation)]
        return frozenset(p.name for p in entries if p.holder is holder)

    def has_read(self, place: OuterLocation) -> bool:
        """Whether the program depends on the old value of a location."""
        if not isinstance(place, VariableLocation) or place.key in self.store.read:
            return True
        return self.guards.has_entry(place.holder, place.name)

    def is_traced(self, version: Tensor) -> bool:
        """Whether the data of a tensor is a node of the program."""
        return isinstance(version._data, GraphNode)

    def is_outer(self, value: Any) -> bool:
        """Whether a container or object existed before the program and is not a stand-in."""
        held = value if isinstance(value, CONTAINERS) else getattr(value, "__dict__", None)
        if self.store.owns(held) or id(held) in self.given:
            return False
        is_place = ContainerLocation(held, self.store.stale).key in self._outside
        return is_place or not self._holds_traced(held)

    def _holds_traced(self, value: Any) -> bool:
        """Whether a container holds tensors or numbers of the program."""
        if isinstance(value, Tensor):
            is_traced = isinstance(value._data, GraphNode)
            return is_traced and id(value) not in self.inputs and id(value) not in self.kept_inputs
        if isinstance(value, dict):
            return any(map(self._holds_traced, value.values()))
        return isinstance(value, (tuple, *CONTAINERS)) and any(map(self._holds_traced, value))

    def _remember(self, tensor: Tensor) -> None:
        """Log the data of a tensor from outside, for restoring it."""
        if not isinstance(tensor._data, GraphNode):
            self.undo_log.note(tensor, "_data", "_shared")

    def before_write(self, tensor: Tensor) -> None:
        self._remember(tensor)
        if self.materialized is not None:
            self._wrapped.append(ref(tensor))
        self.store.note_tensor(self.bound(tensor))

    def left(self) -> list[Tensor]:
        """The live tensors that a run of the VM created or wrote."""
        bound = [b.tensor for b in self.inputs.values() if b.tensor._data is b.node]
        untouched = set(map(id, bound))
        written = [b.tensor for b in self.inputs.values() if b.tensor._data is not b.node]
        alive = [tensor for one in self._wrapped if (tensor := one()) is not None]
        found = {id(t): t for t in (*alive, *written) if id(t) not in untouched}
        return list(found.values())

    def _rely_on(self, value: Any) -> None:
        """Guard the values of constant tensors from outside that the program depends on."""
        if isinstance(value, (tuple, list)):
            for part in value:
                self._rely_on(part)
        elif isinstance(value, Tensor) and not self.store.is_new(value):
            self.captured.setdefault(id(value), value)

    def _promoted(self, op: Primitive, data: tuple[Any, ...]) -> tuple[Any, ...]:
        if not op.promotes:
            return data
        if any(isinstance(a, SymbolicNumber) for a in data):
            return promote_numbers(op, data)
        return data if have_same_dtype(data) else promote(op, data)

    def _foldable(self, op: Primitive, data: tuple[Any, ...], static: tuple[Any, ...]) -> bool:
        if op.draws or op.writes or op.host is None:
            return False
        if op.bounds is not None and self.depth:  # an invalid index may never be reached
            return False
        if op.host_only:
            return all(map(is_known, data))
        if not all(is_known(a) and is_small(a) for a in data):
            return False
        return bool(data) or prod(result_type(op, (), static).shape) <= FOLDED

    def _write(self, op: Primitive, data: tuple[Any, ...], updates: Any) -> None:
        for name, update in zip(op.writes, updates, strict=True):
            target = data[op.arguments.names.index(name)]
            if update is None:
                continue
            if isinstance(target, Tensor):
                target._replace(update._data)
            else:
                for one, new in zip(target, update, strict=True):
                    one._replace(new._data)

    # ---- effects: random numbers, printing --------------------------------------------------

    def next_key(self) -> Tensor:
        """A fresh random key: the program's key plus the number of previous draws."""
        if self.key is None:
            self.key = self.root.parameter("random", KEY)
        drawn = self.world["<drawn>"] + 1
        self.store.write(VariableLocation(self.world, "<drawn>"), drawn)
        if isinstance(drawn, SymbolicNumber):
            zero = Tensor._wrap(np.zeros((), np.uint32))
            step = Stack.of()((zero, Cast.of()(drawn.strong, uint32)))
        else:
            step = Tensor._wrap(np.array([0, drawn], np.uint32))
        return Add.of()(Tensor._wrap(self.key), step)

    def with_backward(
        self, inputs: list[Tensor], value: Any, backward: Callable[..., Any], title: str
    ) -> Any:
        """`value` (a tensor or tuple) with a custom gradient function for `inputs`.

        `backward` accepts the gradient of the value, and which inputs need a gradient.
        """
        several = isinstance(value, (tuple, list))
        parts = [self.data_node(v) for v in (value if several else (value,))]
        whole = self.builder.tuple(tuple(parts)) if several else parts[0]
        args = (*(self.data_node(i) for i in inputs), whole)
        return self.wrap(self.builder.apply(Custom(backward, title), args, whole.type, self.span))

    def replacement(self, tensor: Tensor, array: Any) -> Any:
        """An array that replaces a tensor's array and passes its gradient on to the old one."""
        before, type_ = tensor._data, type_of_array(array)
        if not isinstance(before, GraphNode) or before.type != type_ or not type_.dtype.is_float:
            return array
        node = self.builder.local(array) if isinstance(array, GraphNode) else constant(array)
        args = (self.builder.local(before), node)
        return self.builder.apply(_REPLACEMENT, args, type_, self.span)

    def effect_on_tensors(
        self, run: Callable[..., None], title: str, values: tuple[Any, ...]
    ) -> None:
        """Like `effect`, for a function that accepts tensors."""

        def run_on_arrays(*arrays: Any) -> None:
            run(*[Tensor._wrap(np.asarray(a)) for a in arrays])

        self.effect(run_on_arrays, title, list(values))

    def effect(self, run: Callable[..., None], title: str, values: list[Any]) -> None:
        """Call `run` with the arrays of `values` when the program reaches this point."""
        token = self.world.get("<token>")
        if token is None:
            token = Tensor._wrap(np.zeros((), bool))
        args = (self.data_node(token), *(self.data_node(v) for v in values))
        node = self.builder.apply(Effect(run, title), args, TOKEN, self.span)
        self.store.write(VariableLocation(self.world, "<token>"), Tensor._wrap(node))

    def pending(self) -> list[GraphNode]:
        """The nodes besides the results that the program must compute so far: writes, effects."""
        values = [b.tensor for b in self.inputs.values() if b.tensor._data is not b.node]
        values += [v for v in self.world.values() if isinstance(v, Tensor)]
        return [value._data for value in values if isinstance(value._data, GraphNode)]

    def note_needed(self, size: Tensor) -> None:
        """Report the required stack capacity from the program."""
        before = self.world.get("<needed>")
        most = size if before is None else maximum(before, size)
        self.store.write(VariableLocation(self.world, "<needed>"), most)

    def note_unbound(self, name: str, is_unbound: SymbolicNumber) -> None:
        """Report from the program whether it used a variable without a value."""
        self.unbound.append((name, self.span))
        number = convert(is_unbound, int) * len(self.unbound)
        before = self.world.get("<unbound>")
        found = number if before is None else convert(maximum(before.strong, number.strong), int)
        self.store.write(VariableLocation(self.world, "<unbound>"), found)


def unbound_error(name: str, span: Span | None) -> Exception:
    """The error for a variable that is used before it has a value."""
    return located(
        UnboundLocalError,
        f"the name {name!r} has no value here",
        fix="assign it on every path before it is used",
        span=span,
    )
