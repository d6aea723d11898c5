"""The losses to compare with the real MindSpore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[..., np.ndarray]
REDUCTIONS = ("none", "mean", "sum")


def cases(draw: Draw) -> dict[str, Any]:
    """Losses, inputs and keyword inputs by name; `draw(shape, seed)` gives numbers."""
    return {**_regression(draw), **_classes(draw), **_distances(draw), **_regions(draw)}


def _regression(draw: Draw) -> dict[str, Any]:
    x, y, row = draw((3, 4), 1, -2, 2), draw((3, 4), 2, -2, 2), draw((4,), 3)
    counts, spread = draw((3, 4), 4, 0, 5), draw((3, 1), 5, 0.1, 2)
    found: dict[str, Any] = {"RMSELoss": (_loss("RMSELoss"), (x, y), {})}
    for reduction in REDUCTIONS:
        by = {"reduction": reduction}
        found |= {
            f"L1Loss.{reduction}": (_loss("L1Loss", **by), (x, y), {}),
            f"MSELoss.{reduction}": (_loss("MSELoss", **by), (x, y), {}),
            f"MAELoss.{reduction}": (_loss("MAELoss", **by), (x, y), {}),
            f"SmoothL1Loss.{reduction}": (_loss("SmoothL1Loss", beta=0.7, **by), (x, y), {}),
            f"HuberLoss.{reduction}": (_loss("HuberLoss", delta=0.7, **by), (x, y), {}),
            f"PoissonNLLLoss.{reduction}": (_loss("PoissonNLLLoss", **by), (x, counts), {}),
            f"GaussianNLLLoss.{reduction}": (_loss("GaussianNLLLoss", **by), (x, y, spread), {}),
        }
    found |= {
        "MSELoss.broadcast": (_loss("MSELoss"), (x, row), {}),
        "PoissonNLLLoss.full": (_loss("PoissonNLLLoss", full=True), (x, counts), {}),
        "PoissonNLLLoss.rates": (
            _loss("PoissonNLLLoss", log_input=False, full=True),
            (draw((3, 4), 6, 0.1, 2), counts),
            {},
        ),
        "GaussianNLLLoss.full": (_loss("GaussianNLLLoss", full=True), (x, y, spread), {}),
    }
    return found


def _classes(draw: Draw) -> dict[str, Any]:
    scores, images = draw((3, 5), 1, -2, 2), draw((2, 3, 2, 2), 2, -2, 2)
    labels = np.array([1, 4, 0], np.int32)
    pixels = np.array([[[0, 1], [2, 1]], [[1, 1], [0, 2]]], np.int32)
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    p, q = draw((3, 5), 3, 0.05, 0.95), draw((3, 5), 4, 0.05, 0.95)
    found: dict[str, Any] = {}
    for reduction in REDUCTIONS:
        by = {"reduction": reduction}
        found |= {
            f"SoftmaxCrossEntropyWithLogits.{reduction}": (
                _loss("SoftmaxCrossEntropyWithLogits", **by),
                (scores, shares),
                {},
            ),
            f"SoftmaxCrossEntropyWithLogits.sparse_{reduction}": (
                _loss("SoftmaxCrossEntropyWithLogits", sparse=True, **by),
                (scores, labels),
                {},
            ),
            f"CrossEntropyLoss.{reduction}": (
                _loss("CrossEntropyLoss", **by),
                (images, pixels),
                {},
            ),
            f"NLLLoss.{reduction}": (_loss("NLLLoss", **by), (images, pixels), {}),
            f"BCELoss.{reduction}": (_loss("BCELoss", **by), (p, q), {}),
            f"BCEWithLogitsLoss.{reduction}": (_loss("BCEWithLogitsLoss", **by), (scores, q), {}),
            f"KLDivLoss.{reduction}": (_loss("KLDivLoss", **by), (np.log(p), q), {}),
        }
    weight = draw((5,), 5, 0.1, 1)
    options = {"ignore_index": 4, "label_smoothing": 0.1}
    found |= {
        "KLDivLoss.batchmean": (_loss("KLDivLoss", reduction="batchmean"), (np.log(p), q), {}),
        "CrossEntropyLoss.weighted": (
            _weighted("CrossEntropyLoss", weight, **options),
            (scores, labels),
            {},
        ),
        "CrossEntropyLoss.shares": (
            _weighted("CrossEntropyLoss", weight, label_smoothing=0.2),
            (scores, shares),
            {},
        ),
        "NLLLoss.weighted": (_weighted("NLLLoss", weight, ignore_index=1), (scores, labels), {}),
        "BCELoss.weighted": (_weighted("BCELoss", draw((3, 5), 6, 0, 1)), (p, q), {}),
        "BCEWithLogitsLoss.weighted": (
            lambda ms: ms.nn.BCEWithLogitsLoss(
                "mean", ms.Tensor(weight), ms.Tensor(draw((5,), 7, 0.5, 2))
            ),
            (scores, q),
            {},
        ),
    }
    return found


def _distances(draw: Draw) -> dict[str, Any]:
    x, y, z = draw((3, 5), 1), draw((3, 5), 2), draw((3, 5), 3)
    signs = np.array([1, -1, 1], np.int32)
    hinge = np.where(draw((3, 5), 4) > 0, 1, -1).astype(np.float32)
    labels = np.array([1, 4, 0], np.int64)
    found: dict[str, Any] = {}
    for reduction in REDUCTIONS:
        by = {"reduction": reduction}
        found |= {
            f"CosineEmbeddingLoss.{reduction}": (
                _loss("CosineEmbeddingLoss", margin=-0.5, **by),
                (x, y, signs),
                {},
            ),
            f"MarginRankingLoss.{reduction}": (
                _loss("MarginRankingLoss", margin=0.3, **by),
                (x, y, hinge),
                {},
            ),
            f"HingeEmbeddingLoss.{reduction}": (
                _loss("HingeEmbeddingLoss", **by),
                (x,),
                {"labels": hinge},
            ),
            f"TripletMarginWithDistanceLoss.{reduction}": (
                _loss("TripletMarginWithDistanceLoss", swap=True, **by),
                (x, y, z),
                {},
            ),
            f"MultiMarginLoss.{reduction}": (_loss("MultiMarginLoss", p=2, **by), (x, labels), {}),
            f"MultiLabelSoftMarginLoss.{reduction}": (
                _loss("MultiLabelSoftMarginLoss", **by),
                (x, (hinge + 1) / 2),
                {},
            ),
        }
    found["MultiMarginLoss.weighted"] = (
        lambda ms: ms.nn.MultiMarginLoss(weight=ms.Tensor(draw((5,), 5, 0.1, 1))),
        (x, labels),
        {},
    )
    return found


def _regions(draw: Draw) -> dict[str, Any]:
    p, q = draw((2, 3, 4), 1, 0, 1), draw((2, 3, 4), 2, 0, 1)
    scores = draw((2, 3, 4), 3, -2, 2)
    labels = np.array([[[0, 1, 2, 2]], [[1, 1, 0, 2]]], np.int32)
    weight = draw((3,), 4, 0.1, 1)
    speech = np.log(draw((6, 2, 4), 5, 0.1, 1))
    targets = np.array([[1, 2], [3, 3]], np.int32)
    lengths = np.array([6, 5], np.int32), np.array([2, 1], np.int32)
    found: dict[str, Any] = {
        "DiceLoss": (_loss("DiceLoss", smooth=0.5), (p, q), {}),
        "MultiClassDiceLoss": (_loss("MultiClassDiceLoss", ignore_indiex=1), (scores, q), {}),
        "MultiClassDiceLoss.weighted": (
            lambda ms: ms.nn.MultiClassDiceLoss(
                ms.Tensor(weight.reshape(3, 1)), activation="sigmoid"
            ),
            (scores, q),
            {},
        ),
        "FocalLoss.one_hot": (_weighted("FocalLoss", weight), (scores, np.round(q)), {}),
    }
    for reduction in REDUCTIONS:
        by = {"reduction": reduction}
        found[f"FocalLoss.{reduction}"] = (
            _weighted("FocalLoss", weight, gamma=1.5, **by),
            (scores, labels),
            {},
        )
        found[f"CTCLoss.{reduction}"] = (_loss("CTCLoss", **by), (speech, targets, *lengths), {})
    found["SampledSoftmaxLoss"] = (
        lambda ms: _sampled_softmax(ms, draw),
        (draw((7, 4), 6), draw((7,), 7), np.array([[0], [1], [2]], np.int32), draw((3, 4), 8)),
        {},
    )
    return found


def _sampled_softmax(ms: Any, draw: Draw) -> Any:
    drawn = np.array([1, 5], np.int32), draw((3, 1), 9, 0.1, 1), draw((2,), 10, 0.1, 1)
    return ms.nn.SampledSoftmaxLoss(2, 7, sampled_values=tuple(ms.Tensor(d) for d in drawn))


def _loss(name: str, **options: Any) -> Callable[[Any], Any]:
    return lambda ms: getattr(ms.nn, name)(**options)


def _weighted(name: str, weight: np.ndarray, **options: Any) -> Callable[[Any], Any]:
    return lambda ms: getattr(ms.nn, name)(weight=ms.Tensor(weight), **options)
