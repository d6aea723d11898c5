"""Weights live with the order of axes that XLA wants, and nobody notices."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.runtime.parameter_layout.packs import PackedParameter, TransposedPack

pytestmark = pytest.mark.usefixtures("graph_mode")

OPTIMIZERS = {
    "momentum": lambda net: nn.Momentum(net.trainable_params(), 0.05, 0.9, weight_decay=0.01),
    "adam": lambda net: nn.Adam(net.trainable_params(), 0.01),
    "lars": lambda net: nn.LARS(nn.Momentum(net.trainable_params(), 0.05, 0.9)),
    "lamb": lambda net: nn.Lamb(net.trainable_params(), 0.01),
    "centred": lambda net: nn.Momentum(
        [{"params": net.trainable_params(), "grad_centralization": True}], 0.05, 0.9
    ),
}


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(16, 24, 3)
        self.norm, self.relu = nn.BatchNorm2d(24), nn.ReLU()
        self.second, self.last = nn.Conv2d(24, 8, 3, stride=2), nn.Conv2d(8, 4, 1)

    def construct(self, x):
        return (self.last(self.second(self.relu(self.norm(self.first(x))))) ** 2).mean()


def x():
    return Tensor(np.random.default_rng(1).normal(size=(4, 16, 9, 8)).astype(np.float32))


def trainer(optimizer="momentum"):
    ms.set_seed(3)
    net = Net()
    return nn.TrainOneStepCell(net, OPTIMIZERS[optimizer](net)).set_train(), net


def trained(optimizer, selected):
    ms.set_context(kernel_selection=selected)
    step, net = trainer(optimizer)
    losses = [float(step(x())) for _ in range(4)]
    names = turned(net)
    return losses, {p.name: p.asnumpy() for p in step.get_parameters()}, names


def turned(net):
    return [p.name for p in net.get_parameters() if type(p) is PackedParameter]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_all_optimizers_do_the_same(optimizer):
    losses, parameters, names = trained(optimizer, selected=True)
    wanted, expected, none = trained(optimizer, selected=False)
    np.testing.assert_allclose(losses, wanted, rtol=1e-4)
    for name, array in expected.items():
        np.testing.assert_allclose(parameters[name], array, rtol=1e-3, atol=1e-4, err_msg=name)
    is_turned = optimizer not in ("centred", "lars")
    assert names == (["first.weight", "second.weight"] if is_turned else [])
    assert none == []


def test_inputs_of_the_program_are_turned_and_the_user_sees_nothing_of_it():
    step, net = trainer()
    step(x())
    program = next(iter(step._compiled().entries.values())).executable.program
    shapes = {i.which._data.shape for i in program.inputs if isinstance(i.which, TransposedPack)}
    assert shapes == {(3, 3, 16, 24), (3, 3, 24, 8)}
    assert net.first.weight.shape == (24, 16, 3, 3)
    assert net.first.weight.asnumpy().shape == (24, 16, 3, 3)


def test_a_weight_set_between_steps_counts():
    losses = []
    for between in ("read", "set"):
        step, net = trainer()
        step(x())
        weight = net.first.weight.asnumpy()
        if between == "set":
            net.first.weight.set_data(Tensor(weight))
        losses.append([float(step(x())) for _ in range(2)])
    assert losses[0] == losses[1]
    net.first.weight.set_data(Tensor(np.zeros_like(weight)))
    assert float(step(x())) != losses[1][-1]


def test_inference_after_training_uses_the_new_weights(tmp_path):
    step, net = trainer()
    for _ in range(3):
        step(x())
    net.set_train(False)
    found = float(net(x()))
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    other = Net()
    ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    other.set_train(False)
    assert float(other(x())) == pytest.approx(found, rel=1e-6)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert float(net(x())) == pytest.approx(found, rel=1e-4)


class Words(nn.Cell):
    """Words in, a score for each word out, by a weight of its own or by the table of the words."""

    def __init__(self, tied):
        super().__init__()
        self.table, self.wide = nn.Embedding(96, 32), nn.Dense(32, 128, activation="tanh")
        self.narrow, self.head = nn.Dense(128, 32), nn.Dense(32, 96, has_bias=False)
        if tied:
            self.head.weight = self.table.embedding_table

    def construct(self, words):
        return (self.head(self.narrow(self.wide(self.table(words)))) ** 2).mean()


def trained_words(optimizer, tied, selected):
    ms.set_context(kernel_selection=selected)
    ms.set_seed(5)
    net = Words(tied)
    step = nn.TrainOneStepCell(net, OPTIMIZERS[optimizer](net)).set_train()
    words = Tensor(np.random.default_rng(2).integers(0, 96, (8, 64)).astype(np.int32))
    losses = [float(step(words)) for _ in range(4)]
    names = turned(net)
    return losses, {p.name: p.asnumpy() for p in step.get_parameters()}, names


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("optimizer", ["momentum", "adam", "lamb"])
def test_wide_dense_layers_keep_their_weights_as_their_gradients_come(optimizer, tied):
    losses, parameters, names = trained_words(optimizer, tied, selected=True)
    wanted, expected, none = trained_words(optimizer, tied, selected=False)
    np.testing.assert_allclose(losses, wanted, rtol=1e-4)
    for name, array in expected.items():
        np.testing.assert_allclose(parameters[name], array, rtol=1e-3, atol=1e-4, err_msg=name)
    assert names == (["wide.weight"] if tied else ["wide.weight", "head.weight"])
    assert none == []
