"""Interleaved measurement: all columns of a workload take turns in every round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from mycelia.benchmark import processor
from mycelia.benchmark.worker import WorkerProcess
from mycelia.benchmark.workloads import Workload

OTHERS = 0.15  # cores that other programs may use during a clean sample
TRIES = 3  # maximum samples per round to get a clean one
IDLE_PATIENCE = 6.0
FIRST_PATIENCE, PATIENCE = 900.0, 300.0
FIRST_TOLERANCE, TOLERANCE = 1e-3, 3e-2  # relative, for the first value and for later ones

Say = Callable[[str], None]
Start = Callable[[], WorkerProcess]


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    seconds: float


def measure(
    workload: Workload, starts: dict[str, Start], effort: Effort, say: Say
) -> dict[str, Any]:
    """Measure a row of the table: {column: cell}."""
    samples: dict[str, list[dict[str, Any]]] = {}
    errors: dict[str, str] = {}
    with ExitStack() as stack:
        workers: dict[str, WorkerProcess] = {}
        for name, start in starts.items():
            say(f"{workload.name}: {name} starts")
            workers[name] = stack.enter_context(start())
            answer = workers[name].ask(workload.name, 0, FIRST_PATIENCE)
            samples[name] = []
            if "error" in answer:
                errors[name] = answer["error"]
        for round_ in range(effort.rounds):
            for name, worker in workers.items():
                if name in errors:
                    continue
                say(f"{workload.name}: {name}, round {round_ + 1} of {effort.rounds}")
                measured = sample(worker, workload, effort.seconds)
                samples[name] += measured
                if "error" in measured[-1]:
                    errors[name] = measured[-1]["error"]
    return {
        name: {"error": errors[name]} if name in errors else cell(samples[name]) for name in starts
    }


def sample(worker: WorkerProcess, workload: Workload, seconds: float) -> list[dict[str, Any]]:
    """The samples of one round: the last one is clean, unless the machine is never idle."""
    samples = []
    for _ in range(TRIES):
        processor.wait_until_idle(IDLE_PATIENCE)
        before = processor.busy_seconds()
        answer = worker.ask(workload.name, seconds, seconds + PATIENCE)
        after = processor.busy_seconds()
        samples.append(answer)
        if "error" in answer:
            break
        answer["others"] = others(before, after, answer)
        if answer["others"] < OTHERS:
            break
    return samples


def others(before: float | None, after: float | None, answer: dict[str, Any]) -> float:
    """The cores that other programs used during a sample."""
    if before is None or after is None:
        return 0.0
    return (after - before - answer["processor"]) / max(answer["seconds"], processor.PAUSE)


def cell(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One cell of the table, from its clean samples, or from all if none is clean."""
    clean = [s for s in samples if s["others"] < OTHERS]
    used, last = clean or samples, samples[-1]
    return {
        "milliseconds": median(s["median"] for s in used),
        "minimum": min(s["minimum"] for s in used),
        "processor": median(s["processor"] / s["runs"] * 1e3 for s in used),
        "first_call": last["first_call"],
        "memory": last["memory"],
        "parameters": last["parameters"],
        "values": last["values"],
        "malloc": last["malloc"],
        "version": last["version"],
        "samples": len(samples),
        "clean": len(clean),
    }


def differences(cells: dict[str, Any]) -> str:
    """How the cells of a row differ in what they compute; empty if they agree."""
    good = {name: cell for name, cell in cells.items() if "error" not in cell}
    if not good:
        return ""
    base, *rest = good
    problems = [_difference(base, good[base], name, good[name]) for name in rest]
    return "; ".join(text for text in problems if text)


def _difference(base: str, expected: dict[str, Any], name: str, got: dict[str, Any]) -> str:
    if got["parameters"] != expected["parameters"]:
        return f"{name} has {got['parameters']} parameters, {base} has {expected['parameters']}"
    for i, (a, b) in enumerate(zip(expected["values"], got["values"], strict=True)):
        tolerance = TOLERANCE if i else FIRST_TOLERANCE
        if not abs(a - b) <= tolerance * max(abs(a), abs(b)):
            return f"run {i + 1} returns {b:.6g} in {name} and {a:.6g} in {base}"
    return ""
