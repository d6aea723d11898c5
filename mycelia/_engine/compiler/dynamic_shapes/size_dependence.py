"""Comparing three readings of a function, node by node: what depends on a size, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    Axes,
    DynamicExtent,
    DynamicSizes,
    UnprovablePadding,
    axes_of,
    extents_in,
)
from mycelia._engine.ir.analysis import ordered, same_graphs
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.primitive import Primitive, tagged
from mycelia.ops.shapes.creation import Fill, Ones, Zeros

ArgumentPosition = tuple[Apply, int]  # an argument of an application in the padded reading


@dataclass(frozen=True, eq=False)
class PaddedConstant:
    """A constant that an operator takes as data: its numbers in the real and padded reading."""

    real: np.ndarray
    padded: np.ndarray
    axes: Axes
    stays: bool  # the padded numbers serve for the real size, too


@dataclass(eq=False)
class SizeDependence:
    """What was found, by the nodes of the padded reading."""

    sizes: DynamicSizes
    axes: dict[GraphNode, Axes] = field(default_factory=dict)
    constants: dict[ArgumentPosition, PaddedConstant] = field(default_factory=dict)
    sized: dict[Apply, frozenset[str]] = field(default_factory=dict)  # static values with extents

    def axes_at(self, node: Apply, place: int) -> Axes:
        """The extents of an argument."""
        known = self.constants.get((node, place))
        return self.axes.get(node.args[place]) if known is None else known.axes


def find_size_dependence(
    sizes: DynamicSizes, real: Graph, padded: Graph, probe: Graph
) -> SizeDependence:
    """Walk three readings in step; raises Unprovable where they are not the same program."""
    found = SizeDependence(sizes)
    partners: dict[GraphNode, tuple[GraphNode, GraphNode]] = {}
    if not len(real.parameters) == len(padded.parameters) == len(probe.parameters):
        raise UnprovablePadding("which parameters are used depends on a size")
    waiting: list[tuple[GraphNode, GraphNode, GraphNode]] = list(
        zip(real.parameters, padded.parameters, probe.parameters, strict=True)
    )
    waiting.append((real.output, padded.output, probe.output))
    while waiting:
        one, here, other = waiting.pop()
        if here in partners:
            if partners[here] != (one, other):
                raise _different(here)
            continue
        partners[here] = (one, other)
        if isinstance(here, Apply):
            waiting += _arguments(found, one, here, other)
        elif not (isinstance(one, GraphParameter) and isinstance(other, GraphParameter)):
            raise _different(here)
    for here in ordered(padded):
        if here in partners:
            one, other = partners.pop(here)
            _note_axes(found, one, here, other)
    for here, (one, other) in partners.items():  # parameters that nothing uses
        _note_axes(found, one, here, other)
    return found


def _note_axes(found: SizeDependence, one: GraphNode, here: GraphNode, other: GraphNode) -> None:
    try:
        found.axes[here] = axes_of(found.sizes, one.type, here.type, other.type)
    except UnprovablePadding as error:
        raise UnprovablePadding(_named(here, error.why), here.span) from None


def _arguments(found: SizeDependence, one: GraphNode, here: Apply, other: GraphNode) -> list[Any]:
    """Compare what three nodes apply, and their constants; gives the other arguments."""
    if not (isinstance(one, Apply) and isinstance(other, Apply)):
        raise _different(here)
    if not len(one.args) == len(here.args) == len(other.args):
        raise _different(here)
    names = _sized_fields(found.sizes, here, [primitive_of(n) for n in (one, here, other)])
    rest = []
    for place, arguments in enumerate(zip(one.args, here.args, other.args, strict=True)):
        if all(isinstance(a, GraphConstant) for a in arguments):
            if _compare_constants(found, here, place, arguments):
                names.add(_name(here, place))
        elif _one_number(arguments) is None:
            rest.append(arguments)
        else:
            found.axes[arguments[1]] = axes_of(found.sizes, *[a.type for a in arguments])
    found.sized[here] = frozenset(names)
    return rest


def _compare_constants(found: SizeDependence, node: Apply, place: int, constants: Any) -> bool:
    """Note a constant; true for a static value that holds extents."""
    values = [c.value for c in constants]
    types = [c.type for c in constants]
    if any(isinstance(v, Graph) for v in values):
        if not all(isinstance(v, Graph) and same_graphs(values[1], v) for v in values):
            raise UnprovablePadding(
                _named(node, "a branch or loop works with a dynamic size"), node.span
            )
        return False
    if all(type_ is None for type_ in types):
        return _sized(found.sizes, node, values)
    if any(type_ is None for type_ in types):
        raise _different(node)
    axes = axes_of(found.sizes, *types)
    real, padded, probe = map(np.asarray, values)
    if values[0] is values[1] is values[2]:
        stays = True
    elif extents_in(axes):
        prefix = crop_to(padded, axes, found.sizes)
        grown = probe[tuple(slice(n) for n in padded.shape)]
        stays = _same_numbers(prefix, real) and _same_numbers(padded, grown)
    else:
        stays = _same_numbers(real, padded) and _same_numbers(padded, probe)
    found.constants[node, place] = PaddedConstant(real, padded, axes, stays)
    return False


def crop_to(array: np.ndarray, axes: Axes, sizes: DynamicSizes) -> np.ndarray:
    """The real part of a padded array."""
    return array[tuple(slice(None if e is None else sizes.length(e)) for e in axes)]


def _same_numbers(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _sized_fields(sizes: DynamicSizes, node: Apply, ops: list[Any]) -> set[str]:
    """The names of the fields of an operator that hold extents."""
    here = ops[1]
    if all(op == here for op in ops):
        return set()
    if not all(isinstance(op, Primitive) and type(op) is type(here) for op in ops):
        raise _different(node)
    fields = [op.attrs for op in ops]
    if any(f.keys() != fields[1].keys() for f in fields):
        raise _different(node)
    return {name for name in fields[1] if _sized(sizes, node, [f[name] for f in fields])}


def _sized(sizes: DynamicSizes, node: Apply, values: list[Any]) -> bool:
    """Whether static values differ by extents; raises where they differ otherwise."""
    if all(tagged(v) == tagged(values[1]) for v in values):
        return False
    if all(type(v) is int for v in values):
        try:
            return isinstance(sizes.extent(*values), DynamicExtent)
        except UnprovablePadding:
            pass
    if all(isinstance(v, tuple) and len(v) == len(values[1]) for v in values):
        found = [_sized(sizes, node, list(parts)) for parts in zip(*values, strict=True)]
        return any(found)
    if any(map(callable, values)):
        raise UnprovablePadding(_named(node, "it runs Python code"), node.span)
    raise UnprovablePadding(
        _named(node, f"it is used with {values[0]!r}, computed from a size"), node.span
    )


def _one_number(nodes: tuple[GraphNode, GraphNode, GraphNode]) -> Any:
    """The number that fills all three values, where only some were worked out while reading."""
    if not any(isinstance(n, GraphConstant) for n in nodes) or any(n.type is None for n in nodes):
        return None
    numbers = [_filling(n) for n in nodes]
    return None if any(n is None or n != numbers[0] for n in numbers) else numbers[0]


def _filling(node: GraphNode) -> Any:
    """The number that a value holds everywhere, if it is known at once."""
    if isinstance(node, GraphConstant) and node.type is not None:
        flat = np.asarray(node.value).ravel()
        return flat[0].item() if flat.size and bool((flat == flat[0]).all()) else None
    match primitive_of(node):
        case Zeros():
            return 0
        case Ones():
            return 1
        case Fill() if isinstance(node, Apply) and isinstance(node.args[-1], GraphConstant):
            return node.args[-1].value
    return None


def _name(node: Apply, place: int) -> str:
    op = primitive_of(node)
    names = op.arguments.names if isinstance(op, Primitive) else ()
    return names[place] if place < len(names) else str(place)


def _different(node: GraphNode) -> UnprovablePadding:
    return UnprovablePadding(_named(node, "what is computed depends on a size"), node.span)


def _named(node: GraphNode, why: str) -> str:
    op = primitive_of(node)
    return why if op is None else f"{op.name}: {why}"
