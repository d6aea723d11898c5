"""The parameters of a small network are handed over as one array, and nobody notices."""

import copy
from collections.abc import Callable

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.runtime.parameter_layout import packed_programs
from mycelia._engine.runtime.parameter_layout.packs import ConcatenatedPack, PackedParameter

pytestmark = pytest.mark.usefixtures("graph_mode")

WIDTH, DEPTH = 5, 10


def x():
    return Tensor(np.random.default_rng(1).normal(size=(4, WIDTH)).astype(np.float32))


def network():
    ms.set_seed(2)
    layers = [nn.SequentialCell(nn.Dense(WIDTH, WIDTH), nn.Tanh()) for _ in range(DEPTH)]
    return nn.SequentialCell(*layers)


def rates(net):
    weights = net.trainable_params()
    first = {"params": weights[:DEPTH], "lr": 0.02, "weight_decay": 0.1}
    return [first, {"params": weights[DEPTH:]}]


OPTIMIZERS: dict[str, Callable[[nn.Cell], nn.Cell]] = {
    "momentum": lambda net: nn.Momentum(net.trainable_params(), 0.05, 0.9, weight_decay=0.01),
    "adam": lambda net: nn.Adam(net.trainable_params(), 0.01),
    "groups": lambda net: nn.Momentum(rates(net), 0.05, 0.9),
    "lamb": lambda net: nn.Lamb(net.trainable_params(), 0.01),
}


def trainer(net, optimizer="adam", part=slice(None)):
    loss = nn.WithLossCell(net, nn.MSELoss())
    if part != slice(None):
        return nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params()[part], 0.05))
    return nn.TrainOneStepCell(loss, OPTIMIZERS[optimizer](net))


@pytest.fixture
def apart(monkeypatch):
    """Runs a function with every parameter as its own input."""

    def run(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(packed_programs, "_MANY", 1000)
            return function(*args)

    return run


def inputs_of(step):
    return next(iter(step._compiled().entries.values())).executable.program.inputs


def packs_of(step):
    return [i.which for i in inputs_of(step) if isinstance(i.which, ConcatenatedPack)]


def check_equal(found, wanted):
    for one, other in zip(found.get_parameters(), wanted.get_parameters(), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_is_the_same(optimizer, apart):
    step, plain = trainer(network(), optimizer), trainer(network(), optimizer)
    for _ in range(3):
        step(x(), x())
        apart(plain, x(), x())
    assert not packs_of(plain)
    is_joined = optimizer in ("momentum", "adam")  # the others treat parameters apart
    assert bool(packs_of(step)) is is_joined
    assert not is_joined or len(inputs_of(step)) < 10
    check_equal(step, plain)


def test_looking_writing_and_copying_between_steps(apart, tmp_path):
    nets = network(), network()
    steps = [trainer(net) for net in nets]
    for run, step, net in zip((lambda f, *a: f(*a), apart), steps, nets, strict=True):
        run(step, x(), x())
        weight, bias = net.trainable_params()[2:4]
        assert weight.shape == (WIDTH, WIDTH) and bias.shape == (WIDTH,)
        assert weight.dtype == ms.float32
        seen = weight.asnumpy()
        before = seen.copy()
        twin = copy.deepcopy(net)
        run(step, x(), x())
        np.testing.assert_array_equal(seen, before)
        np.testing.assert_array_equal(twin.trainable_params()[2].asnumpy(), before)
        bias.set_data(Tensor(np.full(WIDTH, 0.25, np.float32)))
        weight[0, 0] = 3.0
        ops.assign(net.trainable_params()[5], Tensor(np.ones(WIDTH, np.float32)))
        run(step, x(), x())
        net.set_train(False)(x())
        run(step, x(), x())
    assert any(type(p) is PackedParameter for p in nets[0].get_parameters())
    check_equal(*steps)
    ms.save_checkpoint(nets[0], str(tmp_path / "net.ckpt"))
    ms.load_param_into_net(nets[1], ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    check_equal(*nets)


def test_two_optimizers_share_parameters(apart):
    """What one of two packs wrote is what the other one reads."""
    nets = network(), network()
    for run, net in zip((lambda f, *a: f(*a), apart), nets, strict=True):
        whole, part = trainer(net, "momentum"), trainer(net, part=slice(2, 19))
        for _ in range(2):
            run(whole, x(), x())
            run(part, x(), x())
            run(whole, x(), x())
    check_equal(*nets)


def test_a_program_that_only_reads_takes_them_as_they_are(apart):
    net, plain = network(), network()
    step = trainer(net)
    early = ms.jit(net)
    before = early(x()).asnumpy()
    step(x(), x())
    apart(trainer(plain), x(), x())
    found = net.set_train(False)(x()).asnumpy()
    assert packs_of(net) == packs_of(step)[:1]
    np.testing.assert_allclose(found, apart(plain, x()).asnumpy(), rtol=1e-5)
    np.testing.assert_array_equal(found, early(x()).asnumpy())
    assert not np.array_equal(early(x()).asnumpy(), before)
