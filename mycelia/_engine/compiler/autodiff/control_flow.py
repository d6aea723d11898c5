"""Gradient rules of control flow: a forward part that saves residuals, and a backward part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.compiler.autodiff.accumulation import Cotangents
from mycelia._engine.compiler.autodiff.activity import promoted, seed_types, wanted_operands
from mycelia._engine.compiler.autodiff.joint_graph import JointGraph, build_joint_graph
from mycelia._engine.compiler.autodiff.loops import backpropagate_loop
from mycelia._engine.compiler.autodiff.reverse_mode import cast_to, zeros_of
from mycelia._engine.compiler.autodiff.scans import backpropagate_scan
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.core.dtype import int64
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import RECOMPUTE, Vmap, graphs_of, operands_of, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.types import TensorType
from mycelia.ops.control.loop_stack import StackRead, StackWrite
from mycelia.ops.shapes.reshape import Barrier
from mycelia.tensor.tensor import Tensor

_INDEX = TensorType(int64, ())
_READ, _WRITE = StackRead.of(), StackWrite.of()


class ControlFlowGradients:
    """The gradient rules of control flow nodes, for the graph that a tracer is building."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    # ---- branches ---------------------------------------------------------------------------

    def switch(self, node: Apply, dout: Any, cotangents: Cotangents, live: set[GraphNode]) -> None:
        """The forward switch also returns residuals of its branches, for the backward switch."""
        operands, seeded = operands_of(node), seed_types(node.type, dout)
        wanted = wanted_operands(graphs_of(node), operands, live, seeded)
        splits = [
            build_joint_graph(self.tracer, graph, wanted, self, seeded) for graph in graphs_of(node)
        ]
        slots, places = _share_slots(splits)
        index = node.args[0]
        forward = self._forward_switch(node, index, operands, splits, slots, places)
        count = len(node.type)
        residuals = [self.builder.item(forward, count + i) for i in range(len(slots))]
        self._note_needed_item(forward, count + len(slots), splits)
        self.builder.replaced[node] = self.builder.tuple(
            tuple(self.builder.item(forward, i) for i in range(count))
        )
        seeds = [_seed(dout, i, node.type) for i in sorted(splits[0].seeds)]
        backward = self._backward_switch(index, operands, splits, slots, places, wanted)
        data = [self.tracer.data_node(s) for s in seeds]
        args = (index, *backward, *operands, *residuals, *data)
        grads = self.builder.apply(node.fn.value, args, backward[0].output.type, node.span)  # type: ignore[attr-defined]
        for index_of_grad, number in enumerate(wanted):
            grad = self.tracer.wrap(self.builder.item(grads, index_of_grad))
            cotangents.add(operands[number], grad)

    def _forward_switch(
        self, node: Apply, index: GraphNode, operands: Any, splits: Any, slots: Any, places: Any
    ) -> GraphNode:
        graphs = []
        has_needed = any(s.needed is not None for s in splits)
        for part, held in zip(splits, places, strict=True):
            builder = GraphBuilder(f"{part.builder.graph.name}_forward")
            mapping = _parameters(builder, part.parameters)
            chosen: list[Any] = list(slots)
            copied = copy_nodes([*part.outputs, *part.residuals], builder.graph, mapping)
            for residual, place in zip(copied[len(part.outputs) :], held, strict=True):
                chosen[place] = residual
            outputs: list[Any] = [*copied[: len(part.outputs)], *chosen]
            if has_needed:
                outputs.append(_copied_or_zero(part.needed, builder, mapping))
            builder.graph.output = builder.tuple(tuple(_as_nodes(self.tracer, builder, outputs)))
            graphs.append(builder.graph)
        args = (index, *graphs, *operands)
        return self.builder.apply(node.fn.value, args, graphs[0].output.type, node.span)  # type: ignore[attr-defined]

    def _backward_switch(
        self,
        index: GraphNode,
        operands: Any,
        splits: Any,
        slots: Any,
        places: Any,
        wanted: list[int],
    ) -> list[Graph]:
        graphs = []
        types = [
            promoted([operands[n].type, *(s.grads[i].type for s in splits if s.grads[i])])
            for i, n in enumerate(wanted)
        ]
        for part, held in zip(splits, places, strict=True):
            builder = GraphBuilder(f"{part.builder.graph.name}_backward")
            mapping = _parameters(builder, part.parameters)
            held_parameters = [builder.parameter("kept", t) for t in slots]
            for residual, place in zip(part.residuals, held, strict=True):
                mapping[residual] = held_parameters[place]
            for seed in part.seeds.values():
                mapping[seed] = builder.parameter(seed.name, seed.type)
            grads = self.gradients(part, builder, mapping, wanted, types)
            builder.graph.output = builder.tuple(tuple(grads))
            graphs.append(builder.graph)
        return graphs

    def gradients(
        self,
        part: JointGraph,
        builder: GraphBuilder,
        mapping: dict[GraphNode, GraphNode],
        wanted: list[int],
        types: Sequence[TensorType] | None = None,
    ) -> list[GraphNode]:
        """The gradients of a joint graph in `builder`, zeros where there are none.

        With `types`, they are cast to these: the gradient of an integer may be fractional.
        """
        if types is None:
            types = part.gradient_types(wanted)
        gradients = []
        with self.tracer.building(builder):
            for type_, grad in zip(types, part.grads, strict=True):
                if grad is None:
                    gradients.append(self.tracer.data_node(zeros_of(type_)))
                else:
                    copied = copy_nodes([grad], builder.graph, mapping)[0]
                    gradients.append(
                        self.tracer.data_node(cast_to(self.tracer.wrap(copied), type_))
                    )
        return gradients

    def loop(self, node: Apply, dout: Any, cotangents: Cotangents, live: set[GraphNode]) -> None:
        """The backward pass of a while node."""
        backpropagate_loop(self.tracer, node, dout, cotangents, live, self)

    def scan(self, node: Apply, dout: Any, cotangents: Cotangents, live: set[GraphNode]) -> None:
        """The backward pass of a scan."""
        backpropagate_scan(self.tracer, node, dout, cotangents, live, self)

    def recompute(
        self, node: Apply, dout: Any, cotangents: Cotangents, live: set[GraphNode]
    ) -> None:
        """The backward pass computes everything again, from operands behind a barrier."""
        operands, seeded = operands_of(node), seed_types(node.type, dout)
        wanted = wanted_operands(graphs_of(node), operands, live, seeded)
        part = build_joint_graph(self.tracer, graphs_of(node)[0], wanted, self, seeded)
        builder = GraphBuilder(f"{part.builder.graph.name}_again")
        mapping = _parameters(builder, part.parameters)
        places = sorted(part.seeds)
        for place in places:
            mapping[part.seeds[place]] = builder.parameter(f"d{place}", part.seeds[place].type)
        outputs = self.gradients(part, builder, mapping, wanted)
        if part.needed is not None:
            outputs += copy_nodes([part.needed], builder.graph, mapping)
        builder.graph.output = builder.tuple(tuple(outputs))
        seeds = [_seed(dout, p, node.type) for p in places]
        values = [self.tracer.wrap(o) for o in operands]
        behind = Barrier.of()(tuple(values), tuple(seeds))
        nodes = [self.tracer.data_node(t) for t in (*behind, *seeds)]
        again = self.builder.apply(
            RECOMPUTE, (builder.graph, *nodes), builder.graph.output.type, node.span
        )
        grads = [self.tracer.wrap(self.builder.item(again, i)) for i in range(len(wanted))]
        self._release(operands, wanted, grads)
        for number, grad in zip(wanted, grads, strict=True):
            cotangents.add(operands[number], grad)
        if part.needed is not None:
            self.tracer.note_needed(Tensor._wrap(self.builder.item(again, len(wanted))))

    def _release(
        self, operands: Sequence[GraphNode], wanted: Sequence[int], grads: list[Any]
    ) -> None:
        """Make the gradients of earlier values depend on those of the weights.

        Otherwise XLA could delay the gradients of the weights to the end of the program, and would
        have to store everything they need until then.
        """
        weights = [
            i for i, number in enumerate(wanted) if isinstance(operands[number], GraphParameter)
        ]
        others = [i for i in range(len(wanted)) if i not in weights]
        if weights and others:
            behind = Barrier.of()(
                tuple([grads[i] for i in others]), tuple([grads[i] for i in weights])
            )
            for i, grad in zip(others, behind, strict=True):
                grads[i] = grad

    # ---- maps -------------------------------------------------------------------------------

    def vmap(self, node: Apply, dout: Any, cotangents: Cotangents, live: set[GraphNode]) -> None:
        """The backward pass is a vmap, too; unmapped operands get the sum over the axis."""
        op = primitive_of(node)
        operands, seeded = operands_of(node), seed_types(node.type, dout)
        wanted = wanted_operands(graphs_of(node), operands, live, seeded)
        part = build_joint_graph(self.tracer, graphs_of(node)[0], wanted, self, seeded)
        count, residual_count = len(part.outputs), len(part.residuals)
        forward = self._mapped_forward(op, node, part)
        residuals = [self.builder.item(forward, count + i) for i in range(residual_count)]
        if part.needed is not None:
            most = self.tracer.wrap(self.builder.item(forward, count + residual_count))
            self.tracer.note_needed(most.max())
        self.builder.replaced[node] = self.builder.tuple(
            tuple(self.builder.item(forward, i) for i in range(count))
        )
        grads = self._mapped_backward(op, node, part, wanted, residuals, dout)
        for index, number in enumerate(wanted):
            grad = self.tracer.wrap(self.builder.item(grads, index))
            if op.in_axes[number] is None:
                grad = grad.sum(0)
            cotangents.add(operands[number], grad)

    def _mapped_forward(self, op: Vmap, node: Apply, part: JointGraph) -> GraphNode:
        builder = GraphBuilder(f"{part.builder.graph.name}_forward")
        mapping = _parameters(builder, part.parameters)
        extra = [] if part.needed is None else [part.needed]
        outputs = copy_nodes([*part.outputs, *part.residuals, *extra], builder.graph, mapping)
        builder.graph.output = builder.tuple(tuple(outputs))
        axes = (*op.out_axes, *[0] * (len(outputs) - len(op.out_axes)))
        mapped = Vmap(op.in_axes, axes, op.size)
        types = _mapped_types(builder.graph.output.type, axes, op.size)
        return self.builder.apply(mapped, (builder.graph, *operands_of(node)), types, node.span)

    def _mapped_backward(
        self, op: Vmap, node: Apply, part: JointGraph, wanted: list[int], residuals: Any, dout: Any
    ) -> GraphNode:
        builder = GraphBuilder(f"{part.builder.graph.name}_backward")
        mapping = _parameters(builder, part.parameters)
        for residual in part.residuals:
            mapping[residual] = builder.parameter("kept", residual.type)
        places = sorted(part.seeds)
        for place in places:
            mapping[part.seeds[place]] = builder.parameter(f"d{place}", part.seeds[place].type)
        grads = self.gradients(part, builder, mapping, wanted)
        builder.graph.output = builder.tuple(tuple(grads))
        in_axes = (*op.in_axes, *[0] * len(residuals), *[op.out_axes[p] for p in places])
        out_axes = tuple(op.in_axes[w] or 0 for w in wanted)
        mapped = Vmap(in_axes, out_axes, op.size)
        types = _mapped_types(builder.graph.output.type, out_axes, op.size)
        seeds = [self.tracer.data_node(_seed(dout, p, node.type)) for p in places]
        args = (builder.graph, *operands_of(node), *residuals, *seeds)
        return self.builder.apply(mapped, args, types, node.span)

    # ---- stack sizes ------------------------------------------------------------------------

    def _note_needed_item(self, forward: GraphNode, place: int, splits: list[JointGraph]) -> None:
        if any(s.needed is not None for s in splits):
            self.tracer.note_needed(Tensor._wrap(self.builder.item(forward, place)))

    @property
    def builder(self) -> GraphBuilder:
        return self.tracer.builder


