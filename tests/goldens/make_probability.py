"""Ask the real MindSpore about distributions and bijectors and store its answers.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_probability.py`.
It writes probability.npz; questions the real one refuses on a CPU are left out and printed.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import mindspore.nn.probability.bijector as msb
import mindspore.nn.probability.distribution as msd
import numpy as np
from probability_cases import cases

if __name__ == "__main__":
    answers: dict[str, np.ndarray] = {}
    for name, ask in cases().items():
        try:
            answers[name] = ask(ms, msd, msb).asnumpy()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[:1]}")
    np.savez_compressed(Path(__file__).with_name("probability.npz"), **answers)
    print(len(answers), "answers")
