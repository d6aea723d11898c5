"""Settings of parallel training: defaults, values given back, and error types of the real system."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mycelia import parallel as ms
from mycelia._engine.distributed import offload_settings
from mycelia.parallel import ParallelMode


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:
    yield
    ms.reset_auto_parallel_context()
    ms.reset_algo_parameters()
    ms.reset_ps_context()
    offload_settings._TABLE.reset()


DEFAULTS = {
    "device_num": 1,
    "global_rank": 0,
    "gradients_mean": False,
    "gradient_fp32_sync": True,
    "loss_repeated_mean": True,
    "pipeline_stages": 1,
    "pipeline_scheduler": "1f1b",
    "parallel_mode": "stand_alone",
    "search_mode": "recursive_programming",
    "parameter_broadcast": False,
    "strategy_ckpt_load_file": "",
    "full_batch": False,
    "dataset_strategy": "data_parallel",
    "enable_parallel_optimizer": False,
    "grad_accumulation_step": 1,
    "all_reduce_fusion_config": [],
    "communi_parallel_mode": "all_group_parallel",
    "optimizer_weight_shard_size": -1,
    "strategy_ckpt_config": {"load_file": "", "save_file": "", "only_trainable_params": True},
    "full_batch_is_set": False,
    "init_param_in_compile": True,
}


@pytest.mark.parametrize(("key", "value"), DEFAULTS.items())
def test_defaults(key, value):
    assert ms.get_auto_parallel_context(key) == value


def test_values_are_kept_and_reset():
    ms.set_auto_parallel_context(
        parallel_mode=ParallelMode.DATA_PARALLEL, device_num=8, global_rank=3, gradients_mean=True
    )
    assert ms.get_auto_parallel_context("parallel_mode") == "data_parallel"
    assert ms.get_auto_parallel_context("device_num") == 8
    assert ms.get_auto_parallel_context("global_rank") == 3
    assert ms.get_auto_parallel_context("gradients_mean") is True
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("device_num") == 1
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"


def test_keys_that_go_together():
    ms.set_auto_parallel_context(full_batch=True)
    assert ms.get_auto_parallel_context("dataset_strategy") == "full_batch"
    ms.set_auto_parallel_context(dataset_strategy=((1, 8),))
    assert ms.get_auto_parallel_context("full_batch") is False
    assert ms.get_auto_parallel_context("dataset_strategy") == ((1, 8),)
    ms.set_auto_parallel_context(auto_parallel_search_mode="dynamic_programming")
    assert ms.get_auto_parallel_context("search_mode") == "dynamic_programming"
    ms.set_auto_parallel_context(strategy_ckpt_config={"load_file": "a.ckpt"})
    assert ms.get_auto_parallel_context("strategy_ckpt_load_file") == "a.ckpt"
    ms.set_auto_parallel_context(
        pipeline_config={"pipeline_interleave": True, "pipeline_scheduler": "gpipe"}
    )
    assert ms.get_auto_parallel_context("pipeline_interleave") is True
    assert ms.get_auto_parallel_context("pipeline_scheduler") == "gpipe"
    ms.set_auto_parallel_context(comm_fusion={"allreduce": {"mode": "size", "config": 32}})
    fusion = ms.get_auto_parallel_context("comm_fusion")
    assert fusion["allreduce"] == {"mode": "size", "config": 32}
    assert fusion["allgather"] == {"mode": "auto", "config": None}


def test_what_is_given_back_is_a_copy():
    ms.set_auto_parallel_context(all_reduce_fusion_config=[8, 11])
    ms.get_auto_parallel_context("all_reduce_fusion_config").append(1)
    assert ms.get_auto_parallel_context("all_reduce_fusion_config") == [8, 11]


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("device_num", 0, ValueError),
        ("device_num", "a", TypeError),
        ("global_rank", -1, ValueError),
        ("global_rank", 4096, ValueError),
        ("gradients_mean", 1, TypeError),
        ("parallel_mode", "foo", ValueError),
        ("parallel_mode", 1, TypeError),
        ("search_mode", "foo", ValueError),
        ("strategy_ckpt_load_file", 1, TypeError),
        ("full_batch", 1, TypeError),
        ("dataset_strategy", "foo", ValueError),
        ("dataset_strategy", 3, TypeError),
        ("all_reduce_fusion_config", ["a"], TypeError),
        ("all_reduce_fusion_config", [1, 1], ValueError),
        ("pipeline_stages", 0, ValueError),
        ("grad_accumulation_step", 2, ValueError),
        ("parallel_optimizer_config", {"foo": 1}, ValueError),
        ("parallel_optimizer_config", {"parallel_optimizer_threshold": -1}, ValueError),
        ("communi_parallel_mode", "foo", ValueError),
        ("comm_fusion", {"foo": 1}, KeyError),
        ("comm_fusion", {"allreduce": {"mode": "bad", "config": None}}, KeyError),
        ("strategy_ckpt_config", {"load_file": 1}, TypeError),
        ("pipeline_config", {"pipeline_interleave": True}, KeyError),
        ("full_batch_is_set", True, ValueError),
        ("foo", 1, ValueError),
    ],
)
def test_wrong_values(key, value, error):
    with pytest.raises(error):
        ms.set_auto_parallel_context(**{key: value})
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"


def test_nothing_changes_when_one_value_is_wrong():
    with pytest.raises(ValueError):
        ms.set_auto_parallel_context(device_num=4, global_rank=-1)
    assert ms.get_auto_parallel_context("device_num") == 1


def test_unknown_keys_and_positions():
    with pytest.raises(ValueError, match="no setting 'foo' can be read"):
        ms.get_auto_parallel_context("foo")
    with pytest.raises(ValueError, match="can be read"):
        ms.get_auto_parallel_context("parallel_optimizer_config")
    with pytest.raises(TypeError, match="too many positional"):
        ms.set_auto_parallel_context(1)


def test_modes():
    assert ParallelMode.MODE_LIST == [
        "stand_alone", "data_parallel", "hybrid_parallel", "semi_auto_parallel", "auto_parallel",
    ]  # fmt: skip


def test_parameters_of_the_search():
    assert ms.get_algo_parameters("fully_use_devices") is False
    assert ms.get_algo_parameters("algo_approxi_epsilon") == pytest.approx(0.1)
    assert ms.get_algo_parameters("tensor_slice_align_size") == 16
    ms.set_algo_parameters(elementwise_op_strategy_follow=True, tensor_slice_align_size=8)
    assert ms.get_algo_parameters("elementwise_op_strategy_follow") is True
    assert ms.get_algo_parameters("tensor_slice_align_size") == 8
    ms.reset_algo_parameters()
    assert ms.get_algo_parameters("tensor_slice_align_size") == 16
    with pytest.raises(TypeError):
        ms.set_algo_parameters(fully_use_devices=1)
    with pytest.raises(TypeError):
        ms.set_algo_parameters(algo_approxi_epsilon=1)
    with pytest.raises(ValueError):
        ms.set_algo_parameters(tensor_slice_align_size=1025)
    with pytest.raises(ValueError, match="no setting 'foo' can be set"):
        ms.set_algo_parameters(foo=1)
    with pytest.raises(ValueError, match="no setting 'foo' can be read"):
        ms.get_algo_parameters("foo")


def test_offloading():
    ms.set_offload_context(
        {"offload_path": "./p", "offload_cpu_size": "1.5GB", "enable_aio": False}
    )
    kept = ms.get_offload_context()
    assert kept["offload_path"] == "./p"
    assert kept["offload_cpu_size"] == int(1.5 * 2**30)
    assert kept["enable_aio"] is False
    with pytest.raises(TypeError):
        ms.set_offload_context(1)
    with pytest.raises(ValueError, match="foo"):
        ms.set_offload_context({"foo": 1})
    with pytest.raises(ValueError, match="gigabytes"):
        ms.set_offload_context({"offload_disk_size": "x"})
    with pytest.raises(ValueError):
        ms.set_offload_context({"offload_param": "gpu"})


def test_parameter_servers():
    assert ms.get_ps_context("enable_ps") is False
    assert ms.get_ps_context("scheduler_port") == 6667
    ms.set_ps_context(enable_ps=True, config_file_path="a")
    assert ms.get_ps_context("enable_ps") is True
    assert ms.get_ps_context("config_file_path") == "a"
    ms.reset_ps_context()
    assert ms.get_ps_context("enable_ps") is False
    with pytest.raises(TypeError):
        ms.set_ps_context(enable_ps=1)
    with pytest.raises(ValueError, match="PS context: no setting 'foo'"):
        ms.set_ps_context(foo=1)
    with pytest.raises(ValueError, match="can be read"):
        ms.get_ps_context("client_password")
