"""Gradients of scans: a scan that also returns residuals, and one in the opposite direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mycelia._engine.compiler.autodiff.accumulation import Cotangents
from mycelia._engine.compiler.autodiff.activity import looped_operands, seed_types
from mycelia._engine.compiler.autodiff.joint_graph import JointGraph, build_joint_graph
from mycelia._engine.compiler.autodiff.loops import split_repeated, used_carry
from mycelia._engine.compiler.autodiff.reverse_mode import cast_to, zeros_of
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import Scan, graphs_of, operands_of, primitive_of
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.ops.elementwise.arithmetic import add
from mycelia.tensor.tensor import Tensor


def backpropagate_scan(
    tracer: Tracer, node: Apply, dout: Any, cotangents: Cotangents, live: set[GraphNode], rules: Any
) -> None:
    """Replace a scan by one that saves residuals, and add the gradients of its operands.

    If each iteration can be differentiated immediately, nothing is saved.
    """
    scan = _ScanGradient(tracer, node, dout, live, rules)
    grads = scan.in_one_scan(dout)
    if grads is None:
        grads = scan.backward(scan.forward(), dout)
    for number, grad in grads.items():
        if scan.operands[number] in live:
            cotangents.add(scan.operands[number], grad)


@dataclass
class _ScanGradient:
    """One scan to differentiate."""

    tracer: Tracer
    node: Apply
    dout: Any
    live: set[GraphNode]
    rules: Any

    def __post_init__(self) -> None:
        self.op: Scan = primitive_of(self.node)
        self.operands = operands_of(self.node)
        first, second = self.op.carry, self.op.carry + self.op.mapped
        self.graph = graphs_of(self.node)[0]
        self.seeded = seed_types(self.graph.output.type, self.dout)
        self.differentiated = looped_operands(
            self.graph, first, self.operands, self.live, self.seeded
        )
        self.carried = [i for i in self.differentiated if i < first]
        self.mapped = [i for i in self.differentiated if first <= i < second]
        self.fixed = [i for i in self.differentiated if second <= i]
        self.types = {i: self.seeded.get(i, self.operands[i].type) for i in self.carried}

    @cached_property
    def part(self) -> JointGraph:
        """One iteration with its backward pass."""
        return split_repeated(
            self.tracer, self.graph, self.differentiated, self.rules, self.seeded, self.types
        )

    @cached_property
    def saved(self) -> list[GraphNode]:
        """The forward values that the backward pass of an iteration needs."""
        return [*used_carry(self.part, self.op.carry), *self.part.residuals]

    # ---- forward and backward in the same iteration ----------------------------------------------

    def in_one_scan(self, dout: Any) -> dict[int, Tensor] | None:
        """Gradients by operand index, from one scan that backpropagates in every iteration.

        This works if the gradients of the results do not depend on the results, and no gradient
        flows from one iteration to another. The memory of one iteration then suffices for all.
        """
        tracer, op = self.tracer, self.op
        if any(d is not None for d in dout[: op.carry]) or self._depend_on_results(
            dout[op.carry :]
        ):
            return None
        given_types = {i: type_ for i, type_ in self.seeded.items() if i >= op.carry}
        part = build_joint_graph(tracer, self.graph, self.differentiated, self.rules, given_types)
        carried = part.grads[: len(self.carried)]
        if part.needed is not None or any(g is not None for g in carried):
            return None
        builder = GraphBuilder(f"{part.builder.graph.name}_at_once")
        seed_indices = sorted(part.seeds)
        parameters = [builder.parameter(p.name, p.type) for p in part.parameters[: op.carry]]
        types_of = dict(
            zip(self.differentiated, part.gradient_types(self.differentiated), strict=True)
        )
        sums = [builder.parameter("sum", types_of[i]) for i in self.fixed]
        first, last = op.carry, op.carry + op.mapped
        parameters += [builder.parameter(p.name, p.type) for p in part.parameters[first:last]]
        mapping: dict[GraphNode, GraphNode] = {
            part.seeds[p]: builder.parameter("d", part.seeds[p].type) for p in seed_indices
        }
        parameters += [builder.parameter(p.name, p.type) for p in part.parameters[last:]]
        mapping |= zip(part.parameters, parameters, strict=True)
        outputs = copy_nodes(list(part.outputs), builder.graph, mapping)
        gradients = self.rules.gradients(part, builder, mapping, self.differentiated)
        grads = dict(zip(self.differentiated, gradients, strict=True))
        totals = self._added(builder, sums, [grads[i] for i in self.fixed])
        stacked = [*outputs[first:], *(grads[i] for i in self.mapped)]
        builder.graph.output = builder.tuple((*outputs[:first], *totals, *stacked))
        operands = [tracer.wrap(o) for o in self.operands]
        args = [*operands[:first], *(zeros_of(types_of[i]) for i in self.fixed)]
        args += operands[first:last]
        args += [self._seed(dout, p, self._stacked(part.seeds[p].type)) for p in seed_indices]
        args += operands[last:]
        scan = Scan(first + len(sums), op.mapped + len(seed_indices), op.length, op.reverse)
        types = [n.type for n in (*outputs[:first], *totals)]
        types += [self._stacked(n.type) for n in stacked]
        nodes = [tracer.data_node(t) for t in args]
        result = tracer.builder.apply(scan, (builder.graph, *nodes), tuple(types), self.node.span)
        items = [tracer.builder.item(result, i) for i in range(len(types))]
        results = [*items[:first], *items[first + len(sums) :][: len(outputs) - first]]
        tracer.builder.replaced[self.node] = tracer.builder.tuple(tuple(results))
        pulled = [*items[first : first + len(sums)], *items[len(items) - len(self.mapped) :]]
        pairs = zip((*self.fixed, *self.mapped), pulled, strict=True)
        return {number: tracer.wrap(item) for number, item in pairs}

    def _depend_on_results(self, gradients: Sequence[Any]) -> bool:
        """Whether gradients depend on the results of the scan."""
        stack = [self.tracer.data_node(g) for g in gradients if g is not None]
        seen: set[GraphNode] = set()
        while stack:
            node = stack.pop()
            if node is self.node:
                return True
            if node not in seen and isinstance(node, Apply):
                stack += node.args
            seen.add(node)
        return False

    # ---- all iterations forward, then all of them backward ---------------------------------------

    def forward(self) -> list[GraphNode]:
        """The forward scan; returns the saved values, stacked."""
        part, tracer = self.part, self.tracer
        builder = GraphBuilder(f"{part.builder.graph.name}_forward")
        mapping = _parameters(builder, part)
        extra = [] if part.needed is None else [part.needed]
        outputs = copy_nodes([*part.outputs, *self.saved, *extra], builder.graph, mapping)
        builder.graph.output = builder.tuple(tuple(outputs))
        types = [*self.node.type, *(self._stacked(n.type) for n in outputs[len(part.outputs) :])]
        args = (builder.graph, *self.operands)
        result = tracer.builder.apply(self.op, args, tuple(types), self.node.span)
        items = [tracer.builder.item(result, i) for i in range(len(outputs))]
        count = len(part.outputs)
        tracer.builder.replaced[self.node] = tracer.builder.tuple(tuple(items[:count]))
        if extra:
            tracer.note_needed(tracer.wrap(items.pop()).max())
        return items[count:]

    def backward(self, saved: list[GraphNode], dout: Any) -> dict[int, Tensor]:
        """The backward scan; returns gradients by operand index."""
        tracer, part, op = self.tracer, self.part, self.op
        seed_indices = [p for p in sorted(part.seeds) if p >= op.carry]
        builder = GraphBuilder(f"{part.builder.graph.name}_backward")
        types_of = dict(
            zip(self.differentiated, part.gradient_types(self.differentiated), strict=True)
        )
        types_of |= self.types
        after = [builder.parameter("after", types_of[i]) for i in self.carried]
        sums = [builder.parameter("sum", types_of[i]) for i in self.fixed]
        mapping: dict[GraphNode, GraphNode] = {
            n: builder.parameter("kept", n.type) for n in self.saved
        }
        mapping |= {part.seeds[p]: builder.parameter("d", part.seeds[p].type) for p in seed_indices}
        mapping |= {p: builder.parameter(p.name, p.type) for p in part.parameters[op.carry :]}
        mapping |= {part.seeds[i]: a for i, a in zip(self.carried, after, strict=True)}
        wanted_types = [types_of[i] for i in self.differentiated]
        pulled = self.rules.gradients(part, builder, mapping, self.differentiated, wanted_types)
        grads = dict(zip(self.differentiated, pulled, strict=True))
        totals = self._added(builder, sums, [grads[i] for i in self.fixed])
        outputs = [*(grads[i] for i in self.carried), *totals, *(grads[i] for i in self.mapped)]
        builder.graph.output = builder.tuple(tuple(outputs))
        args = [self._seed(dout, i, types_of[i]) for i in self.carried]
        args += [zeros_of(types_of[i]) for i in self.fixed]
        args += [tracer.wrap(n) for n in saved]
        args += [self._seed(dout, p, self._stacked(part.seeds[p].type)) for p in seed_indices]
        args += [tracer.wrap(o) for o in self.operands[op.carry :]]
        carry = len(self.carried) + len(self.fixed)
        back = Scan(carry, len(saved) + len(seed_indices) + op.mapped, op.length, not op.reverse)
        types = [n.type for n in outputs]
        types[carry:] = [self._stacked(t) for t in types[carry:]]
        nodes = [tracer.data_node(t) for t in args]
        result = tracer.builder.apply(back, (builder.graph, *nodes), tuple(types), self.node.span)
        order = [*self.carried, *self.fixed, *self.mapped]
        return {n: tracer.wrap(tracer.builder.item(result, i)) for i, n in enumerate(order)}

    def _added(
        self, builder: GraphBuilder, sums: Sequence[GraphNode], grads: Sequence[GraphNode]
    ) -> list[GraphNode]:
        """Running sums of gradients plus those of one iteration."""
        with self.tracer.building(builder):
            return [
                self.tracer.data_node(add(Tensor._wrap(before), Tensor._wrap(grad)))
                for before, grad in zip(sums, grads, strict=True)
            ]

    def _seed(self, dout: Any, index: int, type_: Any) -> Tensor:
        return cast_to(dout[index], type_) if dout[index] is not None else zeros_of(type_)

    def _stacked(self, type_: TensorType) -> TensorType:
        return type_.with_shape((self.op.length, *type_.shape))


def _parameters(builder: GraphBuilder, part: JointGraph) -> dict[GraphNode, GraphNode]:
    return {p: builder.parameter(p.name, p.type) for p in part.parameters}
