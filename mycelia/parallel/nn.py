"""MindSpore's import path for the cells of parallel training."""

from mycelia.nn.wrap.micro_batches import GradAccumulationCell as GradAccumulation
from mycelia.nn.wrap.micro_batches import MicroBatchInterleaved as MicroBatchInterleaved
from mycelia.nn.wrap.pipeline import Pipeline as Pipeline
from mycelia.nn.wrap.pipeline import PipelineCell as PipelineCell
from mycelia.nn.wrap.pipeline import PipelineGradReducer as PipelineGradReducer

__all__ = [
    "GradAccumulation",
    "MicroBatchInterleaved",
    "Pipeline",
    "PipelineCell",
    "PipelineGradReducer",
]
