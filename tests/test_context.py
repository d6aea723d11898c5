"""set_context and get_context: keys, values, error types, devices."""

from __future__ import annotations

import logging

import pytest

import mycelia as ms
from mycelia._engine.core import warn_once


def test_defaults():
    assert ms.get_context("mode") == ms.PYNATIVE_MODE == 1
    assert ms.get_context("device_target") == "CPU"
    assert ms.get_context("max_call_depth") == 1000
    assert ms.get_context("save_graphs") == 0


def test_setting_and_reading():
    ms.set_context(mode=ms.GRAPH_MODE, save_graphs=True, save_graphs_path="graphs")
    assert ms.get_context("mode") == 0
    assert ms.get_context("save_graphs") == 2
    ms.context.set_context(mode=ms.context.PYNATIVE_MODE)
    assert ms.get_context("mode") == 1


def test_wrong_keys_and_values():
    with pytest.raises(TypeError, match="too many positional arguments"):
        ms.set_context(0)
    with pytest.raises(ValueError, match="foo is not recognized"):
        ms.set_context(foo=1)
    with pytest.raises(ValueError, match="'mode' should be context.GRAPH_MODE"):
        ms.set_context(mode=5)
    with pytest.raises(ValueError, match="'device_target' must be one of"):
        ms.set_context(device_target="FPGA")
    with pytest.raises(ValueError):
        ms.get_context("foo")
    with pytest.raises(ValueError, match="did you mean 'save_graphs'"):
        ms.set_context(save_graph=True)


def test_nothing_changes_when_one_value_is_wrong():
    with pytest.raises(ValueError):
        ms.set_context(max_call_depth=5, mode=7)
    assert ms.get_context("max_call_depth") == 1000


def test_a_missing_device_runs_on_the_best_present_with_one_warning(caplog):
    warn_once._logged.clear()
    with caplog.at_level(logging.WARNING, logger="mycelia"):
        ms.set_context(device_target="Ascend")
        ms.set_context(device_target="Ascend")
    assert len([r for r in caplog.records if "not on this machine" in r.message]) == 1
    assert ms.get_context("device_target") != "Ascend"
    assert float(ms.Tensor(1.0) + 1) == 2


def test_strict_device_refuses():
    with pytest.raises(RuntimeError, match="Unsupported device target Ascend"):
        ms.set_context(device_target="Ascend", strict_device=True)
    assert ms.get_context("device_target") == "CPU"
    assert ms.get_context("strict_device") is False


def test_seeds():
    with pytest.raises(ValueError):
        ms.set_seed(-1)
    with pytest.raises(TypeError):
        ms.set_seed(1.5)

    def draw():
        ms.set_seed(7)
        return ms.ops.standard_normal((3,)).asnumpy(), ms.nn.Dense(3, 2).weight.asnumpy()

    first, second = draw(), draw()
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert ms.get_seed() == 7
