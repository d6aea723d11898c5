"""Size dependence: compare three traces of a function node by node."""

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

ArgumentPosition = tuple[Apply, int]  # an argument of an application in the padded trace


@dataclass(frozen=True, eq=False)
class PaddedConstant:
    """A constant data argument of an operator: its values in the real and padded traces."""

    real: np.ndarray
    padded: np.ndarray
    axes: Axes
    stays: bool  # the padded values are also correct for the real size


@dataclass(eq=False)
class SizeDependence:
    """The results of the comparison, by the nodes of the padded trace."""

    sizes: DynamicSizes
    axes: dict[GraphNode, Axes] = field(default_factory=dict)
    constants: dict[ArgumentPosition, PaddedConstant] = field(default_factory=dict)
    sized: dict[Apply, frozenset[str]] = field(default_factory=dict)  # static values with extents

    def axes_at(self, node: Apply, position: int) -> Axes:
        """The extents of an argument."""
        known = self.constants.get((node, position))
        return self.axes.get(node.args[position]) if known is None else known.axes


def find_size_dependence(
    sizes: DynamicSizes, real: Graph, padded: Graph, probe: Graph
) -> SizeDependence:
    """Walk three traces in parallel; raises UnprovablePadding if the programs differ."""
    dependence = SizeDependence(sizes)
    partners: dict[GraphNode, tuple[GraphNode, GraphNode]] = {}
    if not len(real.parameters) == len(padded.parameters) == len(probe.parameters):
        raise UnprovablePadding("which parameters are used depends on a size")
    waiting: list[tuple[GraphNode, GraphNode, GraphNode]] = list(
        zip(real.parameters, padded.parameters, probe.parameters, strict=True)
    )
    waiting.append((real.output, padded.output, probe.output))
    while waiting:
        real_node, node, probe_node = waiting.pop()
        if node in partners:
            if partners[node] != (real_node, probe_node):
                raise _different(node)
            continue
        partners[node] = (real_node, probe_node)
        if isinstance(node, Apply):
            waiting += _arguments(dependence, real_node, node, probe_node)
        elif not (isinstance(real_node, GraphParameter) and isinstance(probe_node, GraphParameter)):
            raise _different(node)
    for node in ordered(padded):
        if node in partners:
            real_node, probe_node = partners.pop(node)
            _note_axes(dependence, real_node, node, probe_node)
    for node, (real_node, probe_node) in partners.items():  # parameters that nothing uses
        _note_axes(dependence, real_node, node, probe_node)
    return dependence


def _note_axes(found: SizeDependence, one: GraphNode, here: GraphNode, other: GraphNode) -> None:
    try:
        found.axes[here] = axes_of(found.sizes, one.type, here.type, other.type)
    except UnprovablePadding as error:
        raise UnprovablePadding(_named(here, error.why), here.span) from None


def _arguments(
    dependence: SizeDependence, one: GraphNode, here: Apply, other: GraphNode
) -> list[Any]:
    """Compare the primitives and constants of three nodes; returns the other arguments."""
    if not (isinstance(one, Apply) and isinstance(other, Apply)):
        raise _different(here)
    if not len(one.args) == len(here.args) == len(other.args):
        raise _different(here)
    names = _sized_fields(dependence.sizes, here, [primitive_of(n) for n in (one, here, other)])
    rest = []
    for position, arguments in enumerate(zip(one.args, here.args, other.args, strict=True)):
        if all(isinstance(a, GraphConstant) for a in arguments):
            if _compare_constants(dependence, here, position, arguments):
                names.add(_name(here, position))
        elif _common_fill_value(arguments) is None:
            rest.append(arguments)
        else:
            dependence.axes[arguments[1]] = axes_of(dependence.sizes, *[a.type for a in arguments])
    dependence.sized[here] = frozenset(names)
    return rest


def _compare_constants(
    dependence: SizeDependence, node: Apply, position: int, constants: Any
) -> bool:
    """Record a constant; returns whether it is a static value that holds extents."""
    values = [c.value for c in constants]
    types = [c.type for c in constants]
    if any(isinstance(v, Graph) for v in values):
        if not all(isinstance(v, Graph) and same_graphs(values[1], v) for v in values):
            raise UnprovablePadding(
                _named(node, "a branch or loop depends on a dynamic size"), node.span
            )
        return False
    if all(type_ is None for type_ in types):
        return _sized(dependence.sizes, node, values)
    if any(type_ is None for type_ in types):
        raise _different(node)
    axes = axes_of(dependence.sizes, *types)
    real, padded, probe = map(np.asarray, values)
    if values[0] is values[1] is values[2]:
        stays = True
    elif extents_in(axes):
        prefix = crop_to(padded, axes, dependence.sizes)
        grown = probe[tuple(slice(n) for n in padded.shape)]
        stays = _same_elements(prefix, real) and _same_elements(padded, grown)
    else:
        stays = _same_elements(real, padded) and _same_elements(padded, probe)
    dependence.constants[node, position] = PaddedConstant(real, padded, axes, stays)
    return False


def crop_to(array: np.ndarray, axes: Axes, sizes: DynamicSizes) -> np.ndarray:
    """The real part of a padded array."""
    return array[tuple(slice(None if e is None else sizes.length(e)) for e in axes)]


def _same_elements(one: np.ndarray, other: np.ndarray) -> bool:
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
    """Whether static values differ by extents; raises if they differ otherwise."""
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
        _named(node, f"its argument {values[0]!r} is computed from a size"), node.span
    )


def _common_fill_value(nodes: tuple[GraphNode, GraphNode, GraphNode]) -> Any:
    """The value that fills all three arrays, if only some were folded during tracing."""
    if not any(isinstance(n, GraphConstant) for n in nodes) or any(n.type is None for n in nodes):
        return None
    fills = [_fill_value(n) for n in nodes]
    return None if any(n is None or n != fills[0] for n in fills) else fills[0]


def _fill_value(node: GraphNode) -> Any:
    """The value that an array holds everywhere, if it is known at compile time."""
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


def _name(node: Apply, position: int) -> str:
    op = primitive_of(node)
    names = op.arguments.names if isinstance(op, Primitive) else ()
    return names[position] if position < len(names) else str(position)


def _different(node: GraphNode) -> UnprovablePadding:
    return UnprovablePadding(_named(node, "what is computed depends on a size"), node.span)


def _named(node: GraphNode, why: str) -> str:
    op = primitive_of(node)
    return why if op is None else f"{op.name}: {why}"
