"""MindSpore's path to functions of strategies, and of checkpoints in parts.

The latter are in a layer above: `mycelia/__init__.py` puts them here.
"""

from mycelia._engine.distributed.plan.strategy_files import (
    build_searched_strategy as build_searched_strategy,
)
from mycelia._engine.distributed.plan.strategy_files import (
    merge_pipeline_strategys as merge_pipeline_strategys,
)
