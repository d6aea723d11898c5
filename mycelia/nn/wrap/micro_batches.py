"""GradAccumulationCell and MicroBatchInterleaved: networks that process micro-batches."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.control_flow import PART
from mycelia._engine.ir.handlers import call_user_function, handlers
from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor


class _MicroBatchSum(Cell):
    """Sums the outputs of `network` over `count` equal micro-batches."""

    def __init__(self, network: Any, argument: str, count: Any) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        if not isinstance(network, Cell):
            raise problem(
                TypeError,
                f"For '{owner}', the argument 'network' must cell type, "
                f"but got the type : {type(network)}.",
            )
        if not is_int(count):
            raise problem(
                TypeError,
                f"For '{owner}', the argument '{argument}' must be integer, "
                f"but got the type : {type(count)}.",
            )
        if count <= 0:
            raise problem(
                ValueError,
                f"For '{owner}', the argument '{argument}' must be large than 0, but got {count}.",
            )
        self.network, self._count = network, count

    def construct(self, *inputs: Any) -> Any:
        total = None
        for number in range(self._count):
            output = _run_as_part(self.network, *(self._part(x, number) for x in inputs))
            total = output if total is None else total + output
        return total

    def _part(self, x: Any, number: int) -> Any:
        if not isinstance(x, Tensor) or not x.ndim:
            return x
        if x.shape[0] % self._count:
            raise problem(
                ValueError,
                f"the 0th dimension shape of input({x.shape[0]}) must be divided by "
                f"micro size({self._count})",
            )
        length = x.shape[0] // self._count
        return x[number * length : (number + 1) * length]


def _run_as_part(network: Cell, *inputs: Any) -> Any:
    """Run one micro-batch; in a program, micro-batches are iterations of one loop."""
    if handlers.enclosed is None:
        return network(*inputs)
    return handlers.enclosed(PART, lambda: call_user_function(network, *inputs))


class GradAccumulationCell(_MicroBatchSum):
    """Runs `network` on `micro_size` micro-batches in sequence, and sums the outputs."""

    def __init__(self, network: Any, micro_size: int) -> None:
        super().__init__(network, "micro_size", micro_size)
        self.micro_size = micro_size


class MicroBatchInterleaved(_MicroBatchSum):
    """Runs `network` on `interleave_num` interleaved micro-batches, and sums the outputs."""

    def __init__(self, network: Any, interleave_num: int = 2) -> None:
        super().__init__(network, "interleave_num", interleave_num)
        self.interleave_num = interleave_num
