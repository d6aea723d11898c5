"""Losses and unpooling by their formulas, and what cells and optimizers tell of themselves."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

RANDOM = np.random.default_rng(5)
A, B = RANDOM.standard_normal((2, 4, 3)).astype(np.float32)


def in_both_ways(cell: nn.Cell, *inputs: np.ndarray) -> np.ndarray:
    """What a cell gives, in eager mode and compiled."""
    eager = cell(*map(Tensor, inputs)).asnumpy()
    compiled = cell.compile_and_run(*map(Tensor, inputs)).asnumpy()
    np.testing.assert_allclose(compiled, eager, rtol=1e-5, atol=1e-6)
    return eager


def reduced(values: np.ndarray, reduction: str) -> np.ndarray:
    return {"none": values, "mean": values.mean(), "sum": values.sum()}[reduction]


def path_loss(log_probs: np.ndarray, target: list[int], blank: int) -> float:
    """-log of the sum over all paths that read as `target`, one by one."""
    steps, classes = log_probs.shape
    total = 0.0
    for path in product(range(classes), repeat=steps):
        if [label for label, _ in groupby(path) if label != blank] == target:
            total += np.exp(sum(log_probs[step, label] for step, label in enumerate(path)))
    return -np.log(total)


def log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def test_ctc_loss_sums_over_all_paths():
    blank = 2
    log_probs = log_softmax(RANDOM.standard_normal((4, 2, 3))).astype(np.float32)
    labels = [label for label in range(3) if label != blank]
    targets = np.array([[labels[0], labels[0]], [labels[1], labels[0]]], np.int32)
    lengths, target_lengths = np.array([4, 3], np.int32), np.array([2, 1], np.int32)
    each = np.array(
        [
            path_loss(log_probs[:4, 0], list(targets[0]), blank),
            path_loss(log_probs[:3, 1], [targets[1, 0]], blank),
        ]
    )
    given = log_probs, targets, lengths, target_lengths
    found = nn.CTCLoss(blank, "none")(*map(Tensor, given))
    np.testing.assert_allclose(found.asnumpy(), each, rtol=1e-4)
    total = nn.CTCLoss(blank, "sum")(*map(Tensor, given))
    np.testing.assert_allclose(total.asnumpy(), each.sum(), rtol=1e-4)
    mean = nn.CTCLoss(blank=blank)(*map(Tensor, given))
    np.testing.assert_allclose(mean.asnumpy(), (each / target_lengths).mean(), rtol=1e-4)


def test_ctc_loss_of_what_cannot_be_read_may_count_as_zero():
    log_probs = log_softmax(np.zeros((2, 1, 3))).astype(np.float32)
    given = (
        log_probs,
        np.array([[1, 1]], np.int32),
        np.array([2], np.int32),
        np.array([2], np.int32),
    )
    assert np.isinf(nn.CTCLoss(reduction="none")(*map(Tensor, given)).asnumpy())[0]
    zeroed = nn.CTCLoss(reduction="none", zero_infinity=True)(*map(Tensor, given))
    assert zeroed.asnumpy()[0] == 0.0


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_follow_their_formulas(reduction: str):
    sign = np.where(B > 0, 1.0, -1.0).astype(np.float32)
    ranking = np.maximum(0, -sign * (A - B) + 0.3)
    found = in_both_ways(nn.MarginRankingLoss(0.3, reduction), A, B, sign)
    np.testing.assert_allclose(found, reduced(ranking, reduction), rtol=1e-5)

    labels, weight = (B > 0).astype(np.float32), np.array([0.5, 1.0, 2.0], np.float32)
    chance = 1 / (1 + np.exp(-A))
    soft = -(weight * (labels * np.log(chance) + (1 - labels) * np.log(1 - chance))).mean(-1)
    found = in_both_ways(nn.MultiLabelSoftMarginLoss(Tensor(weight), reduction), A, labels)
    np.testing.assert_allclose(found, reduced(soft, reduction), rtol=1e-5)

    counts = np.array([[0, 1, 2], [3, 0, 1], [5, 2, 0], [1, 1, 4]], np.float32)
    plain = np.exp(A) - counts * A
    found = in_both_ways(nn.PoissonNLLLoss(reduction=reduction), A, counts)
    np.testing.assert_allclose(found, reduced(plain, reduction), rtol=1e-5)
    with np.errstate(divide="ignore", invalid="ignore"):
        stirling = counts * np.log(counts) - counts + 0.5 * np.log(2 * np.pi * counts)
    full = np.abs(A) - counts * np.log(np.abs(A) + 1e-6) + np.where(counts > 1, stirling, 0)
    found = in_both_ways(nn.PoissonNLLLoss(False, True, 1e-6, reduction), np.abs(A), counts)
    np.testing.assert_allclose(found, reduced(full, reduction), rtol=1e-5)


def test_the_gradient_of_the_poisson_loss():
    loss = nn.PoissonNLLLoss(reduction="sum")
    gradient = ms.grad(loss)(Tensor(A), Tensor(np.abs(B)))
    np.testing.assert_allclose(gradient.asnumpy(), np.exp(A) - np.abs(B), rtol=1e-4)


def test_unpooling_puts_the_maxima_back():
    sequence = RANDOM.permutation(12).reshape(1, 2, 6).astype(np.float32)
    pooled, places = ops.max_pool2d(
        Tensor(sequence[:, :, None]), (1, 2), (1, 2), return_indices=True
    )
    back = nn.MaxUnpool1d(2)(pooled.reshape(1, 2, 3), places.reshape(1, 2, 3)).asnumpy()
    is_largest = sequence == np.repeat(sequence.reshape(1, 2, 3, 2).max(-1), 2, -1)
    np.testing.assert_array_equal(back, np.where(is_largest, sequence, 0))

    volume = RANDOM.permutation(64).reshape(1, 1, 4, 4, 4).astype(np.float32)
    blocks = volume.reshape(2, 2, 2, 2, 2, 2).transpose(0, 2, 4, 1, 3, 5).reshape(2, 2, 2, 8)
    largest = blocks.max(-1)
    where = np.array([np.flatnonzero(volume.ravel() == value)[0] for value in largest.ravel()])
    inputs = largest[None, None], where.reshape(1, 1, 2, 2, 2).astype(np.int64)
    back = in_both_ways(nn.MaxUnpool3d(2), *inputs)
    np.testing.assert_array_equal(back, np.where(np.isin(volume, largest), volume, 0))
    larger = nn.MaxUnpool3d(2)(Tensor(inputs[0]), Tensor(inputs[1]), (1, 1, 5, 5, 5)).asnumpy()
    assert larger.shape == (1, 1, 5, 5, 5)
    np.testing.assert_array_equal(larger.ravel()[where], largest.ravel())


class Doubled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(2, 2)
        self.again = self.first
        self.last = nn.ReLU()

    def construct(self, x):
        return self.last(self.again(self.first(x)))

    def extend_repr(self):
        return "twice=True"


def test_cells_tell_of_their_parts():
    net = Doubled()
    assert list(net.cells()) == [net.first, net.last]
    assert list(net.name_cells()) == ["first", "last"]
    assert net.name_cells()["last"] is net.last
    assert nn.Cell().extend_repr() == ""
    assert repr(net).splitlines()[:2] == ["Doubled(", "  twice=True"]
    assert "input_channels=2" in nn.Dense(2, 2).extend_repr()


def test_flags_and_gradients_are_set_on_cells():
    net = Doubled()
    assert net.add_flags(mine=3, yours=True) is net
    assert net.get_flags() == {"mine": 3, "yours": True} and net.mine == 3
    assert not net.first.get_flags()
    assert not net.requires_grad
    assert net.set_grad() is net and net.requires_grad and net.first.requires_grad
    net.set_grad(False)
    assert not net.requires_grad and not net.last.requires_grad


def test_one_process_has_no_parameters_to_send():
    parameter = Parameter(Tensor([1.0, 2.0]), name="p")
    optimizer = nn.SGD([parameter], 0.1)
    result = optimizer((Tensor([1.0, 1.0]),))
    assert optimizer.broadcast_params(result) == result == (True,)
    np.testing.assert_allclose(parameter.asnumpy(), [0.9, 1.9], rtol=1e-6)
