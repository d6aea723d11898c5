"""Independent components of an operator on tuples, each with its own axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia._engine.core.shape import size
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.axes import Axis, axes_of
from mycelia.ops.optimizer.support import Update
from mycelia.ops.shapes.reshape import Barrier


@dataclass(frozen=True)
class OperatorComponent:
    """Some inputs and results of an operator, by index among all its tensors."""

    axes: tuple[Axis, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    flops: float
    unused: frozenset[int] = frozenset()  # inputs whose values do not matter


def components_of(
    op: Any, args: tuple[Any, ...], types: Sequence[TensorType], results: Sequence[TensorType]
) -> list[OperatorComponent]:
    """The components of an operator: one per parameter for an update, otherwise usually one."""
    if isinstance(op, Update):
        return _entries(op, args)
    found = axes_of(op, args)
    inputs, outputs = tuple(range(len(types))), tuple(range(len(results)))
    whole = OperatorComponent(found.axes, inputs, outputs, found.flops, frozenset(found.unused))
    if isinstance(op, Barrier) or getattr(op, "each_apart", False):
        return _apart(whole, types, results)
    return [whole]


def _entries(op: Update, args: tuple[Any, ...]) -> list[OperatorComponent]:
    """The components of an update of many parameters; equal shapes have equal axes."""
    names = op.arguments.names[: len(args)]
    given = dict(zip(names, args, strict=True))
    count = len(given["params"])
    read = _UpdateTensors(args, count)
    written = _UpdateTensors(tuple([given[name] for name in op.writes]), count)
    found = []
    for entry in range(count):
        inputs, every = read.numbers(entry), written.numbers(entry)
        outputs = every if entry == 0 else written.own_numbers(entry)
        fields = {
            name: (value[entry],)
            for name in ("weight_decay", "centralize")
            if (value := getattr(op, name))
        }
        axes = axes_of(op.with_fields(**fields), read.entry(entry))
        local = tuple([_kept(axis, every, outputs) for axis in axes.axes])
        unused = frozenset([inputs[i] for i in axes.unused])
        found.append(OperatorComponent(local, inputs, outputs, axes.flops, unused))
    return found


class _UpdateTensors:
    """Arguments of an update: either one tensor per parameter, or shared by all parameters."""

    def __init__(self, values: Sequence[Any], count: int) -> None:
        self._values = values
        self._is_each = [_is_each(value, count) for value in values]
        self._starts, total = [], 0  # the index of the first tensor of each value
        for value in values:
            self._starts.append(total)
            total += len(flat_types(value))

    def entry(self, number: int) -> tuple[Any, ...]:
        """The values for one parameter."""
        pairs = zip(self._values, self._is_each, strict=True)
        return tuple([(value[number],) if each else value for value, each in pairs])

    def numbers(self, entry: int) -> tuple[int, ...]:
        """The indices of the tensors of one parameter, and of the shared ones."""
        found: list[int] = []
        for value, each, start in zip(self._values, self._is_each, self._starts, strict=True):
            found += [start + entry] if each else range(start, start + len(flat_types(value)))
        return tuple(found)

    def own_numbers(self, entry: int) -> tuple[int, ...]:
        """The indices of the tensors of one parameter, without shared ones."""
        pairs = zip(self._starts, self._is_each, strict=True)
        return tuple([start + entry for start, each in pairs if each])


def _is_each(value: Any, count: int) -> bool:
    """Whether a value has one tensor per parameter."""
    return (
        isinstance(value, tuple)
        and len(value) == count
        and all(isinstance(part, TensorType) for part in value)
    )


def _kept(axis: Axis, every: tuple[int, ...], outputs: tuple[int, ...]) -> Axis:
    """An axis of an entry, without results that belong to another entry."""
    place = {number: i for i, number in enumerate(outputs)}
    return replace(
        axis,
        outputs=tuple([(place[every[i]], d) for i, d in axis.outputs if every[i] in place]),
        combined=tuple([(place[every[i]], how) for i, how in axis.combined if every[i] in place]),
    )


def _apart(
    whole: OperatorComponent, types: Sequence[TensorType], results: Sequence[TensorType]
) -> list[OperatorComponent]:
    """The connected components of an operator; tensors are connected if they share an axis."""
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
        parts.append(OperatorComponent(local, inputs, outputs, whole.flops * share, whole.unused))
    rest = tuple([i for i in range(len(types)) if ("in", i) not in home])
    left = tuple([i for i in range(len(results)) if ("out", i) not in home])
    if left:
        parts.append(OperatorComponent((), rest, left, 0.0, whole.unused))
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
    """The types of all tensors in a nested type."""
    if isinstance(type_, tuple):
        return [t for part in type_ for t in flat_types(part)]
    return [type_] if isinstance(type_, TensorType) else []
