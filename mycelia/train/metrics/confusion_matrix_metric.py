"""Rates derived from the confusion matrix, such as sensitivity and specificity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_instance, check_string
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs

Counts = tuple[Any, Any, Any, Any]  # true positives, false positives, true and false negatives

_REDUCTIONS = (
    "none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel",
)  # fmt: skip
_ALIASES = {
    "sensitivity": "recall hit_rate true_positive_rate tpr",
    "specificity": "selectivity true_negative_rate tnr",
    "precision": "positive_predictive_value ppv",
    "negative_predictive_value": "npv",
    "miss_rate": "false_negative_rate fnr",
    "fall_out": "false_positive_rate fpr",
    "false_discovery_rate": "fdr",
    "false_omission_rate": "for",
    "prevalence_threshold": "pt",
    "threat_score": "critical_success_index ts csi",
    "accuracy": "acc",
    "balanced_accuracy": "ba",
    "f1_score": "f1",
    "matthews_correlation_coefficient": "mcc",
    "fowlkes_mallows_index": "fm",
    "informedness": "bookmaker_informedness bm",
    "markedness": "deltap mk",
}


class ConfusionMatrixMetric(Metric):
    """A rate such as "sensitivity" of one-hot predictions and labels, (N, C, ...).

    By default, the counts of all samples and classes yield one rate; with `calculation_method`,
    each sample and class yields one, and `decrease` reduces them. As in MindSpore,
    `skip_channel=False` leaves out the first class.
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        owner = "ConfusionMatrixMetric"
        self.skip_channel = check_bool(owner, "skip_channel", skip_channel)
        self.metric_name = check_instance(owner, "metric_name", metric_name, str)
        self.calculation_method = check_bool(owner, "calculation_method", calculation_method)
        check_instance(owner, "decrease", decrease, str)
        self.decrease = check_string(owner, "decrease", decrease, _REDUCTIONS)
        self.clear()

    def clear(self) -> None:
        self._counts = np.zeros(4)
        self._values: list[np.ndarray] = []
        self._weights: list[Any] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if y_pred.ndim < 2 or y_pred.shape != y.shape:
            raise problem(
                ValueError,
                "ConfusionMatrixMetric: predictions and labels must be one-hot, with equal shapes",
                got=f"{y_pred.shape} and {y.shape}",
                expected="(N, C, ...)",
            )
        if not self.skip_channel and y.shape[1] > 1:
            y_pred, y = y_pred[:, 1:], y[:, 1:]
        counts = _counts(y_pred, y)
        if not self.calculation_method:
            self._counts += [count.sum() for count in counts]
            return
        value, weight = _reduced(_rate_of(self.metric_name)(*counts), self.decrease)
        self._values.append(value * weight)
        self._weights.append(weight)

    def eval(self) -> Any:
        if not self.calculation_method:
            return np.atleast_1d(_rate_of(self.metric_name)(*self._counts))
        self._check_updated(self._values)
        result = sum(self._values) / sum(self._weights)
        return float(result) if np.ndim(result) == 0 else result


def _counts(y_pred: np.ndarray, y: np.ndarray) -> Counts:
    """The four counts for each sample and class."""
    predicted, true = (v.reshape(*v.shape[:2], -1) for v in (y_pred, y))
    true_positives = (predicted + true == 2).sum(2).astype(float)
    true_negatives = (predicted + true == 0).sum(2).astype(float)
    positives = true.sum(2)
    negatives = true.shape[2] - positives
    return (
        true_positives,
        negatives - true_negatives,
        true_negatives,
        positives - true_positives,
    )


def _divide(numerator: Any, denominator: Any) -> Any:
    """A fraction, nan where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, float), np.asarray(denominator, float)
    return np.divide(
        numerator,
        denominator,
        out=np.full(np.shape(denominator), np.nan),
        where=denominator != 0,
    )


def _sensitivity(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    return _divide(tp, tp + fn)


def _specificity(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    return _divide(tn, tn + fp)


def _precision(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    return _divide(tp, tp + fp)


def _negative_predictive_value(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    return _divide(tn, tn + fn)


def _prevalence_threshold(*counts: Any) -> Any:
    tpr, tnr = _sensitivity(*counts), _specificity(*counts)
    return _divide(np.sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1)


def _matthews(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return _divide(tp * tn - fp * fn, np.sqrt(product))


_RATES: dict[str, Callable[..., Any]] = {
    "sensitivity": _sensitivity,
    "specificity": _specificity,
    "precision": _precision,
    "negative_predictive_value": _negative_predictive_value,
    "miss_rate": lambda *c: 1 - _sensitivity(*c),
    "fall_out": lambda *c: 1 - _specificity(*c),
    "false_discovery_rate": lambda *c: 1 - _precision(*c),
    "false_omission_rate": lambda *c: 1 - _negative_predictive_value(*c),
    "prevalence_threshold": _prevalence_threshold,
    "threat_score": lambda tp, fp, tn, fn: _divide(tp, tp + fn + fp),
    "accuracy": lambda tp, fp, tn, fn: _divide(tp + tn, tp + fp + tn + fn),
    "balanced_accuracy": lambda *c: (_sensitivity(*c) + _specificity(*c)) / 2,
    "f1_score": lambda tp, fp, tn, fn: _divide(2 * tp, 2 * tp + fn + fp),
    "matthews_correlation_coefficient": _matthews,
    "fowlkes_mallows_index": lambda *c: np.sqrt(_precision(*c) * _sensitivity(*c)),
    "informedness": lambda *c: _sensitivity(*c) + _specificity(*c) - 1,
    "markedness": lambda *c: _precision(*c) + _negative_predictive_value(*c) - 1,
}


def _rate_of(name: str) -> Callable[..., Any]:
    wanted = name.lower().replace(" ", "_")
    for rate, aliases in _ALIASES.items():
        if wanted == rate or wanted in aliases.split():
            return _RATES[rate]
    raise problem(
        NotImplementedError,
        f"ConfusionMatrixMetric: unknown metric_name {name!r}",
        expected=f"one of {', '.join(_ALIASES)}",
    )


def _reduced(rates: np.ndarray, decrease: str) -> tuple[Any, Any]:
    """Rates (samples, classes) reduced according to `decrease`, and their weight."""
    known = ~np.isnan(rates)
    filled = np.where(known, rates, 0.0)
    if decrease == "none":
        return rates, np.ones(rates.shape)
    if decrease == "mean":
        by_sample = known.any(1)
        means = filled.sum(1)[by_sample] / known.sum(1)[by_sample]
        return (means.mean() if means.size else 0.0), by_sample.sum()
    if decrease == "sum":
        return filled.sum(), known.sum()
    axis = 0 if decrease.endswith("batch") else 1
    counts = known.sum(axis)
    if decrease.startswith("sum"):
        return filled.sum(axis), np.ones(counts.shape)
    return filled.sum(axis) / np.maximum(counts, 1), counts