def _parameters(builder: GraphBuilder, like: Any) -> dict[GraphNode, GraphNode]:
    return {p: builder.parameter(p.name, p.type) for p in like}


def _seed(dout: Any, place: int, types: Any) -> Tensor:
    found = dout[place]
    return found if found is not None else zeros_of(types[place])


def _mapped_types(types: Any, axes: Any, size: int) -> tuple[TensorType, ...]:
    return tuple(
        t.with_shape((*t.shape[:a], size, *t.shape[a:])) for t, a in zip(types, axes, strict=True)
    )


def _share_slots(splits: list[JointGraph]) -> tuple[list[TensorType], list[list[int]]]:
    """Slots for the residuals of all branches; branches share slots of the same type."""
    slots: list[TensorType] = []
    places: list[list[int]] = []
    for part in splits:
        free = dict.fromkeys(range(len(slots)))
        mine = []
        for residual in part.residuals:
            place = next((i for i in free if slots[i] == residual.type), None)
            if place is None:
                place = len(slots)
                slots.append(residual.type)
            else:
                del free[place]
            mine.append(place)
        places.append(mine)
    return slots, places


def _copied_or_zero(
    needed: GraphNode | None, builder: GraphBuilder, mapping: dict[GraphNode, GraphNode]
) -> Any:
    if needed is None:
        return _INDEX
    return copy_nodes([needed], builder.graph, mapping)[0]


def _as_nodes(tracer: Tracer, builder: GraphBuilder, values: list[Any]) -> list[GraphNode]:
    """Nodes unchanged; types become zeros."""
    with tracer.building(builder):
        return [tracer.data_node(zeros_of(v)) if isinstance(v, TensorType) else v for v in values]
