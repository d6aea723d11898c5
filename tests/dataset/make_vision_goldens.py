"""Stores what MindSpore's transforms of single images give.

Run with a Python that has mindspore 2.10: `python tests/dataset/make_vision_goldens.py`.
It writes goldens_vision.npz: the types and shapes of all results, and their pixels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from mindspore.dataset import vision
from vision_cases import cases

FILE = Path(__file__).with_name("goldens_vision.npz")


def main() -> None:
    made = {name: np.asarray(call()) for name, call in cases(vision).items()}
    made = {k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in made.items()}
    np.savez_compressed(FILE, **made)
    print(f"{len(made)} arrays, {FILE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
