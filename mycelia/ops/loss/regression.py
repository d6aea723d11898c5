"""Regression losses and the functional interface of the other loss operators."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_float, check_instance
from mycelia._engine.core.dtype import DType, at_least_float, from_numpy
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import broadcast, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.loss.classification import (
    BCEWithLogitsLoss,
    BinaryCrossEntropy,
    KLDivLoss,
    SmoothL1Loss,
)
from mycelia.ops.loss.ctc import CTCLossV2
from mycelia.ops.loss.support import check_reduction, reduced, reduced_type


class Regression(Op, register=False):
    """Elementwise loss of values against targets; both broadcast and are differentiated."""

    promotes = ("x", "target")
    reduction: str = "mean"

    def infer(self, x: TensorType, target: TensorType) -> TensorType:
        shape = broadcast(x.shape, target.shape, op=self.name)
        values = TensorType(self.result_dtype(x.dtype), shape)
        return reduced_type(values, self.reduction)

    def lower(self, x: Array, target: Array) -> Array:
        values = self.loss(widened(x) - widened(target))
        return reduced(values, self.reduction, self.result_dtype(from_numpy(x.dtype)).numpy)

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def loss(self, error: Array) -> Array:
        """Loss of each error."""
        raise problem(RuntimeError, f"{self.name} does not define a loss")


class MSELossExt(Regression):
    """Mean squared error."""

    examples = (
        case("f32[2,3]", "f32[2,3]"),
        case("f32[2,3]", "f32[3]", reduction="none"),
        case("i32[2]", "i32[2]", reduction="sum"),
    )

    def loss(self, error: Array) -> Array:
        return error * error


class L1LossExt(Regression):
    """Absolute (L1) error."""

    examples = (
        case("f32[2,3]", "f32[2,3]"),
        case("f32[2,3]", "f32[3]", reduction="none"),
        case("i32[2]", "i32[2]", reduction="sum"),
    )

    def result_dtype(self, dtype: DType) -> DType:
        return dtype

    def loss(self, error: Array) -> Array:
        return jnp.abs(error)


class HuberLoss(Regression):
    """Huber loss: half the squared error up to `delta`, linear beyond."""

    delta: float = 1.0
    examples = (
        case("f32[2,3]", "f32[2,3]", delta=0.3),
        case("f32[2,3]", "f32[3]", reduction="none"),
    )

    def loss(self, error: Array) -> Array:
        size = jnp.abs(error)
        linear = self.delta * (size - 0.5 * self.delta)
        return jnp.where(size <= self.delta, 0.5 * error * error, linear)


class GaussianNLLLoss(Op):
    """Gaussian negative log-likelihood of the targets."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    promotes = ("x", "target", "var")
    examples = (
        case("f32[2,3]", "f32[2,3]", "f32[2,3]:positive"),
        case("f32[2,3]", "f32[2,3]", "f32[2,1]:positive", full=True, reduction="none"),
    )

    def lower(self, x: Array, target: Array, var: Array) -> Array:
        error = widened(x) - widened(target)
        variance = jnp.maximum(widened(var), self.eps)
        values = 0.5 * (jnp.log(variance) + error * error / variance)
        if self.full:
            values = values + 0.5 * math.log(2 * math.pi)
        return reduced(values, self.reduction, x.dtype)


class CosineSimilarity(Op):
    """Cosine similarity between vectors along `dim`."""

    dim: int = 1
    eps: float = 1e-8
    promotes = ("x1", "x2")
    examples = (
        case("f32[2,3]", "f32[2,3]"),
        case("f32[2,3]", "f32[1,3]", dim=0),
        case("f32[3]", "f32[3]", dim=0),
    )

    def infer(self, x1: TensorType, x2: TensorType) -> TensorType:
        if not x1.dtype.is_float:
            raise unsupported_dtype(self.name, x1, "float tensors")
        shape = broadcast(x1.shape, x2.shape, op=self.name)
        axis = normalize_axis(self.dim, len(shape), self.name)
        return x1.with_shape(shape[:axis] + shape[axis + 1 :])

    def lower(self, x1: Array, x2: Array) -> Array:
        a, b = jnp.broadcast_arrays(widened(x1), widened(x2))
        dot = jnp.sum(a * b, axis=self.dim, dtype=a.dtype)
        return (dot / (self._size(a) * self._size(b))).astype(x1.dtype)

    def _size(self, x: Array) -> Array:
        square = jnp.sum(x * x, axis=self.dim, dtype=x.dtype)
        return jnp.sqrt(jnp.maximum(square, self.eps**2))


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Mean squared error."""
    return MSELossExt.of(_checked("mse_loss", input, target, reduction))(input, target)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Absolute (L1) error."""
    return L1LossExt.of(_checked("l1_loss", input, target, reduction))(input, target)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Huber loss: half the squared error up to `delta`, linear beyond."""
    if check_float("huber_loss", "delta", delta) <= 0:
        raise wrong_value("huber_loss", "delta", delta, "> 0.0")
    reduction = _checked("huber_loss", input, target, reduction)
    return HuberLoss.of(reduction, float(delta))(input, target)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Any:
    """Smooth L1 loss: half the squared error over `beta` up to `beta`, linear beyond."""
    reduction = _checked("smooth_l1_loss", input, target, reduction)
    return SmoothL1Loss.of(beta, reduction)(input, target)


def binary_cross_entropy(
    logits: Any, labels: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross entropy of probabilities against labels from 0 to 1."""
    return BinaryCrossEntropy.of(reduction)(logits, labels, weight)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """Weighted sigmoid cross entropy; `pos_weight` scales the loss of positive examples."""
    return BCEWithLogitsLoss.of(reduction)(input, target, weight, pos_weight)


def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    """Kullback-Leibler divergence: labels * (log(labels) - logits), for log-probabilities."""
    return KLDivLoss.of(reduction)(logits, labels)


def gaussian_nll_loss(
    x: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """Gaussian negative log-likelihood of `target` under mean `x` and variance `var`."""
    if check_float("gaussian_nll_loss", "eps", eps) <= 0:
        raise wrong_value("gaussian_nll_loss", "eps", eps, "a positive float")
    reduction = _checked("gaussian_nll_loss", x, target, reduction)
    return GaussianNLLLoss.of(bool(full), float(eps), reduction)(x, target, var)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Cosine similarity between vectors along `dim`."""
    return CosineSimilarity.of(dim, eps)(x1, x2)


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """CTC loss of label sequences, and the forward log-probabilities."""
    return CTCLossV2.of(blank, reduction, zero_infinity)(
        log_probs, targets, input_lengths, target_lengths
    )


def _checked(owner: str, x: Any, target: Any, reduction: Any) -> str:
    check_instance(owner, "input", x, TensorProtocol)
    check_instance(owner, "target", target, TensorProtocol)
    return check_reduction(owner, reduction)
