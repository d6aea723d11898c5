"""Margin losses: hinge, ranking, triplet, cosine, multi-class, and multi-label."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_float, check_instance, check_range, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import FLOATS, REALS, check_axes, check_kinds, check_shape
from mycelia.ops.loss.support import check_alike, check_rank, check_reduction, reduced, reduced_type


class HingeEmbeddingLoss(Op):
    """Hinge embedding loss: x where the target is 1, max(0, margin - x) where it is -1."""

    margin: float = 1.0
    reduction: str = "mean"
    examples = (
        case("f32[2,3]:distinct", "f32[2,3]:spread", reduction="none", constants=(1,)),
        case("f32[2,3]:spread", "f32[3]:spread", constants=(1,)),
        case("f32[]:spread", "f32[]:spread", margin=0.1, constants=(1,)),
    )

    def infer(self, x: TensorType, target: TensorType) -> TensorType:
        for given in (x, target):
            if not given.dtype.is_float:
                raise unsupported_dtype(self.name, given, "a float tensor")
        shape = broadcast(x.shape, target.shape, op=self.name)
        return reduced_type(x.with_shape(shape), self.reduction)

    def lower(self, x: Array, target: Array) -> Array:
        wide, sign = widened(x), jnp.asarray(target)
        far = jnp.maximum(self.margin - wide, 0)
        values = jnp.where(sign > 0, wide, jnp.where(sign < 0, far, 0))
        return reduced(values, self.reduction, x.dtype)


class MarginRankingLoss(Op):
    """Margin ranking loss: max(0, margin - target * (x - y))."""

    margin: float = 0.0
    reduction: str = "mean"
    examples = (
        case("f32[2,3]", "f32[2,3]", "f32[2,3]:spread", margin=0.1, reduction="none"),
        case("f32[2,3]", "f32[2,3]", "f32[3]:spread"),
    )

    def infer(self, x: TensorType, y: TensorType, target: TensorType) -> TensorType:
        if x.dtype is not y.dtype:
            raise problem(TypeError, f"{self.name}: the dtypes differ", got=f"{x} and {y}")
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "float tensors")
        shape = broadcast(x.shape, y.shape, target.shape, op=self.name)
        return reduced_type(x.with_shape(shape), self.reduction)

    def lower(self, x: Array, y: Array, target: Array) -> Array:
        gap = widened(x) - widened(y)
        values = jnp.maximum(self.margin - jnp.asarray(target).astype(gap.dtype) * gap, 0)
        return reduced(values, self.reduction, x.dtype)


class CosineEmbeddingLoss(Op):
    """Cosine embedding loss: 1 - cos(x, y) for target 1, max(0, cos(x, y) - margin) for -1."""

    margin: float = 0.0
    reduction: str = "mean"
    examples = (
        case("f32[4,3]", "f32[4,3]", "i32[4]:<2", reduction="none"),
        case("f32[2,3,2]", "f32[2,3,2]", "i32[2,2]:<2", margin=0.5),
    )

    def infer(self, x: TensorType, y: TensorType, target: TensorType) -> TensorType:
        shape = broadcast(x.shape, y.shape, op=self.name)
        check_axes(self.name, "x", x, least=len(shape))
        check_axes(self.name, "y", y, least=len(shape))
        check_kinds(self.name, REALS, x=x, y=y)
        if len(shape) < 2 or shape[:1] + shape[2:] != target.shape:
            raise problem(
                ValueError,
                f"{self.name}: the target does not match the inputs",
                got=f"inputs {x} and {y}, target {target}",
                expected="the shape of the inputs without axis 1",
            )
        return reduced_type(x.with_shape(target.shape), self.reduction)

    def lower(self, x: Array, y: Array, target: Array) -> Array:
        a, b = widened(x), widened(y)
        dot = jnp.sum(a * b, axis=1, dtype=a.dtype)
        sizes = jnp.sum(a * a, axis=1, dtype=a.dtype) * jnp.sum(b * b, axis=1, dtype=b.dtype)
        cosine = dot / jnp.sqrt(sizes)
        apart = jnp.maximum(cosine - self.margin, 0)
        sign = jnp.asarray(target)
        values = jnp.where(sign == 1, 1 - cosine, jnp.where(sign == -1, apart, 0))
        return reduced(values, self.reduction, x.dtype)


class TripletMarginLoss(Op):
    """Triplet loss: max(0, margin + |x - positive| - |x - negative|), p-norms along axis 1."""

    p: int = 2
    swap: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    promotes = ("margin",)
    examples = (
        case("f32[2,3]", "f32[2,3]", "f32[2,3]", "f32[]:positive"),
        case("f32[2,3]", "f32[2,3]", "f32[2,3]", "f32[]", p=1, swap=True, reduction="none"),
        case("f32[3]", "f32[3]", "f32[3]", "f32[]:positive", reduction="sum"),
    )

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def lower(self, x: Array, positive: Array, negative: Array, margin: Array) -> Array:
        anchor, near, far = widened(x), widened(positive), widened(negative)
        apart = self._distance(anchor, far)
        if self.swap:
            apart = jnp.minimum(apart, self._distance(near, far))
        gap = jnp.asarray(margin).astype(anchor.dtype) + self._distance(anchor, near) - apart
        return reduced(jnp.maximum(gap, 0), self.reduction, x.dtype)

    def _distance(self, a: Array, b: Array) -> Array:
        powers = jnp.power(jnp.abs(a - b + self.eps), self.p)
        total = jnp.sum(powers, axis=min(powers.ndim - 1, 1), dtype=powers.dtype)
        return jnp.power(total, 1 / self.p)


class SoftMarginLoss(Op):
    """Soft margin loss: log(1 + exp(-target * x))."""

    reduction: str = "mean"
    examples = (case("f32[2,3]", "f32[2,3]:spread"), case("f32[]", "f32[]", reduction="none"))

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(self, predict: TensorType, label: TensorType) -> TensorType:
        check_alike(self.name, predict, label)
        return reduced_type(predict, self.reduction)

    def lower(self, predict: Array, label: Array) -> Array:
        product = widened(predict) * widened(label)
        values = jnp.logaddexp(-product, jnp.zeros((), product.dtype))
        return reduced(values, self.reduction, predict.dtype)


class MultiMarginLoss(Op):
    """Multi-class hinge loss: mean of max(0, margin - x[target] + x[c]) ** p over classes c."""

    p: int = 1
    margin: float = 1.0
    reduction: str = "mean"
    examples = (
        case("f32[2,3]", "i64[2]:<3", None),
        case("f32[2,3]", "i64[2]:<3", "f32[3]:positive", p=2, margin=0.5, reduction="none"),
    )

    def normalize(self) -> dict[str, Any]:
        if not is_int(self.p) or self.p not in (1, 2):
            raise wrong_value(self.name, "p", self.p, "int and must in {1, 2}")
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(
        self, inputs: TensorType, target: TensorType, weight: TensorType | None = None
    ) -> TensorType:
        check_rank(self.name, "inputs", inputs, 2)
        check_shape(self.name, "target", target, inputs.shape[:1])
        if weight is not None:
            check_shape(self.name, "weight", weight, inputs.shape[1:])
        check_kinds(self.name, FLOATS, inputs=inputs, weight=weight)
        if target.dtype.short != "i64":
            raise unsupported_dtype(self.name, target, "class indices as int64")
        return reduced_type(inputs.with_shape(target.shape), self.reduction)

    def bounds(self, inputs: Any, target: Any, weight: Any = None) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(1, inputs.shape[-1]),)

    def lower(self, inputs: Array, target: Array, weight: Array | None = None) -> Array:
        x, index = widened(inputs), jnp.asarray(target)[:, None]
        gap = jnp.maximum(self.margin - jnp.take_along_axis(x, index, axis=1) + x, 0)
        others = jnp.arange(x.shape[1], dtype=index.dtype)[None, :] != index
        values = jnp.where(others, gap**self.p, 0)
        if weight is not None:
            values = values * jnp.take(widened(weight), index)
        return reduced(jnp.mean(values, axis=1, dtype=x.dtype), self.reduction, inputs.dtype)


class MultilabelMarginLoss(Op):
    """Multi-label hinge loss, and a mask of the target classes.

    A row of the target lists classes up to the first -1.
    """

    reduction: str = "mean"
    examples = (
        case("f32[2,3]:distinct", "i32[2,3]:<3"),
        case("f32[4]:distinct", "i32[4]:<4", reduction="none"),
    )

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(self, x: TensorType, target: TensorType) -> tuple[TensorType, TensorType]:
        if target.dtype.short != "i32" or x.shape != target.shape or x.ndim not in (1, 2):
            raise problem(
                TypeError if target.dtype.short != "i32" else ValueError,
                f"{self.name}: the target does not match the input",
                got=f"x {x} and target {target}",
                expected="an int32 target of the shape of x, which has 1 or 2 dimensions",
            )
        return reduced_type(x.with_shape(x.shape[:-1]), self.reduction), target

    def bounds(self, x: Any, target: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(1, x.shape[-1], -1),)

    def lower(self, x: Array, target: Array) -> tuple[Array, Array]:
        scores, named = widened(x), jnp.asarray(target)
        valid = jnp.cumprod((named >= 0).astype(named.dtype), axis=-1).astype(bool)
        classes = jnp.arange(x.shape[-1], dtype=named.dtype)
        hits = valid[..., None] & (named[..., None] == classes)
        is_target = jnp.any(hits, axis=-2)
        chosen = jnp.take_along_axis(scores, jnp.where(valid, named, 0), axis=-1)
        gap = jnp.maximum(1 - chosen[..., None] + scores[..., None, :], 0)
        counted = valid[..., None] & ~is_target[..., None, :]
        total = jnp.sum(jnp.where(counted, gap, 0), axis=(-2, -1), dtype=scores.dtype)
        loss = reduced(total / max(x.shape[-1], 1), self.reduction, x.dtype)
        return loss, is_target.astype(named.dtype)


class MultilabelSoftMarginLoss(Op):
    """Multi-label soft margin loss: the mean over classes of the sigmoid cross entropy."""

    reduction: str = "mean"
    examples = (
        case("f32[2,3]", "f32[2,3]:unit", None),
        case("f32[2,3]", "f32[2,3]:unit", "f32[3]:positive", reduction="none"),
        case("f32[3]", "f32[3]:unit", None, reduction="sum"),
    )

    def lower(self, x: Array, target: Array, weight: Array | None) -> Array:
        logits, label = widened(x), widened(target)
        zero = jnp.zeros((), logits.dtype)
        values = label * jnp.logaddexp(-logits, zero) + (1 - label) * jnp.logaddexp(logits, zero)
        if weight is not None:
            values = values * widened(weight)
        return reduced(jnp.mean(values, axis=-1, dtype=values.dtype), self.reduction, x.dtype)


def hinge_embedding_loss(
    inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    """Hinge embedding loss: inputs for target 1, max(0, margin - inputs) for target -1."""
    fields = (
        check_float("hinge_embedding_loss", "margin", margin),
        check_reduction("hinge_embedding_loss", reduction),
    )
    return HingeEmbeddingLoss.of(*fields)(inputs, targets)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """Margin ranking loss: max(0, margin - target * (input1 - input2))."""
    fields = (
        check_float("margin_ranking_loss", "margin", margin),
        check_reduction("margin_ranking_loss", reduction),
    )
    return MarginRankingLoss.of(*fields)(input1, input2, target)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """Cosine embedding loss along axis 1: 1 - cos for target 1, max(0, cos - margin) for -1."""
    owner = "cosine_embedding_loss"
    bound = check_range(owner, "margin", margin, -1, 1)
    return CosineEmbeddingLoss.of(bound, check_reduction(owner, reduction))(input1, input2, target)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: int = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """Triplet loss: max(0, margin + |anchor - positive| - |anchor - negative|), p-norms."""
    op = TripletMarginLoss.of(p, swap, eps, check_reduction("triplet_margin_loss", reduction))
    return op(anchor, positive, negative, margin)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Soft margin loss: log(1 + exp(-target * input))."""
    return SoftMarginLoss.of(check_reduction("soft_margin_loss", reduction))(input, target)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1,
    weight: Any = None,
    reduction: str = "mean",
) -> Any:
    """Multi-class hinge loss: mean of max(0, margin - input[target] + input[c]) ** p over c."""
    if not is_int(margin):
        raise wrong_type("multi_margin_loss", "margin", margin, "int")
    fields = p, float(margin), check_reduction("multi_margin_loss", reduction)
    return MultiMarginLoss.of(*fields)(input, target, weight)


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Multi-label hinge loss: the margin of each target class over every other class."""
    reduction = check_reduction("multilabel_margin_loss", reduction)
    return MultilabelMarginLoss.of(reduction)(input, target)[0]


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """Multi-label soft margin loss: the mean over classes of the sigmoid cross entropy."""
    check_instance("multilabel_soft_margin_loss", "input", input, TensorProtocol)
    check_instance("multilabel_soft_margin_loss", "target", target, TensorProtocol)
    reduction = check_reduction("multilabel_soft_margin_loss", reduction)
    return MultilabelSoftMarginLoss.of(reduction)(input, target, weight)
