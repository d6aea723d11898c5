"""Parallel training: settings, device clusters, sharding plans, distributed checkpoints."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from mycelia._engine.core.lazy_import import LazyNames as _LazyNames
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode as ParallelMode
from mycelia._engine.distributed.auto_parallel_settings import (
    get_auto_parallel_context as get_auto_parallel_context,
)
from mycelia._engine.distributed.auto_parallel_settings import (
    reset_auto_parallel_context as reset_auto_parallel_context,
)
from mycelia._engine.distributed.auto_parallel_settings import (
    set_auto_parallel_context as set_auto_parallel_context,
)
from mycelia._engine.distributed.cluster import Cluster as Cluster
from mycelia._engine.distributed.layout import Layout as Layout
from mycelia._engine.distributed.offload_settings import get_offload_context as get_offload_context
from mycelia._engine.distributed.offload_settings import set_offload_context as set_offload_context
from mycelia._engine.distributed.parameter_server_settings import get_ps_context as get_ps_context
from mycelia._engine.distributed.parameter_server_settings import (
    reset_ps_context as reset_ps_context,
)
from mycelia._engine.distributed.parameter_server_settings import set_ps_context as set_ps_context
from mycelia._engine.distributed.plan.plan import Plan as Plan
from mycelia._engine.distributed.plan.strategy_files import (
    build_searched_strategy as build_searched_strategy,
)
from mycelia._engine.distributed.plan.strategy_files import (
    merge_pipeline_strategys as merge_pipeline_strategys,
)
from mycelia._engine.distributed.search_settings import get_algo_parameters as get_algo_parameters
from mycelia._engine.distributed.search_settings import (
    reset_algo_parameters as reset_algo_parameters,
)
from mycelia._engine.distributed.search_settings import set_algo_parameters as set_algo_parameters
from mycelia._engine.runtime.distributed.cluster_probe import probe_cluster as probe_cluster
from mycelia.nn.wrap.auto_parallel import AutoParallel as AutoParallel
from mycelia.ops.collective.redistribute import reshard as reshard
from mycelia.parallel import auto_parallel as auto_parallel
from mycelia.parallel import checkpoint_transform as checkpoint_transform
from mycelia.parallel import function as function
from mycelia.parallel import nn as nn
from mycelia.parallel.checkpoint_transform import CHECKPOINT_FUNCTIONS as _CHECKPOINT_FUNCTIONS
from mycelia.transforms.plan import plan as plan
from mycelia.transforms.plan import plans_of as plans_of
from mycelia.transforms.plan import simulate as simulate
from mycelia.transforms.shard import shard as shard

if _TYPE_CHECKING:  # `_lazy` imports these on first use
    from mycelia.train import load_distributed_checkpoint as load_distributed_checkpoint
    from mycelia.train import load_segmented_checkpoints as load_segmented_checkpoints
    from mycelia.train import merge_sliced_parameter as merge_sliced_parameter
    from mycelia.train import sync_pipeline_shared_parameters as sync_pipeline_shared_parameters
    from mycelia.train import unified_safetensors as unified_safetensors

_lazy = _LazyNames(__name__, dict.fromkeys(_CHECKPOINT_FUNCTIONS, "mycelia.train:"))


def __getattr__(name: str) -> _Any:
    return _lazy.find(name)


def __dir__() -> list[str]:
    return _lazy.listed()
