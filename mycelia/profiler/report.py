"""The files of a profile: measurements, sums, and a Chrome trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.files.text_files import made_of, read_json
from mycelia.profiler.recorder import OPERATOR, PROGRAM, STEP, ProfileSpan

FOLDER = "profiler"
SPANS, SUMMARY, TRACE = "spans.json", "summary.json", "trace_view.json"


def write_spans(path: Path, spans: Sequence[ProfileSpan], metadata: dict[str, Any]) -> None:
    """Save the measurements under `path`, for analysis."""
    content = {"metadata": metadata, "spans": [span.as_dict() for span in spans]}
    _write(path / FOLDER / SPANS, content, pretty=False)


def analyse_files(path: Path, pretty: bool, step_list: Sequence[int] | None) -> dict[str, Any]:
    """Write the summary and the trace of the measurements under `path`; returns the summary."""
    file = path / FOLDER / SPANS
    if not file.exists():
        raise problem(
            FileNotFoundError,
            f"there is no profile in {path}",
            expected=str(file),
            fix="stop the profiler first",
        )
    spans, metadata = _read(file)
    if step_list is not None:
        spans = [span for span in spans if span.step in step_list]
    summary = {"metadata": metadata, **summarized(spans)}
    _write(path / FOLDER / SUMMARY, summary, pretty)
    _write(path / FOLDER / TRACE, {"traceEvents": _trace(spans)}, pretty)
    return summary


def summarized(spans: Sequence[ProfileSpan]) -> dict[str, Any]:
    """Sums by name, and the time of each step, in milliseconds."""
    steps = [span for span in spans if span.kind == STEP]
    return {
        "operators": _by_name(span for span in spans if span.kind == OPERATOR),
        "programs": _by_name(span for span in spans if span.kind == PROGRAM),
        "step_trace": [_step(step, spans) for step in steps],
    }


def _read(file: Path) -> tuple[list[ProfileSpan], dict[str, Any]]:
    """Read measurements and user metadata from a file."""
    content = read_json(file, "analyse", ValueError)
    try:
        if not isinstance(content, dict) or not isinstance(content.get("spans"), list):
            raise ValueError("it has no spans")
        if not isinstance(content.get("metadata"), dict):
            raise ValueError("it has no metadata")
        return [made_of(ProfileSpan, found) for found in content["spans"]], content["metadata"]
    except ValueError as error:
        raise problem(
            ValueError,
            "analyse: the file is not a profile",
            got=f"{file}: {error}",
            fix="profile again: the file is written when the profiler stops",
        ) from None


def _by_name(spans: Iterable[ProfileSpan]) -> list[dict[str, Any]]:
    """Count and times by name, the longest first."""
    times: dict[str, list[float]] = {}
    for span in spans:
        times.setdefault(span.name, []).append(_milliseconds(span))
    rows = [
        {
            "name": name,
            "count": len(each),
            "total_ms": sum(each),
            "mean_ms": sum(each) / len(each),
            "min_ms": min(each),
            "max_ms": max(each),
        }
        for name, each in times.items()
    ]
    return sorted(rows, key=lambda row: -row["total_ms"])


def _step(step: ProfileSpan, spans: Sequence[ProfileSpan]) -> dict[str, Any]:
    """The duration of a step, and the time spent in operators and programs."""
    inside = [s for s in spans if s.step == step.step and s.kind in (OPERATOR, PROGRAM)]
    computing = sum(map(_milliseconds, inside))
    total = _milliseconds(step)
    return {
        "step": step.step,
        "total_ms": total,
        "computing_ms": computing,
        "free_ms": total - computing,
    }


def _trace(spans: Sequence[ProfileSpan]) -> list[dict[str, Any]]:
    """Events in the Chrome trace format, with one row per kind, in microseconds."""
    return [
        {
            "name": span.name,
            "cat": span.kind,
            "ph": "X",
            "ts": span.start * 1e6,
            "dur": (span.end - span.start) * 1e6,
            "pid": 0,
            "tid": span.kind,
            "args": {"step": span.step, **({"domain": span.domain} if span.domain else {})},
        }
        for span in spans
    ]


def _milliseconds(span: ProfileSpan) -> float:
    return (span.end - span.start) * 1e3


def _write(path: Path, content: Any, pretty: bool) -> None:
    write_atomically(path, [json.dumps(content, indent=2 if pretty else None).encode()])
