"""Gradients of while loops: a forward loop that saves residuals, and a backward loop.

The residuals of each iteration are pushed on stacks of a fixed size. If that needs much memory,
only the state at the start of each block of iterations is saved, and the backward loop runs a block
again when it reaches it: for n iterations, about 2 sqrt(n) states are stored (Griewank, 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, prod
from typing import Any

import numpy as np

from mycelia._engine.compiler.autodiff.accumulation import Cotangents
from mycelia._engine.compiler.autodiff.activity import looped_operands, promoted, seed_types
from mycelia._engine.compiler.autodiff.joint_graph import JointGraph, build_joint_graph
from mycelia._engine.compiler.autodiff.reverse_mode import cast_to, zeros_of
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import graphs_of, operands_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.ops.control.loop_stack import StackRead, StackWrite
from mycelia.ops.elementwise.arithmetic import add, maximum, minimum
from mycelia.ops.elementwise.comparison import logical_and
from mycelia.tensor.tensor import Tensor

MOST_STACK_BYTES = 8 * 2**20  # above this, blocks of iterations are run again
_READ, _WRITE = StackRead.of(), StackWrite.of()
State = list[Tensor]


def backpropagate_loop(
    tracer: Tracer,
    node: Apply,
    dout: Any,
    cotangents: Cotangents,
    live: set[GraphNode],
    rules: Any,
) -> None:
    """Replace a loop by one that saves residuals, and add the gradients of its operands."""
    loop = _LoopGradient(tracer, node, dout, live, rules)
    carry, undo = loop.with_blocks() if loop.is_large() else loop.with_stacks()
    nodes = tuple([tracer.data_node(t) for t in carry])
    tracer.builder.replaced[node] = tracer.builder.tuple(nodes)
    seeds = [_seed(dout[i], loop.types[i]) for i in loop.carried]
    sums = [zeros_of(loop.types[i]) for i in loop.fixed]
    grads = undo([*seeds, *sums])
    for number, grad in zip([*loop.carried, *loop.fixed], grads, strict=True):
        if loop.operands[number] in live:
            cotangents.add(loop.operands[number], grad)


class _LoopGradient:
    """One loop to differentiate."""

    def __init__(
        self, tracer: Tracer, node: Apply, dout: Any, live: set[GraphNode], rules: Any
    ) -> None:
        self.tracer = tracer
        self.condition, step = graphs_of(node)
        self.operands = operands_of(node)
        self.count = len(step.output.type)
        seeded = seed_types(node.type, dout)
        self.wanted = looped_operands(step, self.count, self.operands, live, seeded)
        self.carried = [i for i in self.wanted if i < self.count]
        self.fixed = [i for i in self.wanted if i >= self.count]
        self.types = {i: seeded.get(i, self.operands[i].type) for i in self.wanted}
        types = {i: self.types[i] for i in self.carried}
        self.part = split_repeated(tracer, step, self.wanted, rules, types, types)
        self.types |= zip(self.wanted, self.part.gradient_types(self.wanted), strict=True)
        self.types |= types
        self.saved = [*used_carry(self.part, self.count), *self.part.residuals]
        self.initial = [tracer.wrap(o) for o in self.operands[: self.count]]

    def is_large(self) -> bool:
        """Whether stacks for all iterations would use much memory."""
        saved_bytes = sum(_bytes(n.type) for n in self.saved)
        block = isqrt(self.tracer.capacity)
        return saved_bytes * self.tracer.capacity > MOST_STACK_BYTES and block > 8

    # ---- two strategies for residuals ------------------------------------------------------------

    def with_stacks(self) -> tuple[State, Callable[[State], State]]:
        """Save the residuals of every iteration."""
        state, passes, most, stacks = self._fill(
            self.initial, lambda carry, _: self._test(carry), self.tracer.capacity
        )
        self._note(passes, most)
        return state, lambda grads: self._empty(passes, stacks, grads)

    def with_blocks(self) -> tuple[State, Callable[[State], State]]:
        """Save the state at the start of each block of iterations."""
        tracer = self.tracer
        block = isqrt(tracer.capacity - 1) + 1
        blocks = -(-tracer.capacity // block)
        size = self.count
        starts = [zeros_of(_stacked(t, blocks)) for t in map(_type, self.initial)]

        def inner(state: State) -> State:
            outputs, most, _ = self._forward(state[:size], state[size + 1])
            return [*outputs, state[size] + _int(1), most]

        def step(state: State) -> State:
            carry, passes = state[:size], state[size]
            index = passes // _int(block)
            pairs = zip(state[size + 2 :], carry, strict=True)
            saved = [_WRITE(stack, index, value) for stack, value in pairs]
            end = (index + _int(1)) * _int(block)
            run = self._loop(
                "block",
                state[: size + 2],
                lambda s: logical_and(self._test(s[:size]), s[size] < end),
                inner,
            )
            return [*run, *saved]

        initial = [*self.initial, _int(0), _int(0), *starts]
        final = self._loop("blocks", initial, lambda s: self._test(s[:size]), step)
        passes, stacks = final[size], final[size + 2 :]
        self._note(passes, final[size + 1])
        return final[:size], lambda grads: self._undo_blocks(passes, block, stacks, grads)

    def _undo_blocks(self, passes: Tensor, block: int, starts: State, grads: State) -> State:
        def step(state: State) -> State:
            index = state[0] - _int(1)
            carry = [_READ(stack, index) for stack in starts]
            length = minimum(_int(block), passes - index * _int(block))
            _, _, _, stacks = self._fill(carry, lambda _, number: number < length, block)
            return [index, *self._empty(length, stacks, state[1:])]

        blocks = (passes + _int(block - 1)) // _int(block)
        final = self._loop("undo_blocks", [blocks, *grads], lambda s: s[0] > _int(0), step)
        return final[1:]

    # ---- filling and emptying stacks ---------------------------------------------------------

    def _fill(
        self, carry: State, test: Callable[[State, Tensor], Tensor], capacity: int
    ) -> tuple[State, Tensor, Tensor, State]:
        """Run iterations and push residuals: carry, number of iterations, largest need, stacks."""
        size = self.count

        def step(state: State) -> State:
            outputs, most, residuals = self._forward(state[:size], state[size + 1])
            number = state[size]
            pairs = zip(state[size + 2 :], residuals, strict=True)
            pushed = [_WRITE(stack, number, value) for stack, value in pairs]
            return [*outputs, add(number, _int(1)), most, *pushed]

        stacks = [zeros_of(_stacked(n.type, capacity)) for n in self.saved]
        initial = [*carry, _int(0), _int(0), *stacks]
        final = self._loop("forward", initial, lambda s: test(s[:size], s[size]), step)
        return final[:size], final[size], final[size + 1], final[size + 2 :]

    def _empty(self, passes: Tensor, stacks: State, grads: State) -> State:
        """Backpropagate from the last iteration to the first; adds up gradients of fixed values."""

        def step(state: State) -> State:
            number = state[0] - _int(1)
            residuals = [_READ(stack, number) for stack in stacks]
            return [number, *self._backward(residuals, state[1:])]

        final = self._loop("backward", [passes, *grads], lambda s: s[0] > _int(0), step)
        return final[1:]

    def _forward(self, carry: State, most: Tensor) -> tuple[State, Tensor, State]:
        """One iteration: the new carry, the largest stack size needed inside, the residuals."""
        part, builder = self.part, self.tracer.builder
        extra = [] if part.needed is None else [part.needed]
        mapping = self._mapping(carry)
        copied = copy_nodes([*part.outputs, *self.saved, *extra], builder.graph, mapping)
        values = [self.tracer.wrap(n) for n in copied]
        if extra:
            most = maximum(most, values.pop())
        return values[: self.count], most, values[self.count :]

    def _backward(self, residuals: State, grads: State) -> State:
        """The gradients before an iteration from those after it."""
        part, tracer = self.part, self.tracer
        mapping = self._mapping([])
        mapping |= {n: tracer.data_node(t) for n, t in zip(self.saved, residuals, strict=True)}
        for index, number in enumerate(self.carried):
            mapping[part.seeds[number]] = tracer.data_node(grads[index])
        grads_before = []
        for number, before, grad in zip(self.wanted, grads, part.grads, strict=True):
            if grad is None:
                new = zeros_of(self.types[number])
            else:
                new = tracer.wrap(copy_nodes([grad], tracer.builder.graph, mapping)[0])
                new = cast_to(new, self.types[number])
            grads_before.append(add(before, new) if number >= self.count else new)
        return grads_before

    def _test(self, carry: State) -> Tensor:
        mapping: dict[GraphNode, GraphNode] = {}
        values = [self.tracer.data_node(t) for t in carry]
        values += [self.tracer.builder.local(o) for o in self.operands[self.count :]]
        mapping = dict(zip(self.condition.parameters, values, strict=True))
        graph = self.tracer.builder.graph
        return self.tracer.wrap(copy_nodes([self.condition.output], graph, mapping)[0])

    def _mapping(self, carry: State) -> dict[GraphNode, GraphNode]:
        """The values of an iteration's parameters in the graph being built."""
        tracer, parameters = self.tracer, self.part.parameters
        fixed = zip(parameters[self.count :], self.operands[self.count :], strict=True)
        mapping: dict[GraphNode, GraphNode] = {p: tracer.builder.local(o) for p, o in fixed}
        mapping |= {p: tracer.data_node(t) for p, t in zip(parameters, carry, strict=False)}
        return mapping

    def _loop(
        self,
        name: str,
        initial: State,
        test: Callable[[State], Tensor],
        step: Callable[[State], State],
    ) -> State:
        """A loop of the program, written as functions on tensors."""
        tracer = self.tracer
        carry = [tracer.data_node(t) for t in initial]
        builders = []
        for function, label in ((test, f"{name}_goes_on"), (step, name)):
            builder = GraphBuilder(label, tracer.builder, tracer.span)
            state = [Tensor._wrap(builder.parameter("carry", n.type)) for n in carry]
            with tracer.building(builder):
                result = function(state)
                if isinstance(result, Tensor):
                    builder.finish(tracer.data_node(result))
                else:
                    builder.finish(builder.tuple(tuple(tracer.data_node(t) for t in result)))
            builders.append(builder)
        condition, body = builders
        node = tracer.builder.loop(condition, body, carry, tracer.span)
        return [tracer.wrap(tracer.builder.item(node, i)) for i in range(len(carry))]

    def _note(self, passes: Tensor, most: Tensor) -> None:
        self.tracer.note_needed(passes if self.part.needed is None else maximum(passes, most))


