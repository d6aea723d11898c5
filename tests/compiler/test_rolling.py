"""Cells marked with lazy_inline: chains of equal ones become one scan, with equal results."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.ir.printer import show

pytestmark = pytest.mark.usefixtures("graph_mode")

WIDTH = 6


class Block(nn.Cell):
    """A residual block with normalisation; `lazy` blocks are the same, but marked."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.norm, self.first = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, 2 * WIDTH)
        self.second, self.scale = nn.Dense(2 * WIDTH, WIDTH), scale

    def construct(self, x):
        return x + self.scale * self.second(ops.gelu(self.first(self.norm(x))))


class Lazy(Block):
    @ms.lazy_inline
    def __init__(self, scale=1.0):
        super().__init__(scale)


class Net(nn.Cell):
    def __init__(self, blocks):
        super().__init__()
        self.blocks, self.head = nn.CellList(blocks), nn.Dense(WIDTH, 1)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x).sum()


def made(kind, *args, build=Net):
    ms.set_seed(5)
    return build([kind(*a) for a in args])


def x():
    return Tensor(np.random.default_rng(1).normal(size=(4, WIDTH)).astype(np.float32))


def text_of(cell):
    return show(next(iter(cell._compiled().entries.values())).read.program.graph)


def check_equal(found, wanted, **tolerance):
    tolerance = {"rtol": 1e-4, "atol": 1e-5} | tolerance
    found, wanted = (v if isinstance(v, (tuple, list)) else (v,) for v in (found, wanted))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), **tolerance)


def test_a_chain_becomes_a_scan():
    lazy, plain = (made(kind, *[()] * 5) for kind in (Lazy, Block))
    check_equal(lazy(x()), plain(x()))
    assert text_of(lazy).count("scan[") == 1
    assert text_of(lazy).count("LayerNorm[") == 1
    assert "scan[" not in text_of(plain)


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gradients_are_the_same(order):
    def gradients(net):
        def loss(x):
            return net(x)

        for _ in range(order - 1):
            inner, loss = loss, lambda x: (ms.grad(inner)(x) ** 2).sum()  # noqa: B023
        return ms.grad(loss, 0, net.trainable_params())(x())

    (dx, weights), (wanted_dx, wanted) = (
        gradients(made(kind, *[()] * 4)) for kind in (Lazy, Block)
    )
    check_equal(dx, wanted_dx)
    check_equal(weights, wanted, rtol=1e-3)


def test_training_is_the_same():
    def losses(kind):
        net = made(kind, *[()] * 4)
        step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.01)).set_train()
        return [float(step(x())) for _ in range(5)], step

    found, step = losses(Lazy)
    assert text_of(step).count("scan[") == 2
    np.testing.assert_allclose(found, losses(Block)[0], rtol=1e-4)


def test_only_equal_neighbours_are_joined():
    scales = [(1.0,), (1.0,), (1.0,), (0.5,), (1.0,), (1.0,), (1.0,), (1.0,)]
    lazy, plain = (made(kind, *scales) for kind in (Lazy, Block))
    check_equal(lazy(x()), plain(x()))
    assert text_of(lazy).count("scan[") == 2
    assert "length=4" in text_of(lazy) and "length=3" in text_of(lazy)


