"""The request to the planner: mode, cluster, memory, and settings."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.layout import Strategy
from mycelia._engine.distributed.plan.plan import Plan


@dataclass(frozen=True)
class PlanRequest:
    """The settings for planning a program.

    `level` is the ZeRO level (1: optimizer states are sharded, 2: gradients, too, 3: parameters,
    too). Parameters with fewer bytes than `threshold` are not sharded; the others are sharded over
    `sharers` devices, or over all devices if it is None.
    """

    mode: str
    cluster: Cluster
    search: str = "recursive_programming"
    level: int = 0
    threshold: int = 0
    whole_batch: bool = True  # every process passes the whole batch, not its slice
    cuts_arguments: bool = False  # in semi-automatic mode, the batch is split over all devices
    plans: tuple[Plan, ...] = ()  # saved plans, of this program or others
    arguments: tuple[Strategy | None, ...] = ()  # strategies of single arguments
    sharers: int | None = None
    memory: float = inf  # bytes per device
    least_dear: float = 0.0  # the lowest memory weight to search with, in seconds per byte
    fully_use_devices: bool = False  # operators that can use all devices do
