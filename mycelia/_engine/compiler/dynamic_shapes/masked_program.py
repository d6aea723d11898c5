"""Building the padded program: the padded trace, with masks where the plans require them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    Axes,
    DynamicExtent,
    UnprovablePadding,
    extents_in,
)
from mycelia._engine.compiler.dynamic_shapes.padding_plan import (
    APART,
    HIGHEST,
    LOWEST,
    MEETS,
    ONE,
    ZERO,
    Fill,
    PaddedOperator,
    PaddingPlan,
    Roles,
)
from mycelia._engine.compiler.dynamic_shapes.rules import may_hold_extents, rule_of
from mycelia._engine.compiler.dynamic_shapes.size_dependence import ArgumentPosition, SizeDependence
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder, constant
from mycelia._engine.compiler.frontend.type_inference import result_type
from mycelia._engine.core.dtype import DType, float32, int32
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import TUPLE, Item, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.index_bounds import of_node
from mycelia.ops.elementwise.arithmetic import Div, Mul
from mycelia.ops.elementwise.comparison import Less
from mycelia.ops.elementwise.where import Select
from mycelia.ops.shapes.reshape import Cast

SIZE = TensorType(int32, ())


def padding_plans(graph: Graph, dependence: SizeDependence) -> dict[Apply, PaddingPlan]:
    """A plan for each node of the padded trace that involves padding."""
    return {
        node: _plan(node, dependence)
        for node in ordered(graph)
        if isinstance(node, Apply) and _involves_padding(node, dependence)
    }


def _involves_padding(node: Apply, dependence: SizeDependence) -> bool:
    op = primitive_of(node)
    if op is TUPLE or type(op) is Item or node not in dependence.sized:
        return False
    arguments = [dependence.axes_at(node, index) for index in range(len(node.args))]
    padded = extents_in(dependence.axes[node]) or any(map(extents_in, arguments))
    return bool(padded or dependence.sized[node])


def _plan(node: Apply, dependence: SizeDependence) -> PaddingPlan:
    op = primitive_of(node)
    rule = rule_of(op)
    name = getattr(op, "name", str(op))
    if rule is None:
        raise UnprovablePadding(
            f"{name}: it is not known what it does with a dynamic axis", node.span
        )
    unexpected = dependence.sized[node] - set(may_hold_extents(op))
    if unexpected:
        why = f"{name}: its {min(unexpected)} is computed from a size"
        raise UnprovablePadding(why, node.span)
    try:
        site = _site(node, op, dependence)
        plan = rule(site)
        for roles, axes in zip(plan.roles, site.axes, strict=False):
            _check_roles(roles, axes)
    except UnprovablePadding as error:
        raise UnprovablePadding(f"{name}: {error.why}", node.span) from None
    return plan


def _site(node: Apply, op: Primitive, dependence: SizeDependence) -> PaddedOperator:
    positions = data_positions(node)
    constants = [dependence.constants.get((node, position)) for position in positions]
    return PaddedOperator(
        op,
        tuple([node.args[position].type for position in positions]),
        tuple([dependence.axes_at(node, position) for position in positions]),
        tuple([None if known is None else known.real for known in constants]),
        tuple([a.value for i, a in enumerate(node.args) if i not in positions]),  # type: ignore[attr-defined]
        node.type,
        dependence.axes[node],
        dependence.sizes,
    )


def data_positions(node: Apply) -> list[int]:
    """The indices of an operator's data arguments."""
    op = primitive_of(node)
    return [index for index in range(len(node.args)) if index not in op.arguments.static]


def _within_bounds(roles: Roles) -> Roles:
    """Roles with zeros where padding could be anything: padded indices must be in bounds."""
    if not isinstance(roles, tuple):
        return ZERO if roles is APART else roles
    return tuple([_within_bounds(role) for role in roles])


def _check_roles(roles: Roles, axes: Axes) -> None:
    if isinstance(axes, DynamicExtent):
        if roles is MEETS:
            raise UnprovablePadding("its elements meet along a dynamic axis")
    elif isinstance(axes, tuple) and extents_in(axes):
        for part in zip(roles, axes, strict=True):
            _check_roles(*part)


