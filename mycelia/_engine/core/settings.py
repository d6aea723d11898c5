"""The settings of the process, in one frozen object that `set_context` replaces."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

from mycelia._engine.core.checks import (
    check_bool,
    check_float,
    check_int,
    check_positive_int,
    check_string,
    is_int,
)
from mycelia._engine.core.errors import did_you_mean, problem, wrong_value

GRAPH_MODE = 0
PYNATIVE_MODE = 1
STRICT, COMPATIBLE, LAX = 0, 1, 2

_GIGABYTES = re.compile(r"\d+(\.\d*)?GB")
DEVICES = ("CPU", "GPU", "TPU", "Ascend", "Davinci")


def _checks_indices() -> bool:
    """Whether indices are checked by default: the environment variable MYCELIA_INDEX_CHECKS."""
    return os.environ.get("MYCELIA_INDEX_CHECKS") != "0"


@dataclass(frozen=True)
class Settings:
    """All keys of `set_context`, with MindSpore's defaults."""

    mode: int = PYNATIVE_MODE
    device_target: str = "CPU"
    device_id: int = 0
    strict_device: bool = False
    save_graphs: int = 0
    save_graphs_path: str = "."
    deterministic: str = "OFF"
    enable_graph_kernel: bool = False
    graph_kernel_flags: str = ""
    kernel_selection: bool = True
    check_indices: bool = field(default_factory=_checks_indices)
    enable_reduce_precision: bool = True
    check_bprop: bool = False
    max_call_depth: int = 1000
    max_device_memory: str = "1024GB"
    mempool_block_size: str = "1GB"
    memory_optimize_level: str = "O0"
    memory_offload: str = "OFF"
    variable_memory_max_size: str = "30GB"
    pynative_synchronize: bool = False
    print_file_path: str = ""
    enable_compile_cache: bool = False
    compile_cache_path: str = ""
    runtime_num_threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    inter_op_parallel_num: int = 0
    jit_level: str = ""
    jit_config: Any = field(default_factory=dict)
    jit_syntax_level: int = LAX
    jit_enable_inplace_ops: bool = True
    debug_level: int = 0
    op_timeout: int = 900
    env_config_path: str = ""
    exec_order: str = ""
    precompile_only: bool = False
    reserve_class_name_in_scope: bool = True
    support_binary: bool = False
    save_compile_cache: bool = False
    load_compile_cache: bool = False
    enable_sparse: bool = False
    enable_profiling: bool = False
    ascend_config: Any = field(default_factory=dict)
    gpu_config: Any = field(default_factory=dict)
    aoe_tune_mode: str = ""
    aoe_config: Any = field(default_factory=dict)
    auto_tune_mode: str = "NO_TUNE"
    grad_for_scalar: bool = False
    host_scheduling_max_threshold: int = 0
    max_programs: int = 2048


class _CurrentSettings:
    settings: Settings = Settings()


def current() -> Settings:
    """The current settings."""
    return _CurrentSettings.settings


def selects_kernels() -> bool:
    """Whether operators use the kernels measured to be fastest, instead of XLA's default ones.

    They do unless `kernel_selection` is off, or the graph kernel flags (the setting, else the
    environment) contain `--opt_level=0`.
    """
    now = current()
    flags = now.graph_kernel_flags or os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS", "")
    is_off = "opt_level=0" in flags.replace(" ", "")
    return (now.kernel_selection or now.enable_graph_kernel) and not is_off


def memory_budget() -> int | None:
    """The bytes that a program may use: `max_device_memory`, or None if it was not set."""
    text = current().max_device_memory
    return None if text == Settings.max_device_memory else int(float(text[:-2]) * 2**30)


def change(**values: Any) -> None:
    """Validate and replace settings; if one is wrong, nothing changes."""
    names = {f.name for f in fields(Settings)}
    for key in values:
        if key not in names:
            raise problem(
                ValueError,
                f"For 'context.set_context', the keyword argument {key} is not recognized!",
                expected=f"one of {', '.join(sorted(names))}",
                fix=_closest(key, names),
            )
    checked = {key: _check(key, value) for key, value in values.items()}
    _CurrentSettings.settings = replace(_CurrentSettings.settings, **checked)


