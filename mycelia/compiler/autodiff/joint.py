"""A graph together with its backward, and the two taken apart: what a gradient must remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia.compiler.autodiff.reverse import pull
from mycelia.compiler.building import Builder
from mycelia.compiler.store import MISSING, Entry, Numbers, Place
from mycelia.compiler.tracer import Tracer
from mycelia.core.errors import problem
from mycelia.ir.analysis import ordered
from mycelia.ir.clone import copy_into
from mycelia.ir.control import TUPLE, primitive_of
from mycelia.ir.graph import Graph
from mycelia.ir.node import Apply, Constant, Node, Parameter
from mycelia.ir.types import TensorType
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Split:
    """A graph as forward and backward parts.

    `outputs` are the graph's results, `residuals` the forward values the backward part needs
    besides the graph's parameters, `grads` one gradient (or None) for each wanted parameter, and
    `seeds` the parameters that stand for the gradients of the results.
    """

    builder: Builder
    parameters: tuple[Parameter, ...]
    outputs: tuple[Node, ...]
    seeds: dict[int, Parameter]
    grads: tuple[Node | None, ...]
    residuals: tuple[Node, ...]
    needed: Node | None  # how large the stacks of loops inside had to be

    def gradient_types(self, wanted: Sequence[int]) -> list[TensorType]:
        """The type of each gradient, that of the parameter where there is none."""
        pairs = zip(wanted, self.grads, strict=True)
        return [self.parameters[i].type if g is None else g.type for i, g in pairs]


def split(
    tracer: Tracer,
    graph: Graph,
    wanted: list[int],
    rules: Any,
    seeded: Mapping[int, TensorType],
) -> Split:
    """Differentiate a graph for the parameters `wanted`.

    `seeded` gives the types of the gradients of results, by the number of the result.
    """
    builder = Builder(graph.name)
    parameters = tuple([builder.parameter(p.name, p.type) for p in graph.parameters])
    mapping: dict[Node, Node] = dict(zip(graph.parameters, parameters, strict=True))
    with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
        tracer.store.write(Entry(tracer.world, "<needed>"), MISSING)
        output = copy_into(graph, builder.graph, mapping)
        outputs = _parts(builder, output)
        seeds = {i: builder.parameter(f"d{i}", type_) for i, type_ in seeded.items()}
        pairs = [(outputs[i], Tensor._wrap(seed)) for i, seed in seeds.items()]
        found = pull(tracer, pairs, [parameters[i] for i in wanted], rules)
        needed = tracer.world.get("<needed>")
        grads = [None if g is None else tracer.data_node(g) for g in found]
        last = None if needed is None else tracer.data_node(needed)
        nodes = builder.substituted([*outputs, *grads, last])
        for place, _ in journal.take_back().values():
            _check_place(tracer, place)
    values, pulled = tuple(nodes[: len(outputs)]), tuple(nodes[len(outputs) : -1])
    residuals = _residuals(pulled, set(seeds.values()))
    return Split(builder, parameters, values, seeds, pulled, residuals, nodes[-1])


def _check_place(tracer: Tracer, place: Place) -> None:
    """The backward of a part runs as often as it needs to, so it has no other effects."""
    is_state = isinstance(place, Numbers) and id(place.tensor) in tracer.inputs
    is_token = isinstance(place, Entry) and place.holder is tracer.world and place.name == "<token>"
    if is_state or is_token:
        raise problem(
            RuntimeError,
            "a hook or bprop inside a compiled loop, branch, or recomputed part changes a "
            "parameter or prints",
            fix="do that in the forward pass, or in a hook outside of the loop",
        )


def _parts(builder: Builder, output: Node) -> tuple[Node, ...]:
    if primitive_of(output) is TUPLE:
        assert isinstance(output, Apply)
        return output.args
    return tuple([builder.item(output, i) for i in range(len(output.type))])


def _residuals(grads: tuple[Any, ...], seeds: set[Parameter]) -> tuple[Node, ...]:
    """The forward nodes that nodes depending on a seed use, and gradients without a seed."""
    backward: dict[Node, bool] = {}
    residuals: dict[Node, None] = {}
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
                    if not backward[arg] and not isinstance(arg, Constant):
                        residuals[arg] = None
        if not backward[root] and not isinstance(root, Constant):
            residuals[root] = None
    flat: dict[Node, None] = {}
    for node in residuals:
        flat.update(dict.fromkeys(_leaves(node)))
    return tuple(n for n in flat if not isinstance(n, Parameter))


def _leaves(node: Node) -> list[Node]:
    """A tuple as its parts: residuals are single arrays."""
    if primitive_of(node) is TUPLE:
        assert isinstance(node, Apply)
        return [leaf for a in node.args for leaf in _leaves(a) if not isinstance(leaf, Constant)]
    return [node]


def _ordered_from(root: Node) -> list[Node]:
    holder = Graph("root")
    holder.output = root
    return ordered(holder)
