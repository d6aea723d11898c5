"""Parallel training: its settings, clusters of devices, and plans of programs over them."""

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
