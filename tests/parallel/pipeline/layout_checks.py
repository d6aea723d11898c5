"""Checks of layouts inside of stages on eight virtual devices, each a function of this file.

    python tests/parallel/pipeline/layout_checks.py megatron ...

runs those whose names begin so, in a process of its own: the number of devices is set when jax
starts. Each prints one line; the tests read them.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import jax
import numpy as np

import mycelia as ms
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.runtime.xla.collective_traffic import moved_bytes
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia.ops.collective.redistribute import over
from tests.parallel.pipeline.layout_models import Decoder, sentences
from tests.parallel.pipeline.models import Case, Trained, adam, check_equal, momentum, train
from tests.parallel.pipeline.running import run_here

AUTOMATIC = {"parallel_mode": "auto_parallel"}
BY_BATCH = {"parallel_mode": "data_parallel"}


def _case(network: Any = Decoder, **changed: Any) -> Case:
    chosen = {"optimizer": adam, "devices": 8, "size": 32, "labels": (0, 1)}
    return Case(network, sentences, **chosen | changed)


def _arrays(found: Trained) -> dict[str, Any]:
    """The arrays of all states after one more step, where the step left them."""
    found.step(*sentences(np.random.default_rng(9), 32))
    every = (*found.network.get_parameters(), *found.step.optimizer.get_parameters())
    return {p.name: p._data for p in every}


def _part(array: Any) -> tuple[int, ...]:
    return array.addressable_shards[0].data.shape


# ---- the same numbers as on one device, and weights that are cut ---------------------------------


def megatron_2_stages_of_4_devices():
    found = check_equal(_case(lambda: Decoder((2, 2))))
    arrays = _arrays(found)
    for layer, devices in ((0, {0, 1, 2, 3}), (1, {4, 5, 6, 7})):
        for name, part in (("query", (32, 16)), ("up", (32, 64)), ("down", (64, 32))):
            for state in ("", "moment1.", "moment2."):
                array = arrays[f"{state}layers.{layer}.{name}"]
                assert _part(array) == part, (state, name, array.sharding)
                assert {d.id for d in array.devices()} == devices
    assert [s.mesh for s in found.executable.report.stages] == ["2x2", "2x2"]


def megatron_of_one_batch():
    found = check_equal(_case(lambda: Decoder((1, 4)), optimizer=momentum))
    assert _part(_arrays(found)["layers.1.up"]) == (32, 32)


def automatic_2_stages_of_4_devices():
    for search in ("recursive_programming", "dynamic_programming"):
        settings = AUTOMATIC | {"search_mode": search}
        found = check_equal(_case(lambda: Decoder(width=64), settings=settings))
        arrays = _arrays(found)
        for name in ("layers.0.up", "moment1.layers.0.up", "layers.1.up"):
            assert _part(arrays[name]) == (64, 64), (name, arrays[name].sharding)
        assert len(ms.parallel.plans_of(found.step)) == 2
        for stage in found.executable.report.stages:
            (plan,) = stage.plans
            assert plan.search == search and plan.devices == 4 and plan.moved > 0


def automatic_2_stages_of_3_devices():
    case = _case(lambda: Decoder(width=96), devices=6, size=48, settings=AUTOMATIC)
    found = check_equal(case)
    for stage in found.executable.report.stages:
        assert stage.mesh == "3" and stage.plans[0].moved > 0


def automatic_stages_of_4_and_3_devices():
    for settings in (AUTOMATIC, BY_BATCH):
        found = check_equal(_case(devices=7, settings=settings))
        assert [s.devices for s in found.executable.report.stages] == [4, 3]


# ---- what is compiled ------------------------------------------------------------------------------


def compiled_stages_move_what_was_planned():
    hinted = _case(lambda: Decoder((2, 2)))
    for case in (hinted, _case(settings=AUTOMATIC), _case(settings=BY_BATCH)):
        found = train(case, steps=1)
        texts = _texts(found)
        weights = {tuple(p.shape) for p in found.network.trainable_params() if len(p.shape) == 2}
        for stage in found.executable.report.stages:
            own = [texts[stage.stage, way] for way in ("forward", "backward")]
            np.testing.assert_allclose(sum(map(moved_bytes, own)), stage.plans[0].moved, rtol=0.01)
            gathered = {shape for text in own for shape in _gathered(text)}
            assert not gathered & weights, gathered


def _gathered(text: str) -> list[tuple[int, ...]]:
    found = re.findall(r"= \w+\[([\d,]*)\]\S* all-gather\(", text)
    return [tuple(map(int, shape.split(","))) for shape in found]


def _texts(found: Trained) -> dict[tuple[int, str], str]:
    """The compiled stages, for arrays that lie as in a step."""
    pipeline = found.executable.pipeline
    seen: dict[tuple[int, str], Any] = {}

    def watched(key: tuple[int, str], run: Any) -> Any:
        def call(*arrays: Any) -> Any:
            given = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for a in arrays]
            results = run(*arrays)
            seen[key] = (given, tuple([r.sharding for r in results]))
            return results

        return call

    for stage in pipeline._stages:
        stage.forward = watched((stage.program.number, "forward"), stage.forward)
        stage.backward = watched((stage.program.number, "backward"), stage.backward)
    found.step(*sentences(np.random.default_rng(1), 32))
    texts = {}
    for (number, way), (given, results) in seen.items():
        stage = pipeline._stages[number]
        with over(stage.place.devices), reference_implementations():
            lowered = LoweredGraph(getattr(stage.program, way))
            program = jax.jit(lowered, keep_unused=True, out_shardings=results)
            texts[number, way] = program.lower(*given).compile().as_text()
    return texts


# ---- settings ----------------------------------------------------------------------------------------


def settings_of_optimizers_that_share():
    sharing = {"optimizer_level": "level1", "parallel_optimizer_threshold": 0}
    settings = BY_BATCH | {"enable_parallel_optimizer": True, "parallel_optimizer_config": sharing}
    arrays = _arrays(check_equal(_case(settings=settings)))
    assert _part(arrays["layers.0.up"]) == (32, 128)
    assert np.prod(_part(arrays["moment1.layers.0.up"])) == 32 * 128 // 4


def settings_of_memory():
    free = train(_case(settings=AUTOMATIC), steps=1).executable.report
    need = [stage.plans[0].memory for stage in free.stages]
    ms.set_context(max_device_memory=f"{min(need) / 2 / 2**30}GB")
    try:
        train(_case(settings=AUTOMATIC), steps=1)
    except MemoryError as error:
        assert "no layout fits" in str(error)
    else:
        raise AssertionError("nothing was raised")
    finally:
        ms.set_context(max_device_memory="1024GB")


if __name__ == "__main__":
    run_here(globals())
