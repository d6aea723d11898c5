"""Weights are written in place: what else reads them is waited for, so nothing is copied."""

import re

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.runtime.executor import Executable
from mycelia._engine.runtime.parameter_layout.packs import TransposedPack
from mycelia._engine.runtime.xla.buffer_reuse import other_readers

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


def test_no_turned_weight_is_copied():
    """Convolutions keep their weights with the axes in another order; who reads the turned one?"""
    net = nn.SequentialCell([nn.Conv2d(64, 64, 3) for _ in range(3)])
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    data = [Tensor(np.ones((8, 64, 16, 16), np.float32)) for _ in range(2)]
    train(*data)
    program = next(iter(train._compiled().entries.values())).executable.program
    assert any(type(i.which) is TransposedPack for i in program.inputs)
    found = other_readers(program.graph, program.in_place)
    assert len(found) == 2  # all but the first: there is no gradient of the images
    text = Executable(program)._lowered_for(data).compile().as_text()
    assert not re.search(r"f32\[3,3,64,64\]\S* copy\(%arrays", text)


def test_an_update_of_one_parameter():
    """An operator for tuples of parameters may get a single one, as in optimizers users write."""

    class Step(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(Tensor(np.ones(70000), ms.float32), name="weight")
            self.moment = Parameter(Tensor(np.zeros(70000), ms.float32), name="moment")
            self.update = ops.ApplyMomentum()

        def construct(self, gradient):
            before = self.weight.sum()
            return before + self.update(self.weight, self.moment, 0.5, gradient, 0.9).sum()

    step = Step()
    total = step(Tensor(np.ones(70000), ms.float32))
    assert float(total.asnumpy()) == 70000 * 1.5
    assert float(step.weight.asnumpy()[0]) == 0.5
