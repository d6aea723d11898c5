"""Padding rules for indexing operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import Axes, extents_in
from mycelia._engine.compiler.dynamic_shapes.padding_plan import (
    APART,
    MEETS,
    ZERO,
    PaddedOperator,
    PaddingPlan,
    Rule,
    all_independent,
    require,
    roles_along,
    same_role_everywhere,
)
from mycelia.ops.indexing.gather import EmbeddingLookup, Gather, GatherD, GatherDGrad, GatherGrad
from mycelia.ops.indexing.subscript import Subscript, SubscriptAddTo, SubscriptAssign


def gather(site: PaddedOperator) -> PaddingPlan:
    """Padded indices read anything; along a padded axis, an index might count from its end."""
    table, indices = site.types
    axis = site.static[0] if isinstance(site.op, Gather) else 0
    return PaddingPlan(
        (roles_along(table, {axis: MEETS}, APART), same_role_everywhere(APART, indices))
    )


def gather_gradient(site: PaddedOperator) -> PaddingPlan:
    """Padded indices add rows of zeros."""
    dout, indices = site.types
    op = site.op
    require(not extents_in(site.result), "rows are added up along a dynamic axis")
    require(op.batch_dims == 0, "its indices go together with a dynamic axis")
    first = op.axis % len(op.shape)
    roles = dict.fromkeys(range(first, first + indices.ndim), ZERO)
    return PaddingPlan((roles_along(dout, roles, APART), same_role_everywhere(ZERO, indices)))


def pick_one_by_one(site: PaddedOperator) -> PaddingPlan:
    """GatherD and its gradient: along the other axes, every element picks from its own row."""
    dim = site.static[0] if site.static else site.op.dim
    first, index = site.types
    same = [
        a == b
        for i, (a, b) in enumerate(zip(site.axes[0], site.axes[1], strict=True))
        if i != dim % first.ndim
    ]
    require(all(same), "its index and its rows have different dynamic sizes")
    return PaddingPlan(
        (roles_along(first, {dim: MEETS}, APART), roles_along(index, {dim: MEETS}, APART))
    )


def subscript(site: PaddedOperator) -> PaddingPlan:
    """A padded axis may be taken whole, or at positions that are known to be real."""
    gradient = isinstance(site.op, SubscriptAddTo)
    _check_parts(site, site.result if gradient else site.axes[0], site.known[1:])
    adds_up = gradient and ("array",) in site.op.spec
    return PaddingPlan(
        tuple(same_role_everywhere(ZERO if adds_up else APART, t) for t in site.types)
    )


def assign(site: PaddedOperator) -> PaddingPlan:
    """Writes to such positions; the indices must not be padded."""
    _check_parts(site, site.axes[0], site.known[2:])
    require(not any(map(extents_in, site.axes[2:])), "it writes at padded positions")
    return all_independent(site)


def _check_parts(site: PaddedOperator, axes: Axes, known: Sequence[Any]) -> None:
    """Raise UnprovablePadding unless padded axes are taken whole or at real positions."""
    starts = iter(known)
    axis = 0
    for entry in site.op.spec:
        kind = entry[0]
        if kind == "new":
            continue
        start = next(starts) if kind in ("int", "window", "array") else None
        extent = axes[axis]
        axis += 1
        if extent is not None and kind != "full":
            length = site.sizes.length(extent)
            require(_is_real(entry, start, length), "it takes a part of a dynamic axis")


def _is_real(entry: tuple[Any, ...], start: Any, length: int) -> bool:
    """Whether known positions on an axis lie in its real part, counted from its start."""
    match entry:
        case ("int",):
            return start is not None and 0 <= int(start) < length
        case ("window", count):
            return start is not None and int(start) >= 0 and int(start) + count <= length
        case ("steps", first, count, step):
            return first >= 0 and step > 0 and first + (count - 1) * step < length
    return False


INDEX_RULES: dict[type, Rule] = {
    Gather: gather,
    EmbeddingLookup: gather,
    GatherGrad: gather_gradient,
    GatherD: pick_one_by_one,
    GatherDGrad: pick_one_by_one,
    Subscript: subscript,
    SubscriptAddTo: subscript,
    SubscriptAssign: assign,
}
