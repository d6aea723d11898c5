"""Whole executables kept on disk: the next process neither traces nor compiles its programs.

A file is a SHA-256 checksum, a line with the kernels of ours that the executable calls, and what
the engine makes of it. Its name is a hash of all that the executable depends on: the graph,
Mycelia's own files, the engine, its options, the settings and the device. Loading one runs machine
code, so the folder must be the user's own.
"""

from __future__ import annotations

import hashlib
import os
import platform
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import jax
from jax.experimental import serialize_executable

from mycelia._engine.core import settings
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.source_location import PACKAGE
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.serialization import fingerprint
from mycelia._engine.kernels import native
from mycelia._engine.operators.serializable import vocabulary
from mycelia._engine.runtime.memory.allocator import keeps_memory, release_free_memory
from mycelia._engine.runtime.memory.code_pages import forget_compilers
from mycelia._engine.runtime.memory.huge_page_pool import HugePagePool
from mycelia._engine.runtime.xla.compile import options
from mycelia._engine.runtime.xla.disk_cache import (
    LEAST_SECONDS,
    folder,
    is_wanted,
    without_engine_cache,
)

_CHECKSUM = 32  # bytes
_END = b"\n"  # of the line with kernels
_FREEING = 0.05  # seconds in which XLA frees what a run needed, after its results are there
_MUCH = 1 << 28  # bytes
_LONG = 2.0  # seconds of something that leaves much memory behind
_OWN_SETTINGS = ("compile_cache_path", "enable_compile_cache", "save_graphs", "save_graphs_path")


def cached_executable(
    program: Any, graph: Graph, treatment: Any, arrays: Sequence[Any], results: Any
) -> tuple[Callable[..., Any], bool]:
    """`program` (of jax.jit) as an executable for such arrays, and whether it was on disk.

    `treatment` says what is done with inputs and outputs of the graph; `results` is the structure
    of the results.

    If not, it is kept there now, unless there is no cache or the graph has no lasting name.
    """
    path = _path(graph, treatment) if is_wanted() else None
    if path is None:
        return _compiled(program.lower(*arrays)), False
    inputs = jax.tree.structure(((0,) * len(arrays), {}))
    found = _load(path, inputs, results)
    if found is not None:
        return found, True
    started = perf_counter()
    with without_engine_cache():
        lowered = program.lower(*arrays)
        made = _compiled(lowered)
    if perf_counter() - started >= LEAST_SECONDS:
        _keep(path, made, native.called_by(lowered))
    return made, False


def _compiled(lowered: Any) -> Any:
    """An executable; what a long compilation used goes back before the first run needs memory."""
    started = perf_counter()
    made = lowered.compile()
    tidy(perf_counter() - started)
    return made


def tidy(seconds: float, results: Any = ()) -> None:
    """After something long that gave `results`, free memory goes back to the system once.

    The first run of a program finds memory full of holes, and leaves its own in places where the
    next run may not find it again: a step of ResNet-50 would keep 2.5 GB instead of 1.6.
    """
    if seconds >= _LONG:
        jax.block_until_ready(results)
        sleep(_FREEING)
        release_free_memory()
        forget_compilers()


def in_turn(executable: Any) -> Callable[..., Any]:
    """An executable that is given what its last run wrote; if it needs much memory, it has to wait.

    The results of a run are there shortly before XLA frees what it needed. A step of ResNet-50 that
    begins in between takes new memory: in every other process 2.2 GB instead of 1.5.
    """
    needed = _needed(executable) if jax.default_backend() == "cpu" and keeps_memory() else 0
    if needed < _MUCH:
        return executable
    room = HugePagePool(needed)

    def run(*arrays: Any) -> Any:
        jax.block_until_ready(arrays)
        room.prepare()
        return executable(*arrays)

    return run


def _needed(executable: Any) -> int:
    """Bytes that a run needs besides arguments and results."""
    found = executable.memory_analysis()
    return 0 if found is None else found.temp_size_in_bytes


def _path(graph: Graph, treatment: Any) -> Path | None:
    """Where an executable is kept, or None if there are Python functions in its graph."""
    try:
        name = fingerprint(graph, vocabulary())
    except RuntimeError:  # Python functions among the nodes, operators of the user
        return None
    key = hashlib.sha256("\n".join((name, repr(treatment), *_surroundings())).encode())
    return folder() / f"{key.hexdigest()}.program"


def _surroundings() -> list[str]:
    """What an executable depends on besides its graph."""
    now = settings.current()
    chosen = {k: v for k, v in vars(now).items() if k not in _OWN_SETTINGS}
    return [repr(chosen), repr(options()), *_machine()]


@cache
def _machine() -> tuple[str, ...]:
    device = jax.devices()[0]
    return (
        _own_files(),
        jax.__version__,
        device.client.platform_version,
        f"{device.device_kind} {jax.device_count()} {jax.process_count()}",
        f"{platform.machine()} {_processor()} {os.cpu_count()}",
        os.environ.get("XLA_FLAGS", ""),
        repr(sorted((k, repr(v)) for k, v in jax.config.values.items() if "cache" not in k)),
    )


def _own_files() -> str:
    """The state of Mycelia's own code, by the sizes and times of its files."""
    files = sorted(PACKAGE.rglob("*.py"))
    found = [(p.relative_to(PACKAGE).as_posix(), p.stat()) for p in files]
    return repr([(name, about.st_size, about.st_mtime_ns) for name, about in found])


def _processor() -> str:
    """What the processor can do: machine code made for one may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _load(path: Path, inputs: Any, results: Any) -> Callable[..., Any] | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    body = data[_CHECKSUM:]
    if hashlib.sha256(body).digest() != data[:_CHECKSUM]:
        warnings.warn(f"a damaged file among the compiled programs: {path}", stacklevel=2)
        return None
    kernels, _, executable = body.partition(_END)
    if not native.are_ready(kernels.decode().split()):
        return None
    return serialize_executable.deserialize_and_load(executable, inputs, results)


def _keep(path: Path, compiled: Any, kernels: Sequence[str]) -> None:
    try:
        executable, _, _ = serialize_executable.serialize(compiled)
    except (NotImplementedError, ValueError):  # some devices and programs have no such form
        return
    body = " ".join(kernels).encode() + _END + executable
    write_atomically(path, [hashlib.sha256(body).digest(), body])
