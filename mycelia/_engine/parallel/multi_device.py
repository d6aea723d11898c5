"""Multi-device programs: the planning request from the current settings, and memory budgets."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.value_structure import (
    MappingStructure,
    SequenceStructure,
    TensorStructure,
)
from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.settings import memory_budget
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode, parallel_settings
from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.plan.plan import load, save
from mycelia._engine.distributed.search_settings import get_algo_parameters
from mycelia._engine.ir.program import Program
from mycelia._engine.runtime.distributed.sharded_execution import ShardedExecutable, all_devices
from mycelia._engine.runtime.executor import Executable

if TYPE_CHECKING:
    from mycelia._engine.compiler.sharding import plan_report, planner, request
else:  # programs on one device do not need the planner
    planner = LazyModule("mycelia._engine.compiler.sharding.planner")
    plan_report = LazyModule("mycelia._engine.compiler.sharding.plan_report")
    request = LazyModule("mycelia._engine.compiler.sharding.request")

_SPREADING = (
    ParallelMode.DATA_PARALLEL,
    ParallelMode.SEMI_AUTO_PARALLEL,
    ParallelMode.AUTO_PARALLEL,
)

_SHARES = (1.0, 0.5, 0.25, 0.0)
_ATTEMPTS = 4  # planning attempts, each with a smaller memory limit


def executable_of(program: Program) -> tuple[Executable, planner.PlannedProgram | None]:
    """Compile a program, sharded over all devices if the settings say so."""
    wanted = current_request()
    if wanted is None:
        return Executable(program), None
    executable, planned = _fitting(program, wanted)
    _save(planned)
    return executable, planned


def _fitting(
    program: Program, wanted: request.PlanRequest
) -> tuple[ShardedExecutable, planner.PlannedProgram]:
    """Plan and compile a program, with smaller memory limits until it fits.

    The plan's estimate is close, but XLA may keep a few arrays alive longer.
    """
    memory, need = wanted.memory, inf
    for _ in range(_ATTEMPTS):
        planned = planner.plan(program, wanted)
        executable = ShardedExecutable(planned.program)
        before, need = need, executable.peak() if memory < inf else 0
        if need <= memory:
            return executable, planned
        if need >= before:
            break
        said = planner.memory_bytes(planned.problem, planned.placements, planned.prices)
        dearness = planned.prices.weight  # a lower weight gave plans with more memory
        wanted = replace(wanted, memory=said * memory / need, least_dear=dearness)
    raise planner.out_of_memory_error(min(need, before), memory, wanted.cluster.devices)


def current_request() -> request.PlanRequest | None:
    """The planning request of the current settings; None if programs run on one device."""
    settings = parallel_settings()
    if settings["parallel_mode"] not in _SPREADING:
        return None
    wanted = settings["device_num"]
    devices = wanted if wanted > 1 else len(all_devices())
    if devices == 1:
        return None
    sharing = settings["parallel_optimizer_config"] or {}
    level = int(sharing.get("optimizer_level", "level1")[-1])
    data, file = settings["dataset_strategy"], settings["strategy_ckpt_load_file"]
    sharers = sharing.get("optimizer_weight_shard_size", settings["optimizer_weight_shard_size"])
    if sharers > 0 and devices % sharers:
        raise problem(
            ValueError,
            "optimizer_weight_shard_size must divide the number of devices",
            got=f"{sharers} of {devices} devices",
        )
    return request.PlanRequest(
        mode=settings["parallel_mode"],
        cluster=Cluster().with_devices(devices),
        search=settings["search_mode"],
        level=level if settings["enable_parallel_optimizer"] else 0,
        threshold=sharing.get("parallel_optimizer_threshold", 64) * 1024,
        whole_batch=world().size == 1 or data != "data_parallel",
        cuts_arguments=data == "data_parallel",
        plans=tuple(load(file)) if file else (),
        arguments=data if isinstance(data, tuple) else (),
        sharers=sharers if sharers > 0 else None,
        memory=memory_budget() or inf,
        fully_use_devices=get_algo_parameters("fully_use_devices"),
    )


def budgets() -> tuple[int | None, ...]:
    """Memory budgets of a program in bytes, to try in order until a layout fits.

    The first is the total of all devices. Replicated or unevenly split tensors take more than that
    suggests, so gradients may have to store fewer residuals.
    """
    budget, wanted = memory_budget(), current_request()
    if budget is None or wanted is None:
        return (budget,)
    return tuple([int(budget * wanted.cluster.devices * share) for share in _SHARES])


def is_multi_device() -> bool:
    """Whether the current settings compile programs for several devices."""
    return current_request() is not None


def _save(planned: planner.PlannedProgram) -> None:
    """Save the plan to `strategy_ckpt_save_file`, in the first process."""
    file = parallel_settings()["strategy_ckpt_save_file"]
    if file and world().rank == 0:
        save([plan_report.report(planned)], file)


def of_all_processes(arguments: SequenceStructure, has_state: bool = False) -> SequenceStructure:
    """The global arguments, where each process passes its slice of the batch."""
    wanted = None if world().size == 1 else current_request()
    if wanted is not None and has_state:
        raise problem(
            RuntimeError,
            "a program that several processes run cannot change attributes or containers",
            expected="state shared by all processes",
            fix="keep the state in a Parameter",
        )
    if wanted is None or wanted.whole_batch:
        return arguments
    result: SequenceStructure = _widened(arguments, world().size)
    return result


def _widened(form: Any, times: int) -> Any:
    if isinstance(form, TensorStructure) and form.type.shape:
        rows, *rest = form.type.shape
        return TensorStructure(form.type.with_shape((rows * times, *rest)))
    if isinstance(form, (SequenceStructure, MappingStructure)):
        return replace(form, forms=tuple([_widened(f, times) for f in form.forms]))
    return form
