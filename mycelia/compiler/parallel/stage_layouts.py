"""How the values of one stage of a pipeline lie over the devices of that stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mycelia.ir.analysis import ordered
from mycelia.ir.graph import Graph
from mycelia.ir.node import Apply, Node
from mycelia.ir.types import TensorType
from mycelia.ops.spreading import Redistribute
from mycelia.parallel.mesh import Mesh, Placement, whole


@dataclass(frozen=True, eq=False)
class StageLayout:
    """A stage on its devices: the mesh they are, where its inputs lie, its graph with the rest."""

    mesh: Mesh
    inputs: tuple[Placement, ...]
    graph: Graph


def data_parallel(graph: Graph, is_data: Sequence[bool], devices: int) -> StageLayout:
    """Data of the micro-batch cut along its first dimension, weights and keys whole everywhere.

    Data that cannot be cut evenly comes whole, and is cut unevenly inside.
    """
    mesh = Mesh((devices,))
    inputs: list[Placement] = []
    inside: dict[Node, Placement] = {}
    for parameter, varies in zip(graph.parameters, is_data, strict=True):
        shape = parameter.type.shape
        inputs.append(whole(len(shape)))
        if not varies or not shape or shape[0] < devices or devices == 1:
            continue
        rows = Placement(((0,), *[()] * (len(shape) - 1)))
        if rows.is_even(shape, mesh):
            inputs[-1] = rows
        else:
            inside[parameter] = rows
    return StageLayout(mesh, tuple(inputs), constrained(graph, mesh, inside))


def constrained(graph: Graph, mesh: Mesh, placements: Mapping[Node, Placement]) -> Graph:
    """A copy of a graph in which some of its nodes lie as they are told to."""
    if not placements:
        return graph
    target = Graph(graph.name, span=graph.span)
    mapping: dict[Node, Node] = {}

    def laid_out(node: Node, new: Node) -> Node:
        wanted = placements.get(node)
        if wanted is None or not isinstance(node.type, TensorType):
            return new
        return target.apply(Redistribute.of(mesh.sizes, wanted.dims), new, type=new.type)

    for parameter in graph.parameters:
        new = target.parameter(parameter.name, span=parameter.span, type=parameter.type)
        mapping[parameter] = laid_out(parameter, new)
    for node in ordered(graph):
        if isinstance(node, Apply):
            args = tuple([mapping[a] for a in node.args])
            mapping[node] = laid_out(node, replace(node, args=args, graph=target))
        else:
            mapping.setdefault(node, node)
    target.output = mapping[graph.output]
    return target
