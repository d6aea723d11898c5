"""A registry of metrics by name."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import did_you_mean, problem
from mycelia.train.metrics.accuracy import Accuracy
from mycelia.train.metrics.auc import auc
from mycelia.train.metrics.bleu_score import BleuScore
from mycelia.train.metrics.confusion_matrix import ConfusionMatrix
from mycelia.train.metrics.confusion_matrix_metric import ConfusionMatrixMetric
from mycelia.train.metrics.cosine_similarity import CosineSimilarity
from mycelia.train.metrics.dice import Dice
from mycelia.train.metrics.error import MAE, MSE
from mycelia.train.metrics.fbeta import F1
from mycelia.train.metrics.loss import Loss
from mycelia.train.metrics.metric import Metric
from mycelia.train.metrics.occlusion_sensitivity import OcclusionSensitivity
from mycelia.train.metrics.perplexity import Perplexity
from mycelia.train.metrics.precision import Precision, Recall
from mycelia.train.metrics.roc import ROC
from mycelia.train.metrics.surface_distance import (
    HausdorffDistance,
    MeanSurfaceDistance,
    RootMeanSquareDistance,
)
from mycelia.train.metrics.topk import (
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)

_NAMED: dict[str, Any] = {
    "F1": F1,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "auc": auc,
    "bleu_score": BleuScore,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "hausdorff_distance": HausdorffDistance,
    "loss": Loss,
    "mae": MAE,
    "mean_surface_distance": MeanSurfaceDistance,
    "mse": MSE,
    "occlusion_sensitivity": OcclusionSensitivity,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "roc": ROC,
    "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}


def names() -> list[str]:
    """The names of all metrics."""
    return sorted(_NAMED)


@entry_point
def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """Create a metric by name, with these arguments."""
    if name not in _NAMED:
        raise problem(
            KeyError,
            f"get_metric_fn: unknown metric {name!r}",
            expected=f"one of {', '.join(names())}",
            fix=did_you_mean(name, names()),
        )
    return _NAMED[name](*args, **kwargs)


@entry_point
def get_metrics(metrics: Any) -> dict[str, Metric]:
    """The metrics passed to a Model, by name: from a dict of metrics, or a set of names."""
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise problem(
                    TypeError,
                    "metrics: an entry of the dict is not a name with its metric",
                    got=f"{name!r}: {metric!r}",
                    expected="a str and a Metric",
                )
        return dict(metrics)
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in metrics}
    raise problem(
        TypeError,
        "metrics: expected a dict of metrics or a set of names",
        got=repr(metrics),
        fix='metrics={"accuracy"}, or metrics={"accuracy": Accuracy()}',
    )
