"""The example that trains from files: here on drawn bars in MNIST's form."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.dataset.written_files import write_idx

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "fashion_mnist.py"


def write_bars(folder: Path) -> None:
    """Images with a bright bar, whose height says the class."""
    random = np.random.default_rng(0)
    for part, count in (("train", 1920), ("t10k", 320)):
        labels = random.integers(0, 10, count).astype(np.uint8)
        images = random.integers(0, 60, (count, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels):
            image[2 + 2 * label : 5 + 2 * label, 4:24] = 220
        write_idx(folder / f"{part}-images-idx3-ubyte", images)
        write_idx(folder / f"{part}-labels-idx1-ubyte", labels)


def test_it_learns_from_files_and_says_how_long_it_waited(tmp_path: Path):
    write_bars(tmp_path)
    done = subprocess.run(
        [sys.executable, PROGRAM, "--data", tmp_path, "--epochs", "4"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(re.search(r"accuracy: (\S+)", done.stdout)[1]) > 0.8
    assert re.search(r"240 rows in .* s", done.stdout)
    assert re.search(r"the consumer waited .* s for data \(.*% of the time\)", done.stdout)


def test_it_says_where_data_comes_from(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, PROGRAM, "--data", tmp_path / "none"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "--help" in done.stderr
