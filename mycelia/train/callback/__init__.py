"""Callbacks: they receive the events of a run and can act on it."""

from mycelia.train.callback.backup_and_restore import BackupAndRestore as BackupAndRestore
from mycelia.train.callback.callback import Callback as Callback
from mycelia.train.callback.callback import RunContext as RunContext
from mycelia.train.callback.checkpoint_config import CheckpointConfig as CheckpointConfig
from mycelia.train.callback.early_stopping import EarlyStopping as EarlyStopping
from mycelia.train.callback.history import History as History
from mycelia.train.callback.lambda_callback import LambdaCallback as LambdaCallback
from mycelia.train.callback.learning_rate_scheduler import (
    LearningRateScheduler as LearningRateScheduler,
)
from mycelia.train.callback.loss_monitor import LossMonitor as LossMonitor
from mycelia.train.callback.model_checkpoint import ModelCheckpoint as ModelCheckpoint
from mycelia.train.callback.on_request_exit import OnRequestExit as OnRequestExit
from mycelia.train.callback.progress_bar import ProgressBar as ProgressBar
from mycelia.train.callback.reduce_lr_on_plateau import ReduceLROnPlateau as ReduceLROnPlateau
from mycelia.train.callback.stop_on_divergence import StopOnDivergence as StopOnDivergence
from mycelia.train.callback.summary_collector import SummaryCollector as SummaryCollector
from mycelia.train.callback.time_monitor import TimeMonitor as TimeMonitor
