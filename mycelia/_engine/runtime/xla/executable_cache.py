"""Executables stored on disk, so that later processes neither trace nor compile them.

A file contains a SHA-256 checksum, a line with the native kernels that the executable calls, and
the serialized executable. Its name is a hash of all dependencies: the graph, Mycelia's source
files, the JAX version, compiler options, settings, and the device. Loading a file runs machine
code, so the folder must belong to the user.
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
_FREEING = 0.05  # seconds in which XLA frees temporaries after the results are ready
_MUCH = 1 << 28  # bytes
_LONG = 2.0  # seconds of a compilation or run that leaves much free memory
_OWN_SETTINGS = ("compile_cache_path", "enable_compile_cache", "save_graphs", "save_graphs_path")


def cached_executable(
    program: Any, graph: Graph, treatment: Any, arrays: Sequence[Any], results: Any
) -> tuple[Callable[..., Any], bool]:
    """The executable of `program` (of `jax.jit`) for these arrays, and whether it was on disk.

    `treatment` describes the handling of inputs and outputs of the graph; `results` is the
    structure of the results.

    A new executable is stored, unless the cache is disabled or the graph has no stable hash.
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
    """Compile; after a long compilation, release its memory before the first run."""
    started = perf_counter()
    made = lowered.compile()
    tidy(perf_counter() - started)
    return made


def tidy(seconds: float, results: Any = ()) -> None:
    """After a long compilation or run, return free memory to the system once.

    The first run of a program allocates from a fragmented heap, and the next run may not find the
    same memory again: a step of ResNet-50 would use 2.5 GB instead of 1.6.
    """
    if seconds >= _LONG:
        jax.block_until_ready(results)
        sleep(_FREEING)
        release_free_memory()
        forget_compilers()


def in_turn(executable: Any) -> Callable[..., Any]:
    """Wrap an executable so that a run with large temporaries waits for the previous one.

    The results of a run are ready shortly before XLA frees its temporaries. A step of ResNet-50
    that starts in between allocates new memory: in every other process, 2.2 GB instead of 1.5.
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
    """Bytes of temporaries of a run."""
    found = executable.memory_analysis()
    return 0 if found is None else found.temp_size_in_bytes


def _path(graph: Graph, treatment: Any) -> Path | None:
    """The file of an executable, or None if its graph contains Python functions."""
    try:
        name = fingerprint(graph, vocabulary())
    except RuntimeError:  # Python functions among the nodes, or custom operators
        return None
    key = hashlib.sha256("\n".join((name, repr(treatment), *_surroundings())).encode())
    return folder() / f"{key.hexdigest()}.program"


def _surroundings() -> list[str]:
    """The dependencies of an executable besides its graph."""
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
    """The state of Mycelia's source code, by the sizes and times of its files."""
    files = sorted(PACKAGE.rglob("*.py"))
    found = [(p.relative_to(PACKAGE).as_posix(), p.stat()) for p in files]
    return repr([(name, about.st_size, about.st_mtime_ns) for name, about in found])


def _processor() -> str:
    """The processor's features: machine code for one may not run on another."""
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
        warnings.warn(f"ignoring a damaged file of a compiled program: {path}", stacklevel=2)
        return None
    kernels, _, executable = body.partition(_END)
    if not native.are_ready(kernels.decode().split()):
        return None
    return serialize_executable.deserialize_and_load(executable, inputs, results)


def _keep(path: Path, compiled: Any, kernels: Sequence[str]) -> None:
    try:
        executable, _, _ = serialize_executable.serialize(compiled)
    except (NotImplementedError, ValueError):  # some devices and programs cannot be serialized
        return
    body = " ".join(kernels).encode() + _END + executable
    write_atomically(path, [hashlib.sha256(body).digest(), body])
