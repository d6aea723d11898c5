"""Padding rules for losses: padded rows have no loss, and means count real rows only."""

from __future__ import annotations

import numpy as np

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import DynamicExtent, extents_in
from mycelia._engine.compiler.dynamic_shapes.padding_plan import (
    APART,
    MEETS,
    ONE,
    ZERO,
    Fill,
    PaddedOperator,
    PaddingPlan,
    Rule,
    all_extents,
    all_independent,
    require,
    roles_along,
    same_role_everywhere,
)
from mycelia.ops.loss.classification import (
    BCEWithLogitsLoss,
    BinaryCrossEntropy,
    BinaryCrossEntropyGrad,
    KLDivLoss,
    SigmoidCrossEntropyWithLogits,
    SmoothL1Loss,
    SoftmaxCrossEntropyGrad,
    SoftmaxCrossEntropyWithLogits,
    SparseSoftmaxCrossEntropyWithLogits,
)
from mycelia.ops.loss.cross_entropy import CrossEntropy, CrossEntropyGrad, SoftCrossEntropy
from mycelia.ops.loss.regression import Regression

_NO_CLASS = int(np.iinfo(np.int32).min)
_SURE = 1000  # a logit whose sigmoid is 1 in every precision


def of_values(*fills: Fill) -> Rule:
    """An elementwise loss, reduced according to the field `reduction`; it is 0 for the `fills`.

    Arguments beyond those in `fills` are weights.
    """

    def rule(site: PaddedOperator) -> PaddingPlan:
        reduction = site.op.reduction
        if reduction == "none":
            return all_independent(site)
        roles_of_arguments = (*fills, *(ZERO for _ in site.types[len(fills) :]))
        main = site.axes[: len(fills)]
        require(all(axes == main[0] for axes in main), "a dynamic axis is broadcast")
        roles = tuple(
            same_role_everywhere(f, t) for f, t in zip(roles_of_arguments, site.types, strict=True)
        )
        return PaddingPlan(roles, _counted(site, reduction))

    return rule


def _counted(site: PaddedOperator, reduction: str) -> tuple[DynamicExtent, ...]:
    """The extents in the count by which a reduced loss is divided."""
    if reduction == "batchmean":
        return tuple(extents_in(site.axes[0][:1]))
    return all_extents(site) if reduction == "mean" else ()


def gradient_of_values(site: PaddedOperator) -> PaddingPlan:
    """The gradient of such a loss: elementwise, divided by the count."""
    op = getattr(site.op, "op", site.op)
    shape = site.types[0].shape
    results = [t for t in site.type if t is not None]
    require(all(t.shape == shape for t in results), "it adds up over what was broadcast")
    return PaddingPlan(all_independent(site).roles, _counted(site, op.reduction))


def cross_entropy(site: PaddedOperator) -> PaddingPlan:
    """Padded targets are set to the ignored index."""
    rows = {
        name: same_role_everywhere(ZERO, type_)
        for name, type_ in zip(site.op.arguments.data_names, site.types, strict=True)
    }
    op = getattr(site.op, "op", site.op)
    x, target = site.types[:2]
    rows["x"] = roles_along(x, {min(x.ndim - 1, 1): MEETS}, ZERO)
    rows["target"] = same_role_everywhere(op.ignore_index, target)
    rows["weight"] = same_role_everywhere(MEETS, site.types[2])
    return PaddingPlan(tuple(rows.values()))


def soft_cross_entropy(site: PaddedOperator) -> PaddingPlan:
    """Rows without probabilities have no loss, unless label smoothing adds some."""
    x, target, weight = site.types
    meets = {min(x.ndim - 1, 1): MEETS}
    reduction = site.op.reduction
    require(reduction == "none" or not site.op.label_smoothing, "smoothed rows are never empty")
    roles = (
        roles_along(x, meets, ZERO),
        roles_along(target, meets, ZERO),
        same_role_everywhere(MEETS, weight),
    )
    return PaddingPlan(roles, all_extents(site) if reduction == "mean" else ())


def soft_cross_entropy_gradient(site: PaddedOperator) -> PaddingPlan:
    """Each row separately, divided by the number of rows."""
    plan = gradient_of_values(site)
    x, target = site.types[:2]
    meets = {min(x.ndim - 1, 1): MEETS}
    roles = (roles_along(x, meets, APART), roles_along(target, meets, APART), *plan.roles[2:])
    return PaddingPlan(roles, plan.mean_over)


def sparse_cross_entropy(site: PaddedOperator) -> PaddingPlan:
    """The mean over rows: computed as a cross entropy that ignores padded rows."""
    logits, labels = site.types
    if site.op.is_grad:
        return sparse_cross_entropy_gradient(site)
    require(logits.ndim == 2 and site.axes[0][1] is None, "its logits are not rows of fixed length")
    instead = CrossEntropy.of(_NO_CLASS, "mean", 0.0)
    roles = (same_role_everywhere(ZERO, logits), same_role_everywhere(_NO_CLASS, labels), None)
    return PaddingPlan(roles, instead=instead, item=0)


def sparse_cross_entropy_gradient(site: PaddedOperator) -> PaddingPlan:
    """Each row separately, divided by the number of rows."""
    require(not getattr(getattr(site.op, "op", None), "is_grad", False), "it is a second gradient")
    roles = [roles_along(site.types[0], {-1: MEETS}, APART)]
    roles += [same_role_everywhere(APART, type_) for type_ in site.types[1:]]
    return PaddingPlan(tuple(roles), tuple(extents_in(site.axes[0][:-1])))


def independent_rows(site: PaddedOperator) -> PaddingPlan:
    """Rows of two axes, each independent."""
    return PaddingPlan(tuple(roles_along(t, {0: APART}) for t in site.types))


LOSS_RULES: dict[type, Rule] = {
    CrossEntropy: cross_entropy,
    CrossEntropyGrad: cross_entropy,
    SoftCrossEntropy: soft_cross_entropy,
    SparseSoftmaxCrossEntropyWithLogits: sparse_cross_entropy,
    SoftmaxCrossEntropyWithLogits: independent_rows,
    SoftmaxCrossEntropyGrad: independent_rows,
    SigmoidCrossEntropyWithLogits: all_independent,
    Regression: of_values(ZERO, ZERO),
    SmoothL1Loss: of_values(ZERO, ZERO),
    KLDivLoss: of_values(ZERO, ZERO),
    BinaryCrossEntropy: of_values(ZERO, ZERO),
    BCEWithLogitsLoss: of_values(_SURE, ONE),
    BinaryCrossEntropyGrad: gradient_of_values,
}

# The default gradients of losses.
LOSS_GRADIENTS: dict[type, Rule] = {
    SparseSoftmaxCrossEntropyWithLogits: sparse_cross_entropy_gradient,
    SoftCrossEntropy: soft_cross_entropy_gradient,
    Regression: gradient_of_values,
    SmoothL1Loss: gradient_of_values,
    KLDivLoss: gradient_of_values,
    BCEWithLogitsLoss: gradient_of_values,
}
