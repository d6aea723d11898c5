"""A pipeline that runs for long: its memory stays as it is."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import vision

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
STATUS = Path("/proc/self/status")


def resident() -> int:
    """Bytes of memory that this process holds."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def halved(x):
    return x // 2


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from /proc, which is not here")
def test_memory_is_flat(image_folder: Path):
    """Images, workers in threads and processes, new iterators, errors that are skipped."""
    (image_folder / "class1" / "101.jpg").write_bytes(b"no picture")
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    try:
        steps = [vision.RandomCropDecodeResize(64), vision.RandomHorizontalFlip()]
        rows = ds.ImageFolderDataset(str(image_folder), num_parallel_workers=2)
        data = rows.map(steps, "image").map(halved, "image", python_multiprocessing=True)
        data = data.map([vision.Normalize([60.0], [30.0]), vision.HWC2CHW()], "image").batch(16)
        held: list[int] = []
        end = time.monotonic() + 60 * MINUTES
        while time.monotonic() < end:
            iterator = data.create_dict_iterator(num_epochs=20)
            for _ in range(20):
                assert sum(len(row["label"]) for row in iterator) == 199
            iterator.release()
            held.append(resident())
    finally:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.RETURN)
    assert len(held) >= 4, "it was too short to tell"
    early, late = np.median(held[1 : len(held) // 2]), np.median(held[len(held) // 2 :])
    assert late - early < 30 * 2**20, f"it grew by {(late - early) / 2**20:.0f} MiB: {held}"
