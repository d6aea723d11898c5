"""The settings of data pipelines, under the names of `mindspore.dataset.config`."""

from __future__ import annotations

import os
import random
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core import seed as process_seed
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_json
from mycelia.dataset.errors import wrong_type
from mycelia.dataset.runtime.operator import ErrorPolicy as ErrorSamplesMode
from mycelia.dataset.runtime.operator import RunOptions

__all__ = [
    "ErrorSamplesMode",
    "get_auto_num_workers",
    "get_auto_offload",
    "get_autotune_interval",
    "get_callback_timeout",
    "get_debug_mode",
    "get_enable_autotune",
    "get_enable_shared_mem",
    "get_enable_watchdog",
    "get_error_samples_mode",
    "get_fast_recovery",
    "get_monitor_sampling_interval",
    "get_multiprocessing_start_method",
    "get_multiprocessing_timeout_interval",
    "get_num_parallel_workers",
    "get_numa_enable",
    "get_prefetch_size",
    "get_seed",
    "get_video_backend",
    "load",
    "set_auto_num_workers",
    "set_auto_offload",
    "set_autotune_interval",
    "set_callback_timeout",
    "set_debug_mode",
    "set_enable_autotune",
    "set_enable_shared_mem",
    "set_enable_watchdog",
    "set_error_samples_mode",
    "set_fast_recovery",
    "set_monitor_sampling_interval",
    "set_multiprocessing_start_method",
    "set_multiprocessing_timeout_interval",
    "set_num_parallel_workers",
    "set_numa_enable",
    "set_prefetch_size",
    "set_seed",
    "set_sending_batches",
    "set_video_backend",
]

_UNSEEDED = 5489
_INT32_MAX = 2**31 - 1
_DEFAULTS: dict[str, Any] = {
    "seed": None,
    "num_parallel_workers": min(8, os.cpu_count() or 1),
    "prefetch_size": 16,
    "monitor_sampling_interval": 1000,
    "callback_timeout": 60,
    "auto_num_workers": False,
    "numa_enable": False,
    "enable_shared_mem": True,
    "sending_batches": 0,
    "auto_offload": False,
    "enable_watchdog": True,
    "multiprocessing_timeout_interval": 300,
    "autotune_interval": 0,
    "enable_autotune": False,
    "autotune_prefix": None,
    "fast_recovery": True,
    "debug_mode": False,
    "debug_hooks": (),
    "error_samples_mode": ErrorSamplesMode.RETURN,
    "multiprocessing_start_method": "fork",
    "video_backend": "CPU",
    "called": 0,  # random transforms called by hand since the seed was set
    "unseeded": secrets.randbits(32),
}
_now = dict(_DEFAULTS)
_SHARD_BY_BLOCK = "MS_DEV_MINDRECORD_SHARD_BY_BLOCK"  # a switch of MindSpore


def options(seed: int | None = None) -> RunOptions:
    """What a run that starts now is told; without a seed, its random numbers never come again."""
    if seed is None:
        seed = _now["seed"] if _now["seed"] is not None else process_seed.get_seed()
    in_turn = _now["debug_mode"]
    return RunOptions(
        seed=secrets.randbits(32) if seed is None else seed,
        common=_UNSEEDED if seed is None else seed,
        workers=1 if in_turn else _now["num_parallel_workers"],
        prefetch=_now["prefetch_size"],
        policy=_now["error_samples_mode"],
        in_turn=in_turn,
        hooks=_now["debug_hooks"] if in_turn else (),
        tunes=_now["enable_autotune"] and not in_turn,
        shards_are_runs=os.environ.get(_SHARD_BY_BLOCK, "").lower() == "true",
    )


def next_seed() -> tuple[int, int]:
    """The seed and the number of the next random transform that is called by hand."""
    _now["called"] += 1
    return (_now["unseeded"] if get_seed() == _UNSEEDED else get_seed()), _now["called"]


def set_seed(seed: int) -> None:
    """Make every pipeline after this repeat exactly; numpy's and Python's generators too."""
    _now["seed"] = _within("seed", seed, 0, 2**32 - 1)
    _now["called"] = 0
    random.seed(seed)
    np.random.seed(seed)


