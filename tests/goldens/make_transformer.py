"""Run the attention and transformer layers on the real MindSpore and store what came out.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_transformer.py`.
It writes transformer.npz.
"""

from __future__ import annotations

import mindspore as ms
from layer_runs import draw, store
from transformer_cases import cases

if __name__ == "__main__":
    store(ms, cases(draw), __file__)