def _check(key: str, value: Any) -> Any:
    if key in _CHECKS:
        return _CHECKS[key](value)
    default = getattr(Settings(), key)
    owner = "context.set_context"
    if isinstance(default, bool):
        return check_bool(owner, key, value)
    if isinstance(default, int):
        return check_int(owner, key, value)
    if isinstance(default, float):
        return check_float(owner, key, value)
    if isinstance(default, dict) and not isinstance(value, dict):
        raise problem(TypeError, f"For '{owner}', the '{key}' must be dict", got=repr(value))
    if isinstance(default, str) and not isinstance(value, str):
        raise problem(TypeError, f"For '{owner}', the '{key}' must be str", got=repr(value))
    return value


def _memory(value: Any) -> str:
    if not isinstance(value, str) or not _GIGABYTES.fullmatch(value) or float(value[:-2]) == 0:
        raise problem(
            ValueError,
            "For 'context.set_context', 'max_device_memory' must be an amount of memory",
            got=repr(value),
            expected="a positive number of gigabytes as a string, such as '3.5GB'",
        )
    return value


def _mode(value: Any) -> int:
    if not is_int(value) or value not in (GRAPH_MODE, PYNATIVE_MODE):
        raise problem(
            ValueError,
            "For 'context.set_context', the argument 'mode' should be context.GRAPH_MODE (0) "
            f"or context.PYNATIVE_MODE (1), but got {value}.",
        )
    return int(value)


_OTHER_DEVICES = {"cuda": "GPU", "rocm": "GPU", "npu": "Ascend", "x86": "CPU"}


def suggested_device(value: Any) -> str:
    """A suggestion for an unknown device name, such as another framework's."""
    name = str(value).partition(":")[0].lower()
    meant = _OTHER_DEVICES.get(name)
    return f"did you mean {meant!r}?" if meant else did_you_mean(name, DEVICES)


def _device_target(value: Any) -> str:
    if value not in DEVICES:
        raise problem(
            ValueError,
            "For 'context.set_context', the argument 'device_target' must be one of "
            f"{list(DEVICES)}, but got {value}.",
            fix=suggested_device(value),
        )
    return "Ascend" if value == "Davinci" else value


def _save_graphs(value: Any) -> int:
    if isinstance(value, bool):
        return 2 if value else 0
    if value not in (0, 1, 2, 3):
        raise wrong_value("context.set_context", "save_graphs", value, "a bool or 0, 1, 2, 3")
    return int(value)


def _one_of(key: str, *allowed: str) -> Callable[[Any], str]:
    return lambda value: check_string("context.set_context", key, value, allowed)


def _jit_syntax_level(value: Any) -> int:
    if value not in (STRICT, COMPATIBLE, LAX):
        raise wrong_value("context.set_context", "jit_syntax_level", value, "STRICT or LAX")
    return int(value)


def _threads(value: Any) -> int:
    if check_int("context.set_context", "runtime_num_threads", value) < 1:
        raise wrong_value("context.set_context", "runtime_num_threads", value, "int and must > 0")
    return int(value)


def _depth(value: Any) -> int:
    if check_int("context.set_context", "max_call_depth", value) <= 0:
        raise problem(
            ValueError,
            f"For 'context.set_context', the argument 'max_call_depth' must be greater than 0, "
            f"but got {value}.",
        )
    return int(value)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "mode": _mode,
    "device_target": _device_target,
    "save_graphs": _save_graphs,
    "deterministic": _one_of("deterministic", "ON", "OFF"),
    "memory_optimize_level": _one_of("memory_optimize_level", "O0", "O1"),
    "max_device_memory": _memory,
    "memory_offload": _one_of("memory_offload", "ON", "OFF"),
    "jit_level": _one_of("jit_level", "", "O0", "O1", "O2"),
    "jit_syntax_level": _jit_syntax_level,
    "runtime_num_threads": _threads,
    "max_call_depth": _depth,
    "max_programs": partial(check_positive_int, "context.set_context", "max_programs"),
}


def _closest(key: str, names: set[str]) -> str:
    matches = get_close_matches(key, names, n=1, cutoff=0.0)
    return f"did you mean {matches[0]!r}?"


def restore(before: Settings) -> None:
    """Restore settings that `current` returned earlier."""
    _CurrentSettings.settings = before
