"""Joint forward and backward graphs, and the residuals between the two parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.autodiff.reverse_mode import backpropagate
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    Location,
    TensorLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.clone import copy_into
from mycelia._engine.ir.control_flow import TUPLE, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.types import TensorType
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True, eq=False)
class JointGraph:
    """A graph as forward and backward parts.

    `outputs` are the graph's results. `residuals` are the forward values that the backward part
    needs besides the graph's parameters. `grads` has a gradient (or None) for each wanted
    parameter. `seeds` are the parameters for the gradients of the results.
    """

    builder: GraphBuilder
    parameters: tuple[GraphParameter, ...]
    outputs: tuple[GraphNode, ...]
    seeds: dict[int, GraphParameter]
    grads: tuple[GraphNode | None, ...]
    residuals: tuple[GraphNode, ...]
    needed: GraphNode | None  # the stack size that loops inside needed

    def gradient_types(self, wanted: Sequence[int]) -> list[TensorType]:
        """The type of each gradient; that of the parameter if there is none."""
        pairs = zip(wanted, self.grads, strict=True)
        return [self.parameters[i].type if g is None else g.type for i, g in pairs]


def build_joint_graph(
    tracer: Tracer,
    graph: Graph,
    wanted: list[int],
    rules: Any,
    seeded: Mapping[int, TensorType],
) -> JointGraph:
    """Differentiate a graph with respect to the parameters `wanted`.

    `seeded` has the types of the gradients of results, by result index.
    """
    builder = GraphBuilder(graph.name)
    parameters = tuple([builder.parameter(p.name, p.type) for p in graph.parameters])
    mapping: dict[GraphNode, GraphNode] = dict(zip(graph.parameters, parameters, strict=True))
    with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
        tracer.store.write(VariableLocation(tracer.world, "<needed>"), MISSING)
        output = copy_into(graph, builder.graph, mapping)
        outputs = _parts(builder, output)
        seeds = {i: builder.parameter(f"d{i}", type_) for i, type_ in seeded.items()}
        pairs = [(outputs[i], Tensor._wrap(seed)) for i, seed in seeds.items()]
        cotangents = backpropagate(tracer, pairs, [parameters[i] for i in wanted], rules)
        needed = tracer.world.get("<needed>")
        grads = [None if g is None else tracer.data_node(g) for g in cotangents]
        last = None if needed is None else tracer.data_node(needed)
        nodes = builder.substituted([*outputs, *grads, last])
        for location, _ in journal.take_back().values():
            _check_no_effect(tracer, location)
    values, pulled = tuple(nodes[: len(outputs)]), tuple(nodes[len(outputs) : -1])
    residuals = _residuals(pulled, set(seeds.values()))
    return JointGraph(builder, parameters, values, seeds, pulled, residuals, nodes[-1])


def _check_no_effect(tracer: Tracer, location: Location) -> None:
    """The backward pass of a part may run any number of times, so it must not have effects."""
    is_state = isinstance(location, TensorLocation) and id(location.tensor) in tracer.inputs
    is_token = (
        isinstance(location, VariableLocation)
        and location.holder is tracer.world
        and location.name == "<token>"
    )
    if is_state or is_token:
        raise problem(
            RuntimeError,
            "a hook or bprop inside a compiled loop, branch, or recomputed part changes a "
            "parameter or prints",
            fix="do that in the forward pass, or in a hook outside the loop",
        )


def _parts(builder: GraphBuilder, output: GraphNode) -> tuple[GraphNode, ...]:
    if primitive_of(output) is TUPLE:
        assert isinstance(output, Apply)
        return output.args
    return tuple([builder.item(output, i) for i in range(len(output.type))])


def _residuals(grads: tuple[Any, ...], seeds: set[GraphParameter]) -> tuple[GraphNode, ...]:
    """The forward nodes that nodes depending on a seed use, and gradients that need no seed."""
    backward: dict[GraphNode, bool] = {}
    residuals: dict[GraphNode, None] = {}
    for root in grads:
        if root is None:
            continue
        for node in _ordered_from(root):
            if node in backward:
                continue
            if not isinstance(node, Apply):
                backward[node] = node in seeds
                continue
            backward[node] = any(backward[a] for a in node.args)
            if backward[node]:
                for arg in node.args:
                    if not backward[arg] and not isinstance(arg, GraphConstant):
                        residuals[arg] = None
        if not backward[root] and not isinstance(root, GraphConstant):
            residuals[root] = None
    flat: dict[GraphNode, None] = {}
    for node in residuals:
        flat.update(dict.fromkeys(_leaves(node)))
    return tuple(n for n in flat if not isinstance(n, GraphParameter))


def _leaves(node: GraphNode) -> list[GraphNode]:
    """The elements of a tuple: residuals are single arrays."""
    if primitive_of(node) is TUPLE:
        assert isinstance(node, Apply)
        return [
            leaf for a in node.args for leaf in _leaves(a) if not isinstance(leaf, GraphConstant)
        ]
    return [node]


def _ordered_from(root: GraphNode) -> list[GraphNode]:
    holder = Graph("root")
    holder.output = root
    return ordered(holder)
