"""Losses whose labels are constants, so that the conformance test cannot check their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia
from mycelia import Tensor, ops

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.standard_normal((4, 3))
PROBABILITIES = RANDOM.dirichlet(np.ones(3), 4)
CLASSES = np.array([2, 0, 1, 1])
WEIGHT = np.array([0.5, 1.0, 2.0])


def slope(loss: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The derivative of a number by every element of `x`, by differences."""
    found = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        up, down = (float(np.sum(np.asarray(loss(Tensor(m))))) for m in moved)
        found[place] = (up - down) / (2 * step)
    return found


LOSSES = {
    "softmax cross entropy": lambda x: ops.SoftmaxCrossEntropyWithLogits()(
        x, Tensor(PROBABILITIES)
    )[0],
    "sigmoid cross entropy": lambda x: ops.SigmoidCrossEntropyWithLogits()(
        x, Tensor(PROBABILITIES)
    ),
    "logits with weights": lambda x: ops.binary_cross_entropy_with_logits(
        x, Tensor(PROBABILITIES), Tensor(WEIGHT), Tensor(WEIGHT)
    ),
    "divergence": lambda x: ops.kl_div(x, Tensor(PROBABILITIES), "batchmean"),
    "likelihood": lambda x: ops.NLLLoss()(x, Tensor(CLASSES), Tensor(WEIGHT))[0],
    "hinge": lambda x: ops.hinge_embedding_loss(x, Tensor(np.sign(PROBABILITIES - 0.4))),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_the_logits_is_the_derivative(name: str):
    loss = LOSSES[name]
    found = mycelia.grad(loss)(Tensor(LOGITS)).asnumpy()
    np.testing.assert_allclose(found, slope(loss, LOGITS), rtol=1e-5, atol=1e-7)


def test_labels_get_no_gradient():
    def loss(x: Any, labels: Any) -> Any:
        return ops.SoftmaxCrossEntropyWithLogits()(x, labels)[0]

    found = mycelia.grad(loss, 1)(Tensor(LOGITS), Tensor(PROBABILITIES)).asnumpy()
    np.testing.assert_array_equal(found, 0)


def test_cross_entropy_agrees_with_its_parts():
    x, target = Tensor(LOGITS), Tensor(CLASSES)
    whole = ops.cross_entropy(x, target, Tensor(WEIGHT), label_smoothing=0.1)
    parts = ops.nll_loss(ops.log_softmax(x, 1), target, Tensor(WEIGHT), label_smoothing=0.1)
    assert whole.item() == pytest.approx(parts.item(), rel=1e-12)


def test_cross_entropy_takes_one_hot_probabilities_for_classes():
    x = Tensor(LOGITS)
    onehot = Tensor(np.eye(3)[CLASSES])
    assert ops.cross_entropy(x, onehot).item() == pytest.approx(
        ops.cross_entropy(x, Tensor(CLASSES)).item(), rel=1e-12
    )


def test_ignored_classes_count_neither_in_the_sum_nor_in_the_mean():
    ignored = Tensor(np.array([2, -100, 1, -100]))
    found = ops.cross_entropy(Tensor(LOGITS), ignored)
    kept = ops.cross_entropy(Tensor(LOGITS[[0, 2]]), Tensor(CLASSES[[0, 2]]))
    assert found.item() == pytest.approx(kept.item(), rel=1e-12)


def test_a_target_that_does_not_fit_says_which_shape_would():
    with pytest.raises(ValueError, match=r"a target of shape \[4\]"):
        ops.cross_entropy(Tensor(LOGITS), Tensor(CLASSES[:2]))


def test_huge_logits_stay_finite():
    x = Tensor(np.array([[1e4, -1e4, 0.0]], np.float32))
    value, gradient = mycelia.value_and_grad(lambda z: ops.cross_entropy(z, Tensor(np.array([1]))))(
        x
    )
    assert value.item() == pytest.approx(2e4)
    np.testing.assert_allclose(gradient.asnumpy(), [[1, -1, 0]], atol=1e-6)


def every_path(log_probs: np.ndarray, labels: list[int], blank: int) -> float:
    """The probability of a label sequence, by adding up all alignments."""
    total = 0.0
    for path in np.ndindex(*([log_probs.shape[1]] * log_probs.shape[0])):
        merged = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
        if [c for c in merged if c != blank] == labels:
            total += np.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return total


@pytest.mark.parametrize("labels", [[1, 2], [2, 2], [1], []])
def test_ctc_loss_adds_up_all_alignments(labels: list[int]):
    log_probs = np.log(RANDOM.dirichlet(np.ones(3), (4, 1)))
    padded = Tensor(np.array([[*labels, 0, 0][:2]], np.int32))
    loss, _ = ops.ctc_loss(
        Tensor(log_probs), padded, Tensor(np.array([4])), Tensor(np.array([len(labels)])), 0, "none"
    )
    assert loss.item() == pytest.approx(-np.log(every_path(log_probs[:, 0], labels, 0)), rel=1e-9)


def test_ctc_gradient_is_that_of_the_logits():
    target, lengths = Tensor(np.array([[1, 2]], np.int32)), Tensor(np.array([4]))

    def loss(x: Any) -> Any:
        counts = Tensor(np.array([2]))
        return ops.ctc_loss(ops.log_softmax(x, 2), target, lengths, counts, 0, "sum")[0]

    x = RANDOM.standard_normal((4, 1, 3))
    found = mycelia.grad(loss)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, slope(loss, x), rtol=1e-5, atol=1e-7)


def test_an_impossible_alignment_is_infinite_or_zero():
    log_probs = Tensor(np.log(RANDOM.dirichlet(np.ones(3), (1, 1))))
    rest = Tensor(np.array([[1, 2]], np.int32)), Tensor(np.array([1])), Tensor(np.array([2]))
    assert ops.ctc_loss(log_probs, *rest, 0, "none")[0].item() == np.inf
    assert ops.ctc_loss(log_probs, *rest, 0, "none", True)[0].item() == 0
