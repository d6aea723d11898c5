"""The cost report of a pipeline-parallel training step."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.parallel.pipeline.report import PipelineReport
from mycelia._engine.parallel.pipeline.training_step import PipelinedStep
from mycelia.transforms.jit import compiled_of


def pipeline_report(step: Any) -> PipelineReport:
    """Report the stages of a pipelined training step (cell or compiled function) that has run."""
    for entry in reversed(list(compiled_of(step).entries.values())):
        if isinstance(entry.executable, PipelinedStep):
            return entry.executable.report
    raise problem(
        RuntimeError,
        "pipeline_report: the step has not run as a pipeline",
        fix="set pipeline_stages, wrap the network in nn.PipelineCell, and run the step once",
    )
