"""Gradients of scans: a scan that also gives what its backward needs, and one the other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia.compiler.autodiff.accumulate import Cotangents, is_inexact
from mycelia.compiler.autodiff.joint import Split, split
from mycelia.compiler.autodiff.loops import used_carry
from mycelia.compiler.autodiff.reverse import zeros_of
from mycelia.compiler.building import Builder
from mycelia.compiler.tracer import Tracer
from mycelia.ir.clone import copy_nodes
from mycelia.ir.control import Scan, graphs_of, operands_of, primitive_of
from mycelia.ir.node import Apply, Node
from mycelia.ir.types import TensorType
from mycelia.ops.arithmetic import add
from mycelia.tensor.tensor import Tensor


def pull_scan(
    tracer: Tracer, node: Apply, dout: Any, cotangents: Cotangents, live: set[Node], rules: Any
) -> None:
    """Replace a scan by one that remembers, and add the gradients of what it was given."""
    scan = _Scan(tracer, node, live, rules)
    kept = scan.forward()
    for number, grad in scan.backward(kept, dout).items():
        if scan.operands[number] in live:
            cotangents.add(scan.operands[number], grad)


@dataclass
class _Scan:
    """One scan to be differentiated."""

    tracer: Tracer
    node: Apply
    live: set[Node]
    rules: Any

    def __post_init__(self) -> None:
        self.op: Scan = primitive_of(self.node)
        self.operands = operands_of(self.node)
        first, second = self.op.carry, self.op.carry + self.op.mapped
        numbers = range(len(self.operands))
        wanted = [i for i in numbers if is_inexact(self.operands[i].type)]
        self.carried = [i for i in wanted if i < first]
        self.mapped = [i for i in wanted if first <= i < second and self.operands[i] in self.live]
        self.fixed = [i for i in wanted if second <= i and self.operands[i] in self.live]
        graph = graphs_of(self.node)[0]
        places = [*self.carried, *self.mapped, *self.fixed]
        self.part: Split = split(self.tracer, graph, places, self.rules)
        self.kept = [*used_carry(self.part, first), *self.part.residuals]

    def forward(self) -> list[Node]:
        """The scan that remembers; gives what it kept, stacked."""
        part, tracer = self.part, self.tracer
        builder = Builder(f"{part.builder.graph.name}_forward")
        mapping = _parameters(builder, part)
        extra = [] if part.needed is None else [part.needed]
        found = copy_nodes([*part.outputs, *self.kept, *extra], builder.graph, mapping)
        builder.graph.output = builder.tuple(tuple(found))
        types = [*self.node.type, *(self._stacked(n.type) for n in found[len(part.outputs) :])]
        args = (builder.graph, *self.operands)
        made = tracer.builder.apply(self.op, args, tuple(types), self.node.span)
        items = [tracer.builder.item(made, i) for i in range(len(found))]
        count = len(part.outputs)
        tracer.builder.replaced[self.node] = tracer.builder.tuple(tuple(items[:count]))
        if extra:
            tracer.note_needed(tracer.wrap(items.pop()).max())
        return items[count:]

    def backward(self, kept: list[Node], dout: Any) -> dict[int, Tensor]:
        """The scan the other way; gives gradients by the number of the operand."""
        tracer, part, op = self.tracer, self.part, self.op
        given = [p for p in sorted(part.seeds) if p >= op.carry]
        builder = Builder(f"{part.builder.graph.name}_backward")
        after = [builder.parameter("after", part.parameters[i].type) for i in self.carried]
        sums = [builder.parameter("sum", part.parameters[i].type) for i in self.fixed]
        mapping: dict[Node, Node] = {n: builder.parameter("kept", n.type) for n in self.kept}
        mapping |= {part.seeds[p]: builder.parameter("d", part.seeds[p].type) for p in given}
        mapping |= {p: builder.parameter(p.name, p.type) for p in part.parameters[op.carry :]}
        mapping |= {part.seeds[i]: a for i, a in zip(self.carried, after, strict=True)}
        places = [*self.carried, *self.mapped, *self.fixed]
        grads = dict(zip(places, self.rules.gradients(part, builder, mapping, places), strict=True))
        with tracer.building(builder):
            totals = [
                tracer.data_node(add(Tensor._wrap(before), Tensor._wrap(grads[i])))
                for i, before in zip(self.fixed, sums, strict=True)
            ]
        outputs = [*(grads[i] for i in self.carried), *totals, *(grads[i] for i in self.mapped)]
        builder.graph.output = builder.tuple(tuple(outputs))
        args = [self._seed(dout, i, self.operands[i].type) for i in self.carried]
        args += [zeros_of(self.operands[i].type) for i in self.fixed]
        args += [tracer.wrap(n) for n in kept]
        args += [self._seed(dout, p, self.node.type[p]) for p in given]
        args += [tracer.wrap(o) for o in self.operands[op.carry :]]
        carry = len(self.carried) + len(self.fixed)
        back = Scan(carry, len(kept) + len(given) + op.mapped, op.length, not op.reverse)
        types = [n.type for n in outputs]
        types[carry:] = [self._stacked(t) for t in types[carry:]]
        nodes = [tracer.data_node(t) for t in args]
        made = tracer.builder.apply(back, (builder.graph, *nodes), tuple(types), self.node.span)
        found = [*self.carried, *self.fixed, *self.mapped]
        return {n: tracer.wrap(tracer.builder.item(made, i)) for i, n in enumerate(found)}

    def _seed(self, dout: Any, place: int, type_: Any) -> Tensor:
        return dout[place] if dout[place] is not None else zeros_of(type_)

    def _stacked(self, type_: TensorType) -> TensorType:
        return type_.with_shape((self.op.length, *type_.shape))


def _parameters(builder: Builder, part: Split) -> dict[Node, Node]:
    return {p: builder.parameter(p.name, p.type) for p in part.parameters}
