"""Train the networks of training_networks.py on the real MindSpore and store the losses.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_training.py`. Writes training.npz.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
from training_networks import NETWORKS, losses, optimizers

if __name__ == "__main__":
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found = {}
    for network in NETWORKS:
        for optimizer in optimizers(ms):
            found[f"{network}.{optimizer}"] = losses(ms, network, optimizer)
            print(network, optimizer, found[f"{network}.{optimizer}"][[0, 1, -1]])
    np.savez_compressed(Path(__file__).with_name("training.npz"), **found)
