"""One process of growth.py: trains a GPT in graph mode and prints the times of its steps as JSON.

`python growth_worker.py WAY STEPS SIZES` with the way "plain" or "scanned", how many steps to time,
and the sizes of the net as JSON. `workers` is a copy of the nets of `mycelia benchmark`, outside of
the package: code of a user, whose source is read. growth.py says where it is.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from workers.cell_language import GPT, Layer
from workers.cell_training import training
from workers.protocol import cores

import mycelia as ms
from mycelia import nn

WARM_UPS = 2  # calls after the first, which are not timed as steps


def main() -> None:
    way, steps, sizes = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    ms.set_context(mode=ms.GRAPH_MODE, runtime_num_threads=cores())
    net = scanned(sizes) if way == "scanned" else GPT(sizes)
    job = training(net, sizes)
    print(json.dumps(measure(job.run, steps) | {"parameters": job.parameters}))


def scanned(sizes: dict[str, Any]) -> GPT:
    """The same GPT, whose blocks are marked as parts that the net repeats."""

    class Block(Layer):
        @ms.lazy_inline
        def __init__(self, sizes: dict[str, Any], first: bool) -> None:
            super().__init__(sizes, first)

    net = GPT(sizes)
    net.layers = nn.CellList([Block(sizes, first=True) for _ in range(sizes["layers"])])
    return net


def measure(run: Callable[[], float], steps: int) -> dict[str, float]:
    """Seconds to compile, which is what a first call takes more than a second, and of a step."""
    calls: list[float] = []
    losses: list[float] = []
    for _ in range(1 + WARM_UPS + steps):
        started = time.perf_counter()
        losses.append(run())
        calls.append(time.perf_counter() - started)
    assert all(map(math.isfinite, losses)), losses
    step = median(calls[1 + WARM_UPS :])
    return {"compile": calls[0] - calls[1], "step": step, "loss": losses[0]}


if __name__ == "__main__":
    main()
