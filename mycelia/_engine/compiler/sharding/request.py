"""What a plan is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.layout import Strategy
from mycelia._engine.distributed.plan.plan import Plan


@dataclass(frozen=True)
class PlanRequest:
    """What a program is planned for.

    `level` is how much of the optimizer's work is shared out (1: its state, 2: gradients, too, 3:
    parameters, too); parameters with fewer bytes than `threshold` are left alone, the others are
    shared by `sharers` devices, by all of them if it is None.
    """

    mode: str
    cluster: Cluster
    search: str = "recursive_programming"
    level: int = 0
    threshold: int = 0
    whole_batch: bool = True  # every process brings the whole batch, not its part
    cuts_arguments: bool = False  # in semi-automatic mode, the batch comes cut over all devices
    plans: tuple[Plan, ...] = ()  # made before, of this program or others
    arguments: tuple[Strategy | None, ...] = ()  # how single arguments come cut
    sharers: int | None = None
    memory: float = inf  # bytes a device has
    least_dear: float = 0.0  # seconds that a byte of them costs at least in a search for layouts
    fully_use_devices: bool = False  # operators that can use all devices do
