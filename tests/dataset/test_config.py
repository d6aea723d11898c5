"""Each setting is given back as it was set, and what is wrong is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia._engine.core import seed
from mycelia.dataset import config


@pytest.fixture(autouse=True)
def _as_before():
    before = dict(config._now)
    yield
    config._now.clear()
    config._now.update(before)


PAIRS = [
    (config.set_num_parallel_workers, config.get_num_parallel_workers, 5),
    (config.set_prefetch_size, config.get_prefetch_size, 3),
    (config.set_monitor_sampling_interval, config.get_monitor_sampling_interval, 9),
    (config.set_callback_timeout, config.get_callback_timeout, 9),
    (config.set_auto_num_workers, config.get_auto_num_workers, True),
    (config.set_numa_enable, config.get_numa_enable, True),
    (config.set_enable_shared_mem, config.get_enable_shared_mem, False),
    (config.set_auto_offload, config.get_auto_offload, True),
    (config.set_enable_watchdog, config.get_enable_watchdog, False),
    (
        config.set_multiprocessing_timeout_interval,
        config.get_multiprocessing_timeout_interval,
        7,
    ),
    (config.set_autotune_interval, config.get_autotune_interval, 4),
    (config.set_enable_autotune, config.get_enable_autotune, True),
    (config.set_fast_recovery, config.get_fast_recovery, False),
    (config.set_debug_mode, config.get_debug_mode, True),
    (config.set_multiprocessing_start_method, config.get_multiprocessing_start_method, "spawn"),
    (config.set_video_backend, config.get_video_backend, "Ascend"),
    (config.set_error_samples_mode, config.get_error_samples_mode, config.ErrorSamplesMode.SKIP),
    (config.set_seed, config.get_seed, 8),
]


@pytest.mark.parametrize(("put", "get", "value"), PAIRS)
def test_a_setting_is_given_back(put, get, value):
    assert get() != value
    put(value)
    assert get() == value
    with pytest.raises(TypeError, match="wrong type"):
        put([])


def test_settings_start_with_mindspores_defaults():
    assert config.get_prefetch_size() == 16
    assert config.get_callback_timeout() == 60
    assert config.get_multiprocessing_timeout_interval() == 300
    assert config.get_error_samples_mode() == config.ErrorSamplesMode.RETURN
    assert config.set_sending_batches(3) is None


def test_values_out_of_range_are_refused():
    for put in (config.set_num_parallel_workers, config.set_prefetch_size):
        with pytest.raises(ValueError, match="out of range"):
            put(0)
    with pytest.raises(ValueError, match="out of range"):
        config.set_seed(-1)
    with pytest.raises(ValueError, match="unknown value"):
        config.set_video_backend("GPU")


def test_the_seed_also_seeds_numpy_and_follows_the_process(monkeypatch):
    config.set_seed(6)
    drawn = np.random.rand()
    config.set_seed(6)
    assert np.random.rand() == drawn
    config._now["seed"] = None
    for name in ("seed", "base", "drawn", "initialized"):
        monkeypatch.setattr(seed._SeedState, name, getattr(seed._SeedState, name))
    ms.set_seed(41)
    assert config.get_seed() == 41


def test_load_reads_a_file(tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"numParallelWorkers": 3, "seed": 17, "logFilePath": "x"}))
    config.load(str(path))
    assert (config.get_num_parallel_workers(), config.get_seed()) == (3, 17)
    with pytest.raises(RuntimeError, match="does not exist"):
        config.load(str(tmp_path / "no.json"))


def test_more_workers_than_processors_are_fine():
    config.set_num_parallel_workers(64)
    data = ds.NumpySlicesDataset(np.arange(100), shuffle=False).map(lambda x: x + 1)
    made = [int(row[0].asnumpy()) for row in data]
    assert made == list(range(1, 101))


def test_datasets_import_without_pillow():
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "import numpy as np, mycelia.dataset as ds\n"
        "print(ds.vision.HWC2CHW()(np.zeros((2, 3, 4))).shape)\n"
        "try: ds.vision.Decode()(np.zeros(3, np.uint8))\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "(4, 2, 3)" in done.stdout
    assert "mycelia[dataset]" in done.stdout
