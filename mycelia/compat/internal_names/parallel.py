"""Internal names of `mindspore.parallel`: getters and setters of parallel training settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.process_groups import world
from mycelia._engine.distributed.auto_parallel_settings import parallel_settings
from mycelia.communication.management import get_group_size, get_rank
from mycelia.parallel import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

_STAND_ALONE = ParallelMode.STAND_ALONE


class _Context:
    """`get_device_num()`, `set_device_num(8)`, and so on for every setting."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb, _, key = name.partition("_")
        if verb == "get" and key in parallel_settings():
            return lambda: parallel_settings()[key]
        if verb == "set" and key in parallel_settings():
            return lambda value: set_auto_parallel_context(**{key: value})
        raise AttributeError(f"the settings of parallel training have no {name!r}")

    def get_device_num_is_set(self) -> bool:
        """Whether the number of devices was set."""
        return bool(parallel_settings()["device_num"] != 1)

    def get_global_rank_is_set(self) -> bool:
        """Whether the rank was set."""
        return bool(parallel_settings()["global_rank"] != 0)

    def reset(self) -> None:
        """Reset all settings to their defaults."""
        reset_auto_parallel_context()


_CONTEXT = _Context()


def auto_parallel_context() -> _Context:
    """The settings, each with a getter and a setter."""
    return _CONTEXT


def _setting(key: str) -> Callable[[], Any]:
    return lambda: parallel_settings()[key]


_get_parallel_mode = _setting("parallel_mode")
_get_gradients_mean = _setting("gradients_mean")
_get_full_batch = _setting("full_batch")
_get_pipeline_stages = _setting("pipeline_stages")
_get_parameter_broadcast = _setting("parameter_broadcast")
_get_enable_parallel_optimizer = _setting("enable_parallel_optimizer")


def _get_device_num() -> int:
    """Number of devices: the setting, else the number of processes."""
    count = int(parallel_settings()["device_num"])
    if count == 1 and _get_parallel_mode() != _STAND_ALONE and world().size > 1:
        return get_group_size()
    return count


def _get_global_rank() -> int:
    """Rank: the setting, else the rank of this process."""
    rank = int(parallel_settings()["global_rank"])
    if rank == 0 and _get_parallel_mode() != _STAND_ALONE and world().size > 1:
        return get_rank()
    return rank


def _get_stage_device_num() -> int:
    """Number of devices of one pipeline stage."""
    return _get_device_num() // _get_pipeline_stages()


def _is_in_auto_parallel_mode() -> bool:
    """Whether programs are sharded over devices."""
    modes = (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL)
    return get_auto_parallel_context("parallel_mode") in modes


def _is_in_data_parallel_mode() -> bool:
    """Whether training is data parallel."""
    return _get_parallel_mode() == ParallelMode.DATA_PARALLEL


def _is_in_hybrid_parallel_mode() -> bool:
    """Whether users place all tensors manually."""
    return _get_parallel_mode() == ParallelMode.HYBRID_PARALLEL


def _is_parallel_mode() -> bool:
    """Whether any kind of parallel training is enabled."""
    return _get_parallel_mode() != _STAND_ALONE


def _need_to_full() -> bool:
    """Whether the batches of a dataset are shards of larger batches."""
    return _is_in_auto_parallel_mode() and not _get_full_batch()


def _to_full_shapes(shapes: Any, device_num: int) -> list[list[int]]:
    """Shapes of full batches from those of one device's shard."""
    return [[shape[0] * device_num, *shape[1:]] for shape in shapes if len(shape) > 0]


def _device_number_check(parallel_mode: str, device_number: int) -> None:
    """Raise if there is more than one device without parallel training."""
    if parallel_mode == _STAND_ALONE and device_number != 1:
        raise problem(
            ValueError,
            "If parallel_mode is STAND_ALONE, device_number must be 1",
            got=f"device_number={device_number}",
        )


