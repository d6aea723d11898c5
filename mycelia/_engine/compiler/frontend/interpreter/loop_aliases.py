"""Alias analysis of loop carries: which carried tensors and containers are, or may be, identical.

An iteration starts with the initial carry or with the carry of the previous iteration. Two carried
tensors are identical if they are so in both cases, and may be identical if they are so in one case.
The analysis is a fixed-point iteration: each trial assumes the facts of the previous one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from mycelia._engine.compiler.frontend.mutation_journal import JournaledStore, Key, MutationJournal
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import root_of

Slot = tuple[Key, str, int]  # a carried location, and the index of a tensor or container in it


@dataclass(frozen=True)
class LoopAliases:
    """Slots that hold the same object, slots that may, and outside objects that slots may hold."""

    same: Mapping[Slot, Slot] = field(default_factory=dict)  # to the first one of each group
    outer: Mapping[Slot, frozenset[int]] = field(default_factory=dict)
    pairs: frozenset[tuple[Slot, Slot]] = frozenset()
    objects: Mapping[int, Any] = field(default_factory=dict, compare=False)

    def first(self, slot: Slot) -> Slot:
        """The first slot that holds the same object."""
        return self.same.get(slot, slot)

    def relate(self, store: JournaledStore, objects: Mapping[Slot, Any]) -> None:
        """Record which objects in the slots may be identical."""
        for slot, thing in objects.items():
            for identity in self.outer.get(slot, ()):
                store.may_be(thing, self.objects[identity])
        for one, other in self.pairs:
            if one in objects and other in objects:
                store.may_be(objects[one], objects[other])

    def after(
        self,
        body: MutationJournal,
        given: Mapping[Slot, Any],
        inside: Mapping[Slot, Any],
        left: Mapping[Slot, Any],
    ) -> LoopAliases:
        """The facts after an iteration with `inside` at its start and `left` at its end."""
        roots = {slot: _root(thing) for slot, thing in given.items()}
        ends = {slot: body.root_of(thing) for slot, thing in left.items()}
        slots_of: dict[int, list[Slot]] = {}
        for slot, thing in inside.items():
            slots_of.setdefault(id(thing), []).append(slot)
        objects = dict(self.objects)
        outer: dict[Slot, frozenset[int]] = {}
        for slot, root in roots.items():
            end = ends[slot]
            found = [root]
            if not body.is_new(end):
                found.append(end)
            elif id(end) not in slots_of:
                found += [o for o in body.aliases.of(end) if not body.is_new(o)]
            objects |= {id(thing): thing for thing in found}
            earlier = [self.outer.get(s, frozenset()) for s in (slot, *slots_of.get(id(end), ()))]
            outer[slot] = frozenset(map(id, found)).union(*earlier)
        same = _groups(given, left)
        pairs = set(self.pairs)
        for one, other in combinations(roots, 2):
            if same.get(one, one) == same.get(other, other):
                continue
            meet = outer[one] & outer[other] or ends[one] is ends[other]
            before = product(*(slots_of.get(id(ends[s]), ()) for s in (one, other)))
            if meet or any({(a, b), (b, a)} & self.pairs for a, b in before):
                pairs.add((one, other))
        return LoopAliases(same, outer, frozenset(pairs), objects)


def _root(thing: Any) -> Any:
    return root_of(thing) if isinstance(thing, Tensor) else thing


def _groups(given: Mapping[Slot, Any], left: Mapping[Slot, Any]) -> dict[Slot, Slot]:
    """For each slot, the first one that holds the same object before and after an iteration."""
    firsts: dict[tuple[int, int], Slot] = {}
    found = {}
    for slot, thing in given.items():
        first = firsts.setdefault((id(thing), id(left[slot])), slot)
        if first != slot:
            found[slot] = first
    return found
