"""Initialization of multi-process jobs: connects this process with the other ranks."""

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

_backend = LazyModule("jax.extend.backend")  # imports all of jax.extend
_FIRST_MEETING = 300  # seconds until all processes must have started
_AFTER_LAUNCHER = 3600  # seconds: a launcher that watches all ranks reports failures earlier
_LAST_MEETING = 86400  # seconds until all must have exited, if a launcher stops them on failure


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
    """Connect to the other ranks at `coordinator` (host:port), where rank 0 listens.

    A process without a heartbeat for `timeout` seconds counts as lost, unless a launcher watches
    all of them. Without a launcher, a process that fails exits immediately, so that the others do
    not wait for it.
    """
    _let_go_of_devices()
    jax.config.update("jax_enable_preemption_service", False)  # SIGTERM must end a process
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
            "init: the processes could not connect",
            got=f"rank {rank} of {size} at {coordinator}: {str(error).splitlines()[0]}",
            fix="start all processes with the same coordinator address, where rank 0 can listen",
        ) from None
    _use_chosen_device()
    if not is_watched:
        sys.excepthook = _end_at_once


def leave() -> None:
    """Disconnect from the other processes, when all of them do."""
    if not jax.distributed.is_initialized():
        return
    jax.distributed.shutdown()
    mesh_of.cache_clear()


def is_joined() -> bool:
    """Whether this process is connected to others."""
    return jax.distributed.is_initialized()


def _let_go_of_devices() -> None:
    """Replace the devices of this process by those of all processes.

    Arrays on the old devices would be lost.
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
            "init: this process has already used its device",
            got=f"{len(held)} arrays on the device: {shown}",
            fix="call communication.init() before computing tensors and creating networks",
        )
    jax.config.update("jax_default_device", None)
    _backend.clear_backends()


def _use_chosen_device() -> None:
    now = settings.current()
    if now.device_target in devices.available():
        devices.select(now.device_target, now.device_id)


def _own_device(local_rank: int) -> list[int] | None:
    """The accelerator of this process, if programs run on accelerators."""
    return [local_rank] if settings.current().device_target in ("GPU", "TPU") else None


def _end_at_once(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None
) -> None:
    """Print an error and exit immediately, without the shutdown barrier."""
    sys.__excepthook__(kind, error, frames)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
