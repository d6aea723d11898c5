"""Rewriting of programs to packed parameters, which stay packed between steps.

A chain of identical blocks reads its weights as stacks, and gradients are stacks, too. Convolutions
read their weights with permuted axes, and their gradients have a similar order. The optimizer
then updates the packed parameters directly.
Passing the parameters of a small network one by one takes longer than its step: they are
concatenated and updated together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mycelia._engine.core.process_groups import world
from mycelia._engine.core.shape import size
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import TUPLE, Item, primitive_of, tuple_elements
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.program import InputSource, Program, ProgramInput
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op
from mycelia._engine.runtime.parameter_layout.pack_groups import (
    ConcatenatedGroup,
    PackGroup,
    StackGroup,
    TransposedGroup,
    path_between,
)
from mycelia._engine.runtime.parameter_layout.packs import joined_packs, may_be_packed
from mycelia.ops.optimizer.support import Update
from mycelia.ops.shapes.concat import Stack

LEAST = 3  # parameters of a stack
_MANY = 16  # small parameters
_SMALL, _SMALL_NETWORK = 1 << 12, 1 << 18  # elements of a parameter, and of all updated ones


def pack_parameters(program: Program) -> Program:
    """Rewrite a program to packed inputs, where that is possible."""
    plan = _PackingPlan(program)
    return plan.rewritten() if plan.groups else program


@dataclass(eq=False)
class _PackingPlan:
    """The choice of groups to pack in a program, and the rewritten program."""

    program: Program
    groups: list[PackGroup] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes: list[Any] = [n for n in ordered(self.program.graph) if isinstance(n, Apply)]
        graph = self.program.graph
        self.inputs: dict[GraphNode, ProgramInput] = dict(
            zip(graph.parameters, self.program.inputs, strict=True)
        )
        self.outputs = graph.output.args if isinstance(graph.output, Apply) else ()
        self.by_tensor = by_tensor = {
            id(i.which): p for p, i in self.inputs.items() if i.source is InputSource.STATE
        }
        self.places: dict[GraphNode, int] = {  # of the new array of a parameter among the outputs
            by_tensor[id(w)]: place
            for place, w in enumerate(self.program.writes, self.program.results)
            if id(w) in by_tensor
        }
        self.update: Any = next(
            (n for n in self.nodes if isinstance(primitive_of(n), Update)), None
        )
        self.arguments = {} if self.update is None else _arguments_of(self.update)
        params = tuple_elements(self.arguments["params"]) if self.arguments else ()
        self.order = {p: i for i, p in enumerate(params)}  # of parameters in the update
        self.stacks = {n.args[0].args: n for n in self.nodes if self._is_stack_of_parameters(n)}
        self.taken: set[GraphNode] = set()
        self._choose([*map(StackGroup, self.stacks), *self._turned()])
        self._choose([*self._small(), *self._joined_elsewhere()])

    def _choose(self, groups: Sequence[PackGroup]) -> None:
        for group in groups:
            if self.taken.isdisjoint(group.members) and self._fits(group):
                self.taken.update(group.members)
                self.groups.append(group)

    # ---- what may be packed ------------------------------------------------------------------

    def _is_stack_of_parameters(self, node: Any) -> bool:
        op = primitive_of(node)
        if not isinstance(op, Stack) or op.axis != 0 or primitive_of(node.args[0]) is not TUPLE:
            return False
        members = node.args[0].args
        return len(set(members)) == len(members) >= LEAST and all(map(self._may_be_packed, members))

    def _turned(self) -> list[TransposedGroup]:
        """Parameters that an operator needs with permuted axes, and no operator reads by row."""
        found = []
        for node in self.nodes:
            op = primitive_of(node)
            if not isinstance(op, Op):
                continue
            for place, order in op.kept_orders(*[n.type for n in node.args]).items():
                if self._may_be_packed(node.args[place]) and node.args[place] not in self.picked:
                    found.append(TransposedGroup((node.args[place],), order))
        return found

    def _small(self) -> list[ConcatenatedGroup]:
        """The remaining parameters of a small network, grouped by their update settings."""
        if sum(size(p.type.shape) for p in self.order) > _SMALL_NETWORK:
            return []
        alike: dict[Any, list[Any]] = defaultdict(list)
        left_out = self.taken | self.picked
        for parameter, place in self.order.items():
            is_small = size(parameter.type.shape) <= _SMALL and parameter not in left_out
            if is_small and self._may_be_packed(parameter):
                alike[parameter.type.dtype, *self._treatment(place)].append(parameter)
        return [ConcatenatedGroup(tuple(row)) for row in alike.values() if len(row) >= _MANY]

    def _joined_elsewhere(self) -> list[ConcatenatedGroup]:
        """Packs that another program concatenated and that this one only reads.

        Not with several processes: the program must not depend on what each process ran before.
        """
        if world().size > 1:
            return []
        rows = [tuple([self.by_tensor.get(id(m)) for m in p.members]) for p in joined_packs()]
        others = self.taken | self.picked | self.places.keys() | {None}
        return [ConcatenatedGroup(row) for row in rows if others.isdisjoint(row)]

    def _treatment(self, place: int) -> tuple[Any, ...]:
        """The settings of an update for one of its parameters: learning rate, weight decay."""
        op = primitive_of(self.update)
        others = self.arguments.keys() - {"gradients", *op.writes}
        rows = [tuple_elements(self.arguments[name]) for name in sorted(others)]
        own = [row[place] for row in rows if len(row) == len(self.order)]
        return (*own, op.weight_decay[place] if op.weight_decay else None)

    @cached_property
    def picked(self) -> set[GraphNode]:
        """Parameters from which some operator reads a few rows, which must stay contiguous."""
        reads = [(n, op.rows_of) for n in self.nodes if isinstance(op := primitive_of(n), Op)]
        return {n.args[place] for n, place in reads if place is not None}

    def _may_be_packed(self, node: GraphNode) -> bool:
        return node in self.inputs and may_be_packed(self.inputs[node].which)

    def _fits(self, group: PackGroup) -> bool:
        """Whether the new arrays of all members are available as one array, or there are none."""
        written = [m in self.places for m in group.members]
        if not any(written):
            return True
        return all(written) and (self._updated(group) or self._whole_write(group) is not None)

    def _whole_write(self, group: PackGroup) -> GraphNode | None:
        return group.whole([self.outputs[self.places[m]] for m in group.members])

    def _updated(self, group: PackGroup) -> bool:
        """Whether one update of the pack is equivalent to updates of its members."""
        if not all(m in self.order for m in group.members):
            return False
        places = [self.order[m] for m in group.members]
        return group.allows(primitive_of(self.update), places) and all(
            self._is_alike(name, node, group, places) for name, node in self.arguments.items()
        )

    def _is_alike(self, name: str, node: GraphNode, group: PackGroup, places: list[int]) -> bool:
        parts = tuple_elements(node)
        is_each = len(parts) == len(self.order)
        if name == "gradients" or not is_each:
            return is_each or not isinstance(node.type, tuple) or node.type == ()
        chosen = [parts[i] for i in places]
        if name in primitive_of(self.update).writes:
            shapes = [m.type.shape for m in group.members]
            alike = [p.type.shape for p in chosen] == shapes
            return alike and all(map(self._may_be_packed, chosen))
        return len(set(chosen)) == 1

    # ---- the new program -----------------------------------------------------------------------

    def rewritten(self) -> Program:
        old = self.program.graph
        self.graph = graph = Graph(old.name, span=old.span)
        written = [g for g in self.groups if g.members[0] in self.places]
        updated = [g for g in written if self._whole_write(g) is None]
        states = self._state_groups(updated)
        every = [*self.groups, *(g for row in states.values() for g in row if g not in self.groups)]
        gone = {m for g in every for m in g.members}
        self.mapping: dict[GraphNode, GraphNode] = {}
        for parameter in old.parameters:
            if parameter not in gone:
                self.mapping[parameter] = graph.parameter(parameter.name, type=parameter.type)
        inputs = [self.inputs[p] for p in old.parameters if p not in gone]
        for group in every:
            self._add(group)
            inputs.append(ProgramInput(InputSource.STATE, self._pack(group)))
        if updated:
            self._merge_updates(updated, states)
        for group in written:
            if group.written is None:
                whole = self._whole_write(group)
                assert whole is not None
                group.written = copy_nodes([whole], graph, self.mapping)[0]
        return self._finished(every, gone, tuple(inputs))

    def _finished(
        self, every: list[PackGroup], gone: set[GraphNode], inputs: tuple[ProgramInput, ...]
    ) -> Program:
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

    def _pack(self, group: PackGroup) -> Any:
        return group.pack([self.inputs[m].which for m in group.members])

    def _add(self, group: PackGroup) -> None:
        """Add one parameter for a group; uses of a member are replaced by an unpacking node."""
        group.parameter = self.graph.parameter(f"{group.members[0].name}...", type=group.type)
        self.mapping.update(zip(group.members, group.apart(self.graph), strict=True))
        stack = self.stacks.get(group.members)
        if stack is not None:
            self.mapping[stack] = group.parameter

    def _state_groups(self, updated: list[PackGroup]) -> dict[str, list[PackGroup]]:
        """The groups of optimizer states: one per updated group, for each written argument."""
        if not updated:
            return {}
        found = {}
        for name in primitive_of(self.update).writes:
            parts = tuple_elements(self.arguments[name])
            if len(parts) == len(self.order) and name != "params":
                by_param = dict(zip(self.order, parts, strict=True))
                found[name] = [g.like(tuple([by_param[m] for m in g.members])) for g in updated]
        return {"params": updated} | found

    def _merge_updates(self, updated: list[PackGroup], states: dict[str, list[PackGroup]]) -> None:
        """Rewrite the update to have one entry per group instead of its members."""
        op, arguments, graph = primitive_of(self.update), self.arguments, self.graph
        merged = [[self.order[m] for m in g.members] for g in updated]
        inside = {i for places in merged for i in places}
        alone = [i for i in range(len(self.order)) if i not in inside]
        args = []
        for name, node in arguments.items():
            parts = tuple_elements(node)
            if len(parts) != len(self.order):
                args += copy_nodes([node], graph, self.mapping)
                continue
            entries = copy_nodes([parts[i] for i in alone], graph, self.mapping)
            for place, (group, places) in enumerate(zip(updated, merged, strict=True)):
                if name in states:
                    entries.append(states[name][place].parameter)
                elif name == "gradients":
                    entries.append(self._joined(group, [parts[i] for i in places]))
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

    def _joined(self, group: PackGroup, nodes: list[GraphNode]) -> GraphNode:
        """Pack gradients; those of a stack usually were one array before they were unpacked."""
        whole = group.whole(nodes)
        if whole is not None:
            return copy_nodes([whole], self.graph, self.mapping)[0]
        return group.joined(self.graph, copy_nodes(nodes, self.graph, self.mapping))

    def _place_results(
        self, new: Apply, op: Any, alone: list[int], states: dict[str, list[PackGroup]]
    ) -> None:
        """Map the results of the old update to those of the new one."""
        graph, types = self.graph, new.type[1]
        updates = graph.apply(Item(1), new, type=types)
        wholes = [graph.apply(Item(w), updates, type=t) for w, t in enumerate(types)]
        place_of = {old: new for new, old in enumerate(alone)}
        for node in self.nodes:
            path = path_between(self.update, node)
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
                group.written = graph.apply(Item(len(alone) + i), whole, type=group.type)


def _arguments_of(update: Apply) -> dict[str, GraphNode]:
    """The arguments of an optimizer's update by name."""
    return dict(zip(primitive_of(update).arguments.names, update.args, strict=False))
