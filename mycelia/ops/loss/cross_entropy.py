"""Cross entropy and negative log-likelihood over classes, each gradient a fused operator.

Classes lie along axis 1 (axis 0 of one example). For class indices y, weights w, smoothing s and
C classes, with z = 0 for log-probabilities and z = logsumexp(x) for logits, a position's loss is

    (1 - s) w[y] (z - x[y])  +  s / C  sum_c w[c] (z - x[c])
"""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance, check_int
from mycelia._engine.core.dtype import float32, promote
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.activation.softmax import log_total
from mycelia.ops.loss.support import (
    check_alike,
    check_labels,
    check_reduction,
    reduced,
    reduced_type,
)


class CrossEntropy(Op):
    """Cross entropy of logits against class indices, and the logsumexp of the logits."""

    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0
    from_logits = True
    examples = (
        case("f32[2,3]", "i32[2]:<3", None),
        case("f32[4,3]", "i64[4]:<3", "f32[3]:positive", ignore_index=1, label_smoothing=0.1),
        case("f32[2,3,2,2]", "i32[2,2,2]:<3", "f32[3]:positive", reduction="none"),
        case("f32[3]", "i32[]:<3", None, reduction="sum", label_smoothing=0.2),
    )

    def infer(
        self, x: TensorType, target: TensorType, weight: TensorType | None
    ) -> tuple[TensorType, TensorType]:
        positions = _positions(self.name, x)
        check_labels(self.name, target)
        if target.shape != positions:
            raise problem(
                ValueError,
                f"{self.name}: the target does not match the input",
                got=f"input {x} and target {target}",
                expected=f"a target of shape {list(positions)}: the input without its class axis",
            )
        _check_weight(self.name, x, weight)
        result = x if weight is None else x.with_dtype(promote(x.dtype, weight.dtype))
        wide = _widened_type(x).with_shape(positions)
        return reduced_type(result.with_shape(positions), self.reduction), wide

    def bounds(self, x: Any, target: Any, weight: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(1, x.shape[min(len(x.shape) - 1, 1)], self.ignore_index),)

    def lower(self, x: Array, target: Array, weight: Array | None) -> tuple[Array, Array]:
        wide = widened(x)
        total = self._normalizer(wide)
        losses, factors = self._losses(wide, total, target, weight)
        result = x.dtype if weight is None else jnp.result_type(x, weight)
        return self._reduced(losses, factors).astype(result), total

    def grad(self, x: Any, target: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        found = CrossEntropyGrad.of(self)(x, target, weight, out[1], dout[0], dout[1])
        return found[0], None, found[1]

    def _normalizer(self, x: Array) -> Array:
        if not self.from_logits:
            return jnp.zeros(x.shape[:1] + x.shape[2:] if x.ndim > 1 else (), x.dtype)
        axis = _class_axis(x)
        return jnp.squeeze(log_total(x, axis), axis)

    def _losses(
        self, x: Array, total: Array, target: Array, weight: Array | None
    ) -> tuple[Array, Array]:
        """Loss and weight of each position; both are 0 where the target is ignored."""
        axis = _class_axis(x)
        kept = jnp.asarray(target) != self.ignore_index
        index = jnp.where(kept, target, 0)
        picked = jnp.squeeze(jnp.take_along_axis(x, jnp.expand_dims(index, axis), axis), axis)
        factors = kept.astype(x.dtype)
        if weight is not None:
            factors = factors * jnp.take(widened(weight), index).astype(x.dtype)
        losses = (1 - self.label_smoothing) * factors * (total - picked)
        if self.label_smoothing:
            spread = _class_weights(x, weight) * (jnp.expand_dims(total, axis) - x)
            rest = jnp.sum(spread, axis=axis, dtype=x.dtype) / max(x.shape[axis], 1)
            losses = losses + self.label_smoothing * jnp.where(kept, rest, 0)
        return jnp.where(kept, losses, 0), factors

    def _reduced(self, losses: Array, factors: Array) -> Array:
        if self.reduction == "mean":
            return summed(losses) / summed(factors)
        return reduced(losses, self.reduction, losses.dtype)


class NegativeLogLikelihood(CrossEntropy):
    """Negative log-likelihood of class indices under log-probabilities (and zeros)."""

    from_logits = False


class CrossEntropyGrad(Op, register=False):
    """Gradients of CrossEntropy for the input and the weight: exp(x - z) - onehot, scaled."""

    op: CrossEntropy

    def bounds(
        self, x: Any, target: Any, weight: Any, total: Any, dout: Any, dtotal: Any
    ) -> tuple[IndexBound, ...]:
        found = self.op.bounds(x, target, weight)
        return tuple([bound.gradient(self.op.name, "target") for bound in found])

    def lower(
        self,
        x: Array,
        target: Array,
        weight: Array | None,
        total: Array,
        dout: Array,
        dtotal: Array,
    ) -> tuple[Array, Array | None]:
        op, wide, pulled = self.op, widened(x), widened(dout)
        axis = _class_axis(wide)
        kept = jnp.asarray(target) != op.ignore_index
        index = jnp.where(kept, target, 0)
        factors = kept.astype(wide.dtype)
        if weight is not None:
            factors = factors * jnp.take(widened(weight), index).astype(wide.dtype)
        if op.reduction == "mean":
            pulled = pulled / summed(factors)
        scale = jnp.broadcast_to(pulled, kept.shape)
        direct = jnp.where(kept, (1 - op.label_smoothing) * scale * factors, 0)
        dx = -jnp.expand_dims(direct, axis) * _onehot(index, wide)
        push = direct
        if op.label_smoothing:
            smooth = jnp.where(kept, op.label_smoothing / max(wide.shape[axis], 1) * scale, 0)
            weights = _class_weights(wide, weight)
            push = push + smooth * jnp.sum(weights, dtype=wide.dtype)
            dx = dx - jnp.expand_dims(smooth, axis) * weights
        if op.from_logits:
            probabilities = jnp.exp(wide - jnp.expand_dims(total, axis))
            dx = dx + jnp.expand_dims(push + widened(dtotal), axis) * probabilities
        return dx.astype(x.dtype), self._weight_gradient(wide, target, weight, total, dout)

    def _weight_gradient(
        self, x: Array, target: Array, weight: Array | None, total: Array, dout: Array
    ) -> Array | None:
        if weight is None:
            return None

        def loss(w: Array) -> Array:
            return self.op._reduced(*self.op._losses(x, total, target, w))

        result, pull = jax.vjp(loss, weight)
        return pull(jnp.asarray(dout).astype(result.dtype))[0]


class SoftCrossEntropy(Op):
    """Cross entropy of logits against class probabilities; all arguments are differentiated."""

    reduction: str = "mean"
    label_smoothing: float = 0.0
    promotes = ("x", "target")
    examples = (
        case("f32[2,3]", "f32[2,3]:probability", None),
        case("f32[2,3,2]", "f32[2,3,2]:unit", "f32[3]:positive", label_smoothing=0.1),
        case("f32[3]", "f32[3]:probability", None, reduction="none"),
    )

    def infer(self, x: TensorType, target: TensorType, weight: TensorType | None) -> TensorType:
        check_alike(self.name, x, target)
        positions = _positions(self.name, x)
        _check_weight(self.name, x, weight)
        return reduced_type(x.with_shape(positions), self.reduction)

    def lower(self, x: Array, target: Array, weight: Array | None) -> Array:
        wide, axis = widened(x), _class_axis(x)
        wanted = self._smoothed(wide, target) * _class_weights(wide, weight)
        losses = -jnp.sum(wanted * jax.nn.log_softmax(wide, axis=axis), axis=axis, dtype=wide.dtype)
        return reduced(losses, self.reduction, x.dtype)

    def _smoothed(self, x: Array, target: Array) -> Array:
        even = self.label_smoothing / max(x.shape[_class_axis(x)], 1)
        return widened(target) * (1 - self.label_smoothing) + even


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Cross entropy of logits against class indices or class probabilities."""
    fields = _check_fields("cross_entropy", input, target, ignore_index, reduction, label_smoothing)
    if target.dtype.is_float and target.shape == input.shape:
        return SoftCrossEntropy.of(*fields[1:])(input, target, weight)
    return CrossEntropy.of(*fields)(input, target, weight)[0]


def nll_loss(
    inputs: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Negative log-likelihood of class indices under log-probabilities."""
    fields = _check_fields("nll_loss", inputs, target, ignore_index, reduction, label_smoothing)
    return NegativeLogLikelihood.of(*fields)(inputs, target, weight)[0]


def _check_fields(
    owner: str, x: Any, target: Any, ignore_index: Any, reduction: Any, label_smoothing: Any
) -> tuple[Any, ...]:
    check_instance(owner, "input", x, TensorProtocol)
    check_instance(owner, "target", target, TensorProtocol)
    if not isinstance(label_smoothing, float):
        raise wrong_type(owner, "label_smoothing", label_smoothing, "float")
    index = check_int(owner, "ignore_index", ignore_index)
    return index, check_reduction(owner, reduction), label_smoothing


def _positions(op: str, x: TensorType) -> Shape:
    """The shape of the positions: that of `x` without its class axis."""
    if not x.dtype.is_float:
        raise unsupported_dtype(op, x, "a float tensor")
    if x.ndim == 0:
        raise problem(
            ValueError, f"{op}: the input must have a class axis", expected="at least one dimension"
        )
    return () if x.ndim == 1 else x.shape[:1] + x.shape[2:]


def _check_weight(op: str, x: TensorType, weight: TensorType | None) -> None:
    classes = x.shape[min(x.ndim - 1, 1)]
    if weight is not None and weight.shape != (classes,):
        raise problem(
            ValueError,
            f"{op}: the weight does not match the classes",
            got=f"weight {weight} for {classes} classes",
            expected=f"a weight of shape [{classes}]",
        )


def _class_axis(x: Array) -> int:
    return min(x.ndim - 1, 1)


def _class_weights(x: Array, weight: Array | None) -> Array:
    """Class weights (or ones), shaped to broadcast against `x`."""
    axis = _class_axis(x)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    if weight is None:
        return jnp.ones(shape, x.dtype)
    return jnp.reshape(widened(weight).astype(x.dtype), shape)


def _onehot(index: Array, x: Array) -> Array:
    """One-hot encoding of `index`, written as a comparison so that XLA fuses it."""
    axis = _class_axis(x)
    classes = lax.broadcasted_iota(index.dtype, x.shape, axis)
    return (classes == jnp.expand_dims(index, axis)).astype(x.dtype)


def _widened_type(x: TensorType) -> TensorType:
    return x if x.dtype.bits == 64 else x.with_dtype(float32)
