"""Evaluation metrics."""

from mycelia.train.metrics.accuracy import Accuracy as Accuracy
from mycelia.train.metrics.auc import auc as auc
from mycelia.train.metrics.bleu_score import BleuScore as BleuScore
from mycelia.train.metrics.confusion_matrix import ConfusionMatrix as ConfusionMatrix
from mycelia.train.metrics.confusion_matrix_metric import (
    ConfusionMatrixMetric as ConfusionMatrixMetric,
)
from mycelia.train.metrics.cosine_similarity import CosineSimilarity as CosineSimilarity
from mycelia.train.metrics.dice import Dice as Dice
from mycelia.train.metrics.error import MAE as MAE
from mycelia.train.metrics.error import MSE as MSE
from mycelia.train.metrics.fbeta import F1 as F1
from mycelia.train.metrics.fbeta import Fbeta as Fbeta
from mycelia.train.metrics.loss import Loss as Loss
from mycelia.train.metrics.metric import Metric as Metric
from mycelia.train.metrics.metric import rearrange_inputs as rearrange_inputs
from mycelia.train.metrics.names import get_metric_fn as get_metric_fn
from mycelia.train.metrics.names import get_metrics as get_metrics
from mycelia.train.metrics.names import names as names
from mycelia.train.metrics.occlusion_sensitivity import (
    OcclusionSensitivity as OcclusionSensitivity,
)
from mycelia.train.metrics.perplexity import Perplexity as Perplexity
from mycelia.train.metrics.precision import Precision as Precision
from mycelia.train.metrics.precision import Recall as Recall
from mycelia.train.metrics.roc import ROC as ROC
from mycelia.train.metrics.surface_distance import HausdorffDistance as HausdorffDistance
from mycelia.train.metrics.surface_distance import MeanSurfaceDistance as MeanSurfaceDistance
from mycelia.train.metrics.surface_distance import RootMeanSquareDistance as RootMeanSquareDistance
from mycelia.train.metrics.topk import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from mycelia.train.metrics.topk import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from mycelia.train.metrics.topk import TopKCategoricalAccuracy as TopKCategoricalAccuracy
