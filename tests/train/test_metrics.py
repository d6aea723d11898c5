"""Metrics: values of the real MindSpore, closed formulas, what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, train
from tests.goldens.metrics_cases import cases, results

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "metrics.npz")


@pytest.fixture(scope="module")
def found():
    return results(ms)


def test_there_is_a_golden_for_each_case(found):
    assert set(found) == set(GOLDENS.files)
    assert len(cases()) >= 60


@pytest.mark.parametrize("name", GOLDENS.files)
def test_values_are_those_of_mindspore(name, found):
    assert found[name].shape == GOLDENS[name].shape
    np.testing.assert_allclose(found[name], GOLDENS[name], rtol=1e-5, atol=1e-6)


def told(metric, *batches):
    metric.clear()
    for batch in batches:
        metric.update(*batch)
    return metric.eval()


SCORES = np.array([[0.2, 0.5, 0.3], [0.3, 0.1, 0.6], [0.9, 0.6, 0.1]], np.float32)
LABELS = np.array([1, 0, 0])
COSINES = [[0, 0.5**0.5], [0.5**0.5, 0]]


@pytest.mark.parametrize(
    ("metric", "batch", "value"),
    [
        (train.Accuracy(), (SCORES, LABELS), 2 / 3),
        (train.Accuracy("multilabel"), ([[1, 0], [1, 1]], [[1, 0], [0, 1]]), 0.5),
        (train.Precision(), (SCORES, LABELS), [1, 1, 0]),
        (train.Recall(), (SCORES, LABELS), [0.5, 1, 0]),
        (train.F1(), (SCORES, LABELS), [2 / 3, 1, 0]),
        (train.Fbeta(2.0), (SCORES, LABELS), [5 / 9, 1, 0]),
        (train.MAE(), ([1.0, 2.0], [2.0, 4.0]), 1.5),
        (train.MSE(), ([1.0, 2.0], [2.0, 4.0]), 2.5),
        (train.Loss(), (np.array(0.5),), 0.5),
        (train.TopKCategoricalAccuracy(2), (SCORES, LABELS), 1.0),
        (train.Top1CategoricalAccuracy(), (SCORES, LABELS), 2 / 3),
        (train.Top5CategoricalAccuracy(), (np.eye(6), np.arange(6)), 1.0),
        (train.ConfusionMatrix(2), ([1, 0, 1], [1, 0, 0]), [[1, 1], [0, 1]]),
        (train.ConfusionMatrixMetric(True, "acc"), (np.eye(2), np.eye(2)[[0, 0]]), [0.5]),
        (train.Dice(), (np.eye(2), np.eye(2)), 4 / (4 + 1e-5) / 2),
        (train.Perplexity(), (np.full((4, 8), 1 / 8), [0, 3, 5, 7]), 8.0),
        (train.CosineSimilarity(), (np.array([[1.0, 0.0], [1.0, 1.0]]),), COSINES),
        (train.BleuScore(2), ([["a", "b", "c"]], [[["a", "b", "c"]]]), 1.0),
        (train.HausdorffDistance(), ([[1, 0, 0, 0]], [[0, 0, 0, 1]], 1), 3.0),
        (train.MeanSurfaceDistance(), ([[1, 1, 0, 0]], [[0, 0, 0, 1]], 1), 2.5),
        (train.RootMeanSquareDistance(True), ([[1, 0, 0, 0]], [[0, 0, 0, 1]], 1), 3.0),
    ],
)
def test_values_by_hand(metric, batch, value):
    np.testing.assert_allclose(told(metric, batch), value, rtol=1e-6, atol=1e-12)


def test_tensors_lists_and_arrays_count_alike():
    values = [
        told(train.Accuracy(), (x, y))
        for x, y in ((Tensor(SCORES), Tensor(LABELS)), (SCORES.tolist(), LABELS.tolist()))
    ]
    assert values == [told(train.Accuracy(), (SCORES, LABELS))] * 2


def test_clear_forgets():
    metric = train.Accuracy()
    metric.update(SCORES, LABELS)
    assert told(metric, (SCORES, SCORES.argmax(1))) == 1.0


def test_one_curve_for_each_class():
    scores = np.random.RandomState(0).rand(12, 3)
    labels = np.arange(12) % 3
    fpr, tpr, thresholds = told(train.ROC(3), (scores, labels))
    for number in range(3):
        one = told(train.ROC(pos_label=1), (scores[:, number], (labels == number).astype(int)))
        np.testing.assert_array_equal(fpr[number], one[0])
        np.testing.assert_array_equal(tpr[number], one[1])
        np.testing.assert_array_equal(thresholds[number], one[2])


def test_auc_is_the_area_of_the_trapezoids():
    x, y = np.array([0, 0.2, 0.5, 1]), np.array([0, 0.5, 0.7, 1])
    area = 0.05 + 0.18 + 0.425
    assert train.auc(x, y) == pytest.approx(area)
    assert train.auc(x[::-1], y[::-1]) == pytest.approx(area)
    mixed = [2, 0, 3, 1]
    assert train.auc(x[mixed], y[mixed], reorder=True) == pytest.approx(area)
    with pytest.raises(ValueError, match="not monotonic"):
        train.auc(x[mixed], y[mixed])
    with pytest.raises(TypeError, match="must be numpy arrays"):
        train.auc([0, 1], [0, 1])
    with pytest.raises(ValueError, match="different lengths"):
        train.auc(x, y[:2])


@pytest.mark.parametrize(
    ("decrease", "expected"),
    [
        ("none", [[1, 0.5], [0, 1]]),
        ("mean_batch", [0.5, 0.75]),
        ("sum_batch", [1, 1.5]),
        ("mean_channel", [0.75, 0.5]),
        ("sum_channel", [1.5, 1]),
    ],
)
def test_rates_by_sample_and_class(decrease, expected):
    truth = np.array([[[1, 0, 0, 0], [0, 1, 1, 0]], [[1, 0, 0, 0], [0, 0, 1, 0]]])
    guess = np.array([[[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 1, 0, 0], [0, 0, 1, 0]]])
    metric = train.ConfusionMatrixMetric(True, "sensitivity", True, decrease)
    np.testing.assert_allclose(told(metric, (guess, truth)), expected)


def test_occlusion_shows_what_a_network_relies_on():
    network = nn.Dense(4, 2, weight_init=Tensor(np.array([[0, 0, 0, 0], [1, 2, 3, 4]], "float32")))
    image = np.ones((1, 4), np.float32)
    found = told(train.OcclusionSensitivity(margin=1), (network, image, np.array([1])))
    np.testing.assert_allclose(found, [1, 3, 5, 7], rtol=1e-6)


class Kept(train.Metric):
    """Gives back what it was told."""

    def clear(self):
        self.seen = []

    @train.rearrange_inputs
    def update(self, *inputs):
        self.seen.append(inputs)

    def eval(self):
        return self.seen


def test_set_indexes_chooses_and_orders_the_inputs():
    metric = Kept()
    assert metric.indexes is None and told(metric, (1, 2, 3)) == [(1, 2, 3)]
    assert metric.set_indexes([2, 0]) is metric and metric.indexes == [2, 0]
    assert told(metric, (1, 2, 3)) == [(3, 1)]
    assert told(train.Accuracy().set_indexes([2, 0]), (LABELS, "unused", SCORES)) == 2 / 3
    for bad in (3, ["a"], [1.5]):
        with pytest.raises(ValueError, match="indexes"):
            metric.set_indexes(bad)
    with pytest.raises(TypeError, match="abstract"):
        train.Metric()


def test_metrics_have_names():
    assert train.names() == sorted(train.names()) and len(train.names()) == 23
    assert isinstance(train.get_metric_fn("acc"), train.Accuracy)
    assert train.get_metric_fn("topk", k=3).k == 3
    assert isinstance(train.get_metric_fn("F1"), train.F1)
    with pytest.raises(KeyError, match="unknown metric"):
        train.get_metric_fn("foo")


SINGLE = [
    (train.Accuracy(), (SCORES,)),
    (train.Precision(), (SCORES,)),
    (train.F1(), (SCORES,)),
    (train.MAE(), (SCORES,)),
    (train.Loss(), (SCORES, LABELS)),
    (train.Dice(), (SCORES,)),
    (train.Perplexity(), (SCORES,)),
    (train.BleuScore(), ([["a"]],)),
    (train.ROC(), (LABELS,)),
    (train.ConfusionMatrix(2), (LABELS,)),
    (train.HausdorffDistance(), (LABELS, LABELS)),
    (train.OcclusionSensitivity(), (SCORES, LABELS)),
]


@pytest.mark.parametrize(("metric", "inputs"), SINGLE, ids=lambda v: type(v).__name__)
def test_a_wrong_number_of_inputs_is_refused(metric, inputs):
    with pytest.raises(ValueError, match="wrong number of inputs"):
        metric.update(*inputs)


@pytest.mark.parametrize("metric", [m for m, _ in SINGLE], ids=lambda m: type(m).__name__)
def test_no_value_without_data(metric):
    metric.clear()
    with pytest.raises(RuntimeError, match="eval needs data"):
        metric.eval()


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (TypeError, lambda: train.Accuracy("foo")),
        (ValueError, lambda: train.Fbeta(0)),
        (ValueError, lambda: train.TopKCategoricalAccuracy(0)),
        (TypeError, lambda: train.TopKCategoricalAccuracy(1.5)),
        (ValueError, lambda: train.ConfusionMatrix(2, "foo")),
        (TypeError, lambda: train.ConfusionMatrix(2, threshold=1)),
        (TypeError, lambda: train.Dice(1)),
        (ValueError, lambda: train.Dice(0.0)),
        (TypeError, lambda: train.Perplexity("a")),
        (ValueError, lambda: train.CosineSimilarity("foo")),
        (ValueError, lambda: train.BleuScore(5)),
        (TypeError, lambda: train.BleuScore(1.5)),
        (ValueError, lambda: train.HausdorffDistance("foo")),
        (TypeError, lambda: train.HausdorffDistance(percentile=90)),
        (TypeError, lambda: train.MeanSurfaceDistance(3)),
        (TypeError, lambda: train.ConfusionMatrixMetric(3)),
        (ValueError, lambda: train.ConfusionMatrixMetric(decrease="foo")),
        (NotImplementedError, lambda: train.ConfusionMatrixMetric(True, "foo").eval()),
        (TypeError, lambda: train.OcclusionSensitivity(margin="a")),
        (ValueError, lambda: told(train.Accuracy(), (SCORES, LABELS), (SCORES[:, :2], LABELS))),
        (ValueError, lambda: told(train.Accuracy(), (LABELS, LABELS))),
        (ValueError, lambda: told(train.Accuracy("multilabel"), ([[2]], [[1]]))),
        (ValueError, lambda: told(train.Accuracy("multilabel"), ([[1, 0]], [[1]]))),
        (TypeError, lambda: told(train.Accuracy(), (3, LABELS))),
        (ValueError, lambda: told(train.Precision(), (SCORES, LABELS + 5))),
        (ValueError, lambda: told(train.Top5CategoricalAccuracy(), (SCORES, LABELS))),
        (ValueError, lambda: told(train.Loss(), (SCORES,))),
        (ValueError, lambda: told(train.ConfusionMatrix(2), ([3], [1]))),
        (ValueError, lambda: told(train.Dice(), (SCORES, LABELS))),
        (RuntimeError, lambda: told(train.Perplexity(), (SCORES, SCORES))),
        (ValueError, lambda: told(train.BleuScore(), ([["a"]], []))),
        (ValueError, lambda: told(train.ROC(), (LABELS, LABELS * 0))),
        (ValueError, lambda: told(train.ROC(2), (SCORES, LABELS))),
        (ValueError, lambda: told(train.HausdorffDistance(), (LABELS, LABELS, 7))),
        (ValueError, lambda: told(train.HausdorffDistance(), (LABELS, LABELS, "a"))),
        (TypeError, lambda: told(train.RootMeanSquareDistance(), (LABELS, LABELS, "a"))),
        (RuntimeError, lambda: told(train.OcclusionSensitivity(), (nn.ReLU(), SCORES, LABELS))),
    ],
)
def test_bad_arguments_are_refused(kind, make):
    with pytest.raises(kind):
        make()


def _updated(name: str) -> Any:
    metric = train.get_metric_fn(name)
    rng = np.random.default_rng(0)
    probabilities = rng.random((6, 6)).astype(np.float32)
    labels = np.array([0, 1, 2, 3, 4, 5])
    masks = (rng.random((1, 2, 8, 8)) > 0.5).astype(np.float32)
    given: dict[str, tuple[Any, ...]] = {
        "loss": (np.array(3.0, np.float32),),
        "mae": (probabilities, probabilities * 2),
        "mse": (probabilities, probabilities * 2),
        "dice": (masks, masks),
        "hausdorff_distance": (masks[0, 0], masks[0, 1], 0),
        "mean_surface_distance": (masks[0, 0], masks[0, 1], 0),
        "root_mean_square_distance": (masks[0, 0], masks[0, 1], 0),
        "perplexity": (probabilities, labels),
    }
    metric.update(*given.get(name, (probabilities, labels)))
    return metric.eval()


@pytest.mark.parametrize(
    "name",
    ["acc", "loss", "mae", "mse", "dice", "recall", "precision", "F1", "top_1_accuracy",
     "top_5_accuracy", "hausdorff_distance", "mean_surface_distance",
     "root_mean_square_distance", "perplexity"],
)  # fmt: skip
def test_values_are_plain_numbers(name: str):
    value = _updated(name)
    assert "np." not in repr(value) and not isinstance(value, np.generic)


def test_metrics_of_users_give_plain_numbers():
    class Own(train.Metric):
        def clear(self) -> None:
            pass

        def update(self, *inputs: Any) -> None:
            pass

        def eval(self) -> Any:
            return {"a": np.float32(3.0), "b": (np.int64(2), np.array(1.0), np.array([1.0]))}

    value = Own().eval()
    assert (type(value["a"]), type(value["b"][0]), type(value["b"][1])) == (float, int, float)
    assert isinstance(value["b"][2], np.ndarray)
