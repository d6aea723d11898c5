"""DistributedGradReducer: sums gradients over processes."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.process_groups import DEFAULT_WORLD_GROUP, world
from mycelia._engine.distributed.auto_parallel_settings import get_auto_parallel_context
from mycelia._engine.ir.handlers import guarded_fact, handlers
from mycelia._engine.parallel.multi_device import is_multi_device
from mycelia.nn.cell import Cell
from mycelia.ops.collective.collective import AllReduce, ReduceOp
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.shapes.reshape import cast


class DistributedGradReducer(Cell):
    """Sums gradients over the processes of `group`, and divides by `degree` if `mean`.

    The defaults are `gradients_mean` of the context and the size of the group. In a program on
    several devices, gradients are already those of the whole batch and are returned unchanged.
    """

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = DEFAULT_WORLD_GROUP,
    ) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(parameters, (list, tuple)):
            raise wrong_type("DistributedGradReducer", "parameters", parameters, "list or tuple")
        if degree is None:
            degree = len(world().members(group))
        self.degree = check_positive_int("DistributedGradReducer", "degree", degree)
        average = get_auto_parallel_context("gradients_mean") if mean is None else mean
        self.mean = check_bool("DistributedGradReducer", "mean", average)
        check_positive_int("DistributedGradReducer", "fusion_type", fusion_type)
        self.all_reduce = AllReduce(ReduceOp.SUM, group).add_prim_attr("fusion", fusion_type)
        self.parameter_length = len(parameters)

    def construct(self, grads: Any) -> Any:
        if handlers.call is not None and guarded_fact(is_multi_device):
            return tuple(grads)
        return tuple(self._reduced(gradient) for gradient in grads)

    def _reduced(self, gradient: Any) -> Any:
        total = self.all_reduce(gradient)
        if not self.mean:
            return total
        return cast(mul(total, 1.0 / self.degree), gradient.dtype)
