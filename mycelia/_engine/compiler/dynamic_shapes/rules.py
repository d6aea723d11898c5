"""Padding rules: how each class of operators treats padding. Without a rule, sizes are exact.

A rule may assume that the real part of every argument is correct and at the start of its axes. Its
plan must guarantee the same for the results. Padding may hold any values, including NaN and inf.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    Axes,
    DynamicExtent,
    UnprovablePadding,
    extents_in,
)
from mycelia._engine.compiler.dynamic_shapes.index_rules import INDEX_RULES
from mycelia._engine.compiler.dynamic_shapes.loss_rules import LOSS_GRADIENTS, LOSS_RULES
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
    Rule,
    all_independent,
    first_axis,
    require,
    roles_along,
    same_role_everywhere,
)
from mycelia._engine.compiler.dynamic_shapes.reshape_rules import check_reshape
from mycelia._engine.core.shape import normalize_axes
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.kernels.channel_sums import channel_axis
from mycelia._engine.operators.families import Binary, Unary
from mycelia._engine.operators.operator import Vjp
from mycelia.ops.activation.family import ActivationGrad
from mycelia.ops.activation.piecewise import PReLU, Scaled
from mycelia.ops.activation.smooth import GLU, Swiglu
from mycelia.ops.activation.softmax import LogSoftmax, LogSoftmaxGrad, Softmax, SoftmaxGrad, Softmin
from mycelia.ops.attention.attention import Attention
from mycelia.ops.convolution.convolution import (
    Conv2D,
    Conv2DBackpropFilter,
    Conv2DBackpropInput,
    Conv3D,
    Conv3DBackpropFilter,
    Conv3DBackpropInput,
    DepthwiseConv2dNative,
)
from mycelia.ops.elementwise import arithmetic, comparison, lerp, sign_and_nan, where
from mycelia.ops.indexing.gather import GatherDGrad
from mycelia.ops.indexing.sort import Sort, TopK, TopKAlong
from mycelia.ops.indexing.subscript import SubscriptAddTo
from mycelia.ops.linalg.diagonal import Tril
from mycelia.ops.linalg.matmul import BatchMatMul, BiasAdd, BiasAddGrad, Dense, MatMul
from mycelia.ops.linalg.norms import EuclideanNorm, L2Normalize
from mycelia.ops.linalg.tensor_products import Einsum
from mycelia.ops.normalization.batch_and_layer import (
    BatchNorm,
    BatchNormGrad,
    LayerNorm,
    LayerNormGrad,
)
from mycelia.ops.normalization.group import GroupNorm, RmsNorm
from mycelia.ops.pooling.adaptive import (
    AdaptiveAvgPool2D,
    AdaptiveMaxPool2D,
    AdaptiveMaxPool3D,
    AdaptiveMaxPoolGrad,
)
from mycelia.ops.pooling.pooling import AvgPool, AvgPool3D, LpPool, MaxPool, MaxPool3D
from mycelia.ops.pooling.window_pooling import (
    AvgPoolGrad,
    MaxPoolGrad,
    WindowAverage,
    WindowMaximum,
)
from mycelia.ops.random.dropout import Masked
from mycelia.ops.recurrent.layers import Recurrent, RecurrentGrad
from mycelia.ops.reduction.argmax import Argmax, ArgMaxWithValue, Argmin, ArgMinWithValue
from mycelia.ops.reduction.cumulative import CumProd, CumSum, CumulativeLogsumexp
from mycelia.ops.reduction.reduction import (
    LogSumExp,
    ReduceAll,
    ReduceAny,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
)
from mycelia.ops.shapes import creation
from mycelia.ops.shapes import reshape as shaping
from mycelia.ops.shapes.concat import Concat, Split, SplitV, Stack, Unstack
from mycelia.ops.shapes.flip import ReverseV2
from mycelia.ops.shapes.pad import ConstantPad, Pad
from mycelia.ops.shapes.ranges import Range
from mycelia.ops.shapes.tile import Tile


def reduction(role: Fill) -> Rule:
    """A reduction for which one fill value is neutral."""

    def rule(site: PaddedOperator) -> PaddingPlan:
        axis = site.static[0] if site.static else ()
        if getattr(site.op, "skip_mode", False) and axis in (None, ()):
            return all_independent(site)
        axes = normalize_axes(axis, site.types[0].ndim, site.op.name) if site.types[0].ndim else ()
        return PaddingPlan((roles_along(site.types[0], dict.fromkeys(axes, role), APART),))

    return rule


def mean(site: PaddedOperator) -> PaddingPlan:
    """The sum over a padded size, divided by the real size."""
    require(site.types[0].dtype.is_float, "the mean of integers is rounded for each size")
    plan = reduction(ZERO)(site)
    pairs = zip(plan.roles[0], site.axes[0], strict=True)
    return PaddingPlan(plan.roles, tuple(e for role, e in pairs if role is ZERO and e is not None))


def sum_to(site: PaddedOperator) -> PaddingPlan:
    """Sums over the axes that have size 1 (or are missing) in the result."""
    shape = site.types[0].shape
    extra = len(shape) - len(site.type.shape)
    target = (1,) * extra + site.type.shape
    summed = {i: ZERO for i, n in enumerate(target) if n == 1 and shape[i] != 1}
    return PaddingPlan((roles_along(site.types[0], summed, APART),))


def product(site: PaddedOperator) -> PaddingPlan:
    """Matrix products: the inner axes are summed, all others are independent."""
    left = -2 if site.op.transpose_a else -1
    right = -1 if site.op.transpose_b else -2
    roles = (
        roles_along(site.types[0], {left: ZERO}, APART),
        roles_along(site.types[1], {right: ZERO}, APART),
    )
    return PaddingPlan(roles)


def dense(site: PaddedOperator) -> PaddingPlan:
    x, w, b = site.types
    return PaddingPlan(
        (
            roles_along(x, {-1: ZERO}, APART),
            roles_along(w, {-1: ZERO}, APART),
            roles_along(b, {}, APART),
        )
    )


def einsum(site: PaddedOperator) -> PaddingPlan:
    """Axes that are not in the result are summed."""
    terms, arrow, result = site.op.equation.replace(" ", "").partition("->")
    require(bool(arrow) and "." not in terms, "its equation does not name every axis")
    return PaddingPlan(
        (tuple(tuple(APART if n in result else ZERO for n in t) for t in terms.split(",")),)
    )


def bias_gradient(site: PaddedOperator) -> PaddingPlan:
    (dout,) = site.types
    channel = channel_axis(site.op.name, site.op.data_format, dout.ndim)
    return PaddingPlan((roles_along(dout, {channel: APART}, ZERO),))


def over(role: Fill, field: str = "") -> Rule:
    """Elements are only combined along the axes of a field (or of the static argument)."""

    def rule(site: PaddedOperator) -> PaddingPlan:
        axes = getattr(site.op, field) if field else site.static[0]
        listed = axes if isinstance(axes, tuple) else (axes,)
        return PaddingPlan(tuple(_each(t, dict.fromkeys(listed, role)) for t in site.types))

    return rule


def _each(type_: Any, roles: dict[int, Fill]) -> Roles:
    if isinstance(type_, tuple):
        return tuple(_each(part, roles) for part in type_)
    return roles_along(type_, roles, APART)


def reshape(site: PaddedOperator) -> PaddingPlan:
    check_reshape(site.types[0].shape, site.axes[0], site.type.shape, site.result)
    return all_independent(site)


def tile(site: PaddedOperator) -> PaddingPlan:
    """Repeating a padded axis would put padding between real elements."""
    rank = site.types[0].ndim
    times = site.static[0][-rank:] if rank else ()
    repeated = {i - len(times): MEETS for i, n in enumerate(times) if n != 1}
    return PaddingPlan((roles_along(site.types[0], repeated, APART),))


def pad(site: PaddedOperator) -> PaddingPlan:
    """Values added after a padded axis would come after its padding."""
    x, *rest = site.types
    grown = {i: MEETS for i, pair in enumerate(site.op.paddings) if tuple(pair) != (0, 0)}
    return PaddingPlan(
        (roles_along(x, grown, APART), *(same_role_everywhere(MEETS, t) for t in rest))
    )


def batch_norm(site: PaddedOperator) -> PaddingPlan:
    """With fixed statistics elements are independent; batch statistics depend on all of them."""
    require(not site.op.is_training, "the statistics of the batch are over a dynamic axis")
    return all_independent(site)


def batch_norm_gradient(site: PaddedOperator) -> PaddingPlan:
    require(not site.op.is_training, "the statistics of the batch are over a dynamic axis")
    dout, x, *rest = site.types
    roles = (same_role_everywhere(ZERO, dout), same_role_everywhere(ZERO, x))
    return PaddingPlan((*roles, *(same_role_everywhere(MEETS, t) for t in rest)))


def layer_norm(site: PaddedOperator) -> PaddingPlan:
    x, *rest = site.types
    roles = _leading(x, site.op.begin_norm_axis, APART)
    return PaddingPlan((roles, *(same_role_everywhere(MEETS, t) for t in rest)))


def layer_norm_gradient(site: PaddedOperator) -> PaddingPlan:
    """The gradients of gamma and beta are sums over the leading axes."""
    begin = site.op.begin_norm_axis % site.types[1].ndim
    return PaddingPlan(
        tuple(
            same_role_everywhere(MEETS, t) if name == "gamma" else _leading(t, begin, ZERO)
            for name, t in zip(site.op.arguments.data_names, site.types, strict=True)
        )
    )


def rms_norm(site: PaddedOperator) -> PaddingPlan:
    x, gamma = site.types
    return PaddingPlan(
        (_leading(x, x.ndim - gamma.ndim, APART), same_role_everywhere(MEETS, gamma))
    )


def _leading(type_: Any, end: int, role: Fill) -> Roles:
    if type_ is None:
        return None
    return roles_along(
        type_, dict.fromkeys(range(end % (type_.ndim + 1) if end >= 0 else end + type_.ndim), role)
    )


def attention(site: PaddedOperator) -> PaddingPlan:
    """Batches and queries are independent; a causal mask hides later keys from a query."""
    query, key, value, mask, bias, keep = site.types
    hides = site.op.causal == "left" and site.axes[0][-2] == site.axes[1][-2]
    inner: Fill = ZERO if hides else MEETS
    rows: Fill = MEETS if site.op.causal == "right" else APART
    return PaddingPlan(
        (
            roles_along(query, {-1: MEETS, -2: rows}, APART),
            roles_along(key, {-1: MEETS, -2: inner}, APART),
            roles_along(value, {-1: APART, -2: inner}, APART),
            *(_scores(type_, inner) for type_ in (mask, bias, keep)),
        )
    )


def _scores(type_: Any, inner: Fill) -> Roles:
    return None if type_ is None else roles_along(type_, {-1: inner}, APART)


def recurrent(site: PaddedOperator) -> PaddingPlan:
    """The examples of a batch are independent; time steps are not."""
    names = site.op.arguments.data_names
    batch = {"x": 1, "h": 0, "c": 0, "seq_length": 0}
    pairs = zip(names, site.types, strict=True)
    return PaddingPlan(
        tuple(roles_along(t, {batch[n]: APART} if n in batch else {}) for n, t in pairs)
    )


def recurrent_gradient(site: PaddedOperator) -> PaddingPlan:
    """The same for the gradient; weights receive sums, to which zeros add nothing."""
    names = site.op.arguments.data_names
    batch = {"x": 1, "state": 0, "seq_length": 0, "outputs": 1, "residuals": 1}
    batch |= {"d_outputs": 1, "d_last": 0, "d_residuals": 1}

    def roles(name: str, type_: Any) -> Roles:
        if isinstance(type_, tuple):
            return tuple(roles(name, part) for part in type_)
        return roles_along(type_, {batch[name]: ZERO} if name in batch else {})

    return PaddingPlan(tuple(roles(n, t) for n, t in zip(names, site.types, strict=True)))


def gradient(site: PaddedOperator) -> PaddingPlan:
    """The default gradient of an operator, derived from the operator's own rule.

    If elements are independent, so are their gradients. Arguments that all elements share receive a
    sum of gradients: padded elements add nothing to it if zeros have finite gradients.
    """
    op: Primitive = site.op.op
    loss_rule = next((LOSS_GRADIENTS[c] for c in type(op).__mro__ if c in LOSS_GRADIENTS), None)
    if loss_rule is not None:
        return loss_rule(site)
    forward = rule_of(op)
    if forward is None:
        raise UnprovablePadding(f"{op.name} has no padding rule")
    *types, dout = site.types
    *axes, seeds = site.axes
    static = site.op.static_values
    inner = PaddedOperator(
        op, tuple(types), tuple(axes), site.known[:-1], static, dout, seeds, site.sizes
    )
    plan = forward(inner)
    if isinstance(op, _FINITE):
        return PaddingPlan(
            (*(_zeros(roles) for roles in plan.roles), same_role_everywhere(ZERO, dout))
        )
    require(not plan.mean_over and _only_apart(plan.roles, inner.axes), "its elements meet")
    shared = [a for t, a in zip(site.type, site.result, strict=True) if t is not None]
    results = seeds if isinstance(dout, tuple) else (seeds,)
    same_extents = all(_have_same_extents(a, s) for a in shared for s in results if s is not None)
    require(same_extents, "it adds up over a dynamic axis")
    return all_independent(site)


def _only_apart(roles: Roles, axes: Axes) -> bool:
    """Whether no elements are combined along padded axes."""
    if isinstance(axes, DynamicExtent):
        return roles is APART
    return axes is None or all(_only_apart(*pair) for pair in zip(roles, axes, strict=True))


def _have_same_extents(one: Axes, other: Axes) -> bool:
    """Whether two values have the same extents, in any order."""
    first, second = Counter(extents_in(one)), Counter(extents_in(other))
    return first == second


def _zeros(roles: Roles) -> Roles:
    """The same roles, with zeros as padding."""
    if isinstance(roles, tuple):
        return tuple(_zeros(part) for part in roles)
    return ZERO if roles is APART else roles


_FINITE = (
    Recurrent,
    GroupNorm,
    RmsNorm,
    PReLU,
    GLU,
    Swiglu,
    Einsum,
)  # zeros in, finite gradients out

RULES: dict[type, Rule] = {
    # elementwise, with broadcasting
    **dict.fromkeys(
        (
            Unary, Binary, ActivationGrad, arithmetic.AddN, lerp.Addcmul, lerp.Addcdiv,
            lerp.Lerp,
            lerp.ClampTensor, comparison.IsClose, sign_and_nan.NanToNum, where.Select,
            where.MaskedFill, shaping.Cast, shaping.Identity, shaping.IdentityN,
            shaping.Barrier, shaping.StopGradient, Scaled, Masked, PReLU, BiasAdd,
        ),
        all_independent,
    ),
    # elements keep their positions
    **dict.fromkeys(
        (
            shaping.Transpose, shaping.BroadcastTo, creation.Zeros, creation.Ones, creation.Fill,
            creation.FillV2, creation.ZerosLike, creation.OnesLike, creation.Eye, creation.OneHot,
            Range, Tril,
        ),
        all_independent,
    ),
    **dict.fromkeys(
        (shaping.Reshape, shaping.ExpandDims, shaping.Squeeze, shaping.Flatten), reshape
    ),
    Concat: over(MEETS, "axis"),
    Stack: all_independent,
    Split: over(MEETS, "axis"),
    SplitV: over(MEETS, "split_dim"),
    Unstack: over(MEETS, "axis"),
    Tile: tile,
    Pad: pad,
    ConstantPad: pad,
    ReverseV2: over(MEETS, "axis"),
    GLU: over(MEETS, "axis"),
    Swiglu: over(MEETS, "dim"),
    # reductions
    ReduceSum: reduction(ZERO),
    ReduceMean: mean,
    ReduceMax: reduction(LOWEST),
    ReduceMin: reduction(HIGHEST),
    ReduceProd: reduction(ONE),
    ReduceAll: reduction(ONE),
    ReduceAny: reduction(ZERO),
    LogSumExp: reduction(LOWEST),
    EuclideanNorm: reduction(ZERO),
    shaping.SumTo: sum_to,
    Argmax: over(LOWEST, "axis"),
    Argmin: over(HIGHEST, "axis"),
    ArgMaxWithValue: over(LOWEST, "axis"),
    ArgMinWithValue: over(HIGHEST, "axis"),
    # products
    MatMul: product,
    BatchMatMul: product,
    Dense: dense,
    BiasAddGrad: bias_gradient,
    Einsum: einsum,
    **dict.fromkeys(
        (Conv2D, Conv3D, DepthwiseConv2dNative, Conv2DBackpropInput, Conv3DBackpropInput),
        first_axis(APART),
    ),
    Conv2DBackpropFilter: first_axis(ZERO, ZERO),
    Conv3DBackpropFilter: first_axis(ZERO, ZERO),
    # windows of each image
    **dict.fromkeys(
        (
            MaxPool, AvgPool, MaxPool3D, AvgPool3D, WindowMaximum, WindowAverage, LpPool,
            AvgPoolGrad, AdaptiveAvgPool2D, AdaptiveMaxPool2D, AdaptiveMaxPool3D,
        ),
        first_axis(APART),
    ),
    MaxPoolGrad: first_axis(APART, APART),
    AdaptiveMaxPoolGrad: first_axis(APART, APART),
    # within rows
    Softmax: over(LOWEST, "axis"),
    Softmin: over(HIGHEST, "axis"),
    LogSoftmax: over(LOWEST, "axis"),
    SoftmaxGrad: over(ZERO, "axis"),
    LogSoftmaxGrad: over(ZERO, "axis"),
    L2Normalize: over(ZERO, "axis"),
    Sort: over(MEETS, "axis"),
    TopK: lambda site: PaddingPlan((roles_along(site.types[0], {-1: MEETS}, APART),)),
    TopKAlong: over(MEETS, "dim"),
    **dict.fromkeys((CumSum, CumProd, CumulativeLogsumexp), over(MEETS)),
    BatchNorm: batch_norm,
    BatchNormGrad: batch_norm_gradient,
    LayerNorm: layer_norm,
    LayerNormGrad: layer_norm_gradient,
    GroupNorm: first_axis(APART),
    RmsNorm: rms_norm,
    Attention: attention,
    Recurrent: recurrent,
    RecurrentGrad: recurrent_gradient,
    Vjp: gradient,
    **INDEX_RULES,
    **LOSS_RULES,
}  # fmt: skip

# Static values that may hold extents: shapes that the operator's rule (or type) covers.
SIZED: dict[type, tuple[str, ...]] = {
    shaping.Reshape: ("shape",),
    shaping.BroadcastTo: ("shape",),
    shaping.SumTo: ("shape",),
    creation.Zeros: ("size",),
    creation.Ones: ("shape",),
    creation.Fill: ("shape",),
    creation.FillV2: ("shape",),
    creation.Eye: ("n", "m"),
    Range: ("limit",),
    GatherDGrad: ("shape",),
    SubscriptAddTo: ("shape",),
    AvgPoolGrad: ("shape",),
    AdaptiveMaxPoolGrad: ("shape",),
    Conv2DBackpropInput: ("input_size",),
    Conv3DBackpropInput: ("input_size",),
}


def rule_of(op: Any) -> Rule | None:
    """The rule of the operator's class, or of its nearest base class that has one."""
    if getattr(op, "draws", False):
        return None
    return next((RULES[c] for c in type(op).__mro__ if c in RULES), None)


def may_hold_extents(op: Any) -> tuple[str, ...]:
    """The static values of an operator that may hold extents."""
    return next((SIZED[c] for c in type(op).__mro__ if c in SIZED), ())
