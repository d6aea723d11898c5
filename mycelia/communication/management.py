"""Initializing communication, and querying ranks and groups."""

from __future__ import annotations

import os
from typing import Any

from mycelia._engine.core import settings
from mycelia._engine.core.checks import check_int, is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.process_groups import (
    BACKENDS,
    DEFAULT_WORLD_GROUP,
    World,
    set_world,
    world,
)
from mycelia._engine.runtime.distributed import initialization
from mycelia._engine.runtime.xla.compile import forget_programs
from mycelia.communication import messages
from mycelia.communication.environment import WATCHED, ProcessRank, is_scheduler, place

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = (
    f"{backend}_world_group" for backend in BACKENDS
)


class _WorldFacts(type):
    """Provides the attributes of `GlobalComm` from the current world."""

    @property
    def BACKEND(cls) -> str:
        return world().backend

    @property
    def WORLD_COMM_GROUP(cls) -> str:
        return world().name

    @property
    def INITED(cls) -> bool:
        return world().is_joined


class GlobalComm(metaclass=_WorldFacts):
    """The backend, the name of the world group, and whether `init` was called."""

    CHECK_ENVS = True


def init(backend_name: str | None = None) -> None:
    """Connect to the processes that were started with this one; alone, the world size is 1.

    Call it before anything runs on a device. The backend is only a name. If the device is not
    available, the available one and its backend are used, unless `strict_device` is set in the
    context.
    """
    if backend_name is not None and not isinstance(backend_name, str):
        raise wrong_type("init", "backend_name", backend_name, "str")
    if backend_name is not None and backend_name not in BACKENDS:
        raise problem(
            RuntimeError,
            "init: unknown backend",
            got=f"backend_name={backend_name!r}",
            expected=", ".join(map(repr, BACKENDS)),
        )
    now = settings.current()
    own = "nccl" if now.device_target == "GPU" else "mccl"
    if now.strict_device and backend_name not in (None, own):
        raise problem(
            RuntimeError,
            f"init: the backend does not match {now.device_target}",
            got=f"backend_name={backend_name!r}",
            expected=repr(own),
        )
    if is_scheduler(os.environ):
        raise SystemExit(0)  # processes need no scheduler
    now_at = place(os.environ) or ProcessRank(0, 1, 0, 1, "")
    if now_at.size > 1 and not initialization.is_joined():
        initialization.join(
            now_at.coordinator,
            now_at.rank,
            now_at.size,
            now_at.local_rank,
            now_at.timeout,
            is_watched=WATCHED in os.environ,
            is_one_host=now_at.local_size == now_at.size,
        )
    set_world(
        World(
            rank=now_at.rank,
            size=now_at.size,
            local_rank=now_at.local_rank,
            local_size=now_at.local_size,
            backend=backend_name or own,
            is_joined=True,
            groups=world().groups,
        )
    )
    messages.open_mail()


def release() -> None:
    """Disconnect; all processes must call it. Groups are removed."""
    messages.close_mail()
    initialization.leave()
    if world().size > 1:
        forget_programs()
    set_world(World())


def get_rank(group: str = DEFAULT_WORLD_GROUP) -> int:
    """The rank of this process in `group`; 0 before `init`."""
    _check_name("get_rank", group)
    now = world()
    if not now.is_joined:
        return now.rank
    return _place("get_rank", group, now.rank)


def get_group_size(group: str = DEFAULT_WORLD_GROUP) -> int:
    """The number of processes in `group`; 1 before `init`."""
    _check_name("get_group_size", group)
    now = world()
    return len(now.members(group)) if now.is_joined else now.size


def get_local_rank(group: str = DEFAULT_WORLD_GROUP) -> int:
    """The rank of this process on its machine; it must be in `group`."""
    _check_name("get_local_rank", group)
    now = world()
    if now.is_joined:
        _place("get_local_rank", group, now.rank)
    return now.local_rank


