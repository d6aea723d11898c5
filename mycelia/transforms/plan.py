"""Sharding plans of a function or cell, without running it, for real or described devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode
from mycelia._engine.distributed.cluster import KNOWN, Cluster
from mycelia._engine.distributed.plan.plan import Plan
from mycelia._engine.distributed.plan.scaling_curve import Scaling
from mycelia._engine.ir.program import Program
from mycelia._engine.runtime.distributed.sharded_execution import all_devices
from mycelia.transforms.jit import compiled_of
from mycelia.transforms.show import graph_break_error, trace_for

if TYPE_CHECKING:
    from mycelia._engine.compiler.sharding import plan_report, planner, request
    from mycelia._engine.parallel.pipeline import training_step as pipelines
else:  # the planner, which programs on one device do without
    planner = LazyModule("mycelia._engine.compiler.sharding.planner")
    plan_report = LazyModule("mycelia._engine.compiler.sharding.plan_report")
    request = LazyModule("mycelia._engine.compiler.sharding.request")
    pipelines = LazyModule("mycelia._engine.parallel.pipeline.training_step")

_MODES = (
    ParallelMode.DATA_PARALLEL,
    ParallelMode.SEMI_AUTO_PARALLEL,
    ParallelMode.AUTO_PARALLEL,
)


def plan(
    fn: Callable[..., Any],
    *args: Any,
    devices: int | None = None,
    cluster: Cluster | str | Path | None = None,
    mode: str = ParallelMode.AUTO_PARALLEL,
    search: str = "dynamic_programming",
    optimizer_level: int = 0,
    memory: float = inf,
) -> Plan:
    """Plan how `fn` is sharded over devices for these arguments; it is traced, not run.

    `cluster` is a `Cluster`, a file that describes one, or one of "cpu", "a100", "h100", "tpu_v4".
    `devices` is the number of devices to use (default: all local devices). With `memory`, the bytes
    that each device has, the search rejects layouts that need more.
    """
    wanted = _request(devices, cluster, mode, search, optimizer_level)
    return _planned(_program(fn, args), replace(wanted, memory=memory))


def plans_of(fn: Callable[..., Any]) -> list[Plan]:
    """The plans of all programs that a function or cell has been compiled to.

    For a pipelined step, these are the plans of its stages.
    """
    entries = compiled_of(fn).entries.values()
    found = []
    every = [e for entry in entries for e in (entry, *(entry.by_value or {}).values())]
    for entry in every:
        if entry.planned is not None:
            found.append(plan_report.report(entry.planned))
        elif isinstance(entry.executable, pipelines.PipelinedStep):
            found += [plan for stage in entry.executable.report.stages for plan in stage.plans]
    return found


def simulate(
    fn: Callable[..., Any],
    *args: Any,
    cluster: Cluster | str | Path = "a100",
    devices: Sequence[int] = (1, 2, 4, 8, 16, 32, 64),
    mode: str = ParallelMode.AUTO_PARALLEL,
    search: str = "recursive_programming",
    optimizer_level: int = 0,
) -> Scaling:
    """Estimate the cost of `fn` on clusters of several sizes, real or not.

    `fn` is traced once, and not run.
    """
    if not devices:
        raise wrong_value("simulate", "devices", devices, "at least one number of devices")
    program = _program(fn, args)
    found = [
        _planned(program, _request(count, cluster, mode, search, optimizer_level))
        for count in devices
    ]
    return Scaling(tuple(found))


def _planned(program: Program, wanted: request.PlanRequest) -> Plan:
    return plan_report.report(planner.plan(program, wanted))


def _program(fn: Callable[..., Any], args: tuple[Any, ...]) -> Program:
    try:
        return trace_for(fn, args).read.program
    except GraphBreak as needed:
        raise graph_break_error("plan", needed) from None


def _request(
    devices: int | None,
    cluster: Cluster | str | Path | None,
    mode: str,
    search: str,
    level: int,
) -> request.PlanRequest:
    if mode not in _MODES:
        raise wrong_value("plan", "mode", mode, f"one of {', '.join(_MODES)}")
    if search not in planner.SEARCHES:
        raise wrong_value("plan", "search", search, f"one of {', '.join(planner.SEARCHES)}")
    if level not in (0, 1, 2, 3):
        raise wrong_value("plan", "optimizer_level", level, "0, 1, 2 or 3")
    found = cluster_of(cluster)
    if devices is None and cluster is None:
        devices = len(all_devices())
    if devices is not None:
        if not isinstance(devices, int) or devices < 1:
            raise wrong_value("plan", "devices", devices, "a number of devices")
        found = found.with_devices(devices)
    return request.PlanRequest(mode, found, search, level)


def cluster_of(given: Cluster | str | Path | None) -> Cluster:
    """Resolve a cluster from an object, a name, or a file."""
    if given is None:
        return KNOWN["cpu"]
    if isinstance(given, Cluster):
        return given
    if not isinstance(given, (str, Path)):
        raise wrong_type("plan", "cluster", given, "a Cluster, a name or a file")
    if given in KNOWN:
        return KNOWN[str(given)]
    if not Path(given).exists():
        raise problem(
            ValueError,
            "unknown cluster",
            got=repr(str(given)),
            expected=f"a file, or one of {', '.join(KNOWN)}",
        )
    return Cluster.load(given)
