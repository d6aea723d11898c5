"""Weights are written in place: what else reads them is waited for, so nothing is copied."""

import re

import numpy as np
import pytest

from mycelia import Tensor, nn
from mycelia.runtime.executor import Executable
from mycelia.runtime.xla.in_place import other_readers

pytestmark = pytest.mark.usefixtures("graph_mode")

WIDTH = 300


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, WIDTH)

    def construct(self, x):
        return self.second(nn.ReLU()(self.first(x)))


OPTIMIZERS = {
    "momentum": lambda weights: nn.Momentum(weights, 0.1, 0.9),
    "adam": lambda weights: nn.Adam(weights, 0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_no_weight_is_copied(name):
    net = Net()
    optimizer = OPTIMIZERS[name](net.trainable_params())
    train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    data = [Tensor(np.ones((8, WIDTH), np.float32)) for _ in range(2)]
    train(*data)
    read = next(iter(train._compiled().entries.values())).read
    found = other_readers(read.program.graph, read.program.in_place)
    assert len(found) == 1  # the second weight, which the gradient of its input reads
    text = Executable(read.program)._lowered_for(data).compile().as_text()
    assert not re.search(rf"f32\[{WIDTH},{WIDTH}\]\S* copy\(", text)
