"""The world of cooperating processes, and its process groups.

A process is alone, with rank 0 in a world of size 1, until `communication.init` finds in its
environment that others were started with it (`communication/environment.py`) and joins them
(`_engine/runtime/distributed/initialization.py`). All other code reads rank and size from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mycelia._engine.core.errors import problem

BACKENDS = ("hccl", "nccl", "mccl")
DEFAULT_WORLD_GROUP = "hccl_world_group"


@dataclass(frozen=True)
class World:
    """The rank and size of this process's world, and its groups by name."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    backend: str = "hccl"
    is_joined: bool = False
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the group of all processes."""
        return f"{self.backend}_world_group"

    def members(self, group: str) -> tuple[int, ...]:
        """The ranks in a group, in group order."""
        if group in (self.name, DEFAULT_WORLD_GROUP):
            return tuple(range(self.size))
        if group not in self.groups:
            raise problem(
                RuntimeError,
                f"The group {group} does not exist.",
                expected=f"one of {', '.join([self.name, *self.groups])}",
                fix="create it first: create_group(name, rank_ids)",
            )
        return self.groups[group]

    def with_group(self, group: str, ranks: tuple[int, ...]) -> World:
        return replace(self, groups={**self.groups, group: ranks})

    def without_group(self, group: str) -> World:
        return replace(self, groups={k: v for k, v in self.groups.items() if k != group})


class _CurrentWorld:
    world: World = World()


def world() -> World:
    """The world of this process."""
    return _CurrentWorld.world


def set_world(other: World) -> None:
    """Replace the world of this process."""
    _CurrentWorld.world = other
