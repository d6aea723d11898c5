"""Programs for ever new shapes take no more memory than `max_programs` of them need."""

from __future__ import annotations

import subprocess
import sys

import pytest

_COUNT = """
import gc, os, sys
import numpy as np
import mycelia as ms
from mycelia import Tensor, nn, ops

ms.set_context(mode=int(sys.argv[1]), max_programs=4)
net = nn.Dense(4, 2)
step = nn.TrainOneStepCell(
    nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.01, 0.9)
)

def maps():
    gc.collect()
    with open("/proc/self/maps") as lines:
        return sum(1 for _ in lines)

def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

def run(first, last):
    for rows in range(first, last):
        x = Tensor(np.ones((3000 + rows, 4), np.float32))
        step(x, Tensor(np.ones((3000 + rows, 2), np.float32)))
        ops.exp(x)

run(0, 6)
before, memory = maps(), resident()
run(6, 21)
print(maps() - before, resident() - memory)
"""


_MANY = """
import sys
import numpy as np
import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.core import lru_dict

ms.set_context(mode=int(sys.argv[1]))
net = nn.Dense(4, 2)
loss = nn.WithLossCell(net, nn.MSELoss())
gradient = ms.value_and_grad(loss, None, net.trainable_params())

def run(first, last):
    for rows in range(first, last):
        gradient(Tensor(np.ones((rows, 4), np.float32)), Tensor(np.ones((rows, 2), np.float32)))

run(3000, 3004)
before = lru_dict.map_count()
lru_dict.map_limit = lambda: before + 150
lru_dict.INTERVAL = 4
most = []
for first in range(3004, 3044, 4):
    run(first, first + 4)
    most.append(lru_dict.map_count())
print(max(most) - before)
"""


@pytest.mark.parametrize("mode", [0, 1], ids=["graph", "eager"])
def test_the_memory_maps_of_programs_stay_within_their_limit(mode: int):
    done = subprocess.run(
        [sys.executable, "-c", _MANY, str(mode)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 450, f"{done.stdout} more maps"


@pytest.mark.parametrize("mode", [0, 1], ids=["graph", "eager"])
def test_new_shapes_keep_neither_maps_nor_memory(mode: int):
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, str(mode)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    maps, megabytes = map(float, done.stdout.split())
    assert maps < 20, f"15 shapes keep {maps} maps"
    assert megabytes < 10, f"15 shapes keep {megabytes} MB"
