"""Settings of parallel training: `set_auto_parallel_context` and related functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.distributed.layout import checked_strategy
from mycelia._engine.distributed.search_settings import search_version
from mycelia._engine.distributed.settings_table import (
    SettingKey,
    SettingsTable,
    allowed,
    check_kind,
    choice,
    within,
)


class ParallelMode:
    """The modes of parallel training, for the `parallel_mode` setting."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


_OWNER = "set_auto_parallel_context"
_FUSION: dict[str, Any] = {"mode": "auto", "config": None}
_FUSIONS = ("allreduce", "allgather", "reducescatter")
_CHECKPOINT = {"load_file": str, "save_file": str, "only_trainable_params": bool}
_SHARDING = {
    "gradient_accumulation_shard": bool,
    "parallel_optimizer_threshold": int,
    "optimizer_weight_shard_size": int,
    "optimizer_level": str,
}


def _at_least_one(name: str) -> Callable[[Any], dict[str, Any]]:
    def rule(value: Any) -> dict[str, Any]:
        if value < 1:
            raise problem(
                ValueError,
                f"{_OWNER}: {name} must be positive",
                got=str(value),
                expected="1 or more",
            )
        return {name: value}

    return rule


def _full_batch(value: Any) -> dict[str, Any]:
    strategy = "full_batch" if value else "data_parallel"
    return {"full_batch": value, "full_batch_is_set": True, "dataset_strategy": strategy}


def _dataset_strategy(value: Any) -> dict[str, Any]:
    if not isinstance(value, (str, tuple)):
        raise wrong_type(_OWNER, "dataset_strategy", value, "str or tuple")
    if isinstance(value, str) and value not in ("full_batch", "data_parallel"):
        raise problem(
            ValueError,
            f"{_OWNER}: unknown dataset_strategy",
            got=repr(value),
            expected="'full_batch', 'data_parallel' or a tuple",
        )
    if isinstance(value, tuple):
        for strategy in value:
            if strategy is not None:
                checked_strategy(_OWNER, "dataset_strategy", strategy)
    return {"dataset_strategy": value, "full_batch": value == "full_batch"}


def _fusion_indices(value: Any) -> dict[str, Any]:
    for index in value:
        if not is_int(index) or index < 0:
            raise problem(
                TypeError,
                f"{_OWNER}: all_reduce_fusion_config must hold indices",
                expected="ints from 0",
                got=repr(index),
            )
    if len(set(value)) != len(value):
        raise problem(
            ValueError,
            f"{_OWNER}: all_reduce_fusion_config has a duplicate index",
            got=repr(value),
        )
    return {"all_reduce_fusion_config": value}


def _accumulation(value: Any) -> dict[str, Any]:
    if value != 1:
        raise problem(
            ValueError,
            f"{_OWNER}: no setting accumulates gradients",
            got=f"grad_accumulation_step={value}",
            fix="use nn.GradAccumulationCell",
        )
    return {"grad_accumulation_step": value}


def _fusion(value: Any) -> dict[str, Any]:
    fusion: dict[str, Any] = {"openstate": True} | {name: dict(_FUSION) for name in _FUSIONS}
    for name, setting in value.items():
        if name not in fusion:
            raise problem(
                KeyError,
                f"comm_fusion: there is no entry {name!r}",
                expected=f"one of openstate, {', '.join(_FUSIONS)}",
            )
        if name == "openstate":
            check_kind("openstate", setting, bool)
        elif not isinstance(setting, dict):
            raise problem(TypeError, f"comm_fusion: {name} must be a dict", got=repr(setting))
        elif setting.get("mode") not in ("auto", "index", "size"):
            raise problem(
                KeyError,
                f"comm_fusion: unknown mode of {name}",
                got=repr(setting.get("mode")),
                expected="auto, index or size",
            )
        fusion[name] = setting
    return {"comm_fusion": fusion}


