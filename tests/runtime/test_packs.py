"""Weights of equal blocks live as stacks between steps, and nobody notices."""

import copy

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.runtime.parameter_layout.packs import PackedParameter

pytestmark = pytest.mark.usefixtures("graph_mode")

WIDTH = 5


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.dense = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, WIDTH)

    def construct(self, x):
        return x + ops.tanh(self.dense(self.norm(x)))


class Lazy(Block):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()


class Net(nn.Cell):
    def __init__(self, kind, depth):
        super().__init__()
        self.blocks, self.head = nn.CellList([kind() for _ in range(depth)]), nn.Dense(WIDTH, 1)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return (self.head(x) ** 2).mean()


def x():
    return Tensor(np.random.default_rng(1).normal(size=(4, WIDTH)).astype(np.float32))


def groups(net):
    weights = net.trainable_params()
    dense = [w for w in weights if "dense" in w.name]
    rest = [w for w in weights if "dense" not in w.name]
    return [{"params": dense, "lr": 0.02, "weight_decay": 0.1}, {"params": rest}]


OPTIMIZERS = {
    "momentum": lambda net: nn.Momentum(net.trainable_params(), 0.05, 0.9, weight_decay=0.01),
    "sgd": lambda net: nn.SGD(net.trainable_params(), 0.05, momentum=0.9),
    "adam": lambda net: nn.Adam(net.trainable_params(), 0.01),
    "amsgrad": lambda net: nn.Adam(net.trainable_params(), 0.01, use_amsgrad=True),
    "adamw": lambda net: nn.AdamWeightDecay(net.trainable_params(), 0.01, weight_decay=0.1),
    "rmsprop": lambda net: nn.RMSProp(net.trainable_params(), 0.01),
    "lars": lambda net: nn.LARS(nn.Momentum(net.trainable_params(), 0.05, 0.9)),
    "lamb": lambda net: nn.Lamb(net.trainable_params(), 0.01),
    "groups": lambda net: nn.Adam(groups(net), 0.01),
    "centred": lambda net: nn.Momentum(
        [{"params": net.trainable_params(), "grad_centralization": True}], 0.05, 0.9
    ),
}


def trainer(kind, optimizer="adam", depth=3):
    ms.set_seed(2)
    net = Net(kind, depth)
    return nn.TrainOneStepCell(net, OPTIMIZERS[optimizer](net)).set_train(), net


def check_equal(found, wanted):
    for one, other in zip(found.get_parameters(), wanted.get_parameters(), strict=True):
        np.testing.assert_allclose(
            one.asnumpy(), other.asnumpy(), rtol=2e-4, atol=2e-5, err_msg=one.name
        )


def packed_of(net):
    return [p for p in net.get_parameters() if type(p) is PackedParameter]


ALWAYS = ("momentum", "adam", "lamb", "lars")
NAMES = [n if n in ALWAYS else pytest.param(n, marks=pytest.mark.slow) for n in OPTIMIZERS]


@pytest.mark.parametrize("optimizer", NAMES)
def test_all_optimizers_do_the_same(optimizer):
    (step, net), (plain_step, plain) = (trainer(kind, optimizer) for kind in (Lazy, Block))
    for _ in range(4):
        np.testing.assert_allclose(float(step(x())), float(plain_step(x())), rtol=1e-4)
    is_packed = optimizer not in ("lamb", "lars", "centred")
    assert bool(packed_of(net)) is is_packed
    assert not packed_of(plain)
    check_equal(step, plain_step)


def inputs_of(step):
    return next(iter(step._compiled().entries.values())).executable.program.inputs


def test_a_program_has_as_many_inputs_for_any_depth():
    counts = []
    for depth in (3, 9):
        step, _ = trainer(Lazy, depth=depth)
        step(x())
        counts.append(len(inputs_of(step)))
    assert counts[0] == counts[1]


def test_looking_at_a_parameter_between_steps():
    step, net = trainer(Lazy)
    plain_step, plain = trainer(Block)
    for _ in range(3):
        step(x()), plain_step(x())
        weight, other = net.blocks[1].dense.weight, plain.blocks[1].dense.weight
        assert type(weight) is PackedParameter
        assert weight.shape == (WIDTH, WIDTH) and weight.dtype == ms.float32
        assert isinstance(weight, Parameter) and weight.size == WIDTH * WIDTH
        np.testing.assert_allclose(weight.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose((weight + 1).asnumpy(), other.asnumpy() + 1, rtol=1e-4)


def test_what_was_read_does_not_change_with_the_next_step():
    step, net = trainer(Lazy)
    step(x())
    weight = net.blocks[0].dense.weight
    array = weight.asnumpy()
    before = array.copy()
    step(x())
    np.testing.assert_array_equal(array, before)
    assert not np.array_equal(weight.asnumpy(), before)


@pytest.mark.parametrize("how", ["set_data", "assign", "inplace"])
def test_writing_to_a_parameter_between_steps(how):
    steps = [trainer(kind) for kind in (Lazy, Block)]
    for step, net in steps:
        step(x())
        weight = net.blocks[2].dense.weight
        new = Tensor(np.full((WIDTH, WIDTH), 0.25, np.float32))
        if how == "set_data":
            weight.set_data(new)
        elif how == "assign":
            ops.assign(weight, new)
        else:
            weight[0, 0] = 3.0
        step(x())
    check_equal(steps[0][0], steps[1][0])


def test_other_programs_see_the_new_weights():
    (step, net), (plain_step, plain) = (trainer(kind) for kind in (Lazy, Block))
    for _ in range(3):
        step(x()), plain_step(x())
        np.testing.assert_allclose(float(net(x())), float(plain(x())), rtol=1e-4)
        ms.set_context(mode=ms.PYNATIVE_MODE)
        np.testing.assert_allclose(float(net(x())), float(plain(x())), rtol=1e-4)
        ms.set_context(mode=ms.GRAPH_MODE)


def test_checkpoints(tmp_path):
    step, net = trainer(Lazy)
    step(x())
    ms.save_checkpoint(step, str(tmp_path / "net.ckpt"))
    wanted = float(step(x()))
    other, _ = trainer(Lazy)
    other(x()), other(x())
    ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    np.testing.assert_allclose(float(other(x())), wanted, rtol=1e-5)


def test_copies_of_a_network_are_their_own():
    step, net = trainer(Lazy)
    step(x())
    twin = copy.deepcopy(net)
    before = [p.asnumpy().copy() for p in twin.get_parameters()]
    step(x())
    for now, then in zip(twin.get_parameters(), before, strict=True):
        np.testing.assert_array_equal(now.asnumpy(), then)
    assert np.isfinite(float(twin(x())))


def test_several_steps_as_one_program():
    (step, net), (plain_step, plain) = (trainer(kind, "momentum") for kind in (Lazy, Block))
    batches = [(x().asnumpy() * i,) for i in range(1, 5)]
    for one in (step, plain_step):
        sink = ms.data_sink(one, list(batches), sink_size=2)
        sink(), sink()
    check_equal(step, plain_step)


def test_two_programs_that_train_the_same_network():
    steps = [trainer(kind, "momentum") for kind in (Lazy, Block)]
    wide = Tensor(np.random.default_rng(3).normal(size=(6, WIDTH)).astype(np.float32))
    for step, _ in steps:
        for data in (x(), wide, x()):
            step(data)
    check_equal(steps[0][0], steps[1][0])
