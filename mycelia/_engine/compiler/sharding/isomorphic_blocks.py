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
    instances: Sequence[OperatorInstance],
    distinguished: Mapping[OperatorInstance, Any],
    distance: int = DISTANCE,
) -> list[int]:
    """The class of each operator instance; `distinguished` separates instances further."""
    names: dict[Any, int] = {}
    number = {id(instance): i for i, instance in enumerate(instances)}

    def name(description: Any) -> int:
        return names.setdefault(description, len(names))

    now = [name(_description(instance, distinguished.get(instance))) for instance in instances]
    before = [_sources(instance, number) for instance in instances]
    after: list[list[tuple[int, int, int]]] = [[] for _ in instances]
    for i, sources in enumerate(before):
        for index, (source, result) in enumerate(sources):
            if source >= 0:
                after[source].append((i, index, result))
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
            for i in range(len(instances))
        ]
        if len(set(now)) == count:
            break
        count = len(set(now))
    order: dict[int, int] = {}
    return [order.setdefault(found, len(order)) for found in now]


def _description(instance: OperatorInstance, more: Any) -> Any:
    return (
        instance.name if not instance.is_input else "",
        instance.identity,
        instance.axes,
        instance.input_types,
        instance.output_types,
        instance.times,
        more,
    )


def _sources(instance: OperatorInstance, number: dict[int, int]) -> list[tuple[int, int]]:
    leaves = [*instance.inputs, *(leaf for leaf, _ in instance.returns)]
    return [(-1, 0) if x is None else (number[id(x.source)], x.index) for x in leaves]
