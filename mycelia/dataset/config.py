"""The settings of data pipelines (`mindspore.dataset.config`)."""

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
    "called": 0,  # calls of random transforms outside pipelines since the seed was set
    "unseeded": secrets.randbits(32),
}
_now = dict(_DEFAULTS)
_SHARD_BY_BLOCK = "MS_DEV_MINDRECORD_SHARD_BY_BLOCK"  # MindSpore's environment variable


def options(seed: int | None = None) -> RunOptions:
    """The options of a run that starts now; without a seed, every run draws different values."""
    if seed is None:
        seed = _now["seed"] if _now["seed"] is not None else process_seed.get_seed()
    single_threaded = _now["debug_mode"]
    return RunOptions(
        seed=secrets.randbits(32) if seed is None else seed,
        common=_UNSEEDED if seed is None else seed,
        workers=1 if single_threaded else _now["num_parallel_workers"],
        prefetch=_now["prefetch_size"],
        policy=_now["error_samples_mode"],
        single_threaded=single_threaded,
        hooks=_now["debug_hooks"] if single_threaded else (),
        autotune=_now["enable_autotune"] and not single_threaded,
        contiguous_shards=os.environ.get(_SHARD_BY_BLOCK, "").lower() == "true",
    )


def next_seed() -> tuple[int, int]:
    """The seed and call number for a random transform that is called outside a pipeline."""
    _now["called"] += 1
    return (_now["unseeded"] if get_seed() == _UNSEEDED else get_seed()), _now["called"]


def set_seed(seed: int) -> None:
    """Make later pipelines reproducible; this also seeds NumPy's and Python's generators."""
    _now["seed"] = _within("seed", seed, 0, 2**32 - 1)
    _now["called"] = 0
    random.seed(seed)
    np.random.seed(seed)


def get_seed() -> int:
    """The seed of pipelines; 5489 means that none is set."""
    if _now["seed"] is not None:
        return _now["seed"]
    seed = process_seed.get_seed()
    return _UNSEEDED if seed is None else seed


def set_prefetch_size(size: int) -> None:
    """Set how many rows each queue of a pipeline prefetches."""
    _now["prefetch_size"] = _within("size", size, 1, _INT32_MAX)


def get_prefetch_size() -> int:
    """How many rows each queue of a pipeline prefetches."""
    return _now["prefetch_size"]


def set_num_parallel_workers(num: int) -> None:
    """Set the default number of workers of a pipeline step."""
    _now["num_parallel_workers"] = _within("num", num, 1, _INT32_MAX)


def get_num_parallel_workers() -> int:
    """The default number of workers of a pipeline step."""
    return _now["num_parallel_workers"]


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """Set what happens to a row that fails: raise an error, replace the row, or skip it."""
    if not isinstance(error_samples_mode, ErrorSamplesMode):
        raise wrong_type("error_samples_mode", error_samples_mode, "ErrorSamplesMode")
    _now["error_samples_mode"] = error_samples_mode


def get_error_samples_mode() -> ErrorSamplesMode:
    """What happens to a row that fails: an error, a replacement row, or nothing (skipped)."""
    return _now["error_samples_mode"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list[Any] | None = None) -> None:
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
    """Store the interval, in milliseconds, at which a profiler samples the queues."""
    _now["monitor_sampling_interval"] = _within("interval", interval, 1, _INT32_MAX)


def get_monitor_sampling_interval() -> int:
    """The interval, in milliseconds, at which a profiler samples the queues."""
    return _now["monitor_sampling_interval"]


def set_callback_timeout(timeout: int) -> None:
    """Store the timeout of a waiting callback, in seconds."""
    _now["callback_timeout"] = _within("timeout", timeout, 1, _INT32_MAX)


def get_callback_timeout() -> int:
    """The timeout of a waiting callback, in seconds."""
    return _now["callback_timeout"]


def set_auto_num_workers(enable: bool) -> None:
    """Store whether the number of workers is chosen automatically."""
    _now["auto_num_workers"] = _flag("enable", enable)


def get_auto_num_workers() -> bool:
    """Whether the number of workers is chosen automatically."""
    return _now["auto_num_workers"]


def set_numa_enable(numa_enable: bool) -> None:
    """Store whether to bind threads to NUMA nodes; the operating system schedules them here."""
    _now["numa_enable"] = _flag("numa_enable", numa_enable)


