"""A benchmark session: selects rows and columns, measures, and saves after every row."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia.benchmark import chart, peers
from mycelia.benchmark.columns import FrameworkColumn
from mycelia.benchmark.interleave import Effort, Say, Start, differences, measure
from mycelia.benchmark.table import markdown
from mycelia.benchmark.worker import WorkerProcess
from mycelia.benchmark.workloads import SUITES, Workload

RESULTS, TABLE = "results.json", "results.md"


@dataclass(frozen=True)
class SessionPlan:
    """What to measure, and where to write results."""

    workloads: Sequence[Workload]
    columns: Sequence[FrameworkColumn]
    effort: Effort
    folder: Path
    suite: str = "cpu"
    resume: bool = False


def run(plan: SessionPlan, say: Say) -> int:
    """Measure everything; returns the exit code, 1 if a row compares different computations."""
    rows = _rows_before(plan)
    if rows is None:
        say(f"{plan.folder / RESULTS} has other --rounds or --seconds: use the same values")
        return 2
    plan.folder.mkdir(parents=True, exist_ok=True)
    starts, missing = _starts(plan, say)
    results = _beginning(plan, missing) | {"rows": rows}
    for workload in plan.workloads:
        if _is_done(results, workload, starts):
            say(f"{workload.name}: measured before")
            continue
        cells = measure(workload, starts, plan.effort, say)
        results["rows"][workload.name] = {
            "title": workload.title,
            "run": workload.run,
            "cells": cells,
            "problem": differences(cells),
        }
        _save(results, plan)
    return _finish(results, plan, say)


def _starts(plan: SessionPlan, say: Say) -> tuple[dict[str, Start], dict[str, str]]:
    """How to start the worker of each column, and why other columns are missing."""
    starts: dict[str, Start] = {}
    missing: dict[str, str] = {}
    pythons = {peer: peers.find(peer, say) for peer in dict.fromkeys(c.peer for c in plan.columns)}
    for column in plan.columns:
        python = pythons[column.peer]
        if isinstance(python, peers.MissingPeer):
            missing[column.name] = python.why
            say(f"{column.name}: not measured: {python.why}")
            continue
        command = [str(python), "-m", f"workers.{column.module}", *column.options]
        starts[column.name] = partial(WorkerProcess, command, plan.workloads, column.environment)
    return starts, missing


def _rows_before(plan: SessionPlan) -> dict[str, Any] | None:
    """The rows of an interrupted run; None if they are not comparable to new ones."""
    path = plan.folder / RESULTS
    if not plan.resume or not path.exists():
        return {}
    before = json.loads(path.read_text())
    return before["rows"] if before["settings"] == _settings(plan) else None


def _settings(plan: SessionPlan) -> dict[str, Any]:
    return {"suite": plan.suite, "rounds": plan.effort.rounds, "seconds": plan.effort.seconds}


def _beginning(plan: SessionPlan, missing: dict[str, str]) -> dict[str, Any]:
    """Results without rows."""
    return {
        "settings": _settings(plan),
        "machine": machine(),
        "columns": {
            c.name: {"about": c.about, "missing": missing.get(c.name, "")} for c in plan.columns
        },
    }


def machine() -> dict[str, Any]:
    """A description of the machine."""
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def _is_done(results: dict[str, Any], workload: Workload, starts: dict[str, Start]) -> bool:
    row = results["rows"].get(workload.name)
    return row is not None and not row["problem"] and set(starts) <= set(row["cells"])


def _save(results: dict[str, Any], plan: SessionPlan) -> None:
    """Write the results atomically."""
    order = [w.name for w in SUITES[plan.suite]]
    rows = results["rows"]
    results["rows"] = {name: rows[name] for name in sorted(rows, key=order.index)}
    text = json.dumps(results, indent=1) + "\n"
    write_atomically(plan.folder / RESULTS, [text.encode()])
    write_atomically(plan.folder / TABLE, [markdown(results).encode()])


def _finish(results: dict[str, Any], plan: SessionPlan, say: Say) -> int:
    _save(results, plan)
    drawn = chart.draw(results, plan.folder) if chart.can_draw() else []
    written = [plan.folder / RESULTS, plan.folder / TABLE, *drawn]
    say(f"written: {', '.join(map(str, written))}")
    if not chart.can_draw():
        say(f"only the tables were written: a chart needs matplotlib; {chart.INSTALL}")
    elif not drawn:
        say("only the tables were written: no peer was measured, so there is no chart")
    cells = [c for row in results["rows"].values() for c in row["cells"].values()]
    noisy = sum(c.get("clean") == 0 for c in cells)
    if noisy:
        say(f"{noisy} of {len(cells)} cells were measured while other programs ran: marked ~")
    wrong = {name: row["problem"] for name, row in results["rows"].items() if row["problem"]}
    for name, problem in wrong.items():
        say(f"error: the columns of {name} compute different things: {problem}")
    return 1 if wrong else 0
