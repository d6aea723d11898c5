"""Classification losses on logits, probabilities, and log-probabilities.

As in MindSpore, labels and weights are constants: no gradient flows to them unless the operator's
docstring says so.
"""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import from_numpy, promote
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, default_grad, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.activation.softmax import powers
from mycelia.ops.argument_types import REALS, check_kinds, check_spreads_to
from mycelia.ops.loss.support import (
    check_alike,
    check_labels,
    check_rank,
    check_reduction,
    reduced,
    reduced_type,
)

_TINY = 1e-12  # keeps the logarithms of probabilities finite


class SoftmaxCrossEntropyWithLogits(Op):
    """Softmax cross entropy of each row against label probabilities, and its gradient."""

    examples = (
        case("f32[2,3]", "f32[2,3]:probability", constants=(1,), outputs=1),
        case("f16[0,3]", "f16[0,3]", differentiate=False),
    )

    def infer(self, logits: TensorType, labels: TensorType) -> tuple[TensorType, TensorType]:
        check_rank(self.name, "logits", logits, 2)
        check_alike(self.name, logits, labels)
        return logits.with_shape(logits.shape[:1]), logits

    def lower(self, logits: Array, labels: Array) -> tuple[Array, Array]:
        wide, target = widened(logits), lax.stop_gradient(widened(labels))
        log_probabilities = jax.nn.log_softmax(wide, axis=-1)
        loss = -jnp.sum(target * log_probabilities, axis=-1, dtype=wide.dtype)
        pulled = jnp.exp(log_probabilities) - target
        return loss.astype(logits.dtype), pulled.astype(logits.dtype)

    def grad(self, logits: Any, labels: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return SoftmaxCrossEntropyGrad.of()(logits, out[1], dout[0], dout[1]), None


class SoftmaxCrossEntropyGrad(Op, register=False):
    """Gradient of SoftmaxCrossEntropyWithLogits from its second result."""

    def lower(self, logits: Array, pulled: Array, dloss: Array, dpulled: Array) -> Array:
        first = widened(pulled) * widened(dloss)[:, None]
        probabilities = jax.nn.softmax(widened(logits), axis=-1)
        second = widened(dpulled)
        inner = jnp.sum(second * probabilities, axis=-1, keepdims=True, dtype=second.dtype)
        return (first + probabilities * (second - inner)).astype(logits.dtype)


class SparseSoftmaxCrossEntropyWithLogits(Op):
    """Mean softmax cross entropy against class indices; with `is_grad`, its gradient."""

    counts_rows = True
    is_grad: bool = False
    examples = (
        case("f32[2,3]", "i32[2]:<3"),
        case("f16[2,3]", "i64[2]:<3", is_grad=True),
        case("f32[2,3,4]", "i32[2,3]:<4"),
    )

    def infer(self, logits: TensorType, labels: TensorType) -> TensorType:
        if not logits.dtype.is_float:
            raise unsupported_dtype(self.name, logits, "float logits")
        check_labels(self.name, labels)
        if logits.shape[:-1] != labels.shape:
            raise problem(
                ValueError,
                f"{self.name}: the labels do not match the logits",
                got=f"logits {logits} and labels {labels}",
                expected="labels of the shape of the logits without its last axis",
            )
        return logits if self.is_grad else logits.with_shape(())

    def bounds(self, logits: Any, labels: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(1, logits.shape[-1]),)

    def lower(self, logits: Array, labels: Array) -> Array:
        wide = widened(logits)
        found, total, peak = powers(wide)
        if self.is_grad:
            wanted = jax.nn.one_hot(labels, wide.shape[-1], dtype=wide.dtype)
            count = max(labels.size, 1)
            return (found * (1 / (total * count)) - wanted / count).astype(logits.dtype)
        picked = jnp.take_along_axis(wide, jnp.asarray(labels)[..., None], axis=-1)
        return jnp.mean(jnp.log(total) + peak - picked, dtype=wide.dtype).astype(logits.dtype)

    def grad(self, logits: Any, labels: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        if self.is_grad:
            return default_grad(self, (logits, labels, out, dout))
        return SparseSoftmaxCrossEntropyWithLogits.of(True)(logits, labels) * dout, None


class SigmoidCrossEntropyWithLogits(Op):
    """Sigmoid cross entropy of each logit against its label probability."""

    examples = (
        case("f32[2,3]", "f32[2,3]:unit", constants=(1,)),
        case("f32[]", "f32[]", constants=(1,)),
    )

    def infer(self, logits: TensorType, label: TensorType) -> TensorType:
        check_alike(self.name, logits, label)
        return logits

    def lower(self, logits: Array, label: Array) -> Array:
        return _sigmoid_loss(logits, lax.stop_gradient(label), 1)


class BCEWithLogitsLoss(Op):
    """Weighted sigmoid cross entropy; `pos_weight` scales the loss of positive examples.

    The target is differentiated; the weights are not.
    """

    reduction: str = "mean"
    examples = (
        case("f32[2,3]", "f32[2,3]:unit", None, None),
        case("f32[2,3]", "f32[2,3]:unit", "f32[3]", "f32[3]:positive", differentiate=False),
        case("f32[2,3]", "f32[2,3]:unit", "f32[1,1]", None, reduction="none", differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(
        self,
        input: TensorType,
        target: TensorType,
        weight: TensorType | None = None,
        pos_weight: TensorType | None = None,
    ) -> TensorType:
        check_alike(self.name, input, target, same_dtype=False)
        if not target.dtype.is_float:
            raise unsupported_dtype(self.name, target, "a float target")
        for factor in (weight, pos_weight):
            if (
                factor is not None
                and broadcast(input.shape, factor.shape, op=self.name) != input.shape
            ):
                raise problem(
                    ValueError,
                    f"{self.name}: a weight does not broadcast to the input",
                    got=f"input {input} and weight {factor}",
                )
        return reduced_type(input.with_dtype(promote(input.dtype, target.dtype)), self.reduction)

    def lower(
        self,
        input: Array,
        target: Array,
        weight: Array | None = None,
        pos_weight: Array | None = None,
    ) -> Array:
        boost = 1 if pos_weight is None else lax.stop_gradient(widened(pos_weight))
        values = _sigmoid_loss(widened(input), widened(target), boost)
        if weight is not None:
            values = values * lax.stop_gradient(jnp.asarray(weight).astype(values.dtype))
        return reduced(values, self.reduction, _promoted(input, target))


class BinaryCrossEntropy(Op):
    """Binary cross entropy of probabilities; the labels are differentiated too."""

    reduction: str = "mean"
    examples = (
        case("f32[2,3]:unit", "f32[2,3]:unit", None),
        case(
            "f32[2,3]:unit",
            "f32[2,3]:unit",
            "f32[3]:positive",
            reduction="none",
            differentiate=False,
        ),
        case("f16[0]", "f16[0]", None, reduction="sum", differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(
        self, logits: TensorType, labels: TensorType, weight: TensorType | None = None
    ) -> TensorType:
        check_alike(self.name, logits, labels)
        if weight is not None:
            check_spreads_to(self.name, "weight", weight, logits.shape)
            check_kinds(self.name, REALS, weight=weight)
        return reduced_type(logits, self.reduction)

    def lower(self, logits: Array, labels: Array, weight: Array | None = None) -> Array:
        p, target = widened(logits), widened(labels)
        yes, no = jnp.log(jnp.maximum(p, _TINY)), jnp.log(jnp.maximum(1 - p, _TINY))
        values = -(target * yes + (1 - target) * no)
        if weight is not None:
            values = values * lax.stop_gradient(widened(weight))
        return reduced(values, self.reduction, logits.dtype)

    def grad(self, logits: Any, labels: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        found = BinaryCrossEntropyGrad.of(self.reduction)(logits, labels, weight, dout)
        return (*found, None)


class BinaryCrossEntropyGrad(Op, register=False):
    """Gradients of BinaryCrossEntropy, large but finite where a probability is 0 or 1."""

    reduction: str

    def lower(
        self, logits: Array, labels: Array, weight: Array | None, dout: Array
    ) -> tuple[Array, Array]:
        p, target = widened(logits), widened(labels)
        scale = widened(dout) / (max(p.size, 1) if self.reduction == "mean" else 1)
        if weight is not None:
            scale = scale * widened(weight)
        slope = (p - target) / jnp.maximum(p * (1 - p), _TINY)
        odds = jnp.log(jnp.maximum(1 - p, _TINY)) - jnp.log(jnp.maximum(p, _TINY))
        return (scale * slope).astype(logits.dtype), (scale * odds).astype(labels.dtype)


class KLDivLoss(Op):
    """Kullback-Leibler divergence: labels * (log(labels) - logits), for log-probabilities."""

    reduction: str = "mean"
    examples = (
        case("f32[2,3]", "f32[2,3]:unit", constants=(1,)),
        case("f32[2,3]", "f32[2,3]:unit", reduction="batchmean", constants=(1,)),
        case("f32[]", "f32[]:unit", reduction="none", constants=(1,)),
    )

    def normalize(self) -> dict[str, Any]:
        allowed = ("none", "mean", "batchmean", "sum")
        return {"reduction": check_reduction(self.name, self.reduction, allowed)}

    def infer(self, logits: TensorType, labels: TensorType) -> TensorType:
        check_alike(self.name, logits, labels)
        return reduced_type(logits, self.reduction)

    def lower(self, logits: Array, labels: Array) -> Array:
        target = lax.stop_gradient(widened(labels))
        known = jnp.where(target > 0, target, 1)
        values = jnp.where(target > 0, target * (jnp.log(known) - widened(logits)), 0)
        return reduced(values, self.reduction, logits.dtype)


class NLLLoss(Op):
    """Weighted negative log-likelihood of the labels, and the total weight."""

    reduction: str = "mean"
    ignore_index: int = -100
    examples = (
        case("f32[2,3]", "i32[2]:<3", "f32[3]:positive", constants=(2,), outputs=1),
        case(
            "f32[4,3]",
            "i64[4]:<3",
            "f32[3]:positive",
            ignore_index=1,
            constants=(2,),
            outputs=1,
        ),
        case(
            "f32[2,3]",
            "i32[2]:<3",
            "f32[3]:positive",
            reduction="none",
            constants=(2,),
            outputs=1,
        ),
    )

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(
        self, logits: TensorType, labels: TensorType, weight: TensorType
    ) -> tuple[TensorType, TensorType]:
        check_rank(self.name, "logits", logits, 2, RuntimeError)
        check_labels(self.name, labels)
        if weight is None:
            raise wrong_type(self.name, "weight", weight, "Tensor")
        count, classes = logits.shape
        if labels.shape != (count,) or weight.shape != (classes,):
            raise problem(
                RuntimeError,
                f"{self.name}: labels or weight do not match the logits",
                got=f"logits {logits}, labels {labels} and weight {weight}",
                expected=f"labels of shape [{count}] and weight of shape [{classes}]",
            )
        return reduced_type(logits.with_shape((count,)), self.reduction), weight.with_shape(())

    def bounds(self, logits: Any, labels: Any, weight: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(1, logits.shape[-1], self.ignore_index),)

    def lower(self, logits: Array, labels: Array, weight: Array) -> tuple[Array, Array]:
        kept = jnp.asarray(labels) != self.ignore_index
        index = jnp.where(kept, labels, 0)
        picked = jnp.take_along_axis(widened(logits), index[:, None], axis=1)[:, 0]
        factors = jnp.take(lax.stop_gradient(widened(weight)), index) * kept
        total = summed(factors)
        losses = -picked * factors
        if self.reduction == "mean":
            loss = summed(losses) / total
        else:
            loss = reduced(losses, self.reduction, losses.dtype)
        return loss.astype(logits.dtype), total.astype(weight.dtype)


class SmoothL1Loss(Op):
    """Smooth L1 loss: quadratic below `beta`, linear above; the target is differentiated too."""

    beta: float = 1.0
    reduction: str = "none"
    promotes = ("prediction", "target")
    examples = (
        case("f32[2,3]", "f32[2,3]"),
        case("f32[4]:distinct", "f32[4]", beta=0.5, reduction="mean"),
        case("f32[3]:spread", "f32[3]:zeros", beta=0.0, reduction="sum", differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        if self.beta < 0:
            raise problem(
                RuntimeError, f"{self.name}: beta must not be negative", got=f"beta={self.beta}"
            )
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(self, prediction: TensorType, target: TensorType) -> TensorType:
        check_alike(self.name, prediction, target)
        return reduced_type(prediction, self.reduction)

    def lower(self, prediction: Array, target: Array) -> Array:
        error = jnp.abs(widened(prediction) - widened(target))
        values = error
        if self.beta > 0:
            square = 0.5 * error * error / self.beta
            values = jnp.where(error < self.beta, square, error - 0.5 * self.beta)
        return reduced(values, self.reduction, prediction.dtype)


def _sigmoid_loss(logits: Array, labels: Array, boost: Any) -> Array:
    """-(boost * labels * log(sigmoid(x)) + (1 - labels) * log(1 - sigmoid(x)))."""
    zero = jnp.zeros((), logits.dtype)
    positive = jnp.logaddexp(-logits, zero)
    return (1 - labels) * logits + (1 + (boost - 1) * labels) * positive


def _promoted(first: Array, second: Array) -> Any:
    return promote(from_numpy(first.dtype), from_numpy(second.dtype)).numpy