def get_seed() -> int:
    """The seed of pipelines; 5489 stands for none."""
    if _now["seed"] is not None:
        return _now["seed"]
    seed = process_seed.get_seed()
    return _UNSEEDED if seed is None else seed


def set_prefetch_size(size: int) -> None:
    """How many rows each queue of a pipeline holds."""
    _now["prefetch_size"] = _within("size", size, 1, _INT32_MAX)


def get_prefetch_size() -> int:
    """How many rows each queue of a pipeline holds."""
    return _now["prefetch_size"]


def set_num_parallel_workers(num: int) -> None:
    """How many workers a step has that does not say it."""
    _now["num_parallel_workers"] = _within("num", num, 1, _INT32_MAX)


def get_num_parallel_workers() -> int:
    """How many workers a step has that does not say it."""
    return _now["num_parallel_workers"]


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """What happens to a row that fails: an error, another row in its place, or nothing."""
    if not isinstance(error_samples_mode, ErrorSamplesMode):
        raise wrong_type("error_samples_mode", error_samples_mode, "ErrorSamplesMode")
    _now["error_samples_mode"] = error_samples_mode


def get_error_samples_mode() -> ErrorSamplesMode:
    """What happens to a row that fails."""
    return _now["error_samples_mode"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list | None = None) -> None:
    """Run pipelines in the caller's thread, so that a debugger can stop in user functions."""
    hooks = [] if debug_hook_list is None else debug_hook_list
    if not isinstance(hooks, list):
        raise wrong_type("debug_hook_list", hooks, "list")
    _now["debug_mode"] = _flag("debug_mode_flag", debug_mode_flag)
    _now["debug_hooks"] = tuple(hooks)


def get_debug_mode() -> bool:
    """Whether pipelines run in the caller's thread."""
    return _now["debug_mode"]


def set_monitor_sampling_interval(interval: int) -> None:
    """Keep the milliseconds between two looks of a profiler at the queues."""
    _now["monitor_sampling_interval"] = _within("interval", interval, 1, _INT32_MAX)


def get_monitor_sampling_interval() -> int:
    """The milliseconds between two looks of a profiler at the queues."""
    return _now["monitor_sampling_interval"]


def set_callback_timeout(timeout: int) -> None:
    """Keep the seconds a waiting callback may take."""
    _now["callback_timeout"] = _within("timeout", timeout, 1, _INT32_MAX)


def get_callback_timeout() -> int:
    """The seconds a waiting callback may take."""
    return _now["callback_timeout"]


def set_auto_num_workers(enable: bool) -> None:
    """Keep whether the number of workers is chosen by itself."""
    _now["auto_num_workers"] = _flag("enable", enable)


def get_auto_num_workers() -> bool:
    """Whether the number of workers is chosen by itself."""
    return _now["auto_num_workers"]


def set_numa_enable(numa_enable: bool) -> None:
    """Keep whether threads should be bound to memory nodes; the system places them here."""
    _now["numa_enable"] = _flag("numa_enable", numa_enable)


def get_numa_enable() -> bool:
    """Whether threads should be bound to memory nodes."""
    return _now["numa_enable"]


def set_enable_shared_mem(enable: bool) -> None:
    """Keep whether processes share memory; threads always do."""
    _now["enable_shared_mem"] = _flag("enable", enable)


def get_enable_shared_mem() -> bool:
    """Whether processes share memory."""
    return _now["enable_shared_mem"]


def set_sending_batches(batch_num: int) -> None:
    """Keep how many batches are sent to an accelerator's queue in one go."""
    _now["sending_batches"] = _within("batch_num", batch_num, 0, _INT32_MAX)


def set_auto_offload(offload: bool) -> None:
    """Keep whether transforms should move to the accelerator."""
    _now["auto_offload"] = _flag("offload", offload)


def get_auto_offload() -> bool:
    """Whether transforms should move to the accelerator."""
    return _now["auto_offload"]