def _checkpoint(value: Any) -> dict[str, Any]:
    _check_entries(value, _CHECKPOINT)
    full = {"load_file": "", "save_file": "", "only_trainable_params": True} | value
    return {
        "strategy_ckpt_config": full,
        "strategy_ckpt_load_file": full["load_file"],
        "strategy_ckpt_save_file": full["save_file"],
    }


def _sharding(value: Any) -> dict[str, Any]:
    _check_entries(value, _SHARDING)
    if value.get("parallel_optimizer_threshold", 0) < 0:
        raise problem(
            ValueError,
            "parallel_optimizer_config: parallel_optimizer_threshold is negative",
            got=str(value["parallel_optimizer_threshold"]),
        )
    if value.get("optimizer_level", _LEVELS[0]) not in _LEVELS:
        raise problem(
            ValueError,
            "parallel_optimizer_config: unknown optimizer_level",
            got=repr(value["optimizer_level"]),
            expected=f"one of {', '.join(map(repr, _LEVELS))}",
        )
    return {"parallel_optimizer_config": value}


_LEVELS = ("level1", "level2", "level3")


def _pipeline(value: Any) -> dict[str, Any]:
    known = {"pipeline_interleave": bool, "pipeline_scheduler": str}
    _check_entries(value, known)
    for name in known:
        if name not in value:
            raise problem(KeyError, f"pipeline_config: {name} is missing", got=repr(value))
    return dict(value)


def _check_entries(value: dict[str, Any], known: dict[str, type]) -> None:
    unknown = [name for name in value if name not in known]
    if unknown:
        raise problem(
            ValueError,
            f"{_OWNER}: unknown keys in a dict",
            got=", ".join(map(str, unknown)),
            expected=f"only {', '.join(known)}",
        )
    for name, entry in value.items():
        check_kind(name, entry, known[name])


_SEARCHES = ("recursive_programming", "dynamic_programming", "sharding_propagation")
_search = choice(*_SEARCHES, sets=("search_mode", "auto_parallel_search_mode"))

_TABLE = SettingsTable(
    "context",
    {
        "device_num": SettingKey(1, int, _at_least_one("device_num")),
        "global_rank": SettingKey(0, int, within("global_rank", 0, 4095)),
        "gradients_mean": SettingKey(False, bool),
        "gradient_fp32_sync": SettingKey(True, bool),
        "loss_repeated_mean": SettingKey(True, bool),
        "pipeline_stages": SettingKey(1, int, _at_least_one("pipeline_stages")),
        "auto_pipeline": SettingKey(False, bool),
        "pipeline_result_broadcast": SettingKey(False, bool),
        "pipeline_segments": SettingKey(1, int, _at_least_one("pipeline_segments"), may_get=False),
        "pipeline_config": SettingKey(None, dict, _pipeline, may_get=False),
        "pipeline_interleave": SettingKey(False, bool, may_set=False),
        "pipeline_scheduler": SettingKey("1f1b", str, may_set=False),
        "parallel_mode": SettingKey(
            ParallelMode.STAND_ALONE, str, allowed("parallel_mode", *ParallelMode.MODE_LIST)
        ),
        "search_mode": SettingKey(_SEARCHES[0], str, _search),
        "auto_parallel_search_mode": SettingKey(_SEARCHES[0], str, _search),
        "parameter_broadcast": SettingKey(False, bool),
        "strategy_ckpt_load_file": SettingKey("", str),
        "strategy_ckpt_save_file": SettingKey("", str),
        "group_ckpt_save_file": SettingKey("", str, may_get=False),
        "strategy_ckpt_config": SettingKey(
            {"load_file": "", "save_file": "", "only_trainable_params": True}, dict, _checkpoint
        ),
        "full_batch": SettingKey(False, bool, _full_batch),
        "full_batch_is_set": SettingKey(False, bool, may_set=False),
        "dataset_strategy": SettingKey("data_parallel", object, _dataset_strategy),
        "enable_parallel_optimizer": SettingKey(False, bool),
        "force_fp32_communication": SettingKey(False, bool),
        "parallel_optimizer_config": SettingKey(None, dict, _sharding, may_get=False),
        "grad_accumulation_step": SettingKey(1, int, _accumulation),
        "all_reduce_fusion_config": SettingKey([], list, _fusion_indices),
        "communi_parallel_mode": SettingKey(
            "all_group_parallel",
            str,
            allowed(
                "communi_parallel_mode",
                "all_group_parallel",
                "same_server_group_parallel",
                "no_group_parallel",
            ),
        ),
        "optimizer_weight_shard_size": SettingKey(-1, int),
        "optimizer_weight_shard_aggregated_save": SettingKey(False, bool),
        "sharding_propagation": SettingKey(False, bool),
        "enable_alltoall": SettingKey(False, bool),
        "comm_fusion": SettingKey(_fusion({})["comm_fusion"], dict, _fusion),
        "dump_local_norm": SettingKey(False, (bool, int)),
        "dump_local_norm_path": SettingKey("", str),
        "dump_device_local_norm": SettingKey(False, bool),
        "auto_parallel_new_interface": SettingKey(False, bool),
        "init_param_in_compile": SettingKey(True, bool),
    },
)


