"""Training: Model, callbacks, metrics, mixed precision, and checkpoints."""

from mycelia._engine.core.lazy_import import suggesting as _suggesting
from mycelia._engine.distributed.plan.strategy_files import (
    build_searched_strategy as build_searched_strategy,
)
from mycelia.amp.levels import build_train_network as build_train_network
from mycelia.amp.loss_scale_manager import DynamicLossScaleManager as DynamicLossScaleManager
from mycelia.amp.loss_scale_manager import FixedLossScaleManager as FixedLossScaleManager
from mycelia.amp.loss_scale_manager import LossScaleManager as LossScaleManager
from mycelia.train.background_writer import async_ckpt_thread_status as async_ckpt_thread_status
from mycelia.train.callback import BackupAndRestore as BackupAndRestore
from mycelia.train.callback import Callback as Callback
from mycelia.train.callback import CheckpointConfig as CheckpointConfig
from mycelia.train.callback import EarlyStopping as EarlyStopping
from mycelia.train.callback import History as History
from mycelia.train.callback import LambdaCallback as LambdaCallback
from mycelia.train.callback import LearningRateScheduler as LearningRateScheduler
from mycelia.train.callback import LossMonitor as LossMonitor
from mycelia.train.callback import ModelCheckpoint as ModelCheckpoint
from mycelia.train.callback import OnRequestExit as OnRequestExit
from mycelia.train.callback import ProgressBar as ProgressBar
from mycelia.train.callback import ReduceLROnPlateau as ReduceLROnPlateau
from mycelia.train.callback import RunContext as RunContext
from mycelia.train.callback import StopOnDivergence as StopOnDivergence
from mycelia.train.callback import SummaryCollector as SummaryCollector
from mycelia.train.callback import TimeMonitor as TimeMonitor
from mycelia.train.checkpoint import load_checkpoint as load_checkpoint
from mycelia.train.checkpoint import load_param_into_net as load_param_into_net
from mycelia.train.checkpoint import save_checkpoint as save_checkpoint
from mycelia.train.checkpoint_conversion import ckpt_to_safetensors as ckpt_to_safetensors
from mycelia.train.checkpoint_conversion import load_checkpoint_async as load_checkpoint_async
from mycelia.train.checkpoint_conversion import safetensors_to_ckpt as safetensors_to_ckpt
from mycelia.train.dataset_helper import DatasetHelper as DatasetHelper
from mycelia.train.dataset_helper import (
    connect_network_with_dataset as connect_network_with_dataset,
)
from mycelia.train.distributed_checkpoint.load import (
    load_distributed_checkpoint as load_distributed_checkpoint,
)
from mycelia.train.distributed_checkpoint.merge import (
    load_segmented_checkpoints as load_segmented_checkpoints,
)
from mycelia.train.distributed_checkpoint.merge import (
    merge_sliced_parameter as merge_sliced_parameter,
)
from mycelia.train.distributed_checkpoint.merge import (
    sync_pipeline_shared_parameters as sync_pipeline_shared_parameters,
)
from mycelia.train.distributed_checkpoint.merge import unified_safetensors as unified_safetensors
from mycelia.train.metrics import F1 as F1
from mycelia.train.metrics import MAE as MAE
from mycelia.train.metrics import MSE as MSE
from mycelia.train.metrics import ROC as ROC
from mycelia.train.metrics import Accuracy as Accuracy
from mycelia.train.metrics import BleuScore as BleuScore
from mycelia.train.metrics import ConfusionMatrix as ConfusionMatrix
from mycelia.train.metrics import ConfusionMatrixMetric as ConfusionMatrixMetric
from mycelia.train.metrics import CosineSimilarity as CosineSimilarity
from mycelia.train.metrics import Dice as Dice
from mycelia.train.metrics import Fbeta as Fbeta
from mycelia.train.metrics import HausdorffDistance as HausdorffDistance
from mycelia.train.metrics import Loss as Loss
from mycelia.train.metrics import MeanSurfaceDistance as MeanSurfaceDistance
from mycelia.train.metrics import Metric as Metric
from mycelia.train.metrics import OcclusionSensitivity as OcclusionSensitivity
from mycelia.train.metrics import Perplexity as Perplexity
from mycelia.train.metrics import Precision as Precision
from mycelia.train.metrics import Recall as Recall
from mycelia.train.metrics import RootMeanSquareDistance as RootMeanSquareDistance
from mycelia.train.metrics import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from mycelia.train.metrics import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from mycelia.train.metrics import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from mycelia.train.metrics import auc as auc
from mycelia.train.metrics import get_metric_fn as get_metric_fn
from mycelia.train.metrics import names as names
from mycelia.train.metrics import rearrange_inputs as rearrange_inputs
from mycelia.train.model import Model as Model
from mycelia.train.summary import SummaryRecord as SummaryRecord
from mycelia.transforms.sink import data_sink as data_sink

__getattr__ = _suggesting(__name__)