def _parameter_broadcast_check(parallel_mode: str, parameter_broadcast: bool) -> None:
    """Raise if parameters are broadcast in stand-alone training."""
    if parameter_broadcast and parallel_mode == _STAND_ALONE:
        raise problem(ValueError, "stand_alone training cannot broadcast parameters")


def _parallel_predict_check() -> None:
    """No effect: prediction runs in every mode."""


def _reset_op_id() -> None:
    """No effect: operators have no ids."""


# ---- parameter servers, which are not supported -------------------------------------------------


def _is_not_a_server() -> bool:
    return False


_is_role_worker = _is_role_pserver = _is_role_sched = _is_ps_mode = _is_not_a_server
_enable_distributed_mindrt = _is_not_a_server


def _get_ps_mode_rank() -> int:
    """Rank among parameter servers."""
    return 0


# ---- the cost model -----------------------------------------------------------------------------

_COST_DEFAULTS: dict[str, Any] = {
    "device_memory_capacity": 16.0 * 1024**3,
    "costmodel_alpha": 1.0,
    "costmodel_beta": 400.0,
    "costmodel_gamma": 0.001,
    "costmodel_communi_threshold": 2048.0,
    "costmodel_communi_const": 3072.0,
    "costmodel_communi_bias": 1024.0,
    "multi_subgraphs": False,
    "costmodel_allreduce_fusion_algorithm": 0,
    "costmodel_allreduce_fusion_times": 0,
    "costmodel_allreduce_fusion_tail_percent": 0.1,
    "costmodel_allreduce_fusion_tail_time": 0.1,
    "costmodel_allreduce_fusion_allreduce_inherent_time": 0.1,
    "costmodel_allreduce_fusion_allreduce_bandwidth": 0.1,
    "costmodel_allreduce_fusion_computation_time_parameter": 0.1,
    "algo_single_loop": True,
    "rp_matmul_mem_coef": 0.1,
}
_COSTS = dict(_COST_DEFAULTS)


def set_cost_model_context(**kwargs: Any) -> None:
    """Set constants of MindSpore's cost model. They have no effect: Mycelia measures costs."""
    for key in kwargs:
        _check_cost(key)
    _COSTS.update(kwargs)


def get_cost_model_context(attr_key: str) -> Any:
    """Get a constant that was set, or its default."""
    _check_cost(attr_key)
    return _COSTS[attr_key]


def reset_cost_model_context() -> None:
    """Reset all constants to their defaults."""
    _COSTS.update(_COST_DEFAULTS)


def _check_cost(key: str) -> None:
    if key not in _COST_DEFAULTS:
        raise problem(
            ValueError, f"the cost model has no {key!r}", expected=", ".join(_COST_DEFAULTS)
        )


class _CostModel:
    """`get_costmodel_alpha()`, `set_costmodel_alpha(2.0)`, and so on."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb, _, key = name.partition("_")
        if verb == "get" and key in _COST_DEFAULTS:
            return lambda: _COSTS[key]
        if verb == "set" and key in _COST_DEFAULTS:
            return lambda value: set_cost_model_context(**{key: value})
        raise AttributeError(f"the cost model has no {name!r}")


_COST_MODEL = _CostModel()


def cost_model_context() -> _CostModel:
    """The constants, each with a getter and a setter."""
    return _COST_MODEL


def _set_multi_subgraphs(multi_subgraph: bool = True) -> None:
    """Store whether a network has several graphs; no effect."""
    _COSTS["multi_subgraphs"] = multi_subgraph


def _get_multi_subgraphs() -> bool:
    """The stored value."""
    return bool(_COSTS["multi_subgraphs"])


def _set_algo_single_loop(single_loop: bool = True) -> None:
    """Store whether loops are planned once; no effect."""
    _COSTS["algo_single_loop"] = single_loop


def _get_algo_single_loop() -> bool:
    """The stored value."""
    return bool(_COSTS["algo_single_loop"])