def set_enable_watchdog(enable: bool) -> None:
    """Keep whether worker processes are watched."""
    _now["enable_watchdog"] = _flag("enable", enable)


def get_enable_watchdog() -> bool:
    """Whether worker processes are watched."""
    return _now["enable_watchdog"]


def set_multiprocessing_timeout_interval(interval: int) -> None:
    """Keep the seconds between two warnings about a silent worker process."""
    _now["multiprocessing_timeout_interval"] = _within("interval", interval, 1, _INT32_MAX)


def get_multiprocessing_timeout_interval() -> int:
    """The seconds between two warnings about a silent worker process."""
    return _now["multiprocessing_timeout_interval"]


def set_autotune_interval(interval: int) -> None:
    """Keep how many steps lie between two tunings; 0 for once an epoch."""
    _now["autotune_interval"] = _within("interval", interval, 0, _INT32_MAX)


def get_autotune_interval() -> int:
    """How many steps lie between two tunings."""
    return _now["autotune_interval"]


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Keep whether workers and queues are tuned, and where the result is written."""
    if filepath_prefix is not None and not isinstance(filepath_prefix, str):
        raise wrong_type("filepath_prefix", filepath_prefix, "str")
    _now["enable_autotune"] = _flag("enable", enable)
    _now["autotune_prefix"] = filepath_prefix


def autotune_prefix() -> str | None:
    """Where runs leave what autotune found, if they tune at all."""
    return _now["autotune_prefix"] if _now["enable_autotune"] else None


def get_enable_autotune() -> bool:
    """Whether workers and queues are tuned."""
    return _now["enable_autotune"]


def set_fast_recovery(fast_recovery: bool) -> None:
    """Keep whether recovery may be quick but inexact; here it is always both quick and exact."""
    _now["fast_recovery"] = _flag("fast_recovery", fast_recovery)


def get_fast_recovery() -> bool:
    """Whether recovery may be quick but inexact."""
    return _now["fast_recovery"]


def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """Keep how worker processes start: 'fork' or 'spawn'."""
    _now["multiprocessing_start_method"] = _one_of("start_method", start_method, "fork", "spawn")


def get_multiprocessing_start_method() -> str:
    """How worker processes start."""
    return _now["multiprocessing_start_method"]


def set_video_backend(backend: str) -> None:
    """Keep what decodes videos: 'CPU' or 'Ascend'."""
    _now["video_backend"] = _one_of("backend", backend, "CPU", "Ascend")


def get_video_backend() -> str:
    """What decodes videos."""
    return _now["video_backend"]


_IN_FILES = {
    "seed": set_seed,
    "numParallelWorkers": set_num_parallel_workers,
    "workerConnectorSize": set_prefetch_size,
    "opConnectorSize": set_prefetch_size,
    "monitorSamplingInterval": set_monitor_sampling_interval,
}


def load(file: str) -> None:
    """Set what a JSON file of settings says, under MindSpore's keys."""
    if not isinstance(file, str):
        raise wrong_type("file", file, "str")
    if not Path(file).is_file():
        raise problem(RuntimeError, "config.load: the file does not exist", got=file)
    content = read_json(file, "config.load")
    if not isinstance(content, dict):
        raise problem(RuntimeError, "config.load: the file holds no settings", got=file)
    for key, value in content.items():
        if key in _IN_FILES:
            _IN_FILES[key](value)


def _within(argument: str, value: Any, low: int, high: int) -> int:
    if not is_int(value):
        raise wrong_type(argument, value, "int")
    if not low <= value <= high:
        raise problem(
            ValueError,
            f"{argument}: out of range",
            got=str(value),
            expected=f"{low} to {high}",
        )
    return int(value)


def _flag(argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(argument, value, "bool")
    return value


def _one_of(argument: str, value: Any, *allowed: str) -> str:
    if not isinstance(value, str):
        raise wrong_type(argument, value, "str")
    if value not in allowed:
        raise problem(
            ValueError, f"{argument}: unknown value", got=value, expected=" or ".join(allowed)
        )
    return value
