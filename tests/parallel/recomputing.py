"""Train layers that are run again in the backward pass, or not, and print what that takes.

    python tests/parallel/recomputing.py '[[4, true, "data_parallel"]]'

Each case is a number of layers, whether they are run again, a parallel mode, and maybe the memory
of a device in GB. Printed are the peaks of memory on a device, the bytes that one sends in a step,
and the losses of three steps.
"""

import json
import sys

import numpy as np

import mycelia as ms
from mycelia import nn
from mycelia._engine.runtime.xla.collective_traffic import moved_bytes
from mycelia._engine.runtime.xla.memory_plan import memory_plan

ROWS, WIDTH, INNER = 4096, 64, 256


class Layer(nn.Cell):
    def __init__(self, number):
        super().__init__()
        draw = np.random.default_rng(number)
        up, down = (draw.normal(size=s, scale=0.1) for s in ((INNER, WIDTH), (WIDTH, INNER)))
        self.up = nn.Dense(WIDTH, INNER, ms.Tensor(up.astype(np.float32)))
        self.down = nn.Dense(INNER, WIDTH, ms.Tensor(down.astype(np.float32)))

    def construct(self, x):
        return x + self.down(ms.ops.tanh(self.up(ms.ops.tanh(x))))


def step(layers, again, mode):
    ms.set_seed(3)
    ms.set_auto_parallel_context(parallel_mode=mode, full_batch=True)
    cells = [Layer(number) for number in range(layers)]
    for cell in cells if again else ():
        cell.recompute()
    net = nn.SequentialCell(*cells)
    loss = nn.WithLossCell(net, nn.MSELoss())
    return nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.05, 0.9))


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    x, y = (
        ms.Tensor(np.random.default_rng(seed).normal(size=(ROWS, WIDTH)).astype(np.float32))
        for seed in (1, 2)
    )
    peaks, sent, losses = [], [], []
    for layers, again, mode, *memory in json.loads(sys.argv[1]):
        ms.set_context(max_device_memory=f"{memory[0] if memory else 1024}GB")
        one = step(layers, again, mode)
        executable = one._compiled().entry((x, y), {}).executable
        compiled = executable._lowered_for([x, y]).compile()
        peaks.append(memory_plan(compiled).peak)
        sent.append(moved_bytes(compiled.as_text()))
        losses.append([float(one(x, y).asnumpy()) for _ in range(3)])
    print(json.dumps([peaks, sent, losses]))


if __name__ == "__main__":
    main()
