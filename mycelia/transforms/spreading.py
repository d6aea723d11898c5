"""Programs for several devices: whether the settings ask for one, and what it is planned for."""

from __future__ import annotations

from mycelia.compiler.parallel.planning import Planned, plan
from mycelia.compiler.parallel.request import Request
from mycelia.core.world import world
from mycelia.ir.program import Program
from mycelia.parallel.automatic import ParallelMode, parallel_settings
from mycelia.parallel.cluster import Cluster
from mycelia.runtime.executor import Executable
from mycelia.runtime.spreading import SpreadExecutable, all_devices

_SPREADING = (
    ParallelMode.DATA_PARALLEL,
    ParallelMode.SEMI_AUTO_PARALLEL,
    ParallelMode.AUTO_PARALLEL,
)


def executable_of(program: Program) -> tuple[Executable, Planned | None]:
    """A program ready to run: spread over all devices if the settings say so."""
    request = current_request()
    if request is None:
        return Executable(program), None
    planned = plan(program, request)
    return SpreadExecutable(planned.program), planned


def current_request() -> Request | None:
    """What programs are planned for now; None where each runs on one device."""
    settings = parallel_settings()
    if settings["parallel_mode"] not in _SPREADING:
        return None
    wanted = settings["device_num"]
    devices = wanted if wanted > 1 else len(all_devices())
    if devices == 1:
        return None
    sharing = settings["parallel_optimizer_config"] or {}
    level = int(sharing.get("optimizer_level", "level1")[-1])
    return Request(
        settings["parallel_mode"],
        Cluster().with_devices(devices),
        settings["search_mode"],
        level if settings["enable_parallel_optimizer"] else 0,
        sharing.get("parallel_optimizer_threshold", 64) * 1024,
        world().size == 1 or settings["dataset_strategy"] == "full_batch",
    )
