"""MindSpore's import path for functions on strategy files and distributed checkpoints."""

from typing import Any as _Any

from mycelia._engine.core.lazy_import import LazyNames as _LazyNames
from mycelia._engine.distributed.plan.strategy_files import (
    build_searched_strategy as build_searched_strategy,
)
from mycelia._engine.distributed.plan.strategy_files import (
    merge_pipeline_strategys as merge_pipeline_strategys,
)

CHECKPOINT_FUNCTIONS = """
load_distributed_checkpoint load_segmented_checkpoints merge_sliced_parameter
sync_pipeline_shared_parameters unified_safetensors
""".split()

_lazy = _LazyNames(__name__, dict.fromkeys(CHECKPOINT_FUNCTIONS, "mycelia.train:"))


def __getattr__(name: str) -> _Any:
    return _lazy.find(name)


def __dir__() -> list[str]:
    return _lazy.listed()
