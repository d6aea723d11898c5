"""PipelineCell and PipelineGradReducer: pipeline parallel training."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.parallel.pipeline.step_tracing import pipeline_is_on
from mycelia.nn.cell import Cell
from mycelia.nn.wrap.micro_batches import _MicroBatchSum
from mycelia.ops.elementwise.arithmetic import mul, reciprocal
from mycelia.ops.shapes.reshape import cast


class PipelineCell(_MicroBatchSum):
    """Runs `network` (with its loss) on `micro_size` micro-batches, and sums the outputs.

    With `pipeline_stages` in the parallel settings, its training step runs in pipeline stages:
    those assigned to cells (`cell.pipeline_stage = 1`, or by name in `stage_config`), otherwise
    stages of about equal cost. `recompute` makes stages store nothing but their inputs.
    """

    is_pipeline = True

    def __init__(
        self,
        network: Any,
        micro_size: int,
        stage_config: dict[str, int] | None = None,
        segment_config: dict[str, int] | None = None,
    ) -> None:
        super().__init__(network, "micro_size", micro_size)
        self.micro_size = micro_size
        cells = dict(network.cells_and_names())
        for config, attribute in ((stage_config, "stage"), (segment_config, "segment")):
            if config is None:
                continue
            if not isinstance(config, dict):
                raise wrong_type(type(self).__name__, f"{attribute}_config", config, "dict")
            for name, number in config.items():
                if name not in cells:
                    raise problem(
                        KeyError,
                        f"{type(self).__name__}: {attribute}_config names an unknown cell",
                        got=repr(name),
                        expected=f"one of {', '.join(filter(None, cells))}",
                    )
                setattr(cells[name], f"pipeline_{attribute}", number)

    def construct(self, *inputs: Any) -> Any:
        if pipeline_is_on():
            raise problem(
                RuntimeError,
                f"{type(self).__name__} cannot be called directly while pipeline_stages is set",
                expected="a training step of it: nn.TrainOneStepCell(cell, optimizer), "
                "Model(cell, optimizer=...) or value_and_grad(cell, None, weights) in graph mode",
                fix="put the loss into the cell: nn.PipelineCell(nn.WithLossCell(net, loss), 4); "
                "to evaluate, call the network itself",
            )
        return super().construct(*inputs)

    def recompute(self, **kwargs: Any) -> None:
        """Store only the inputs of each stage, and recompute the rest in the backward pass."""
        self.add_flags(recompute=True)


class Pipeline(PipelineCell):
    """An alias of PipelineCell, the name in newer versions of MindSpore."""


class PipelineGradReducer(Cell):
    """Averages the gradients of a pipeline: divides their sum by `scale_sense`."""

    def __init__(self, parameters: Any, scale_sense: float = 1.0, opt_shard: Any = None) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(parameters, (list, tuple)):
            raise wrong_type("PipelineGradReducer", "parameters", parameters, "list or tuple")
        self.scale_sense = scale_sense

    def construct(self, grads: Any) -> Any:
        if isinstance(self.scale_sense, float) and self.scale_sense == 1.0:
            return tuple(grads)
        factor = reciprocal(cast(self.scale_sense, grads[0].dtype))
        return tuple(mul(gradient, cast(factor, gradient.dtype)) for gradient in grads)
