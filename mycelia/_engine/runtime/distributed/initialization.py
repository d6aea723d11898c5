"""Joining other processes: the engine of each is connected to those of the others."""

from __future__ import annotations

import gc
import os
import sys
from types import TracebackType

import jax

from mycelia._engine.core import settings
from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.core.wait_registry import collective_wait
from mycelia._engine.runtime import devices
from mycelia._engine.runtime.distributed.multiprocess_jit import mesh_of
from mycelia._engine.runtime.xla.compile import forget_programs
from mycelia._engine.runtime.xla.materialization import runtime_one

_backend = LazyModule("jax.extend.backend")  # all of jax.extend comes with it
_FIRST_MEETING = 300  # seconds until all processes must have been started
_AFTER_LAUNCHER = 3600  # seconds: a launcher that watches all knows more, and says it first
_LAST_MEETING = 86400  # seconds until all must have ended, if somebody ends them when one fails


def join(
    coordinator: str,
    rank: int,
    size: int,
    local_rank: int,
    timeout: int,
    *,
    is_watched: bool,
    is_one_host: bool,
) -> None:
    """Connect with the processes that meet at `coordinator` (host:port); rank 0 listens there.

    A process that is not heard of for `timeout` seconds counts as lost, unless a launcher watches
    all of them. If nobody does, one that fails ends at once, so that the others do not wait for it.
    """
    _let_go_of_devices()
    jax.config.update("jax_enable_preemption_service", False)  # SIGTERM ends a process
    try:
        with collective_wait("init", tuple(range(size))):
            jax.distributed.initialize(
                coordinator,
                size,
                rank,
                local_device_ids=_own_device(local_rank),
                cluster_detection_method="deactivate",
                initialization_timeout=_FIRST_MEETING,
                heartbeat_timeout_seconds=timeout + _AFTER_LAUNCHER * (is_watched and is_one_host),
                shutdown_timeout_seconds=_LAST_MEETING if is_watched else _FIRST_MEETING,
            )
            jax.devices()
    except RuntimeError as error:
        raise problem(
            RuntimeError,
            "init: the processes did not meet",
            got=f"rank {rank} of {size} at {coordinator}: {str(error).splitlines()[0]}",
            fix="start all processes with one coordinator address, at which rank 0 can listen",
        ) from None
    _use_chosen_device()
    if not is_watched:
        sys.excepthook = _end_at_once


def leave() -> None:
    """Part from the other processes, when all of them do."""
    if not jax.distributed.is_initialized():
        return
    jax.distributed.shutdown()
    mesh_of.cache_clear()


def is_joined() -> bool:
    """Whether this process is connected with others."""
    return jax.distributed.is_initialized()


def _let_go_of_devices() -> None:
    """Forget the devices of this process alone: those of all processes take their place.

    Arrays that lie on them would be lost.
    """
    runtime_one.cache_clear()
    mesh_of.cache_clear()
    forget_programs()
    gc.collect()
    held = jax.live_arrays()
    if held:
        shown = ", ".join(f"{array.dtype}{list(array.shape)}" for array in held[:3])
        raise problem(
            RuntimeError,
            "init: this process has computed on its device already",
            got=f"{len(held)} arrays on the device: {shown}",
            fix="call communication.init() first, before tensors are computed and networks made",
        )
    jax.config.update("jax_default_device", None)
    _backend.clear_backends()


def _use_chosen_device() -> None:
    now = settings.current()
    if now.device_target in devices.available():
        devices.select(now.device_target, now.device_id)


def _own_device(local_rank: int) -> list[int] | None:
    """The accelerator of this process, if the program is to run on one."""
    return [local_rank] if settings.current().device_target in ("GPU", "TPU") else None


def _end_at_once(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None
) -> None:
    """Show an error and end, without the meeting at which processes part from each other."""
    sys.__excepthook__(kind, error, frames)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
