"""Run the metrics on the real MindSpore and store what came out.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_metrics.py`.
It writes metrics.npz.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
from metrics_cases import results

if __name__ == "__main__":
    np.savez_compressed(Path(__file__).with_name("metrics.npz"), **results(ms))