def parallel_settings() -> dict[str, Any]:
    """All settings of parallel training, including those that users cannot read."""
    return _TABLE.everything()


@dataclass
class _SettingsVersions:
    """Version numbers of all settings that multi-device programs depend on."""

    layout_hints: int = 0  # how often the layout of a parameter was set
    versions: dict[tuple[int, int, int], int] = field(default_factory=dict)


_VERSIONS = _SettingsVersions()


def settings_version() -> int:
    """The version number of the current settings; equal for equal settings."""
    key = (_TABLE.version, search_version(), _VERSIONS.layout_hints)
    return _VERSIONS.versions.setdefault(key, len(_VERSIONS.versions))


def note_layout_hint() -> None:
    """Record that the layout of a parameter changed, so that programs are planned again."""
    _VERSIONS.layout_hints += 1


class ScopedSettings:
    """Separate settings of parallel training that apply only inside `in_force`.

    They start from the defaults, with the current number of devices and rank.
    """

    def __init__(self) -> None:
        now = _TABLE.everything()
        inherited = {name: now[name] for name in ("device_num", "global_rank")}
        self.values = _TABLE.changed(_TABLE.defaults(), inherited)

    def change(self, **values: Any) -> None:
        """Check new values, then replace the old ones."""
        self.values = _TABLE.changed(self.values, values)

    def in_force(self) -> AbstractContextManager[None]:
        """Make these the current settings inside the block."""
        return _TABLE.holding(self.values)

    def are_in_force(self) -> bool:
        return _TABLE.everything() == self.values


@entry_point
def set_auto_parallel_context(*args: Any, **kwargs: Any) -> None:
    """Change settings of parallel training by keyword; docs/guide/parallel.md describes each."""
    if args:
        raise problem(
            TypeError,
            f"{_OWNER}: too many positional arguments",
            got=repr(args),
            fix="pass keyword arguments",
        )
    _TABLE.change(kwargs)


def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of one setting of parallel training."""
    return _TABLE.read(attr_key)


@dataclass(frozen=True)
class PipelineSettings:
    """The settings of pipeline parallelism."""

    stages: int
    devices: int | None  # None: all available devices
    mode: str
    automatic: bool
    scheduler: str
    segments: int  # chunks of the network per stage (virtual stages)


def pipeline_settings() -> PipelineSettings:
    """The current settings of pipeline parallelism."""
    now = _TABLE.everything()
    return PipelineSettings(
        now["pipeline_stages"],
        None if now["device_num"] == 1 else now["device_num"],
        now["parallel_mode"],
        now["auto_pipeline"],
        now["pipeline_scheduler"],
        max(now["pipeline_segments"], 2 if now["pipeline_interleave"] else 1),
    )


def reset_auto_parallel_context() -> None:
    """Restore the defaults of all settings of parallel training."""
    _TABLE.reset()