def split_repeated(
    tracer: Tracer,
    step: Graph,
    wanted: list[int],
    rules: Any,
    seeded: dict[int, TensorType],
    carried: dict[int, TensorType],
) -> JointGraph:
    """One iteration with its backward pass; widens `carried` to hold the gradients of all of them.

    The gradient of an integer is an integer at first, and may be fractional one iteration later.
    """
    while True:
        part = build_joint_graph(tracer, step, wanted, rules, seeded | carried)
        pairs = zip(wanted, part.gradient_types(wanted), strict=True)
        grown = {i: promoted([carried[i], type_]) for i, type_ in pairs if i in carried}
        if grown == carried:
            return part
        carried.update(grown)


def used_carry(part: JointGraph, count: int) -> list[GraphNode]:
    """The carried values that the backward part uses: they change per iteration, so save them."""
    stop = set(part.residuals)
    seen: set[GraphNode] = set()
    stack = [g for g in part.grads if g is not None]
    while stack:
        node = stack.pop()
        if node in seen or node in stop:
            continue
        seen.add(node)
        if isinstance(node, Apply):
            stack += node.args
    return [parameter for parameter in part.parameters[:count] if parameter in seen]


def _int(value: int) -> Tensor:
    return Tensor._wrap(np.asarray(value, np.int64))


def _type(tensor: Tensor) -> TensorType:
    return TensorType(tensor.dtype, tensor.shape)


def _stacked(type_: TensorType, capacity: int) -> TensorType:
    return type_.with_shape((capacity, *type_.shape))


def _bytes(type_: TensorType) -> int:
    return prod(type_.shape) * max(type_.dtype.bits // 8, 1)


def _seed(grad: Tensor | None, type_: TensorType) -> Tensor:
    return cast_to(grad, type_) if grad is not None else zeros_of(type_)
