"""Losses: numbers as the real MindSpore 2.10, reductions, dtypes, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from tests.goldens.layer_runs import compare, draw
from tests.goldens.loss_cases import cases

CASES = cases(draw)
GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "loss.npz")
WITH_REDUCTION = [
    name
    for name in nn.loss.__all__
    if name not in ("RMSELoss", "DiceLoss", "MultiClassDiceLoss", "SampledSoftmaxLoss")
]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (k % 2)) for k, n in enumerate(CASES)]
)
def test_numbers_and_gradients(name: str):
    compare(ms, CASES, GOLDENS, name)


def _reduced(values: np.ndarray, reduction: str) -> np.ndarray:
    return {"none": values, "mean": values.mean(), "sum": values.sum()}[reduction]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_soft_margin_loss(reduction: str):
    x, y = draw((3, 4), 1), np.sign(draw((3, 4), 2))
    found = nn.SoftMarginLoss(reduction)(Tensor(x), Tensor(y))
    np.testing.assert_allclose(
        found.asnumpy(), _reduced(np.log1p(np.exp(-y * x)), reduction), rtol=1e-5
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_triplet_margin_loss(reduction: str):
    x, near, far = draw((3, 4), 1), draw((3, 4), 2), draw((3, 4), 3)

    def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((np.abs(a - b + 1e-6)) ** 2).sum(1) ** 0.5

    values = np.maximum(distance(x, near) - distance(x, far) + 0.5, 0)
    loss = nn.TripletMarginLoss(margin=0.5, reduction=reduction)
    found = loss(Tensor(x), Tensor(near), Tensor(far))
    np.testing.assert_allclose(found.asnumpy(), _reduced(values, reduction), rtol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multilabel_margin_loss(reduction: str):
    x = draw((2, 4), 1)
    target = np.array([[2, 0, -1, 1], [3, -1, 0, 1]], np.int32)
    values = []
    for row, listed in zip(x, ([2, 0], [3]), strict=True):
        others = [c for c in range(4) if c not in listed]
        values.append(sum(max(0, 1 - (row[t] - row[o])) for t in listed for o in others) / 4)
    found = nn.MultilabelMarginLoss(reduction)(Tensor(x), Tensor(target))
    np.testing.assert_allclose(found.asnumpy(), _reduced(np.array(values), reduction), rtol=1e-5)


def test_a_loss_of_the_users_own():
    class Squares(nn.LossBase):
        def construct(self, logits, labels):
            return self.get_loss(ms.ops.square(logits - labels), weights=0.5)

    x, y = Tensor([1.0, 2.0]), Tensor([0.0, 4.0])
    assert float(Squares()(x, y)) == 1.25
    assert float(Squares("sum")(x, y)) == 2.5
    assert Squares("none")(x, y).asnumpy().tolist() == [0.5, 2.0]
    with pytest.raises(NotImplementedError):
        nn.LossBase()(x, y)


def test_weights_may_be_a_tensor():
    losses, weights = Tensor(draw((2, 3), 1)), Tensor(draw((3,), 2))
    expected = (draw((2, 3), 1) * draw((3,), 2)).mean()
    assert float(nn.LossBase().get_loss(losses, weights)) == pytest.approx(expected, rel=1e-5)
    assert nn.LossBase().get_axis(losses) == (0, 1)


@pytest.mark.parametrize("dtype", [ms.float16, ms.float64])
@pytest.mark.parametrize("loss", [nn.L1Loss, nn.MSELoss, nn.MAELoss, nn.HuberLoss, nn.KLDivLoss])
def test_the_dtype_of_a_loss_is_that_of_its_inputs(loss: type[nn.Cell], dtype: object):
    x, y = Tensor(draw((2, 3), 1, 0, 1), dtype), Tensor(draw((2, 3), 2, 0, 1), dtype)
    assert loss()(x, y).dtype is dtype


def test_mean_squared_error_of_integers_is_an_integer():
    x, y = Tensor(np.array([1, 2], np.int32)), Tensor(np.array([1, 4], np.int32))
    assert nn.MSELoss()(x, y).dtype is ms.int32
    assert int(nn.MSELoss()(x, y)) == 2


def test_sparse_labels_out_of_range_cost_nothing_unreduced():
    logits, labels = Tensor(draw((2, 3), 1)), Tensor(np.array([1, 5], np.int32))
    losses = nn.SoftmaxCrossEntropyWithLogits(sparse=True)(logits, labels)
    assert losses.asnumpy()[1] == 0


@pytest.mark.parametrize("name", WITH_REDUCTION)
@pytest.mark.parametrize("reduction", ["average", 3, None])
def test_a_reduction_is_one_of_three(name: str, reduction: object):
    with pytest.raises(ValueError):
        getattr(nn, name)(reduction=reduction)


@pytest.mark.parametrize("loss", [nn.L1Loss, nn.MSELoss, nn.MAELoss, nn.HuberLoss])
def test_labels_must_be_tensors_that_broadcast(loss: type[nn.Cell]):
    with pytest.raises(TypeError):
        loss()(Tensor(draw((2,), 1)), 1.0)
    with pytest.raises(ValueError):
        loss()(Tensor(draw((2, 3), 1)), Tensor(draw((2, 4), 1)))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.SoftmaxCrossEntropyWithLogits(3), TypeError),
        (lambda: nn.CrossEntropyLoss(weight=[1.0]), TypeError),
        (lambda: nn.CrossEntropyLoss(ignore_index=1.0), TypeError),
        (lambda: nn.CrossEntropyLoss(label_smoothing=2.0), ValueError),
        (lambda: nn.CrossEntropyLoss(label_smoothing=1), TypeError),
        (lambda: nn.NLLLoss(weight=3), TypeError),
        (lambda: nn.NLLLoss(ignore_index=1.0), TypeError),
        (lambda: nn.CosineEmbeddingLoss(2.0), ValueError),
        (lambda: nn.CosineEmbeddingLoss(1), TypeError),
        (lambda: nn.TripletMarginLoss(p=2.5), TypeError),
        (lambda: nn.TripletMarginLoss(swap=3), TypeError),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=1), TypeError),
        (lambda: nn.TripletMarginWithDistanceLoss(swap=3), TypeError),
        (lambda: nn.HingeEmbeddingLoss("a"), TypeError),
        (lambda: nn.MultiMarginLoss(p=3), ValueError),
        (lambda: nn.MultiMarginLoss(p=2.0), TypeError),
        (lambda: nn.MultiMarginLoss(margin=1), TypeError),
        (lambda: nn.GaussianNLLLoss(eps=-1.0), ValueError),
        (lambda: nn.GaussianNLLLoss(eps=1), TypeError),
        (lambda: nn.GaussianNLLLoss(full=3), TypeError),
        (lambda: nn.DiceLoss(-1.0), ValueError),
        (lambda: nn.DiceLoss(0), TypeError),
        (lambda: nn.MultiClassDiceLoss(weights=3), TypeError),
        (lambda: nn.MultiClassDiceLoss(weights=Tensor([1.0])), ValueError),
        (lambda: nn.MultiClassDiceLoss(ignore_indiex=1.0), TypeError),
        (lambda: nn.MultiClassDiceLoss(activation="swish"), ValueError),
        (lambda: nn.MultiClassDiceLoss(activation=3), TypeError),
        (lambda: nn.FocalLoss(gamma=1), TypeError),
        (lambda: nn.FocalLoss(weight=3), TypeError),
        (lambda: nn.FocalLoss(weight=Tensor([[1.0]])), ValueError),
        (lambda: nn.SampledSoftmaxLoss(2, 1), ValueError),
        (lambda: nn.SampledSoftmaxLoss(2, 7, sampled_values=3), TypeError),
        (lambda: nn.SampledSoftmaxLoss(2, 7, sampled_values=(1, 2)), ValueError),
    ],
)
def test_wrong_options(make: object, error: type[Exception]):
    with pytest.raises(error):
        make()


def test_wrong_shapes():
    x, y = Tensor(draw((2, 3), 1)), Tensor(draw((2, 4), 1))
    signs = Tensor(np.array([1, -1], np.int32))
    for call in (
        lambda: nn.DiceLoss()(x, y),
        lambda: nn.MultiClassDiceLoss()(x, y),
        lambda: nn.MultiClassDiceLoss()(Tensor([1.0]), Tensor([1.0])),
        lambda: nn.FocalLoss()(x, signs),
        lambda: nn.CosineEmbeddingLoss()(x, y, signs),
        lambda: nn.SoftmaxCrossEntropyWithLogits()(x, y),
        lambda: nn.SoftmaxCrossEntropyWithLogits()(Tensor([1.0]), Tensor([1.0])),
        lambda: nn.BCELoss()(x, y),
        lambda: nn.SmoothL1Loss()(x, y),
        lambda: nn.TripletMarginWithDistanceLoss()(x, y, x),
        lambda: nn.CrossEntropyLoss()(x, Tensor(np.array([1, 2, 0], np.int32))),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        nn.DiceLoss()(x, Tensor(np.ones((2, 3), np.uint8)))


def test_sampled_softmax_draws_classes():
    loss = nn.SampledSoftmaxLoss(3, 7, num_true=2)
    labels = Tensor(np.array([[0, 1], [2, 3]], np.int32))
    found = loss(Tensor(draw((7, 4), 1)), Tensor(draw((7,), 2)), labels, Tensor(draw((2, 4), 3)))
    assert found.shape == (2,)
    assert np.isfinite(found.asnumpy()).all()