@dataclass(eq=False)
class MaskedGraphBuilder:
    """Builds the padded graph: the parameters of the padded trace, then sizes, then constants."""

    found: SizeDependence
    plans: dict[Apply, PaddingPlan]
    builder: GraphBuilder
    new: dict[GraphNode, GraphNode] = field(default_factory=dict)
    lengths: list[GraphNode] = field(default_factory=list)  # one for each dynamic size
    varying: dict[ArgumentPosition, GraphParameter] = field(default_factory=dict)
    masks: dict[Any, GraphNode] = field(default_factory=dict)

    def argument(self, node: Apply, position: int) -> GraphNode:
        parameter = self.varying.get((node, position))
        return self.new[node.args[position]] if parameter is None else parameter

    def apply(self, op: Primitive, nodes: list[GraphNode], *static: Any) -> GraphNode:
        """Apply an operator to new nodes."""
        types = tuple([n.type for n in nodes])
        merged = op.arguments.merge(tuple(nodes), static)
        return self.builder.apply(op, merged, result_type(op, types, static))

    # ---- one node ---------------------------------------------------------------------------

    def node(self, node: Apply) -> GraphNode:
        """The new node for a node of the padded trace."""
        arguments = [self.argument(node, position) for position in range(len(node.args))]
        op, plan = primitive_of(node), self.plans.get(node)
        if plan is None:
            return self.builder.apply(op, tuple(arguments), node.type, node.span)
        indices = {bound.place for bound in of_node(node)}
        for position, roles in zip(data_positions(node), plan.roles, strict=False):
            axes = self.found.axes_at(node, position)
            masked_roles = _within_bounds(roles) if position in indices else roles
            arguments[position] = self.filled(arguments[position], axes, masked_roles)
        if plan.instead is not None:
            missing = len(plan.instead.arguments.names) - len(arguments)
            arguments += [GraphConstant(None)] * missing
            result = self.apply(plan.instead, arguments)
            return result if plan.item is None else self.builder.item(result, plan.item)
        result = self.builder.apply(op, tuple(arguments), node.type, node.span)
        return self.scaled(result, plan.mean_over) if plan.mean_over else result

    def filled(self, node: GraphNode, axes: Axes, roles: Roles) -> GraphNode:
        """`node` with its padding filled, where its roles require it."""
        if not extents_in(axes):
            return node
        if isinstance(node.type, tuple):
            triples = zip(range(len(node.type)), axes, roles, strict=True)
            parts = [self.filled(self.builder.item(node, i), a, r) for i, a, r in triples]
            return self.builder.tuple(tuple(parts))
        for axis, (extent, role) in enumerate(zip(axes, roles, strict=True)):
            if extent is not None and role is not APART:
                node = self.fill(node, axis, extent, role)
        return node

    def fill(self, node: GraphNode, axis: int, extent: DynamicExtent, role: Fill) -> GraphNode:
        """`node` with its padding along one axis filled."""
        filler = constant(np.asarray(_number(role, node.type.dtype), node.type.dtype.numpy))
        mask = self.mask(node.type.shape[axis], extent, node.type.ndim - axis - 1)
        key = (node, axis, extent, role)
        if key not in self.masks:
            self.masks[key] = self.apply(Select.of(), [mask, node, filler])
        return self.masks[key]

    def mask(self, size: int, extent: DynamicExtent, after: int) -> GraphNode:
        """A mask of the real positions of an axis, broadcastable against `after` more axes."""
        key = (size, extent, after)
        if key not in self.masks:
            positions = np.arange(size, dtype=np.int32).reshape((size,) + (1,) * after)
            self.masks[key] = self.apply(Less.of(), [constant(positions), self.length(extent)])
        return self.masks[key]

    def length(self, extent: DynamicExtent) -> GraphNode:
        """The real length of an axis."""
        length = self.lengths[extent.symbol]
        if extent.factor == 1:
            return length
        return self.apply(Mul.of(), [length, constant(np.int32(extent.factor))])

    def scaled(self, node: GraphNode, extents: tuple[DynamicExtent, ...]) -> GraphNode:
        """Rescale a mean over a padded size to one over the real size: times padded / real."""
        if isinstance(node.type, tuple):
            parts = [
                self.scaled(self.builder.item(node, i), extents) if isinstance(t, TensorType) else
                self.builder.item(node, i)
                for i, t in enumerate(node.type)
            ]  # fmt: skip
            return self.builder.tuple(tuple(parts))
        wide = node.type.dtype if node.type.dtype.bits >= 32 else float32
        padded = prod(e.factor * self.found.sizes.padded[e.symbol] for e in extents)
        ratio: GraphNode = constant(np.asarray(padded, wide.numpy))
        for extent in extents:
            length = self.apply(Cast.of(), [self.length(extent)], wide)
            ratio = self.apply(Div.of(), [ratio, length])
        wider = self.apply(Cast.of(), [node], wide) if wide is not node.type.dtype else node
        result = self.apply(Mul.of(), [wider, ratio])
        narrow = wide is not node.type.dtype
        return self.apply(Cast.of(), [result], node.type.dtype) if narrow else result


def build_masked_program(
    graph: Graph, found: SizeDependence, planned: dict[Apply, PaddingPlan]
) -> tuple[Graph, list[ArgumentPosition]]:
    """The padded program, and the constants that became its last parameters."""
    builder = GraphBuilder(graph.name)
    writer = MaskedGraphBuilder(found, planned, builder)
    for parameter in graph.parameters:
        writer.new[parameter] = builder.parameter(parameter.name, parameter.type)
    for symbol in range(len(found.sizes.real)):
        writer.lengths.append(builder.parameter(f"size{symbol}", SIZE))
    for position, known in found.constants.items():
        if not known.stays:
            type_ = position[0].args[position[1]].type
            writer.varying[position] = builder.parameter("constant", type_)
    for node in ordered(graph):
        if isinstance(node, Apply):
            writer.new[node] = writer.node(node)
        elif isinstance(node, GraphConstant):
            writer.new[node] = node
    builder.finish(writer.new[graph.output])
    return builder.graph, list(writer.varying)


def _number(role: Fill, dtype: DType) -> Any:
    """The value of a role in a dtype."""
    if isinstance(role, int):
        return role
    if role in (ZERO, ONE):
        return 0 if role is ZERO else 1
    if dtype.is_float:
        return -np.inf if role is LOWEST else np.inf
    limits = np.iinfo(dtype.numpy)
    assert role in (LOWEST, HIGHEST)
    return limits.min if role is LOWEST else limits.max