def get_numa_enable() -> bool:
    """Whether to bind threads to NUMA nodes."""
    return _now["numa_enable"]


def set_enable_shared_mem(enable: bool) -> None:
    """Store whether worker processes share memory; threads always do."""
    _now["enable_shared_mem"] = _flag("enable", enable)


def get_enable_shared_mem() -> bool:
    """Whether worker processes share memory."""
    return _now["enable_shared_mem"]


def set_sending_batches(batch_num: int) -> None:
    """Store how many batches are sent to an accelerator's queue per transfer."""
    _now["sending_batches"] = _within("batch_num", batch_num, 0, _INT32_MAX)


def set_auto_offload(offload: bool) -> None:
    """Store whether transforms run on the accelerator."""
    _now["auto_offload"] = _flag("offload", offload)


def get_auto_offload() -> bool:
    """Whether transforms run on the accelerator."""
    return _now["auto_offload"]


def set_enable_watchdog(enable: bool) -> None:
    """Store whether worker processes are monitored."""
    _now["enable_watchdog"] = _flag("enable", enable)


def get_enable_watchdog() -> bool:
    """Whether worker processes are monitored."""
    return _now["enable_watchdog"]


def set_multiprocessing_timeout_interval(interval: int) -> None:
    """Store the seconds between two warnings about an unresponsive worker process."""
    _now["multiprocessing_timeout_interval"] = _within("interval", interval, 1, _INT32_MAX)


def get_multiprocessing_timeout_interval() -> int:
    """The seconds between two warnings about an unresponsive worker process."""
    return _now["multiprocessing_timeout_interval"]


def set_autotune_interval(interval: int) -> None:
    """Store how many steps pass between two tunings; 0 tunes once per epoch."""
    _now["autotune_interval"] = _within("interval", interval, 0, _INT32_MAX)


def get_autotune_interval() -> int:
    """How many steps pass between two tunings; 0 tunes once per epoch."""
    return _now["autotune_interval"]


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Tune the numbers of workers and queue sizes while pipelines run.

    With `filepath_prefix`, each run writes the tuned pipeline to a file of that name.
    """
    if filepath_prefix is not None and not isinstance(filepath_prefix, str):
        raise wrong_type("filepath_prefix", filepath_prefix, "str")
    _now["enable_autotune"] = _flag("enable", enable)
    _now["autotune_prefix"] = filepath_prefix


def autotune_prefix() -> str | None:
    """The file prefix for the results of autotune; None if nothing is written."""
    return _now["autotune_prefix"] if _now["enable_autotune"] else None


def get_enable_autotune() -> bool:
    """Whether the numbers of workers and queue sizes are tuned."""
    return _now["enable_autotune"]


def set_fast_recovery(fast_recovery: bool) -> None:
    """Store whether recovery may be fast but inexact; here it is always both fast and exact."""
    _now["fast_recovery"] = _flag("fast_recovery", fast_recovery)


def get_fast_recovery() -> bool:
    """Whether recovery may be fast but inexact."""
    return _now["fast_recovery"]


def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """Store how worker processes start: 'fork' or 'spawn'."""
    _now["multiprocessing_start_method"] = _one_of("start_method", start_method, "fork", "spawn")


def get_multiprocessing_start_method() -> str:
    """How worker processes start."""
    return _now["multiprocessing_start_method"]


def set_video_backend(backend: str) -> None:
    """Store which backend decodes videos: 'CPU' or 'Ascend'."""
    _now["video_backend"] = _one_of("backend", backend, "CPU", "Ascend")


def get_video_backend() -> str:
    """Which backend decodes videos."""
    return _now["video_backend"]


_IN_FILES = {
    "seed": set_seed,
    "numParallelWorkers": set_num_parallel_workers,
    "workerConnectorSize": set_prefetch_size,
    "opConnectorSize": set_prefetch_size,
    "monitorSamplingInterval": set_monitor_sampling_interval,
}


def load(file: str) -> None:
    """Load settings from a JSON file with MindSpore's keys."""
    if not isinstance(file, str):
        raise wrong_type("file", file, "str")
    if not Path(file).is_file():
        raise problem(RuntimeError, "config.load: the file does not exist", got=file)
    content = read_json(file, "config.load")
    if not isinstance(content, dict):
        raise problem(RuntimeError, "config.load: the file must hold a JSON object", got=file)
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