class HoldsMask(nn.Cell):
    """A block with a large constant of its own, as attention has a mask in every layer."""

    @ms.lazy_inline
    def __init__(self, side, scale=1.0):
        super().__init__()
        self.dense = nn.Dense(WIDTH, WIDTH)
        self.mask = Tensor(scale * np.tri(side, dtype=np.float32) / side)

    def construct(self, x):
        return x + self.dense(ops.matmul(self.mask, ops.tile(x, (self.mask.shape[0] // 4, 1)))[:4])


def test_equal_constants_of_any_size_are_one():
    net = made(HoldsMask, *[(64,)] * 4)
    net(x())
    assert text_of(net).count("scan[") == 1
    different = made(HoldsMask, (64,), (64,), (64,), (64, 2.0))
    different(x())
    assert "length=3" in text_of(different)


def test_two_blocks_are_not_worth_a_loop():
    lazy = made(Lazy, (), ())
    lazy(x())
    assert "scan[" not in text_of(lazy) and "block(" not in text_of(lazy)


class Between(Net):
    """Something happens between the blocks, so that none takes the other's result as it is."""

    def construct(self, x):
        for block in self.blocks:
            x = ops.tanh(block(x))
        return self.head(x).sum()


class Collecting(Net):
    """Results between the blocks are used, too."""

    def construct(self, x):
        seen = []
        for block in self.blocks:
            x = block(x)
            seen.append(x)
        return self.head(x).sum() + ops.stack(seen).mean(), seen[1]


class WithMask(Net):
    """All blocks get the same second argument, and their own third."""

    def construct(self, x):
        mask = x * 0.5
        for i, block in enumerate(self.blocks):
            x = block(x, mask, x.sum() * 0 + i)
        return self.head(x).sum()


@pytest.mark.parametrize("build", [Between, Collecting])
def test_other_uses_of_results(build):
    lazy, plain = (made(kind, *[()] * 4, build=build) for kind in (Lazy, Block))
    check_equal(lazy(x()), plain(x()))
    weights = [net.trainable_params() for net in (lazy, plain)]

    def loss_of(net):
        found = net(x())
        return found[0] if isinstance(found, tuple) else found

    grads = [
        ms.jit(ms.grad(lambda n=net: loss_of(n), None, w))()
        for net, w in zip((lazy, plain), weights, strict=True)
    ]
    check_equal(*grads)


class Counting(Block):
    """A block that writes to a parameter of its own in each call."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)
        self.calls = Parameter(Tensor(0.0), requires_grad=False)

    def construct(self, x):
        self.calls += x.mean()
        return super().construct(x)


class LazyCounting(Counting):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()


def test_writes_inside_of_blocks():
    lazy, plain = (made(kind, *[()] * 4).set_train() for kind in (LazyCounting, Counting))
    for _ in range(2):
        check_equal(lazy(x()), plain(x()))
    assert text_of(lazy).count("scan[") == 1
    pairs = [list(net.get_parameters()) for net in (lazy, plain)]
    check_equal(*pairs)


class Masked(Block):
    def construct(self, x, mask, shift):
        return super().construct(x * mask) + shift


class LazyMasked(Masked):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()


def test_arguments_for_all_blocks_and_for_each():
    lazy, plain = (made(kind, *[()] * 4, build=WithMask) for kind in (LazyMasked, Masked))
    check_equal(lazy(x()), plain(x()))


class Dropping(Block):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(p=0.5)

    def construct(self, x):
        return x + self.dropout(super().construct(x))


class LazyDropping(Dropping):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()


def test_random_numbers_are_those_of_blocks_one_by_one():
    found = []
    for kind in (LazyDropping, Dropping):
        net = made(kind, *[()] * 4).set_train()
        ms.set_seed(7)
        found.append([net(x()) for _ in range(2)])
    check_equal(*found)


def test_a_scan_can_be_exported(tmp_path):
    lazy = made(Lazy, *[()] * 4)
    wanted = lazy(x())
    ms.export(lazy, x(), file_name=str(tmp_path / "net"), file_format="MINDIR")
    graph = ms.load(str(tmp_path / "net.mindir"))
    check_equal(nn.GraphCell(graph)(x()), wanted)


def test_eager_mode_runs_blocks_as_they_are():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    lazy, plain = (made(kind, *[()] * 4) for kind in (Lazy, Block))
    check_equal(lazy(x()), plain(x()))


def test_it_decorates_functions_only():
    with pytest.raises(TypeError, match="__init__"):
        ms.lazy_inline(Block)