def get_local_rank_size(group: str = DEFAULT_WORLD_GROUP) -> int:
    """The number of processes of `group` on this machine."""
    _check_name("get_local_rank_size", group)
    now = world()
    if now.is_joined:
        now.members(group)
    return now.local_size


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The world rank of the process with rank `group_rank_id` in `group`."""
    owner = "get_world_rank_from_group_rank"
    members = _members(owner, group)
    _check_rank(owner, "group_rank_id", group_rank_id)
    if not 0 <= group_rank_id < len(members):
        raise problem(
            RuntimeError,
            f"{owner}: the group {group!r} has no rank {group_rank_id}",
            expected=f"0 to {len(members) - 1}",
        )
    return members[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The rank in `group` of the process with rank `world_rank_id` in the world."""
    owner = "get_group_rank_from_world_rank"
    _members(owner, group)
    _check_rank(owner, "world_rank_id", world_rank_id)
    return _place(owner, group, world_rank_id)


def get_process_group_ranks(group: str = DEFAULT_WORLD_GROUP) -> list[int]:
    """The world ranks of all processes in `group`."""
    return list(_members("get_process_group_ranks", group))


def get_comm_name(group: str = DEFAULT_WORLD_GROUP) -> str:
    """The backend's internal name of `group`: empty, since only hccl has such names."""
    _members("get_comm_name", group)
    return ""


def create_group(group: str, rank_ids: Any, options: Any = None) -> None:
    """Create a group of processes; creating the same group again has no effect."""
    _check_joined()
    _check_name("create_group", group)
    now = world()
    known = now.groups.get(group)
    if known is not None:
        if list(known) != rank_ids:
            raise problem(
                ValueError,
                f"create_group: the group {group!r} exists with other processes",
                got=f"ranks {rank_ids}",
                expected=f"{list(known)}, as it has",
            )
        return
    set_world(now.with_group(group, _checked_ranks(group, rank_ids)))


def destroy_group(group: str) -> None:
    """Remove a group."""
    _check_joined()
    _check_name("destroy_group", group)
    now = world()
    if group in (now.name, DEFAULT_WORLD_GROUP):
        raise problem(ValueError, "destroy_group: the world group cannot be destroyed", got=group)
    if group not in now.groups:
        raise problem(KeyError, f"destroy_group: unknown group {group!r}")
    set_world(now.without_group(group))
    forget_programs()  # a later group of the same name may have other members


def _checked_ranks(group: str, rank_ids: Any) -> tuple[int, ...]:
    if not isinstance(rank_ids, list) or not all(is_int(rank) for rank in rank_ids):
        raise problem(
            TypeError,
            "create_group: rank_ids must be a list of ints",
            got=repr(rank_ids),
        )
    if not rank_ids:
        raise problem(ValueError, "create_group: rank_ids is empty")
    if len(set(rank_ids)) != len(rank_ids):
        raise problem(
            ValueError, f"create_group: {group!r} contains a rank twice", got=repr(rank_ids)
        )
    outside = [rank for rank in rank_ids if not 0 <= rank < world().size]
    if outside:
        raise problem(
            RuntimeError,
            f"create_group: {group!r} contains unknown ranks",
            got=f"{outside}, in a world of {world().size}",
        )
    return tuple(rank_ids)


def _members(owner: str, group: str) -> tuple[int, ...]:
    _check_joined()
    _check_name(owner, group)
    return world().members(group)


def _place(owner: str, group: str, rank: int) -> int:
    members = world().members(group)
    if rank not in members:
        raise problem(
            RuntimeError,
            f"{owner}: the process {rank} is not in the group {group!r}",
            expected=f"one of {list(members)}",
        )
    return members.index(rank)


def _check_joined() -> None:
    if not world().is_joined:
        raise problem(
            RuntimeError,
            "communication: this process has not called init yet",
            fix="call mycelia.communication.init() first",
        )


def _check_name(owner: str, group: Any) -> None:
    if not isinstance(group, str):
        raise wrong_type(owner, "group", group, "str")


def _check_rank(owner: str, argument: str, rank: Any) -> None:
    check_int(owner, argument, rank)
