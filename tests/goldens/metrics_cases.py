"""The metrics to compare with the real MindSpore: how each is made, and what it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = tuple[Callable[[Any], Any], list[tuple[Any, ...]], tuple[Any, ...]]
RATES = (
    "sensitivity", "specificity", "precision", "negative predictive value", "miss rate", "fall out",
    "false discovery rate", "false omission rate", "prevalence threshold", "threat score",
    "accuracy", "balanced accuracy", "f1 score", "matthews correlation coefficient",
    "fowlkes mallows index", "informedness", "markedness",
)  # fmt: skip
ALIASES = "tpr tnr ppv npv fnr fpr fdr for pt csi acc ba f1 mcc fm bm mk".split()
DISTANCES = ("euclidean", "chessboard", "taxicab")


def cases() -> dict[str, Case]:
    """Makers (of the framework), batches and arguments of `eval`, by name."""
    return {
        **_classes(),
        **_label_sets(),
        **_numbers(),
        **_curves(),
        **_matrices(),
        **_rates(),
        **_surfaces(),
        **_words(),
        **_occlusions(),
    }


def results(ms: Any) -> dict[str, np.ndarray]:
    """The values of all cases in a framework; several arrays of one case have numbers."""
    found: dict[str, np.ndarray] = {}
    for name, (make, batches, arguments) in cases().items():
        metric = make(ms)
        metric.clear()
        for batch in batches:
            metric.update(*[part(ms) if callable(part) else part for part in batch])
        value = metric.eval(*arguments)
        for place, part in enumerate(_arrays(value)):
            found[f"{name}/{place}"] = part
    return found


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in _arrays(part)]
    return [np.asarray(value)]


def _metric(kind: str, *args: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda ms: getattr(ms.train, kind)(*args, **options)


def _draw(seed: int) -> np.random.RandomState:
    return np.random.RandomState(seed)


def _classes() -> dict[str, Case]:
    scores, labels = _draw(0).rand(12, 4).astype(np.float32), _draw(1).randint(0, 4, 12)
    pixels, truth = _draw(2).rand(3, 4, 5), _draw(3).randint(0, 4, (3, 5))
    hot = np.eye(4)[labels]
    found: dict[str, Case] = {}
    for kind in ("Accuracy", "Precision", "Recall", "F1"):
        found[f"{kind}.index"] = _metric(kind), [(scores, labels)], ()
        found[f"{kind}.one_hot"] = _metric(kind), [(scores, hot)], ()
        found[f"{kind}.twice"] = _metric(kind), [(scores, labels), (scores[:5], hot[:5])], ()
        found[f"{kind}.pixels"] = _metric(kind), [(pixels, truth)], ()
        if kind != "Accuracy":
            found[f"{kind}.average"] = _metric(kind), [(scores, labels)], (True,)
    for k in (1, 2, 3):
        topk = _metric("TopKCategoricalAccuracy", k)
        found[f"TopK.{k}"] = topk, [(scores, labels), (scores[:3], hot[:3])], ()
    many = _draw(4).rand(9, 8)
    found["Top1"] = _metric("Top1CategoricalAccuracy"), [(scores, labels)], ()
    found["Top5"] = _metric("Top5CategoricalAccuracy"), [(many, _draw(5).randint(0, 8, 9))], ()
    found["Fbeta.2"] = _metric("Fbeta", 2.0), [(scores, labels)], ()
    found["Fbeta.half"] = _metric("Fbeta", 0.5), [(scores, hot)], (True,)
    return found


def _label_sets() -> dict[str, Case]:
    guess, truth = _draw(6).randint(0, 2, (6, 3)), _draw(7).randint(0, 2, (6, 3))
    pixels, true = _draw(8).randint(0, 2, (2, 3, 4)), _draw(9).randint(0, 2, (2, 3, 4))
    found: dict[str, Case] = {}
    for kind in ("Accuracy", "Precision", "Recall"):
        made = _metric(kind, "multilabel")
        found[f"{kind}.labels"] = made, [(guess, truth), (truth, guess)], ()
        found[f"{kind}.label_pixels"] = made, [(pixels, true)], ()
    return found


def _numbers() -> dict[str, Case]:
    x, y = _draw(10).randn(5, 3), _draw(11).randn(5, 3)
    shares = _draw(12).rand(8, 5)
    shares, words = shares / shares.sum(1, keepdims=True), _draw(13).randint(0, 5, 8)
    rows = _draw(14).randn(4, 3)
    found: dict[str, Case] = {
        "MAE": (_metric("MAE"), [(x, y), (y, 2 * y)], ()),
        "MSE": (_metric("MSE"), [(x, y), (y, 2 * y)], ()),
        "Loss": (_metric("Loss"), [(np.array(2.0),), (np.array([4.0, 7.0]),)], ()),
        "Dice": (_metric("Dice"), [(shares, np.eye(5)[words]), (shares[:3], shares[1:4])], ()),
        "Dice.smooth": (_metric("Dice", 1.0), [(shares, np.eye(5)[words])], ()),
        "Perplexity": (_metric("Perplexity"), [(shares, words), (shares[:2], words[1:3])], ()),
        "Perplexity.ignore": (_metric("Perplexity", 2), [(shares, words)], ()),
        "Perplexity.zero": (_metric("Perplexity"), [(np.eye(5)[words], words[::-1])], ()),
    }
    for similarity in ("cosine", "dot"):
        for reduction in ("none", "sum", "mean"):
            made = _metric("CosineSimilarity", similarity, reduction, reduction != "mean")
            found[f"CosineSimilarity.{similarity}_{reduction}"] = made, [(rows,)], ()
    return found


def _curves() -> dict[str, Case]:
    scores, labels = _draw(15).randint(0, 6, 20) / 5, _draw(16).randint(0, 2, 20)
    return {
        "ROC.binary": (_metric("ROC", pos_label=1), [(scores, labels)], ()),
        "ROC.zero": (_metric("ROC", pos_label=0), [(scores, labels)], ()),
        "ROC.plain": (_metric("ROC"), [(scores, labels)], ()),
        "ROC.last": (_metric("ROC", 1), [(scores, labels), (scores[::-1], labels)], ()),
    }


def _matrices() -> dict[str, Case]:
    guess, truth = _draw(18).randint(0, 3, 30), _draw(19).randint(0, 3, 30)
    scores, pixels = _draw(20).rand(30, 4), _draw(21).rand(2, 4, 5)
    found: dict[str, Case] = {}
    for norm in ("no_norm", "target", "prediction", "all"):
        made = _metric("ConfusionMatrix", 4, norm)
        found[f"ConfusionMatrix.{norm}"] = made, [(guess, truth), (scores, truth)], ()
        found[f"ConfusionMatrix.{norm}_missing"] = made, [(guess % 2, truth)], ()
    found["ConfusionMatrix.threshold"] = (
        _metric("ConfusionMatrix", 2, threshold=0.5),
        [(np.array([0.1, 0.5, 0.7, 0.49]), np.array([0, 0, 1, 1]))],
        (),
    )
    labels = _draw(22).randint(0, 4, (2, 5))
    found["ConfusionMatrix.pixels"] = _metric("ConfusionMatrix", 4), [(pixels, labels)], ()
    return found


def _rates() -> dict[str, Case]:
    def hot(seed: int, shape: tuple[int, ...], classes: int) -> np.ndarray:
        return np.moveaxis(np.eye(classes)[_draw(seed).randint(0, classes, shape)], -1, 1)

    x, y = hot(23, (3, 4, 4), 3), hot(24, (3, 4, 4), 3)
    gap = y.copy()
    gap[0, 1] = 0
    empty = y.copy()
    empty[1] = 0
    found: dict[str, Case] = {}
    for rate, alias in zip(RATES, ALIASES, strict=True):
        made = _metric("ConfusionMatrixMetric", False, rate)
        found[f"Rate.{alias}"] = made, [(x, y), (y[:2], x[:2])], ()
        by_sample = _metric("ConfusionMatrixMetric", False, alias, True)
        found[f"Rate.{alias}_by_sample"] = by_sample, [(x, gap)], ()
    made = _metric("ConfusionMatrixMetric", True, "tpr", True)
    found["Rate.skip"] = made, [(x, y), (y[:2], x[:2])], ()
    found["Rate.skip_all"] = _metric("ConfusionMatrixMetric", True, "tpr"), [(x, y)], ()
    for how in ("mean", "sum"):
        made = _metric("ConfusionMatrixMetric", False, "tpr", True, how)
        found[f"Rate.{how}"] = made, [(x, y)], ()
        found[f"Rate.{how}_gap"] = made, [(x, gap), (gap[:2], x[:2])], ()
        found[f"Rate.{how}_empty"] = made, [(x, empty), (gap[:2], x[:2])], ()
    one = _metric("ConfusionMatrixMetric", True, "tpr")
    found["Rate.one_class"] = one, [(x[:, :1], y[:, :1])], ()
    flat = np.eye(3)[[0, 1, 2, 2]], np.eye(3)[[0, 1, 1, 2]]
    found["Rate.classification"] = _metric("ConfusionMatrixMetric", False, "acc"), [flat], ()
    return found


def _surfaces() -> dict[str, Case]:
    left, right = np.zeros((10, 10), int), np.zeros((10, 10), int)
    left[2:7, 2:7] = 1
    right[3:9, 4:9] = 1
    noise = _draw(25).randint(0, 2, (7, 8)), _draw(26).randint(0, 2, (7, 8)), 1
    solid = _draw(27).randint(0, 3, (4, 5, 5)), _draw(28).randint(0, 3, (4, 5, 5)), 2
    found: dict[str, Case] = {}
    for kind in ("HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"):
        for length in DISTANCES:
            made = _metric(kind, distance_metric=length)
            found[f"{kind}.{length}"] = made, [(left, right, 1)], ()
            found[f"{kind}.{length}_noise"] = made, [noise], ()
            found[f"{kind}.{length}_solid"] = made, [solid], ()
        made = _metric(kind)
        found[f"{kind}.around"] = made, [(left, right, 0)], ()
        found[f"{kind}.same"] = made, [(left, left, 1)], ()
        found[f"{kind}.absent"] = made, [(left, right * 3, 1)], ()
        if kind != "HausdorffDistance":
            found[f"{kind}.symmetric"] = _metric(kind, True), [(left, right, 1)], ()
    for name, options in {
        "directed": {"directed": True},
        "percentile": {"percentile": 90.0},
        "directed_percentile": {"percentile": 50.0, "directed": True},
        "whole": {"crop": False},
    }.items():
        made = _metric("HausdorffDistance", **options)
        found[f"HausdorffDistance.{name}"] = made, [(left, right, 1)], ()
    return found


def _words() -> dict[str, Case]:
    said = ["i have a pen on my desk".split(), "the cat sat on it".split()]
    meant = [
        ["i have a pen in my desk".split(), "there is a pen on the desk".split()],
        ["the cat sat on the mat".split()],
    ]
    found: dict[str, Case] = {}
    for n in (1, 2, 3, 4):
        for smooth in (False, True):
            made = _metric("BleuScore", n, smooth)
            found[f"BleuScore.{n}_{smooth}"] = made, [(said, meant), (said[1:], meant[1:])], ()
    one = _metric("BleuScore", 1)
    found["BleuScore.none"] = _metric("BleuScore"), [([["x", "y"]], [[["a", "b"]]])], ()
    found["BleuScore.longer"] = one, [([list("abcde")], [[list("ab")]])], ()
    found["BleuScore.tie"] = one, [([list("abc")], [[list("ab"), list("abcd")]])], ()
    found["BleuScore.repeated"] = one, [([list("aaa")], [[list("ab"), list("aa")]])], ()
    return found


def _occlusions() -> dict[str, Case]:
    weight = _draw(29).randn(3, 32).astype(np.float32)
    image = _draw(30).randn(1, 2, 4, 4).astype(np.float32)

    def network(ms: Any) -> Any:
        dense = ms.nn.Dense(32, 3, weight_init=ms.Tensor(weight), bias_init="ones")
        return ms.nn.SequentialCell(ms.nn.Flatten(), dense)

    label = np.array(2, np.int32)
    kind = "OcclusionSensitivity"
    return {
        "Occlusion.plain": (_metric(kind), [(network, image, label)], ()),
        "Occlusion.margin": (_metric(kind, 0.5, 1), [(network, image, label)], ()),
        "Occlusion.batches": (_metric(kind, margin=1, n_batch=8), [(network, image, label)], ()),
        "Occlusion.box": (
            _metric(kind, margin=1, b_box=[-1, -1, 1, 2, 0, 3]),
            [(network, image, label)],
            (),
        ),
    }
