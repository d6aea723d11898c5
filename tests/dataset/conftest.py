"""What tests of pipelines share: a seed, and settings that are put back."""

import numpy as np
import pytest

import mycelia.dataset as ds


@pytest.fixture
def seeded():
    """Pipelines with a seed; settings as before afterwards."""
    before = dict(ds.config._now)
    ds.config.set_seed(11)
    yield
    ds.config._now.clear()
    ds.config._now.update(before)


@pytest.fixture
def image_folder(tmp_path):
    """Two hundred small JPEG files in four folders."""
    simplejpeg = pytest.importorskip("simplejpeg")
    random = np.random.default_rng(3)
    for number in range(200):
        path = tmp_path / "images" / f"class{number % 4}" / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 256, (24 + number % 5, 32, 3), dtype=np.uint8)
        path.write_bytes(simplejpeg.encode_jpeg(pixels))
    return tmp_path / "images"
