"""The worker's side of the conversation: "NAME SECONDS" a line in, measurements as JSON out."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import runpy
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

WARM_UPS = 3  # runs before the first timing; their values are compared between frameworks
WORKLOADS = "workloads.json"  # in the working directory: {name: sizes}
MAPPED = 1 << 26  # bytes; glibc asks the system for a block of this size alone, if not told not to


class Job(NamedTuple):
    """A workload that is ready for its first run."""

    run: Callable[[], Any]  # one run, finished when it returns
    value: Callable[[Any], float]  # a number that tells whether a run computed the right thing
    parameters: int  # how many numbers are learned


def repeated(job: Job, sizes: dict[str, Any]) -> Job:
    """A job whose run is several steps, if the workload says so; its value is the last one."""
    steps = sizes.get("steps", 1)
    if steps == 1:
        return job

    def run() -> Any:
        for _ in range(steps - 1):
            job.run()
        return job.run()

    return job._replace(run=run)


class Warm(NamedTuple):
    """A workload that has run, and what its first runs were like."""

    job: Job
    first_call: float
    values: list[float]


def serve(build: Callable[[dict[str, Any]], Job], version: str) -> None:
    """Answer requests until the input ends; what frameworks print goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sizes = json.loads(Path(WORKLOADS).read_text())
    facts = {"version": version, "malloc": malloc_setting()}
    warm: dict[str, Warm] = {}
    for request in sys.stdin:
        name, seconds = request.split()
        try:
            if name not in warm:
                warm[name] = warm_up(build(sizes[name]))
            answer = measure(warm[name], float(seconds)) | facts
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def warm_up(job: Job) -> Warm:
    """Run a job for the first times."""
    started = time.perf_counter()
    results = [job.run()]
    first_call = time.perf_counter() - started
    values = [job.value(results.pop())]
    values += [job.value(job.run()) for _ in range(WARM_UPS - 1)]
    return Warm(job, first_call, values)


def measure(warm: Warm, seconds: float) -> dict[str, Any]:
    """Run for `seconds`, at least once."""
    times: list[float] = []
    used, started = time.process_time(), time.perf_counter()
    while not times or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        warm.job.run()
        times.append((time.perf_counter() - before) * 1e3)
    return {
        "minimum": min(times),
        "median": median(times),
        "runs": len(times),
        "seconds": time.perf_counter() - started,
        "processor": time.process_time() - used,
        "first_call": warm.first_call,
        "memory": peak_memory(),
        "values": warm.values,
        "parameters": warm.job.parameters,
    }


def peak_memory() -> float:
    """The most memory this process ever held, in MB."""
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def keep_memory(script: str) -> None:
    """Tune glibc by the file with which Mycelia does, which is not installed next to a peer."""
    if platform.libc_ver()[0] != "glibc":
        raise RuntimeError("malloc can be tuned with glibc only")
    runpy.run_path(script)["tune"]()


class MallocCounts(ctypes.Structure):
    """What `mallinfo2` gives: `hblks` blocks come from the system, `fordblks` bytes are free."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks".split()
    ] + [("keepcost", ctypes.c_size_t)]


def malloc_setting() -> str:
    """What malloc does with a large block, found by asking for one."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return "unknown"
    library.mallinfo2.restype = MallocCounts
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    before = library.mallinfo2()
    block = library.malloc(before.fordblks + MAPPED)  # more than it has free
    mapped = library.mallinfo2().hblks > before.hblks
    library.free(block)
    return "default" if mapped else "keeps freed memory"


def cores() -> int:
    """How many threads a worker uses: all the cores it may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
