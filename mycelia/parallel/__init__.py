"""Parallel training: its settings, clusters of devices, and plans of programs over them."""

from mycelia.parallel.automatic import ParallelMode as ParallelMode
from mycelia.parallel.automatic import get_auto_parallel_context as get_auto_parallel_context
from mycelia.parallel.automatic import reset_auto_parallel_context as reset_auto_parallel_context
from mycelia.parallel.automatic import set_auto_parallel_context as set_auto_parallel_context
from mycelia.parallel.cluster import Cluster as Cluster
from mycelia.parallel.layout import Layout as Layout
from mycelia.parallel.offload import get_offload_context as get_offload_context
from mycelia.parallel.offload import set_offload_context as set_offload_context
from mycelia.parallel.plan_files import build_searched_strategy as build_searched_strategy
from mycelia.parallel.plan_files import merge_pipeline_strategys as merge_pipeline_strategys
from mycelia.parallel.plans import Plan as Plan
from mycelia.parallel.search import get_algo_parameters as get_algo_parameters
from mycelia.parallel.search import reset_algo_parameters as reset_algo_parameters
from mycelia.parallel.search import set_algo_parameters as set_algo_parameters
from mycelia.parallel.server import get_ps_context as get_ps_context
from mycelia.parallel.server import reset_ps_context as reset_ps_context
from mycelia.parallel.server import set_ps_context as set_ps_context
