"""Gradients of loops: a forward loop that remembers its passes, a backward loop that undoes them.

What the backward of a pass needs is put on stacks of a fixed size. Where that would be much, only
the state at the start of each block of passes is kept, and a block is run again when the backward
loop comes to it: for n passes, about 2 sqrt(n) states are held (Griewank, 1992).
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

MOST_STACK_BYTES = 8 * 2**20  # beyond this, blocks of passes are run again
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
    """Replace a loop by one that remembers, and add the gradients of what it was given."""
    loop = _LoopGradient(tracer, node, dout, live, rules)
    carry, undo = loop.with_blocks() if loop.is_large() else loop.with_stacks()
    nodes = tuple([tracer.data_node(t) for t in carry])
    tracer.builder.replaced[node] = tracer.builder.tuple(nodes)
    seeds = [_seed(dout[i], loop.types[i]) for i in loop.carried]
    sums = [zeros_of(loop.types[i]) for i in loop.fixed]
    found = undo([*seeds, *sums])
    for number, grad in zip([*loop.carried, *loop.fixed], found, strict=True):
        if loop.operands[number] in live:
            cotangents.add(loop.operands[number], grad)


class _LoopGradient:
    """One loop to be differentiated."""

    def __init__(
        self, tracer: Tracer, node: Apply, dout: Any, live: set[GraphNode], rules: Any
    ) -> None:
        self.tracer = tracer
        self.goes_on, step = graphs_of(node)
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
        self.kept = [*used_carry(self.part, self.count), *self.part.residuals]
        self.initial = [tracer.wrap(o) for o in self.operands[: self.count]]

    def is_large(self) -> bool:
        """Whether stacks for all passes would take much memory."""
        kept = sum(_bytes(n.type) for n in self.kept)
        block = isqrt(self.tracer.capacity)
        return kept * self.tracer.capacity > MOST_STACK_BYTES and block > 8

    # ---- two ways to remember -------------------------------------------------------------------

    def with_stacks(self) -> tuple[State, Callable[[State], State]]:
        """Remember every pass."""
        state, passes, most, stacks = self._fill(
            self.initial, lambda carry, _: self._test(carry), self.tracer.capacity
        )
        self._note(passes, most)
        return state, lambda grads: self._empty(passes, stacks, grads)

    def with_blocks(self) -> tuple[State, Callable[[State], State]]:
        """Remember the state at the start of each block of passes."""
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
            place = passes // _int(block)
            pairs = zip(state[size + 2 :], carry, strict=True)
            kept = [_WRITE(stack, place, value) for stack, value in pairs]
            end = (place + _int(1)) * _int(block)
            run = self._loop(
                "block",
                state[: size + 2],
                lambda s: logical_and(self._test(s[:size]), s[size] < end),
                inner,
            )
            return [*run, *kept]

        initial = [*self.initial, _int(0), _int(0), *starts]
        found = self._loop("blocks", initial, lambda s: self._test(s[:size]), step)
        passes, stacks = found[size], found[size + 2 :]
        self._note(passes, found[size + 1])
        return found[:size], lambda grads: self._undo_blocks(passes, block, stacks, grads)

    def _undo_blocks(self, passes: Tensor, block: int, starts: State, grads: State) -> State:
        def step(state: State) -> State:
            place = state[0] - _int(1)
            carry = [_READ(stack, place) for stack in starts]
            length = minimum(_int(block), passes - place * _int(block))
            _, _, _, stacks = self._fill(carry, lambda _, number: number < length, block)
            return [place, *self._empty(length, stacks, state[1:])]

        blocks = (passes + _int(block - 1)) // _int(block)
        found = self._loop("undo_blocks", [blocks, *grads], lambda s: s[0] > _int(0), step)
        return found[1:]

    # ---- filling and emptying stacks ---------------------------------------------------------

    def _fill(
        self, carry: State, goes_on: Callable[[State, Tensor], Tensor], capacity: int
    ) -> tuple[State, Tensor, Tensor, State]:
        """Run passes and push what their backward needs: carry, passes, largest need, stacks."""
        size = self.count

        def step(state: State) -> State:
            outputs, most, kept = self._forward(state[:size], state[size + 1])
            number = state[size]
            pairs = zip(state[size + 2 :], kept, strict=True)
            pushed = [_WRITE(stack, number, value) for stack, value in pairs]
            return [*outputs, add(number, _int(1)), most, *pushed]

        stacks = [zeros_of(_stacked(n.type, capacity)) for n in self.kept]
        initial = [*carry, _int(0), _int(0), *stacks]
        found = self._loop("forward", initial, lambda s: goes_on(s[:size], s[size]), step)
        return found[:size], found[size], found[size + 1], found[size + 2 :]

    def _empty(self, passes: Tensor, stacks: State, grads: State) -> State:
        """Undo passes from the last to the first; gradients of fixed values add up."""

        def step(state: State) -> State:
            number = state[0] - _int(1)
            kept = [_READ(stack, number) for stack in stacks]
            return [number, *self._backward(kept, state[1:])]

        found = self._loop("backward", [passes, *grads], lambda s: s[0] > _int(0), step)
        return found[1:]

    def _forward(self, carry: State, most: Tensor) -> tuple[State, Tensor, State]:
        """One pass: the new carry, the largest stack needed inside, what the backward needs."""
        part, builder = self.part, self.tracer.builder
        extra = [] if part.needed is None else [part.needed]
        mapping = self._mapping(carry)
        copied = copy_nodes([*part.outputs, *self.kept, *extra], builder.graph, mapping)
        values = [self.tracer.wrap(n) for n in copied]
        if extra:
            most = maximum(most, values.pop())
        return values[: self.count], most, values[self.count :]

    def _backward(self, kept: State, grads: State) -> State:
        """The gradients before a pass from those after it."""
        part, tracer = self.part, self.tracer
        mapping = self._mapping([])
        mapping |= {n: tracer.data_node(t) for n, t in zip(self.kept, kept, strict=True)}
        for place, number in enumerate(self.carried):
            mapping[part.seeds[number]] = tracer.data_node(grads[place])
        found = []
        for number, before, grad in zip(self.wanted, grads, part.grads, strict=True):
            if grad is None:
                new = zeros_of(self.types[number])
            else:
                new = tracer.wrap(copy_nodes([grad], tracer.builder.graph, mapping)[0])
                new = cast_to(new, self.types[number])
            found.append(add(before, new) if number >= self.count else new)
        return found

    def _test(self, carry: State) -> Tensor:
        mapping: dict[GraphNode, GraphNode] = {}
        values = [self.tracer.data_node(t) for t in carry]
        values += [self.tracer.builder.local(o) for o in self.operands[self.count :]]
        mapping = dict(zip(self.goes_on.parameters, values, strict=True))
        graph = self.tracer.builder.graph
        return self.tracer.wrap(copy_nodes([self.goes_on.output], graph, mapping)[0])

    def _mapping(self, carry: State) -> dict[GraphNode, GraphNode]:
        """What the parameters of a pass stand for in the graph being built."""
        tracer, parameters = self.tracer, self.part.parameters
        fixed = zip(parameters[self.count :], self.operands[self.count :], strict=True)
        found: dict[GraphNode, GraphNode] = {p: tracer.builder.local(o) for p, o in fixed}
        found |= {p: tracer.data_node(t) for p, t in zip(parameters, carry, strict=False)}
        return found

    def _loop(
        self,
        name: str,
        initial: State,
        test: Callable[[State], Tensor],
        step: Callable[[State], State],
    ) -> State:
        """A loop of the program written as functions on tensors."""
        tracer = self.tracer
        carry = [tracer.data_node(t) for t in initial]
        builders = []
        for part, label in ((test, f"{name}_goes_on"), (step, name)):
            builder = GraphBuilder(label, tracer.builder, tracer.span)
            state = [Tensor._wrap(builder.parameter("carry", n.type)) for n in carry]
            with tracer.building(builder):
                found = part(state)
                if isinstance(found, Tensor):
                    builder.finish(tracer.data_node(found))
                else:
                    builder.finish(builder.tuple(tuple(tracer.data_node(t) for t in found)))
            builders.append(builder)
        goes_on, body = builders
        node = tracer.builder.loop(goes_on, body, carry, tracer.span)
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
    """One pass with its backward; `carried` becomes types that hold the gradients of all passes.

    The gradient of an integer is an integer at first, and may have fractions a pass later.
    """
    while True:
        part = build_joint_graph(tracer, step, wanted, rules, seeded | carried)
        pairs = zip(wanted, part.gradient_types(wanted), strict=True)
        grown = {i: promoted([carried[i], type_]) for i, type_ in pairs if i in carried}
        if grown == carried:
            return part
        carried.update(grown)


def used_carry(part: JointGraph, count: int) -> list[GraphNode]:
    """The carried values the backward part uses: they change with each pass, so they are kept."""
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
