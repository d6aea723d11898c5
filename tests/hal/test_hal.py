"""Devices, streams, events and memory, on a machine with a CPU."""

from __future__ import annotations

import time

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, hal
from mycelia._engine.runtime.memory import usage as runtime


def test_devices():
    assert hal.is_available("CPU") is True
    assert hal.is_available("Ascend") is False
    assert hal.is_initialized("CPU") is True
    assert hal.is_initialized("GPU") is False
    assert hal.device_count() == hal.device_count("CPU") >= 1
    assert hal.get_device_name(0) == hal.get_device_name(0, "CPU") == "CPU"
    assert hal.get_device_capability(0) is None
    assert hal.get_device_properties(0) is None
    assert hal.get_arch_list() is None


def test_wrong_devices():
    with pytest.raises(ValueError, match="must be one of"):
        hal.is_available("foo")
    with pytest.raises(ValueError, match="not available"):
        hal.device_count("Ascend")
    with pytest.raises(ValueError, match="less than device count"):
        hal.get_device_name(99)
    with pytest.raises(TypeError, match="must be int"):
        hal.get_device_name("a")


def test_there_is_one_queue():
    assert hal.current_stream() == hal.default_stream() == hal.communication_stream()
    other = hal.Stream(priority=1, stream_id=3)
    assert other != hal.default_stream()
    with hal.StreamCtx(other):
        assert hal.current_stream() is other
        total = (Tensor(np.ones(8, np.float32)) * 2).sum()
    assert hal.current_stream() is hal.default_stream()
    assert float(total) == 16
    hal.set_cur_stream(other)
    assert hal.current_stream() is other
    hal.set_cur_stream(hal.default_stream())
    other.wait_stream(hal.default_stream())
    other.synchronize()
    assert other.query() is True
    assert repr(other) == "Stream(device_name=CPU, device_id:0, stream id:3)"
    with pytest.raises(TypeError, match="Stream"):
        hal.StreamCtx(3)
    with pytest.raises(TypeError, match="Stream"):
        hal.set_cur_stream("a")


def test_events_know_their_time():
    first, second = hal.Event(enable_timing=True), hal.Event(enable_timing=True)
    first.record()
    time.sleep(0.02)
    assert hal.current_stream().record_event(second) is second
    second.synchronize()
    second.wait()
    hal.current_stream().wait_event(second)
    assert second.query() is True
    assert 15 < first.elapsed_time(second) < 5000
    with pytest.raises(RuntimeError, match="no time"):
        hal.Event().elapsed_time(second)
    with pytest.raises(TypeError, match="must be a bool"):
        hal.Event(enable_timing=1)


def test_all_work_is_done_after_synchronize():
    x = Tensor(np.ones((64, 64), np.float32)) @ Tensor(np.ones((64, 64), np.float32))
    assert hal.synchronize() is None
    assert float(x[0, 0]) == 64


def test_memory_grows_with_arrays():
    hal.reset_peak_memory_stats()
    before = hal.memory_allocated()
    kept = ms.ops.ones((1024, 1024), ms.float32) + ms.ops.ones((1024, 1), ms.float32)
    assert hal.memory_allocated() >= before + kept.nbytes
    assert hal.max_memory_allocated() >= hal.memory_allocated("CPU")
    assert hal.memory_reserved() >= hal.memory_allocated()
    assert hal.max_memory_reserved() >= hal.memory_reserved()
    peak = hal.max_memory_allocated()
    del kept
    assert hal.memory_allocated() < peak
    stats = hal.memory_stats()
    assert stats["total_allocated_memory"] <= stats["max_allocated_memory"]
    assert "total allocated memory" in hal.memory_summary()
    hal.reset_max_memory_allocated()
    hal.reset_max_memory_reserved()
    assert hal.max_memory_allocated() < peak
    hal.empty_cache()
    with pytest.raises(ValueError):
        hal.memory_allocated("foo")


def test_the_runtime_counts_the_same():
    runtime.reset_peak_memory_stats()
    kept = ms.ops.ones((256, 1024), ms.float32) + ms.ops.ones((256, 1), ms.float32)
    assert runtime.memory_allocated() >= kept.nbytes
    assert runtime.max_memory_allocated() >= kept.nbytes
    assert runtime.max_memory_reserved() >= runtime.memory_reserved() >= kept.nbytes
    assert runtime.memory_stats().keys() == hal.memory_stats().keys()
    runtime.reset_max_memory_allocated()
    runtime.reset_max_memory_reserved()
    assert "max reserved memory" in runtime.memory_summary()
    runtime.empty_cache()
    assert float(kept[0, 0]) == 2
