"""Partitioning a graph into stages: the stage of each node, and one closed graph per stage.

A node that depends on data of the call belongs to one stage. Nodes that depend only on weights,
random keys, and constants are portable: every stage that needs them computes them. Data that no
stage has processed yet (masks, labels) is prepared in the first stage that needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia._engine.core.errors import located, problem
from mycelia._engine.ir.analysis import ordered, reachable_graphs, used_parameters
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import (
    BLOCK,
    CALL,
    RECOMPUTE,
    TUPLE,
    Item,
    graphs_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia.ops.collective.stage_boundary import EnterStage

Places = dict[GraphNode, int]  # the stage of each node that is not portable


@dataclass(frozen=True, eq=False)
class StagedGraph:
    """A graph without stage markers, and the stages of its nodes."""

    graph: Graph
    places: Places


@dataclass(frozen=True, eq=False)
class StageSubgraph:
    """The nodes of one stage as a closed graph.

    `inputs` are the values of its parameters in the whole graph: parameters, or values of other
    stages. Its output is a tuple: first the `crossing` values, which other stages read, then the
    outputs of the whole graph whose indices are in `results`.
    """

    place: Any
    graph: Graph
    inputs: tuple[GraphNode, ...]
    crossing: tuple[GraphNode, ...]
    results: tuple[int, ...]


# ---- stages set by the user ----------------------------------------------------------------


def has_marks(graph: Graph) -> bool:
    """Whether any cell of a network has a `pipeline_stage`."""
    return any(
        isinstance(primitive_of(node), EnterStage)
        for inner in reachable_graphs(graph)
        for node in ordered(inner)
    )


def stages_by_marks(
    graph: Graph, data: Collection[GraphParameter], stages: int, rounds: int = 1
) -> StagedGraph:
    """Assign stages by the markers in `graph`; `data` are the parameters that differ by batch.

    With several `rounds`, the sequence of stages repeats, with consecutive numbers. A node belongs
    to the latest stage among its inputs.
    """
    opened, given = _opened(graph)
    nodes = [n for n in ordered(opened) if isinstance(n, Apply)]
    touched = needing(nodes, {given[p] for p in data})
    places: Places = {}
    for node in nodes:
        if node not in touched:
            continue
        found = max((places[a] for a in node.args if a in places), default=None)
        mark = primitive_of(node)
        if isinstance(mark, EnterStage):
            found = _marked(mark, found, stages, rounds, node)
        if found is not None:
            places[node] = found
    assign_remaining_nodes(nodes, touched, places)
    missing = sorted(set(range(stages * rounds)) - set(places.values()))
    if missing:
        raise problem(
            ValueError,
            "a pipeline stage has no cells",
            got=f"no cells for stage {', '.join(str(m % stages) for m in missing)}",
            expected=f"cells for each of the {stages} stages"
            + (f", in each of {rounds} segments" if rounds > 1 else ""),
            fix="set cell.pipeline_stage for more cells, or for none to partition automatically",
        )
    return _stripped(opened, places)


def _marked(mark: EnterStage, before: int | None, stages: int, rounds: int, node: Apply) -> int:
    """The number of the stage that begins at a marker, after the stage `before`."""
    first = 0 if before is None else before
    if mark.segment >= 0:
        found = mark.segment * stages + mark.stage
    else:
        found = first + (mark.stage - first) % stages
    if mark.stage < stages and first <= found < stages * rounds:
        return found
    if mark.stage >= stages or mark.segment >= rounds:
        got = f"pipeline_stage = {mark.stage}"
        got += f", pipeline_segment = {mark.segment}" if mark.segment >= rounds else ""
        limits = (
            f"stages 0 to {stages - 1}, {rounds} segments" if rounds > 1 else f"0 to {stages - 1}"
        )
        raise located(
            ValueError, "a cell has a stage that is out of range", got=got, expected=limits,
            span=node.span,
        )  # fmt: skip
    raise located(
        ValueError,
        f"a cell of stage {mark.stage} uses the output of a later stage",
        got=f"a value of stage {first % stages}",
        expected="stages that increase along the network",
        fix="change pipeline_stage, or use interleaved stages (pipeline_interleave)",
        span=node.span,
    )


def _opened(graph: Graph) -> tuple[Graph, dict[GraphNode, GraphNode]]:
    """A copy with all markers in the outermost graph, and the new nodes of the parameters."""
    target = Graph(graph.name, span=graph.span)
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, span=p.span, type=p.type) for p in graph.parameters
    }
    target.output = _copied_open(graph, target, mapping)
    return target, mapping


def _copied_open(graph: Graph, target: Graph, mapping: dict[GraphNode, GraphNode]) -> GraphNode:
    for node in ordered(graph):
        if node in mapping:
            continue
        if not isinstance(node, Apply):
            mapping[node] = node
            continue
        args = tuple([mapping[a] for a in node.args])
        op, inner = primitive_of(node), graphs_of(node)
        if not any(map(has_marks, inner)):
            mapping[node] = _item_of_tuple(op, args) or replace(node, args=args, graph=target)
        elif op in (RECOMPUTE, CALL, BLOCK):
            own: dict[GraphNode, GraphNode] = dict(zip(inner[0].parameters, args[1:], strict=True))
            mapping[node] = _copied_open(inner[0], target, own)
        else:
            raise located(
                ValueError,
                "a pipeline stage begins inside a branch, a loop, or a map",
                got=f"cells with a pipeline_stage in {op.name}",
                fix="set pipeline_stage of the cell that contains the whole branch or loop",
                span=node.span,
            )
    return mapping[graph.output]


def _item_of_tuple(op: Any, args: tuple[GraphNode, ...]) -> GraphNode | None:
    if type(op) is Item and primitive_of(args[0]) is TUPLE:
        assert isinstance(args[0], Apply)
        return args[0].args[op.index]
    return None


def _stripped(graph: Graph, places: Places) -> StagedGraph:
    """The graph without its stage markers."""
    target = Graph(graph.name, span=graph.span)
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, span=p.span, type=p.type) for p in graph.parameters
    }
    found: Places = {}
    for node in ordered(graph):
        if isinstance(node, Apply):
            if isinstance(primitive_of(node), EnterStage):
                mapping[node] = mapping[node.args[0]]
                continue
            args = tuple([mapping[a] for a in node.args])
            mapping[node] = new = replace(node, args=args, graph=target)
            if node in places:
                found[new] = places[node]
        elif not isinstance(node, GraphParameter):
            mapping[node] = node
    target.output = mapping[graph.output]
    return StagedGraph(target, found)


# ---- shared by all partitioners --------------------------------------------------------------


def copied(graph: Graph) -> Graph:
    """A copy without stage markers, for partitioners that ignore them."""
    return _stripped(_opened(graph)[0], {}).graph


def needing(nodes: Iterable[Apply], roots: Collection[GraphNode]) -> set[GraphNode]:
    """Those of `nodes` (inputs before users) that depend on one of `roots`, without tuples."""
    found: set[GraphNode] = set(roots)
    for node in nodes:
        if any(a in found for a in node.args):
            found.add(node)
    return found


def assign_remaining_nodes(
    nodes: Sequence[Apply], touched: Collection[GraphNode], places: Places
) -> None:
    """Assign the rest of `touched` to the first stage that needs it.

    Tuple element access stays with the producer of the tuple.
    """
    first = dict[GraphNode, int]()
    for node in reversed(nodes):
        if node in touched and node not in places and node in first:
            places[node] = first[node]
        if node in places:
            for arg in node.args:
                first[arg] = min(first.get(arg, places[node]), places[node])
    for node in nodes:
        if type(primitive_of(node)) is Item and node.args[0] in places:
            places[node] = places[node.args[0]]
    for node in nodes:
        if primitive_of(node) is TUPLE:
            places.pop(node, None)  # tuples are built where they are used


# ---- splitting -----------------------------------------------------------------------------------


def split_by_stage(
    graph: Graph, places: Mapping[GraphNode, Any], homes: Mapping[int, Any], default: Any
) -> list[StageSubgraph]:
    """Split a graph whose output is a tuple into one closed graph per stage, in order.

    `homes` are the stages of portable outputs; the other portable outputs go to `default`. An
    output that is a parameter belongs to no stage.
    """
    assert isinstance(graph.output, Apply) and primitive_of(graph.output) is TUPLE
    nodes = [n for n in ordered(graph) if isinstance(n, Apply) and n in places]
    outputs = graph.output.args
    at = {
        i: places.get(o, homes.get(i, default))
        for i, o in enumerate(outputs)
        if not isinstance(o, GraphParameter)
    }
    taken: dict[Any, dict[GraphNode, None]] = {}  # by stage, the values of other stages it needs
    for node in nodes:
        for leaf in _leaves(node.args, places):
            if places[leaf] != places[node]:
                taken.setdefault(places[node], {})[leaf] = None
    crossing = {leaf for leaves in taken.values() for leaf in leaves}
    keys = sorted({*(places[n] for n in nodes), *at.values()})
    return [_part(graph, key, places, taken.get(key, {}), crossing, nodes, at) for key in keys]


def _part(
    graph: Graph,
    key: Any,
    places: Mapping[GraphNode, Any],
    taken: Mapping[GraphNode, None],
    crossing: set[GraphNode],
    nodes: Sequence[Apply],
    at: Mapping[int, Any],
) -> StageSubgraph:
    assert isinstance(graph.output, Apply)
    given = tuple([n for n in nodes if n in crossing and places[n] == key])
    results = tuple([i for i, place in at.items() if place == key])
    part = Graph(f"{graph.name}_{_shown(key)}", span=graph.span)
    inputs: tuple[GraphNode, ...] = (*graph.parameters, *taken)
    mapping: dict[GraphNode, GraphNode] = {
        n: part.parameter(n.name if isinstance(n, GraphParameter) else f"taken{i}", type=n.type)
        for i, n in enumerate(inputs)
    }
    roots = [*given, *(graph.output.args[i] for i in results)]
    found = copy_nodes(roots, part, mapping)
    part.output = part.apply(TUPLE, *found, type=tuple([f.type for f in found]))
    used = used_parameters(part)
    kept = [n for n in inputs if mapping[n] in used]
    part.parameters = tuple([p for p in part.parameters if p in used])
    return StageSubgraph(key, part, tuple(kept), given, results)


def _leaves(args: Iterable[GraphNode], places: Mapping[GraphNode, Any]) -> Iterable[GraphNode]:
    """The values with a stage that arguments consist of, through tuples."""
    waiting = list(args)
    while waiting:
        node = waiting.pop()
        if node in places:
            yield node
        elif isinstance(node, Apply) and primitive_of(node) is TUPLE:
            waiting += node.args


def _shown(key: Any) -> str:
    return "_".join(map(str, key)) if isinstance(key, tuple) else f"stage{key}"
