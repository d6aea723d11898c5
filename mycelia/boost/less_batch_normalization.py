"""LessBN: a network with a cosine output layer, which needs fewer batch normalizations."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Dense
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.linalg.matmul import dense
from mycelia.ops.linalg.norms import L2Normalize
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class LessBN(Cell):
    """`network`; with `fn_flag`, its last Dense layer computes scaled cosine similarities.

    The layer is replaced inside `network` itself; its weight is reused.
    """

    def __init__(self, network: Any, fn_flag: bool = False) -> None:
        super().__init__()
        check_instance("LessBN", "network", network, Cell)
        if fn_flag:
            _replace_last_dense(network)
        self.network = network

    def construct(self, *inputs: Any) -> Any:
        return self.network(*inputs)


class _CosineHead(Cell):
    """The cosine similarities of the input and the rows of a weight, times a learned scale."""

    def __init__(self, weight: Parameter) -> None:
        super().__init__()
        self.weight = weight
        self.multiplier = Parameter(Tensor([1.0], dtypes.float32), name="multiplier")
        self._to_unit_length = L2Normalize.of(axis=-1)

    def construct(self, x: Any) -> Any:
        unit_weight = self._to_unit_length(self.weight)
        return mul(dense(self._to_unit_length(x), unit_weight), self.multiplier)


def _replace_last_dense(network: Cell) -> None:
    """Replace the last Dense of `network` by a cosine head, in its parent cells."""
    cells = [cell for _, cell in network.cells_and_names()]
    layers = [cell for cell in cells if isinstance(cell, Dense)]
    if not layers:
        return
    last = layers[-1]
    head = _CosineHead(last.weight)
    head.set_train(last.training)
    for parent in cells:
        for name, child in parent.name_cells().items():
            if child is last:
                setattr(parent, name, head)
