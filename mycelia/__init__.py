"""Mycelia: an all-scenario deep-learning framework with MindSpore's interface on XLA."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from mycelia import context as context
from mycelia import ir as ir
from mycelia import nn as nn
from mycelia import ops as ops
from mycelia import parallel as parallel
from mycelia import runtime as runtime
from mycelia import transforms as transforms
from mycelia._engine.core import dtype as dtype
from mycelia._engine.core.dtype import bfloat16 as bfloat16
from mycelia._engine.core.dtype import bool_ as bool_
from mycelia._engine.core.dtype import byte as byte
from mycelia._engine.core.dtype import complex64 as complex64
from mycelia._engine.core.dtype import complex128 as complex128
from mycelia._engine.core.dtype import double as double
from mycelia._engine.core.dtype import dtype_to_nptype as dtype_to_nptype
from mycelia._engine.core.dtype import dtype_to_pytype as dtype_to_pytype
from mycelia._engine.core.dtype import float16 as float16
from mycelia._engine.core.dtype import float32 as float32
from mycelia._engine.core.dtype import float64 as float64
from mycelia._engine.core.dtype import float_ as float_
from mycelia._engine.core.dtype import half as half
from mycelia._engine.core.dtype import int8 as int8
from mycelia._engine.core.dtype import int16 as int16
from mycelia._engine.core.dtype import int32 as int32
from mycelia._engine.core.dtype import int64 as int64
from mycelia._engine.core.dtype import int_ as int_
from mycelia._engine.core.dtype import intc as intc
from mycelia._engine.core.dtype import long as long
from mycelia._engine.core.dtype import pytype_to_dtype as pytype_to_dtype
from mycelia._engine.core.dtype import short as short
from mycelia._engine.core.dtype import uint8 as uint8
from mycelia._engine.core.dtype import uint16 as uint16
from mycelia._engine.core.dtype import uint32 as uint32
from mycelia._engine.core.dtype import uint64 as uint64
from mycelia._engine.core.lazy_import import LazyNames as _LazyNames
from mycelia._engine.core.seed import get_seed as get_seed
from mycelia._engine.core.seed import set_seed as set_seed
from mycelia._engine.core.settings import COMPATIBLE as COMPATIBLE
from mycelia._engine.core.settings import GRAPH_MODE as GRAPH_MODE
from mycelia._engine.core.settings import LAX as LAX
from mycelia._engine.core.settings import PYNATIVE_MODE as PYNATIVE_MODE
from mycelia._engine.core.settings import STRICT as STRICT
from mycelia._engine.core.type_names import QuantDtype as QuantDtype
from mycelia._engine.core.type_names import cdouble as cdouble
from mycelia._engine.core.type_names import cfloat as cfloat
from mycelia._engine.core.type_names import get_py_obj_dtype as get_py_obj_dtype
from mycelia._engine.core.type_names import intp as intp
from mycelia._engine.core.type_names import list_ as list_
from mycelia._engine.core.type_names import number as number
from mycelia._engine.core.type_names import single as single
from mycelia._engine.core.type_names import string as string
from mycelia._engine.core.type_names import tensor_type as tensor_type
from mycelia._engine.core.type_names import tuple_ as tuple_
from mycelia._engine.core.type_names import type_none as type_none
from mycelia._engine.core.type_names import type_type as type_type
from mycelia._engine.core.type_names import ubyte as ubyte
from mycelia._engine.core.type_names import uint as uint
from mycelia._engine.core.type_names import uintc as uintc
from mycelia._engine.core.type_names import uintp as uintp
from mycelia._engine.core.type_names import ushort as ushort
from mycelia._engine.ir import handlers as _handlers
from mycelia._engine.runtime.distributed.sharded_execution import gathered as _gathered
from mycelia._engine.runtime.eager.dispatch import dispatch as _dispatch
from mycelia._engine.runtime.installation import run_check as run_check
from mycelia._engine.runtime.memory import allocator as _allocator
from mycelia._engine.runtime.xla import disk_cache as _cache
from mycelia.context import get_context as get_context
from mycelia.context import get_current_device as get_current_device
from mycelia.context import set_context as set_context
from mycelia.context import set_deterministic as set_deterministic
from mycelia.context import set_device as set_device
from mycelia.export import export as export
from mycelia.export import load as load
from mycelia.log import get_level as get_level
from mycelia.log import get_log_config as get_log_config
from mycelia.ops.collective.redistribute import reshard as reshard
from mycelia.parallel import Layout as Layout
from mycelia.parallel import ParallelMode as ParallelMode
from mycelia.parallel import build_searched_strategy as build_searched_strategy
from mycelia.parallel import get_algo_parameters as get_algo_parameters
from mycelia.parallel import get_auto_parallel_context as get_auto_parallel_context
from mycelia.parallel import get_offload_context as get_offload_context
from mycelia.parallel import get_ps_context as get_ps_context
from mycelia.parallel import merge_pipeline_strategys as merge_pipeline_strategys
from mycelia.parallel import reset_algo_parameters as reset_algo_parameters
from mycelia.parallel import reset_auto_parallel_context as reset_auto_parallel_context
from mycelia.parallel import reset_ps_context as reset_ps_context
from mycelia.parallel import set_algo_parameters as set_algo_parameters
from mycelia.parallel import set_auto_parallel_context as set_auto_parallel_context
from mycelia.parallel import set_offload_context as set_offload_context
from mycelia.parallel import set_ps_context as set_ps_context
from mycelia.tensor import initializer as initializer
from mycelia.tensor.generator import Generator as Generator
from mycelia.tensor.generator import default_generator as default_generator
from mycelia.tensor.generator import get_rng_state as get_rng_state
from mycelia.tensor.generator import initial_seed as initial_seed
from mycelia.tensor.generator import manual_seed as manual_seed
from mycelia.tensor.generator import seed as seed
from mycelia.tensor.generator import set_rng_state as set_rng_state
from mycelia.tensor.parameter import Parameter as Parameter
from mycelia.tensor.parameter import ParameterTuple as ParameterTuple
from mycelia.tensor.sparse_matrix import COOTensor as COOTensor
from mycelia.tensor.sparse_matrix import CSRTensor as CSRTensor
from mycelia.tensor.sparse_rows import RowTensor as RowTensor
from mycelia.tensor.sparse_rows import SparseTensor as SparseTensor
from mycelia.tensor.symbol import Symbol as Symbol
from mycelia.tensor.tensor import Tensor as Tensor
from mycelia.tensor.tensor import is_tensor as is_tensor
from mycelia.tensor.tensor import tensor as tensor
from mycelia.transforms import GradOperation as GradOperation
from mycelia.transforms import JitConfig as JitConfig
from mycelia.transforms import constexpr as constexpr
from mycelia.transforms import data_sink as data_sink
from mycelia.transforms import get_grad as get_grad
from mycelia.transforms import grad as grad
from mycelia.transforms import jacfwd as jacfwd
from mycelia.transforms import jacrev as jacrev
from mycelia.transforms import jit as jit
from mycelia.transforms import jit_class as jit_class
from mycelia.transforms import jvp as jvp
from mycelia.transforms import lazy_inline as lazy_inline
from mycelia.transforms import ms_function as ms_function
from mycelia.transforms import mutable as mutable
from mycelia.transforms import recompute as recompute
from mycelia.transforms import value_and_grad as value_and_grad
from mycelia.transforms import vjp as vjp
from mycelia.transforms import vmap as vmap
from mycelia.transforms.shard import shard as shard

if _TYPE_CHECKING:  # as `_lazy` finds them
    from mycelia import train as train
    from mycelia.amp import DynamicLossScaleManager as DynamicLossScaleManager
    from mycelia.amp import FixedLossScaleManager as FixedLossScaleManager
    from mycelia.amp import LossScaleManager as LossScaleManager
    from mycelia.amp import build_train_network as build_train_network
    from mycelia.compat import coverage as coverage
    from mycelia.train import F1 as F1
    from mycelia.train import MAE as MAE
    from mycelia.train import MSE as MSE
    from mycelia.train import ROC as ROC
    from mycelia.train import Accuracy as Accuracy
    from mycelia.train import BackupAndRestore as BackupAndRestore
    from mycelia.train import BleuScore as BleuScore
    from mycelia.train import Callback as Callback
    from mycelia.train import CheckpointConfig as CheckpointConfig
    from mycelia.train import ConfusionMatrix as ConfusionMatrix
    from mycelia.train import ConfusionMatrixMetric as ConfusionMatrixMetric
    from mycelia.train import CosineSimilarity as CosineSimilarity
    from mycelia.train import DatasetHelper as DatasetHelper
    from mycelia.train import Dice as Dice
    from mycelia.train import EarlyStopping as EarlyStopping
    from mycelia.train import Fbeta as Fbeta
    from mycelia.train import HausdorffDistance as HausdorffDistance
    from mycelia.train import History as History
    from mycelia.train import LambdaCallback as LambdaCallback
    from mycelia.train import LearningRateScheduler as LearningRateScheduler
    from mycelia.train import Loss as Loss
    from mycelia.train import LossMonitor as LossMonitor
    from mycelia.train import MeanSurfaceDistance as MeanSurfaceDistance
    from mycelia.train import Metric as Metric
    from mycelia.train import Model as Model
    from mycelia.train import ModelCheckpoint as ModelCheckpoint
    from mycelia.train import OcclusionSensitivity as OcclusionSensitivity
    from mycelia.train import OnRequestExit as OnRequestExit
    from mycelia.train import Perplexity as Perplexity
    from mycelia.train import Precision as Precision
    from mycelia.train import Recall as Recall
    from mycelia.train import ReduceLROnPlateau as ReduceLROnPlateau
    from mycelia.train import RootMeanSquareDistance as RootMeanSquareDistance
    from mycelia.train import RunContext as RunContext
    from mycelia.train import SummaryCollector as SummaryCollector
    from mycelia.train import SummaryRecord as SummaryRecord
    from mycelia.train import TimeMonitor as TimeMonitor
    from mycelia.train import Top1CategoricalAccuracy as Top1CategoricalAccuracy
    from mycelia.train import Top5CategoricalAccuracy as Top5CategoricalAccuracy
    from mycelia.train import TopKCategoricalAccuracy as TopKCategoricalAccuracy
    from mycelia.train import async_ckpt_thread_status as async_ckpt_thread_status
    from mycelia.train import auc as auc
    from mycelia.train import ckpt_to_safetensors as ckpt_to_safetensors
    from mycelia.train import connect_network_with_dataset as connect_network_with_dataset
    from mycelia.train import get_metric_fn as get_metric_fn
    from mycelia.train import load_checkpoint_async as load_checkpoint_async
    from mycelia.train import load_distributed_checkpoint as load_distributed_checkpoint
    from mycelia.train import load_segmented_checkpoints as load_segmented_checkpoints
    from mycelia.train import merge_sliced_parameter as merge_sliced_parameter
    from mycelia.train import rearrange_inputs as rearrange_inputs
    from mycelia.train import safetensors_to_ckpt as safetensors_to_ckpt
    from mycelia.train import sync_pipeline_shared_parameters as sync_pipeline_shared_parameters
    from mycelia.train import unified_safetensors as unified_safetensors
    from mycelia.train.checkpoint import load_checkpoint as load_checkpoint
    from mycelia.train.checkpoint import load_param_into_net as load_param_into_net
    from mycelia.train.checkpoint import save_checkpoint as save_checkpoint

__version__ = "0.1.0"

_allocator.keep_memory()
_cache.apply()
_handlers.install(dispatch=_dispatch, gather=_gathered)

from_numpy = Tensor.from_numpy
ms_class = jit_class  # the older name

# Parts that many programs do without are imported when they are asked for.
_TRAINING = """
F1 MAE MSE ROC Accuracy BackupAndRestore BleuScore Callback CheckpointConfig
ConfusionMatrix ConfusionMatrixMetric CosineSimilarity DatasetHelper Dice EarlyStopping
Fbeta HausdorffDistance History LambdaCallback LearningRateScheduler Loss LossMonitor
MeanSurfaceDistance Metric Model ModelCheckpoint OcclusionSensitivity OnRequestExit
Perplexity Precision Recall ReduceLROnPlateau RootMeanSquareDistance RunContext
SummaryCollector SummaryRecord TimeMonitor Top1CategoricalAccuracy Top5CategoricalAccuracy
TopKCategoricalAccuracy async_ckpt_thread_status auc ckpt_to_safetensors
connect_network_with_dataset get_metric_fn load_checkpoint_async rearrange_inputs
safetensors_to_ckpt load_checkpoint load_param_into_net save_checkpoint
""".split()
_CHECKPOINTS_IN_PARTS = """
load_distributed_checkpoint load_segmented_checkpoints merge_sliced_parameter
sync_pipeline_shared_parameters unified_safetensors
""".split()
_TRAINING += _CHECKPOINTS_IN_PARTS
_SCALING = (
    "DynamicLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "build_train_network",
)
_lazy = _LazyNames(
    __name__,
    {
        **dict.fromkeys(("amp", "boost", "communication", "compat", "dataset", "experimental")),
        **dict.fromkeys(("hal", "log", "mindrecord", "mint", "numpy", "profiler", "rewrite")),
        **dict.fromkeys(("scipy", "train")),
        **dict.fromkeys(_TRAINING, "mycelia.train:"),
        **dict.fromkeys(_SCALING, "mycelia.amp:"),
        **dict.fromkeys(("Node", "NodeType", "ScopedValue", "SymbolTree"), "mycelia.rewrite:"),
        "Profiler": "mycelia.profiler:",
        "coverage": "mycelia.compat:",
    },
)


def __getattr__(name: str) -> _Any:
    return _lazy.find(name)


def __dir__() -> list[str]:
    return _lazy.listed()


__all__ = [  # of `from mycelia import *`: all that is here, and what training needs
    *(_name for _name in list(globals()) if not _name.startswith("_")),
    *("amp", "boost", "compat", "coverage", "train", *_SCALING, *_TRAINING),
]
