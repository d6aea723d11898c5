"""The sampled softmax loss, for very many classes."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.loss.base import LossBase
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.indexing.gather import gather
from mycelia.ops.linalg.matmul import MatMul
from mycelia.ops.loss.classification import SoftmaxCrossEntropyWithLogits
from mycelia.ops.loss.sampled_classes import UniformCandidateSampler
from mycelia.ops.shapes.concat import concat
from mycelia.ops.shapes.creation import full, zeros
from mycelia.ops.shapes.reshape import cast, reshape


class SampledSoftmaxLoss(LossBase):
    """Softmax cross entropy over the true classes and `num_sampled` sampled ones.

    `sampled_values` are (sampled classes, expected counts of the true classes, expected counts of
    the sampled classes); without them, classes are sampled uniformly.
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Any = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ) -> None:
        super().__init__(reduction)
        _check_counts(num_sampled, num_classes, num_true)
        _check_sampled_values(sampled_values)
        self.num_sampled = num_sampled
        self.num_classes = num_classes
        self.num_true = num_true
        self.sampled_values = sampled_values
        self.remove_accidental_hits = remove_accidental_hits
        self.seed = seed
        self.sampler = UniformCandidateSampler(
            num_true, num_sampled, True, num_classes, seed, remove_accidental_hits
        )
        self.softmax_cross_entropy = SoftmaxCrossEntropyWithLogits()
        self.matmul = MatMul(transpose_b=True)

    def construct(self, weights: Any, biases: Any, labels: Any, logits: Any) -> Any:
        labels = reshape(labels, (-1, self.num_true))
        sampled, true_counts, sampled_counts = self._sample(labels)
        batch, size = logits.shape
        flat = reshape(labels, (-1,))
        true_weights = reshape(gather(weights, flat, 0), (-1, self.num_true, size))
        true = self.reduce_sum(reshape(logits, (batch, 1, size)) * true_weights, 2)
        true = true + reshape(gather(biases, flat, 0), (-1, self.num_true)) - log(true_counts)
        others = self.matmul(logits, gather(weights, sampled, 0))
        others = others + gather(biases, sampled, 0) - log(sampled_counts)
        scores = concat((true, others), 1)
        shares = full((batch, self.num_true), 1.0 / self.num_true, dtype=scores.dtype)
        targets = concat((shares, zeros(others.shape, scores.dtype)), 1)
        losses, _ = self.softmax_cross_entropy(scores, targets)
        return self.get_loss(losses)

    def _sample(self, labels: Any) -> Any:
        if self.sampled_values is not None:
            return self.sampled_values
        return self.sampler(cast(labels, int64))


def _check_counts(num_sampled: int, num_classes: int, num_true: int) -> None:
    for name, count in (("num_true", num_true), ("num_sampled", num_sampled)):
        if count < 1 or count > num_classes:
            raise problem(
                ValueError,
                f"For 'SampledSoftmaxLoss', the '{name}' must be from 1 to 'num_classes'",
                got=f"{name}={count}, num_classes={num_classes}",
            )


def _check_sampled_values(values: Any) -> None:
    if values is None:
        return
    if not isinstance(values, (list, tuple)):
        raise wrong_type("SampledSoftmaxLoss", "sampled_values", values, "list or tuple")
    if len(values) != 3:
        raise problem(
            ValueError,
            "For 'SampledSoftmaxLoss', the length of 'sampled_values' must be equal to 3",
            got=f"{len(values)}",
        )
