"""Programs on packs: parameters that a program only uses as stacks become one input each.

A chain of equal blocks reads its weights as stacks, and gradients come as stacks. What is left are
the optimizer's updates, one for each weight: those of a stack are one update of the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mycelia.ir.analysis import ordered
from mycelia.ir.clone import copy_nodes
from mycelia.ir.control import TUPLE, Item, primitive_of
from mycelia.ir.graph import Graph
from mycelia.ir.node import Apply, Constant, Node
from mycelia.ir.program import Input, Program, Source
from mycelia.ir.types import TensorType
from mycelia.ops.joining import Stack, Unstack
from mycelia.ops.update_family import Update
from mycelia.runtime.packs import may_be_packed, pack_of

LEAST = 3  # parameters of a pack


def packed(program: Program) -> Program:
    """The program with packs for inputs, or as it is."""
    plan = _Plan(program)
    return plan.rewritten() if plan.groups else program


@dataclass(eq=False)
class _Group:
    """Parameters of a graph that become one."""

    members: tuple[Any, ...]  # parameters of the graph
    parameter: Any = None  # what they become
    written: Any = None  # its new array


@dataclass(eq=False)
class _Plan:
    """What of a program is packed, and the program after that."""

    program: Program
    groups: list[_Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes: list[Any] = [n for n in ordered(self.program.graph) if isinstance(n, Apply)]
        graph = self.program.graph
        self.inputs: dict[Node, Input] = dict(
            zip(graph.parameters, self.program.inputs, strict=True)
        )
        self.outputs = graph.output.args if isinstance(graph.output, Apply) else ()
        by_tensor = {id(i.which): p for p, i in self.inputs.items() if i.source is Source.STATE}
        self.places: dict[Node, int] = {  # of the new array of a parameter among the outputs
            by_tensor[id(w)]: place
            for place, w in enumerate(self.program.writes, self.program.results)
            if id(w) in by_tensor
        }
        self.update: Any = next(
            (n for n in self.nodes if isinstance(primitive_of(n), Update)), None
        )
        stacks = {n.args[0].args: n for n in self.nodes if self._is_stack_of_parameters(n)}
        self.stacks = {members: stack for members, stack in stacks.items() if self._fits(members)}
        taken: set[Node] = set()
        for members in self.stacks:
            if taken.isdisjoint(members):
                taken.update(members)
                self.groups.append(_Group(members))

    def _is_stack_of_parameters(self, node: Any) -> bool:
        op = primitive_of(node)
        if not isinstance(op, Stack) or op.axis != 0 or primitive_of(node.args[0]) is not TUPLE:
            return False
        members = node.args[0].args
        return len(set(members)) == len(members) >= LEAST and all(
            m in self.inputs and may_be_packed(self.inputs[m].which) for m in members
        )

    # ---- what may be packed ------------------------------------------------------------------

    def _fits(self, members: tuple[Node, ...]) -> bool:
        """Whether the new arrays of all members come as a stack, too, or there are none."""
        written = [m in self.places for m in members]
        if not any(written):
            return True
        return all(written) and (self._updated(members) or self._stacked_writes(members))

    def _stacked_writes(self, members: Sequence[Node]) -> bool:
        return _unstacked([self.outputs[self.places[m]] for m in members]) is not None

    def _updated(self, members: tuple[Node, ...]) -> bool:
        """Whether one update of the stack is the same as those of its parts."""
        if self.update is None:
            return False
        op: Update = primitive_of(self.update)
        arguments = self._arguments()
        order = {p: i for i, p in enumerate(_parts(arguments["params"]))}
        if op.by_norm or not all(m in order for m in members):
            return False
        places = [order[m] for m in members]
        if op.centralize and any(op.centralize[i] for i in places):
            return False
        if op.weight_decay and len({op.weight_decay[i] for i in places}) > 1:
            return False
        return all(
            self._is_alike(name, node, places, len(order)) for name, node in arguments.items()
        )

    def _is_alike(self, name: str, node: Node, places: list[int], count: int) -> bool:
        parts = _parts(node)
        if len(parts) != count or name == "gradients":
            return True
        chosen = [parts[i] for i in places]
        if name in primitive_of(self.update).writes:
            states = [self.inputs.get(p) for p in chosen]
            return all(s is not None and may_be_packed(s.which) for s in states)
        return len(set(chosen)) == 1

    def _arguments(self) -> dict[str, Node]:
        assert self.update is not None
        return dict(zip(primitive_of(self.update).arguments.names, self.update.args, strict=False))

    # ---- the new program -----------------------------------------------------------------------

    def rewritten(self) -> Program:
        old = self.program.graph
        self.graph = graph = Graph(old.name, span=old.span)
        updated = [
            g
            for g in self.groups
            if g.members[0] in self.places and not self._stacked_writes(g.members)
        ]
        states = self._state_groups(updated)
        every = [*self.groups, *(g for row in states.values() for g in row if g not in self.groups)]
        gone = {m for g in every for m in g.members}
        self.mapping: dict[Node, Node] = {}
        for parameter in old.parameters:
            if parameter not in gone:
                self.mapping[parameter] = graph.parameter(parameter.name, type=parameter.type)
        inputs = [self.inputs[p] for p in old.parameters if p not in gone]
        for group in every:
            self._add(group)
            inputs.append(Input(Source.STATE, self._pack(group)))
        if updated:
            self._merge_updates(updated, states)
        for group in self.groups:
            if group.members[0] in self.places and group.written is None:
                whole = _unstacked([self.outputs[self.places[m]] for m in group.members])
                assert whole is not None
                group.written = copy_nodes([whole], graph, self.mapping)[0]
        return self._finished(every, gone, tuple(inputs))

    def _finished(self, every: list[_Group], gone: set[Node], inputs: tuple[Input, ...]) -> Program:
        program, first = self.program, self.program.results
        after = first + len(program.writes)
        dropped = {self.places[m] for m in gone if m in self.places}
        kept = [i for i in range(first, after) if i not in dropped]
        groups = [g for g in every if g.written is not None]
        old = [self.outputs[i] for i in (*range(first), *kept)]
        rest = copy_nodes([*old, *self.outputs[after:]], self.graph, self.mapping)
        count = len(old)
        nodes = [*rest[:count], *(g.written for g in groups), *rest[count:]]
        types = tuple([n.type for n in nodes])
        self.graph.output = self.graph.apply(TUPLE, *nodes, type=types)
        writes = [program.writes[i - first] for i in kept]
        writes += [self._pack(g) for g in groups]
        return replace(program, graph=self.graph, inputs=inputs, writes=tuple(writes))

    def _pack(self, group: _Group) -> Any:
        return pack_of([self.inputs[m].which for m in group.members])

    def _add(self, group: _Group) -> None:
        """One parameter for a group; whoever uses a member alone gets a slice."""
        first, graph = group.members[0], self.graph
        type_ = first.type.with_shape((len(group.members), *first.type.shape))
        group.parameter = graph.parameter(f"{first.name}...", type=type_)
        types = (first.type,) * len(group.members)
        slices = graph.apply(Unstack.of(0), group.parameter, type=types)
        for i, member in enumerate(group.members):
            self.mapping[member] = graph.apply(Item(i), slices, type=first.type)
        stack = self.stacks.get(group.members)
        if stack is not None:
            self.mapping[stack] = group.parameter

    def _state_groups(self, updated: list[_Group]) -> dict[str, list[_Group]]:
        """For each argument that an update writes by parameter, a group for each updated one."""
        if not updated:
            return {}
        arguments, found = self._arguments(), {}
        params = _parts(arguments["params"])
        for name in primitive_of(self.update).writes:
            parts = _parts(arguments[name])
            if len(parts) == len(params) and name != "params":
                by_param = dict(zip(params, parts, strict=True))
                found[name] = [_Group(tuple([by_param[m] for m in g.members])) for g in updated]
        return {"params": updated} | found

    def _merge_updates(self, updated: list[_Group], states: dict[str, list[_Group]]) -> None:
        """One update that has an entry for each group instead of its members."""
        assert self.update is not None
        op, arguments, graph = primitive_of(self.update), self._arguments(), self.graph
        params = _parts(arguments["params"])
        order = {p: i for i, p in enumerate(params)}
        merged = [[order[m] for m in g.members] for g in updated]
        inside = {i for places in merged for i in places}
        alone = [i for i in range(len(params)) if i not in inside]
        args = []
        for name, node in arguments.items():
            parts = _parts(node)
            if len(parts) != len(params):
                args += copy_nodes([node], graph, self.mapping)
                continue
            entries = copy_nodes([parts[i] for i in alone], graph, self.mapping)
            for group, places in enumerate(merged):
                if name in states:
                    entries.append(states[name][group].parameter)
                elif name == "gradients":
                    entries.append(self._stacked([parts[i] for i in places]))
                else:
                    entries += copy_nodes([parts[places[0]]], graph, self.mapping)
            args.append(graph.apply(TUPLE, *entries, type=tuple([e.type for e in entries])))
        fields = {
            name: tuple([given[i] for i in (*alone, *(places[0] for places in merged))])
            for name in ("weight_decay", "centralize")
            if (given := getattr(op, name))
        }
        by_name = dict(zip(arguments, args, strict=True))
        types = tuple([by_name[name].type for name in op.writes])
        new = graph.apply(op.with_fields(**fields), *args, type=(None, types))
        self._place_results(new, op, alone, states)

    def _stacked(self, nodes: list[Node]) -> Node:
        """A stack of gradients; mostly they were one before they were taken apart."""
        whole = _unstacked(nodes)
        if whole is not None:
            return copy_nodes([whole], self.graph, self.mapping)[0]
        parts = copy_nodes(nodes, self.graph, self.mapping)
        type_ = parts[0].type.with_shape((len(parts), *parts[0].type.shape))
        row = self.graph.apply(TUPLE, *parts, type=tuple([p.type for p in parts]))
        return self.graph.apply(Stack.of(0), row, type=type_)

    def _place_results(
        self, new: Apply, op: Any, alone: list[int], states: dict[str, list[_Group]]
    ) -> None:
        """Say what became of the results of the update."""
        graph, types = self.graph, new.type[1]
        updates = graph.apply(Item(1), new, type=types)
        wholes = [graph.apply(Item(w), updates, type=t) for w, t in enumerate(types)]
        place_of = {old: new for new, old in enumerate(alone)}
        for node in self.nodes:
            path = _path(node, self.update)
            if path is None or len(path) < 2 or path[0] != 1:
                continue
            name = op.writes[path[1]]
            if name not in states:
                if len(path) == 2 and isinstance(node.type, TensorType):
                    self.mapping[node] = wholes[path[1]]
            elif len(path) == 3 and path[2] in place_of:
                index = place_of[path[2]]
                self.mapping[node] = graph.apply(Item(index), wholes[path[1]], type=node.type)
        for name, groups in states.items():
            whole = wholes[op.writes.index(name)]
            for i, group in enumerate(groups):
                assert group.parameter is not None
                type_ = group.parameter.type
                group.written = graph.apply(Item(len(alone) + i), whole, type=type_)


def _parts(node: Node) -> tuple[Node, ...]:
    return node.args if isinstance(node, Apply) and primitive_of(node) is TUPLE else ()


def _path(node: Node, root: Node | None) -> list[int] | None:
    """The indices by which a node takes something out of `root`, or None."""
    found: list[int] = []
    while node is not root:
        op = primitive_of(node)
        if type(op) is not Item or not isinstance(node, Apply):
            return None
        found.insert(0, op.index)
        node = node.args[0]
    return found


def _unstacked(nodes: Sequence[Node]) -> Node | None:
    """The stack of which these are all the slices in order, or None."""
    first = nodes[0]
    if type(primitive_of(first)) is not Item or isinstance(first, Constant):
        return None
    assert isinstance(first, Apply)
    whole = first.args[0]
    op = primitive_of(whole)
    if not isinstance(op, Unstack) or op.axis != 0 or len(whole.type) != len(nodes):
        return None
    same = all(_path(node, whole) == [i] for i, node in enumerate(nodes))
    assert isinstance(whole, Apply)
    return whole.args[0] if same else None
