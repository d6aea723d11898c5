"""Isomorphic operator instances: repeated blocks of a network are planned once.

Two operator instances are isomorphic if they do the same with tensors of the same types, and so do
their neighbours, up to a distance. The first and last blocks of a chain may differ from those in
between because their surroundings differ. Classes are numbered by complete descriptions, not by
hashes, so two different descriptions never share a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mycelia._engine.compiler.sharding.problem import OperatorInstance

DISTANCE = 3


def isomorphism_classes(
    works: Sequence[OperatorInstance],
    told_apart: Mapping[OperatorInstance, Any],
    distance: int = DISTANCE,
) -> list[int]:
    """The class of each operator instance; `told_apart` separates instances further."""
    names: dict[Any, int] = {}
    number = {id(work): i for i, work in enumerate(works)}

    def name(description: Any) -> int:
        return names.setdefault(description, len(names))

    now = [name(_description(work, told_apart.get(work))) for work in works]
    before = [_sources(work, number) for work in works]
    after: list[list[tuple[int, int, int]]] = [[] for _ in works]
    for i, sources in enumerate(before):
        for place, (source, result) in enumerate(sources):
            if source >= 0:
                after[source].append((i, place, result))
    count = len(set(now))
    for _ in range(distance):
        now = [
            name(
                (
                    now[i],
                    tuple([(now[s] if s >= 0 else -1, r) for s, r in before[i]]),
                    tuple(sorted({(now[u], p, r) for u, p, r in after[i]})),
                )
            )
            for i in range(len(works))
        ]
        if len(set(now)) == count:
            break
        count = len(set(now))
    order: dict[int, int] = {}
    return [order.setdefault(found, len(order)) for found in now]


def _description(work: OperatorInstance, more: Any) -> Any:
    return (
        work.name if not work.is_input else "",
        work.identity,
        work.axes,
        work.input_types,
        work.output_types,
        work.times,
        more,
    )


def _sources(work: OperatorInstance, number: dict[int, int]) -> list[tuple[int, int]]:
    leaves = [*work.inputs, *(leaf for leaf, _ in work.returns)]
    return [(-1, 0) if x is None else (number[id(x.source)], x.place) for x in leaves]
