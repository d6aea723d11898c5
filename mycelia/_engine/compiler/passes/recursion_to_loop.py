"""Recursion as a loop: a graph that calls itself becomes a state machine with explicit stacks.

The graph is split at its calls. One iteration of the loop runs from the start, or from after a
call, to the next call or the end; values needed after a call are saved on stacks. A call whose
result is the caller's result needs no stack, so tail recursion becomes a plain loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia._engine.compiler.autodiff.reverse_mode import zeros_of
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder, constant
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.core.dtype import int32, int64
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import (
    CALL,
    SWITCH,
    WHILE,
    Item,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.types import TensorType
from mycelia.ops.control.loop_stack import StackRead, StackWrite
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.where import select
from mycelia.tensor.tensor import Tensor

_INDEX = TensorType(int64, ())
_READ, _WRITE = StackRead.of(), StackWrite.of()
_DONE = -1


@dataclass(frozen=True, eq=False)
class Continuation:
    """The code after a control node: the rest of its graph, then of the enclosing ones."""

    node: Apply
    graph: Graph
    position: int
    outer: Continuation | None


@dataclass(eq=False)
class ControlFlowOrder:
    """The control nodes of each graph in order, and the number of those before each node."""

    control: dict[Graph, list[Apply]] = field(default_factory=dict)
    level: dict[GraphNode, int] = field(default_factory=dict)
    rests: dict[Apply, Continuation] = field(default_factory=dict)  # of each call
    saved: dict[Apply, list[GraphNode]] = field(default_factory=dict)  # of each call


def recursion_to_loop(
    tracer: Tracer, graph: Graph, arguments: list[Any], varying: int
) -> GraphNode:
    """The results of the recursive `graph` for `arguments`; the first `varying` ones change."""
    shape = ControlFlowOrder()
    _study(graph, graph, None, shape)
    before: Any = None
    while before != {call: tuple(nodes) for call, nodes in shape.saved.items()}:
        before = {call: tuple(nodes) for call, nodes in shape.saved.items()}
        _StackMachine(tracer, graph, shape, varying).passes()  # finds what calls must save
    return _StackMachine(tracer, graph, shape, varying).run(arguments)


def _study(root: Graph, graph: Graph, outer: Continuation | None, shape: ControlFlowOrder) -> None:
    """Find the calls of `root` in `graph` and in its branches."""
    control: list[Apply] = []
    for node in ordered(graph):
        if not isinstance(node, Apply):
            shape.level[node] = 0
            continue
        level = max((shape.level[a] for a in node.args), default=0)
        if _calls(node, root):
            control.append(node)
            level = len(control)
            rest = Continuation(node, graph, level, outer)
            if primitive_of(node) is CALL:
                shape.rests[node] = rest
                shape.saved.setdefault(node, [])
            elif primitive_of(node) is WHILE:
                raise GraphBreak(None, f"{root.name} calls itself inside a loop of the program")
            else:
                for branch in graphs_of(node):
                    _study(root, branch, rest, shape)
        shape.level[node] = level
    for parameter in graph.parameters:
        shape.level[parameter] = 0
    shape.control[graph] = control


def _calls(node: Apply, root: Graph) -> bool:
    """Whether running this node may call `root`."""
    graphs = graphs_of(node)
    if primitive_of(node) is CALL:
        return graphs[0] is root
    return any(_calls(n, root) for g in graphs for n in ordered(g) if isinstance(n, Apply))


class _StackMachine:
    """Builds the loop; its state: program counter, depth, arguments, results, and stacks."""

    def __init__(self, tracer: Tracer, graph: Graph, shape: ControlFlowOrder, varying: int) -> None:
        self.tracer = tracer
        self.graph = graph
        self.shape = shape
        self.calls = [c for c in shape.rests if not self._is_tail(c)]
        self.argument_types = [p.type for p in graph.parameters[:varying]]
        self.fixed_types = [p.type for p in graph.parameters[varying:]]
        self.result_types = list(graph.output.type)
        self.slots: list[TensorType] = []
        self.places = {call: self._stacks_of(call) for call in self.calls}
        self.state_types = [
            _INDEX,
            _INDEX,
            _INDEX,
            *self.argument_types,
            *self.result_types,
            *([self._stacked(_INDEX)] if self.calls else []),
            *[self._stacked(t) for t in self.slots],
        ]

    def _stacks_of(self, call: Apply) -> list[int]:
        """A stack for each value that a call saves; calls share stacks of the same type."""
        free = dict.fromkeys(range(len(self.slots)))
        stacks = []
        for node in self.shape.saved[call]:
            stack = next((i for i in free if self.slots[i] == node.type), None)
            if stack is None:
                stack = len(self.slots)
                self.slots.append(node.type)
            else:
                del free[stack]
            stacks.append(stack)
        return stacks

    def _stacked(self, type_: TensorType) -> TensorType:
        return type_.with_shape((self.tracer.capacity, *type_.shape))

    def _is_tail(self, call: Apply) -> bool:
        """Whether the result of the call is the result of the graph."""
        rest: Continuation | None = self.shape.rests[call]
        expected: GraphNode = call
        while rest is not None:
            output = rest.graph.output
            parts = output.args if isinstance(output, Apply) else ()
            same = len(parts) == len(expected.type) and all(
                isinstance(p, Apply) and primitive_of(p) == Item(i) and p.args[0] is expected
                for i, p in enumerate(parts)
            )
            if not same:
                return False
            rest = rest.outer
            expected = rest.node if rest is not None else expected
        return True

    # ---- the loop ---------------------------------------------------------------------------

    def run(self, arguments: list[Any]) -> GraphNode:
        tracer = self.tracer
        graphs = self.passes()
        step = GraphBuilder(f"{self.graph.name}_pass")
        for type_ in (*self.state_types, *self.fixed_types):
            step.parameter("state", type_)
        nodes = step.graph.parameters
        with tracer.building(step):
            args = (Tensor._wrap(nodes[0]).astype(int32)._data, *graphs, *nodes)
            switch = step.apply(SWITCH, args, tuple(self.state_types))
            count = len(self.state_types)
            step.graph.output = step.tuple(tuple(step.item(switch, i) for i in range(count)))
        test = GraphBuilder(f"{self.graph.name}_runs")
        for parameter in nodes:
            test.parameter(parameter.name, parameter.type)
        with tracer.building(test):
            where, depth = (Tensor._wrap(p) for p in test.graph.parameters[:2])
            fits = depth <= np.int64(tracer.capacity) if self.calls else None
            is_running = where != _number(_DONE)
            whole = is_running if fits is None else is_running.logical_and(fits)
            test.graph.output = whole._data
        varying = len(self.argument_types)
        zero = constant(np.zeros((), np.int64))
        initial = [zero, zero, zero, *arguments[:varying]]
        initial += [tracer.data_node(zeros_of(t)) for t in self.state_types[len(initial) :]]
        args = (test.graph, step.graph, *initial, *arguments[varying:])
        loop = tracer.builder.apply(WHILE, args, tuple(self.state_types), tracer.span)
        if self.calls:
            tracer.note_needed(Tensor._wrap(tracer.builder.item(loop, 2)))
        first = 3 + varying
        results = [tracer.builder.item(loop, first + i) for i in range(len(self.result_types))]
        return tracer.builder.tuple(tuple(results))

    def passes(self) -> list[Graph]:
        """One graph from the start, and one from after each call; each maps state to state."""
        return [self._pass(None), *[self._pass(call) for call in self.calls]]

    def _pass(self, call: Apply | None) -> Graph:
        name = "start" if call is None else f"after_call_{self.calls.index(call) + 1}"
        builder = GraphBuilder(f"{self.graph.name}_{name}")
        for type_ in (*self.state_types, *self.fixed_types):
            builder.parameter("state", type_)
        with self.tracer.building(builder):
            path = _PathTracer(self, StackMachineState.of(self, builder.graph.parameters), call)
            nodes = path.start() if call is None else path.resume(call)
            builder.graph.output = builder.tuple(tuple(t for t in nodes))
        return builder.graph


@dataclass
class StackMachineState:
    """The state of the machine as tensors."""

    where: Tensor
    depth: Tensor
    deepest: Tensor
    arguments: list[Tensor]
    results: list[Tensor]
    returns: Tensor | None
    stacks: list[Tensor]
    fixed: list[Tensor]

    @staticmethod
    def of(machine: _StackMachine, nodes: Any) -> StackMachineState:
        tensors = [Tensor._wrap(n) for n in nodes]
        remaining = iter(tensors)
        where, depth, deepest = next(remaining), next(remaining), next(remaining)
        arguments = [next(remaining) for _ in machine.argument_types]
        results = [next(remaining) for _ in machine.result_types]
        returns = next(remaining) if machine.calls else None
        stacks = [next(remaining) for _ in machine.slots]
        return StackMachineState(
            where, depth, deepest, arguments, results, returns, stacks, list(remaining)
        )

    def nodes(self, tracer: Tracer) -> list[GraphNode]:
        """The state as graph nodes, the result of one iteration."""
        parts = [self.where, self.depth, self.deepest, *self.arguments, *self.results]
        parts += [self.returns] if self.returns is not None else []
        return [tracer.data_node(t) for t in (*parts, *self.stacks)]


class _PathTracer:
    """Traces the graph from the start or a call to the next call or the end."""

    def __init__(
        self, machine: _StackMachine, state: StackMachineState, resumed: Apply | None
    ) -> None:
        self.machine = machine
        self.shape = machine.shape
        self.tracer = machine.tracer
        self.state = state
        self.resumed = resumed
        self.positions: dict[Graph, int] = {}  # nodes before these positions were computed earlier
        self.restored: dict[GraphNode, GraphNode] = {}
        varying = len(machine.argument_types)
        self.fixed: dict[GraphNode, Any] = dict(
            zip(machine.graph.parameters[varying:], [t._data for t in state.fixed], strict=True)
        )

    def start(self) -> list[GraphNode]:
        parameters = self.machine.graph.parameters
        values: dict[GraphNode, Any] = dict(self.fixed)
        for parameter, tensor in zip(parameters, self.state.arguments, strict=False):
            values[parameter] = tensor._data
        return self.follow(self.machine.graph, 0, None, values)

    def resume(self, call: Apply) -> list[GraphNode]:
        rest: Continuation | None = self.shape.rests[call]
        first = rest
        while rest is not None:
            self.positions[rest.graph] = rest.position
            rest = rest.outer
        saved = self.shape.saved[call]
        places = self.machine.places[call]
        for node, stack in zip(saved, places, strict=True):
            self.restored[node] = _READ(self.state.stacks[stack], self.state.depth)._data
        values: dict[GraphNode, Any] = dict(self.fixed) | dict(self.restored)
        values[call] = [t._data for t in self.state.results]
        assert first is not None
        return self.follow(first.graph, first.position, first.outer, values)

    def follow(
        self, graph: Graph, position: int, outer: Continuation | None, values: dict[GraphNode, Any]
    ) -> list[GraphNode]:
        """Run the rest of a graph after its first `position` control nodes."""
        control = self.shape.control[graph]
        if position < len(control):
            node = control[position]
            if primitive_of(node) is CALL:
                return self._call(node, values)
            return self._switch(node, Continuation(node, graph, position + 1, outer), values)
        output = graph.output
        parts = output.args if isinstance(output, Apply) else ()
        results = [self.value(p, values) for p in parts]
        if outer is None:
            return self._return(results)
        values[outer.node] = results
        return self.follow(outer.graph, outer.position, outer.outer, values)

    def _switch(
        self, node: Apply, rest: Continuation, values: dict[GraphNode, Any]
    ) -> list[GraphNode]:
        index = self.value(node.args[0], values)
        operands = [self.value(o, values) for o in operands_of(node)]
        sides = []
        for graph in graphs_of(node):
            builder = GraphBuilder(graph.name, self.tracer.builder)
            inner = dict(values) | dict(zip(graph.parameters, operands, strict=True))
            with self.tracer.building(builder):
                nodes = self.follow(graph, 0, rest, inner)
                builder.graph.output = builder.tuple(tuple(nodes))
            sides.append(builder)
        whole = self.tracer.builder.switch(index, sides, node.span)
        count = len(self.machine.state_types)
        return [self.tracer.builder.item(whole, i) for i in range(count)]

    def _call(self, call: Apply, values: dict[GraphNode, Any]) -> list[GraphNode]:
        machine, state = self.machine, self.state
        varying = len(machine.argument_types)
        operands = [self.value(a, values) for a in operands_of(call)[:varying]]
        arguments = [Tensor._wrap(n) for n in operands]
        if call not in machine.calls:
            new = StackMachineState(
                _number(0), state.depth, state.deepest, arguments, state.results, state.returns,
                state.stacks, state.fixed,
            )  # fmt: skip
            return new.nodes(self.tracer)
        saved = [self.value(n, values) for n in self.shape.saved[call]]
        stacks = list(state.stacks)
        for node, stack in zip(saved, machine.places[call], strict=True):
            stacks[stack] = _WRITE(stacks[stack], state.depth, _tensor(node))
        assert state.returns is not None
        here = _number(machine.calls.index(call) + 1)
        depth = state.depth + _number(1)
        new = StackMachineState(
            _number(0), depth, maximum(state.deepest, depth), arguments, state.results,
            _WRITE(state.returns, state.depth, here), stacks, state.fixed,
        )  # fmt: skip
        return new.nodes(self.tracer)

    def _return(self, nodes: list[GraphNode]) -> list[GraphNode]:
        state = self.state
        results = [_tensor(n) for n in nodes]
        if state.returns is None:
            where, depth = _number(_DONE), state.depth
        else:
            outermost = state.depth == _number(0)
            depth = select(outermost, state.depth, state.depth - _number(1))
            back = _READ(state.returns, depth)
            where = select(outermost, _number(_DONE), back)
        new = StackMachineState(
            where, depth, state.deepest, state.arguments, results, state.returns, state.stacks,
            state.fixed,
        )  # fmt: skip
        return new.nodes(self.tracer)

    def value(self, node: GraphNode, values: dict[GraphNode, Any]) -> Any:
        """A node's value on this path: computed here, or saved before the call."""
        known = values.get(node)
        if known is not None:
            return known
        if isinstance(node, GraphConstant):
            return node
        if self._is_from_before(node):
            return self._restore(node, values)
        if isinstance(node, GraphParameter):
            raise RuntimeError(f"{node.name} has no value on this path")
        assert isinstance(node, Apply)
        op = primitive_of(node)
        if type(op) is Item and isinstance(values.get(node.args[0]), list):
            return values[node.args[0]][op.index]
        args = tuple([self.value(a, values) for a in node.args])
        value = self.tracer.builder.apply(op, args, node.type, node.span)
        values[node] = value
        return value

    def _is_from_before(self, node: GraphNode) -> bool:
        graph = getattr(node, "graph", None)
        position = self.positions.get(graph) if graph is not None else None
        return position is not None and self.shape.level[node] < position

    def _restore(self, node: GraphNode, values: dict[GraphNode, Any]) -> GraphNode:
        """Make the call before this path save the node; until then, use a zero of its type."""
        assert self.resumed is not None
        saved = self.shape.saved[self.resumed]
        if isinstance(node.type, tuple):
            assert isinstance(node, Apply)
            args = tuple([self.value(a, values) for a in node.args])
            return self.tracer.builder.apply(primitive_of(node), args, node.type, node.span)
        if node not in saved:
            saved.append(node)
        placeholder = self.tracer.data_node(zeros_of(node.type))
        values[node] = placeholder
        return placeholder


def _number(value: int) -> Tensor:
    return Tensor._wrap(np.asarray(value, np.int64))


def _tensor(node: GraphNode) -> Tensor:
    return Tensor._wrap(node.value if isinstance(node, GraphConstant) else node)
