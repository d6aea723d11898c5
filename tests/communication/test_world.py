"""The world of one process: joining it, its groups, and what may not be asked before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mycelia as ms
from mycelia import communication
from mycelia.communication import GlobalComm, management


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    yield
    communication.release()


def test_before_init_a_process_is_alone():
    assert communication.get_rank() == 0
    assert communication.get_group_size() == 1
    assert communication.get_local_rank() == 0
    assert communication.get_local_rank_size() == 1
    assert GlobalComm.INITED is False
    assert GlobalComm.BACKEND == "hccl"
    assert GlobalComm.WORLD_COMM_GROUP == communication.HCCL_WORLD_COMM_GROUP == "hccl_world_group"


@pytest.mark.parametrize(
    "call",
    [
        lambda: communication.get_process_group_ranks(),
        lambda: communication.get_comm_name(),
        lambda: communication.create_group("a", [0]),
        lambda: communication.destroy_group("a"),
        lambda: communication.get_world_rank_from_group_rank("a", 0),
        lambda: communication.get_group_rank_from_world_rank(0, "a"),
    ],
)
def test_groups_need_init(call):
    with pytest.raises(RuntimeError, match="not called init"):
        call()


def test_init_joins_and_release_leaves():
    communication.init()
    assert GlobalComm.INITED is True
    assert GlobalComm.BACKEND == "mccl"
    assert GlobalComm.WORLD_COMM_GROUP == communication.MCCL_WORLD_COMM_GROUP == "mccl_world_group"
    assert communication.get_process_group_ranks() == [0]
    assert communication.get_comm_name() == ""
    communication.release()
    assert GlobalComm.INITED is False
    assert communication.get_rank() == 0


@pytest.mark.parametrize("backend", ["hccl", "nccl", "mccl"])
def test_scripts_for_other_devices_name_their_backend(backend):
    management.init(backend)
    name = GlobalComm.WORLD_COMM_GROUP
    assert name == backend + "_world_group"
    assert communication.get_rank(f"{backend}_world_group") == 0
    assert communication.get_group_size("hccl_world_group") == 1
    assert communication.NCCL_WORLD_COMM_GROUP == "nccl_world_group"


def test_a_strict_device_takes_its_own_backend_only():
    ms.set_context(strict_device=True)
    with pytest.raises(RuntimeError, match="does not match CPU"):
        communication.init("hccl")


def test_wrong_backends():
    with pytest.raises(TypeError, match="backend_name"):
        communication.init(3)
    with pytest.raises(RuntimeError, match="unknown backend"):
        communication.init("foo")


def test_a_group_is_made_once_and_asked_about():
    communication.init()
    communication.create_group("a", [0])
    communication.create_group("a", [0])
    assert communication.get_process_group_ranks("a") == [0]
    assert communication.get_rank("a") == 0
    assert communication.get_group_size("a") == 1
    assert communication.get_local_rank("a") == 0
    assert communication.get_local_rank_size("a") == 1
    assert communication.get_world_rank_from_group_rank("a", 0) == 0
    assert communication.get_group_rank_from_world_rank(0, "a") == 0
    communication.destroy_group("a")
    with pytest.raises(RuntimeError, match="The group a does not exist"):
        communication.get_rank("a")


def test_wrong_groups():
    communication.init()
    communication.create_group("a", [0])
    with pytest.raises(ValueError, match="exists with other processes"):
        communication.create_group("a", [0, 1])
    with pytest.raises(TypeError, match="'group' must be str"):
        communication.create_group(3, [0])
    with pytest.raises(ValueError, match="empty"):
        communication.create_group("b", [])
    with pytest.raises(ValueError, match="a rank twice"):
        communication.create_group("b", [0, 0])
    with pytest.raises(RuntimeError, match="contains unknown ranks"):
        communication.create_group("b", [1])
    with pytest.raises(TypeError, match="a list of ints"):
        communication.create_group("b", ["x"])
    with pytest.raises(ValueError, match="world group cannot be destroyed"):
        communication.destroy_group("mccl_world_group")
    with pytest.raises(KeyError):
        communication.destroy_group("b")
    with pytest.raises(TypeError, match="'group' must be str"):
        communication.get_rank(1)
    with pytest.raises(TypeError, match="must be int"):
        communication.get_world_rank_from_group_rank("a", "0")
    with pytest.raises(RuntimeError, match="has no rank 1"):
        communication.get_world_rank_from_group_rank("a", 1)
    with pytest.raises(RuntimeError, match="process 1 is not in the group"):
        communication.get_group_rank_from_world_rank(1, "a")
