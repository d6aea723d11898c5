"""Stores what MindSpore's audio transforms give, in goldens_audio.npz.

Run with a Python that has mindspore 2.10: `python tests/dataset/make_audio_goldens.py`.
"""

from __future__ import annotations

from pathlib import Path

import audio_cases
import numpy as np
from mindspore.dataset import audio

FILE = Path(__file__).with_name("goldens_audio.npz")


def main() -> None:
    inputs = {name: x.copy() for name, x in vars(audio_cases).items() if isinstance(x, np.ndarray)}
    made = {}
    for name, call in audio_cases.cases(audio).items():
        made[name] = np.asarray(call())
        for key, value in inputs.items():  # some of MindSpore's kernels write into their input
            getattr(audio_cases, key)[...] = value
    np.savez_compressed(FILE, **made)
    print(f"{len(made)} arrays in {FILE}: {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
