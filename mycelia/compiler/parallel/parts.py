"""The parts of an operator that have nothing to do with each other, each with its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia.core.shape import size
from mycelia.ir.types import TensorType
from mycelia.ops.axes import Axis, axes_of
from mycelia.ops.shaping import Barrier
from mycelia.ops.update_family import Update


@dataclass(frozen=True)
class Part:
    """Some inputs and results of an operator, by their numbers among all of its tensors."""

    axes: tuple[Axis, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    flops: float
    unused: frozenset[int] = frozenset()  # inputs whose numbers do not matter


def parts_of(
    op: Any, args: tuple[Any, ...], types: Sequence[TensorType], results: Sequence[TensorType]
) -> list[Part]:
    """The parts of an operator: one for each parameter of an update, mostly one in all."""
    if isinstance(op, Update):
        return _entries(op, args)
    found = axes_of(op, args)
    inputs, outputs = tuple(range(len(types))), tuple(range(len(results)))
    whole = Part(found.axes, inputs, outputs, found.flops, frozenset(found.unused))
    if isinstance(op, Barrier) or getattr(op, "each_apart", False):
        return _apart(whole, types, results)
    return [whole]


def _entries(op: Update, args: tuple[Any, ...]) -> list[Part]:
    """An update of many parameters, one after another: those of one shape have the same axes."""
    names = op.arguments.names[: len(args)]
    given = dict(zip(names, args, strict=True))
    count = len(given["params"])
    starts = _starts(args)
    written = tuple([given[name] for name in op.writes])
    result_starts = _starts(written)
    found = []
    for entry in range(count):
        one = tuple([_entry(arg, entry, count) for arg in args])
        inputs = _numbers(args, starts, entry, count)
        outputs = _numbers(written, result_starts, entry, count, with_shared=entry == 0)
        every = _numbers(written, result_starts, entry, count)
        fields = {
            name: (value[entry],)
            for name in ("weight_decay", "centralize")
            if (value := getattr(op, name))
        }
        axes = axes_of(op.with_fields(**fields), one)
        local = tuple([_kept(axis, every, outputs) for axis in axes.axes])
        unused = frozenset([inputs[i] for i in axes.unused])
        found.append(Part(local, inputs, outputs, axes.flops, unused))
    return found


def _starts(values: Sequence[Any]) -> list[int]:
    """The number of the first tensor of each value."""
    found, total = [], 0
    for value in values:
        found.append(total)
        total += len(flat_types(value))
    return found


def _is_each(value: Any, count: int) -> bool:
    """Whether a value has one tensor for each parameter."""
    return (
        isinstance(value, tuple)
        and len(value) == count
        and all(isinstance(part, TensorType) for part in value)
    )


def _entry(value: Any, entry: int, count: int) -> Any:
    return (value[entry],) if _is_each(value, count) else value


def _numbers(
    values: Sequence[Any],
    starts: Sequence[int],
    entry: int,
    count: int,
    *,
    with_shared: bool = True,
) -> tuple[int, ...]:
    """The tensors of one entry, and those that all entries share."""
    found: list[int] = []
    for value, start in zip(values, starts, strict=True):
        if _is_each(value, count):
            found.append(start + entry)
        elif with_shared:
            found += range(start, start + len(flat_types(value)))
    return tuple(found)


def _kept(axis: Axis, every: tuple[int, ...], outputs: tuple[int, ...]) -> Axis:
    """An axis of an entry, without results that count as another entry's."""
    place = {number: i for i, number in enumerate(outputs)}
    return replace(
        axis,
        outputs=tuple([(place[every[i]], d) for i, d in axis.outputs if every[i] in place]),
        combined=tuple([(place[every[i]], how) for i, how in axis.combined if every[i] in place]),
    )


def _apart(whole: Part, types: Sequence[TensorType], results: Sequence[TensorType]) -> list[Part]:
    """The independent parts of an operator: tensors that share no axis are in different ones."""
    home: dict[tuple[str, int], int] = {}
    groups: list[list[Axis]] = []
    for axis in whole.axes:
        touched = [("in", i) for i, _ in axis.inputs] + [("out", i) for i, _ in axis.outputs]
        touched += [("out", i) for i, _ in axis.combined]
        old = sorted({home[t] for t in touched if t in home})
        target = old[0] if old else len(groups)
        if not old:
            groups.append([])
        for other in old[1:]:
            groups[target] += groups[other]
            groups[other] = []
            home.update({t: target for t, g in home.items() if g == other})
        groups[target].append(axis)
        home.update(dict.fromkeys(touched, target))
    parts = []
    total = sum(size(t.shape) for t in types) or 1
    for number, axes in enumerate(groups):
        inputs = tuple([i for i in range(len(types)) if home.get(("in", i)) == number])
        outputs = tuple([i for i in range(len(results)) if home.get(("out", i)) == number])
        if not outputs:
            continue
        share = sum(size(types[i].shape) for i in inputs) / total
        local = tuple([_renumbered(axis, inputs, outputs, share) for axis in axes])
        parts.append(Part(local, inputs, outputs, whole.flops * share, whole.unused))
    rest = tuple([i for i in range(len(types)) if ("in", i) not in home])
    left = tuple([i for i in range(len(results)) if ("out", i) not in home])
    if left:
        parts.append(Part((), rest, left, 0.0, whole.unused))
    return parts


def _renumbered(
    axis: Axis, inputs: tuple[int, ...], outputs: tuple[int, ...], share: float
) -> Axis:
    return replace(
        axis,
        inputs=tuple([(inputs.index(i), dim) for i, dim in axis.inputs]),
        outputs=tuple([(outputs.index(i), dim) for i, dim in axis.outputs]),
        combined=tuple([(outputs.index(i), how) for i, how in axis.combined]),
        flops=axis.flops * share,
    )


def flat_types(type_: Any) -> list[TensorType]:
    """The types of all tensors in a type."""
    if isinstance(type_, tuple):
        return [t for part in type_ for t in flat_types(part)]
    return [type_] if isinstance(type_, TensorType) else []
