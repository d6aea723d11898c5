"""The K-FAC optimizer: natural gradients with Kronecker factors inverted at fixed intervals."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.layer.curvature import BLOCK_SIZE
from mycelia.nn.optim.thor import Thor


class KFAC(Thor):
    """The K-FAC optimizer: momentum on natural gradients (Martens and Grosse, 2015).

    It requires the network, because it observes the inputs of its layers. A batch is sampled every
    `factor_update_freq` steps, and the factors are inverted every `inv_update_freq` steps (more
    often at first). `radius` limits the step length, measured by the curvature, before the learning
    rate is applied. Differentiate with respect to `parameters`.
    """

    def __init__(
        self,
        net: Cell,
        lr: Any,
        damping: Any = 0.03,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        factor_update_freq: int = 1,
        inv_update_freq: int = 10,
        radius: float = 1.0,
        block_size: int = BLOCK_SIZE,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(
            net,
            lr,
            damping,
            momentum,
            weight_decay,
            loss_scale,
            frequency=check_positive_int("KFAC", "inv_update_freq", inv_update_freq),
            sampling=check_positive_int("KFAC", "factor_update_freq", factor_update_freq),
            block_size=check_positive_int("KFAC", "block_size", block_size),
            trace_rule=(0.0, 0.0),
            radius=radius,
        )
