"""Run the optimizers of more_optim_cases.py on the real MindSpore and store parameters and states.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_more_optim.py`. It writes
more_optim.npz.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
from more_optim_cases import CASES, run

if __name__ == "__main__":
    found = {}
    for case in CASES:
        print(case)
        for name, value in run(ms, case).items():
            found[f"{case}:{name}"] = value
    np.savez_compressed(Path(__file__).with_name("more_optim.npz"), **found)
