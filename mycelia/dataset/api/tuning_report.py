"""The report file of autotune: the pipeline with the tuned numbers of workers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia.dataset.api.trees import as_tree
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.optimizer import numbered
from mycelia.dataset.runtime.run_metrics import RunMetrics


def write_report(root: DatasetNode, meters: RunMetrics, prefix: str) -> Path:
    """Write the pipeline to `<prefix>_0.json`, in the format of `deserialize`."""
    found = {number: step.workers for step in meters.steps for number in step.numbers}
    report = {
        "remark": "the pipeline with the numbers of workers that autotune chose",
        "summary": [f"{step.name}: {step.workers} workers" for step in meters.steps if step.rows],
        "tree": as_tree(_tuned(numbered(root), found)),
    }
    path = Path(f"{prefix}_0.json")
    write_atomically(path, [json.dumps(report, indent=2).encode()])
    return path


def _tuned(node: DatasetNode, found: dict[int, int]) -> DatasetNode:
    children = tuple(_tuned(child, found) for child in node.children)
    workers = found.get(node.number, node.num_parallel_workers)
    return replace(node, children=children, num_parallel_workers=workers)
