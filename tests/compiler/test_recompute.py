"""Recompute: the same gradients, and less kept between the passes."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.ir.printer import show


def chain(x):
    for _ in range(6):
        x = ops.sin(x) * ops.exp(-x * x)
    return x


def plain(x):
    return chain(chain(x)).sum()


def recomputed(x):
    return ms.recompute(chain, ms.recompute(chain, x)).sum()


def graph_of(compiled):
    return next(iter(compiled.compiled.entries.values())).read.program.graph


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_are_the_same(order):
    one, other = plain, recomputed
    for _ in range(order):
        one = ms.grad(lambda x, f=one: f(x).sum())
        other = ms.grad(lambda x, f=other: f(x).sum())
    x = Tensor(np.linspace(0.1, 1.0, 5))
    compiled = ms.jit(other)
    np.testing.assert_allclose(compiled(x).asnumpy(), one(x).asnumpy(), rtol=1e-10)
    assert ms.jit.explain(compiled).labels == ("xla",)


def test_the_backward_runs_the_block_again():
    x = Tensor(np.linspace(0.1, 1.0, 5))
    once, again = ms.jit(ms.grad(plain)), ms.jit(ms.grad(recomputed))
    once(x), again(x)
    count = [show(graph_of(f)).count("Sin(") for f in (once, again)]
    assert count[1] > count[0]
    read = next(iter(again.compiled.entries.values())).read
    assert "recompute(" in show(read.plain.graph)


def test_the_program_needs_less_memory():
    w = Tensor(np.eye(64, dtype=np.float32))

    def products(x):
        for _ in range(4):
            x = ops.sin(x @ w)
        return x

    def deep(x):
        for _ in range(4):
            x = products(x)
        return x.sum()

    def light(x):
        for _ in range(4):
            x = ms.recompute(products, x)
        return x.sum()

    x = Tensor(np.linspace(0.1, 1.0, 1 << 17, dtype=np.float32).reshape(-1, 64))
    once, again = (ms.runtime.memory_report(ms.grad(f), x) for f in (deep, light))
    assert again.temporary < 0.7 * once.temporary
    found = [ms.jit(ms.grad(f))(x).asnumpy() for f in (deep, light)]
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-7)


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm = nn.Dense(4, 4), nn.BatchNorm1d(4)

    def construct(self, x):
        return ops.tanh(self.norm(self.dense(x)))


def test_a_cell_can_be_marked():
    ms.set_seed(3)
    net = nn.SequentialCell(Layer(), Layer()).set_train()
    x = Tensor(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
    weights = net.trainable_params()

    def gradients():
        return ms.grad(lambda x: net(x).sum(), None, weights)(x)

    wanted = [g.asnumpy() for g in gradients()]
    statistics = [p.asnumpy().copy() for p in net.get_parameters()]
    ms.set_seed(3)
    net = nn.SequentialCell(Layer(), Layer()).set_train()
    weights = net.trainable_params()
    for cell in net:
        cell.recompute()
    found = ms.jit(gradients)()
    for one, other in zip(found, wanted, strict=True):  # of the bias before a norm: only rounding
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-4, atol=1e-5)
    for one, other in zip(net.get_parameters(), statistics, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-4, atol=1e-6)
