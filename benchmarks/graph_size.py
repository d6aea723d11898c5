"""Time to trace, differentiate, and optimize graphs of growing size, without XLA.

    .venv/bin/python benchmarks/graph_size.py 2000 20000

Prints seconds per graph and nanoseconds per node: compilation is linear if the latter stay equal.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.ir.analysis import ordered
from mycelia.transforms.show import trace_for


def main() -> None:
    sizes = [int(a) for a in sys.argv[1:]] or [2_000, 20_000]
    x = Tensor(np.ones((4, 4), np.float32))
    for nodes in sizes:
        # one pass makes two nodes, and their gradients about three
        gradient = ms.grad(chain(nodes // 5))
        start = time.perf_counter()
        found = trace_for(gradient, (x,))
        seconds = time.perf_counter() - start
        count = len(ordered(found.read.program.graph))
        print(f"{count:>8} nodes  {seconds:8.2f} s  {1e6 * seconds / count:8.1f} us a node")


def chain(passes: int) -> nn.SequentialCell:
    """A network whose graph has two operators for each pass."""
    return nn.SequentialCell(*[Sine() for _ in range(passes)])


class Sine(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return ops.sin(x * x)


if __name__ == "__main__":
    main()
