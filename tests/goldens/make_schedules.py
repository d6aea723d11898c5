"""Evaluate the learning rates of schedule_cases.py on the real MindSpore.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_schedules.py`. Writes
schedules.npz.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
from schedule_cases import LISTS, SCHEDULES, schedule_values

if __name__ == "__main__":
    found = {f"schedule:{case}": schedule_values(ms, case) for case in SCHEDULES}
    found |= {f"list:{case}": np.array(make(ms.nn)) for case, make in LISTS.items()}
    np.savez_compressed(Path(__file__).with_name("schedules.npz"), **found)
