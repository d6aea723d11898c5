"""Cells that take a batch in parts: the same gradients, in the memory of one part."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.control_flow import Scan, primitive_of

PARTS = 4


class Network(nn.Cell):
    """A loss with statistics that it keeps, and random numbers if asked for."""

    def __init__(self, keep=1.0):
        super().__init__()
        draw = np.random.default_rng(0)
        self.first = nn.Dense(6, 8, Tensor(draw.normal(size=(8, 6)).astype(np.float32)))
        self.norm = nn.BatchNorm1d(8)
        self.dropout = nn.Dropout(p=1 - keep)
        self.last = nn.Dense(8, 1, Tensor(draw.normal(size=(1, 8)).astype(np.float32)))

    def construct(self, x, y):
        hidden = self.dropout(ops.tanh(self.norm(self.first(x))))
        return ((self.last(hidden) - y) ** 2).mean()


def batch():
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(16, 6)), draw.normal(size=(16, 1))
    return [Tensor(r.astype(np.float32)) for r in rows]


def step_of(keep=1.0, again=False):
    ms.set_seed(5)
    network = Network(keep)
    if again:
        network.recompute()
    network.set_train()
    weights = network.trainable_params()
    cell = nn.GradAccumulationCell(network, PARTS)
    return network, ms.value_and_grad(cell, None, weights)


def test_gradients_are_the_sum_over_parts():
    network, step = step_of()
    value, grads = ms.jit(step)(*batch())
    other, _ = step_of()
    x, y = batch()
    weights = other.trainable_params()
    rows = [slice(4 * i, 4 * i + 4) for i in range(PARTS)]
    by_part = [ms.value_and_grad(other, None, weights)(x[r], y[r]) for r in rows]
    np.testing.assert_allclose(value.asnumpy(), sum(v.asnumpy() for v, _ in by_part), rtol=1e-5)
    for place, grad in enumerate(grads):
        wanted = sum(g[place].asnumpy() for _, g in by_part)
        np.testing.assert_allclose(grad.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    for one, two in zip(network.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(one.asnumpy(), two.asnumpy(), rtol=1e-5, err_msg=one.name)


@pytest.mark.parametrize("again", [False, True])
def test_random_numbers_are_those_of_eager_mode(again):
    found = []
    for run in (lambda f: f, ms.jit):
        _, step = step_of(keep=0.5, again=again)
        ms.set_seed(9)
        value, grads = run(step)(*batch())
        found.append([value.asnumpy(), *(g.asnumpy() for g in grads)])
    for eager, graph in zip(*found, strict=True):
        np.testing.assert_allclose(graph, eager, rtol=1e-4, atol=1e-5)


def test_gradients_scale_with_their_seed():
    found = []
    for sens in (1.0, 8.0):
        network, _ = step_of()
        weights = network.trainable_params()
        gradient = ops.GradOperation(get_by_list=True, sens_param=True)
        step = gradient(nn.GradAccumulationCell(network, PARTS), ms.ParameterTuple(weights))
        found.append([g.asnumpy() for g in ms.jit(step)(*batch(), Tensor(sens, ms.float32))])
    for one, eight in zip(*found, strict=True):
        np.testing.assert_allclose(8 * one, eight, rtol=1e-5, atol=1e-6)


def test_gradients_of_the_data_are_those_of_the_whole_batch():
    weight = Tensor(np.linspace(-1, 1, 6).astype(np.float32))

    class Wave(nn.Cell):
        def construct(self, x):
            return ops.sin(x * weight).sum()

    x = batch()[0]
    gradient = ms.jit(ms.grad(nn.GradAccumulationCell(Wave(), PARTS)))(x)
    wanted = np.cos(x.asnumpy() * weight.asnumpy()) * weight.asnumpy()
    np.testing.assert_allclose(gradient.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    twice = ms.jit(ms.grad(lambda x: ms.grad(nn.GradAccumulationCell(Wave(), PARTS))(x).sum()))
    second = -np.sin(x.asnumpy() * weight.asnumpy()) * weight.asnumpy() ** 2
    np.testing.assert_allclose(twice(x).asnumpy(), second, rtol=1e-4, atol=1e-6)


def test_a_result_that_the_gradient_depends_on_is_remembered():
    """The square of the sum: the gradient of a part needs the results of all."""
    network, _ = step_of()
    cell = nn.GradAccumulationCell(network, PARTS)
    squared = ms.value_and_grad(lambda x, y: cell(x, y) ** 2, None, network.trainable_params())
    other, step = step_of()
    value, grads = ms.jit(squared)(*batch())
    plain, by_part = ms.jit(step)(*batch())
    np.testing.assert_allclose(value.asnumpy(), plain.asnumpy() ** 2, rtol=1e-5)
    for grad, one in zip(grads, by_part, strict=True):
        wanted = 2 * plain.asnumpy() * one.asnumpy()
        np.testing.assert_allclose(grad.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


class Deep(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(*[nn.Dense(64, 64) for _ in range(12)])

    def construct(self, x):
        return ops.tanh(self.layers(x)).sum()


def compiled_step(cell, network, x):
    step = ms.jit(ms.value_and_grad(cell, None, network.trainable_params()))
    step(x)
    return next(iter(step.compiled.entries.values()))


def test_memory_is_that_of_one_part():
    network = Deep()
    x = Tensor(np.zeros((4096, 64), np.float32))
    temporary = []
    for cell in (network, nn.GradAccumulationCell(network, 8)):
        entry = compiled_step(cell, network, x)
        temporary.append(entry.executable.memory([x]).temp_size_in_bytes)
    assert temporary[1] < temporary[0] / 5


def test_parts_are_passes_of_one_loop():
    network = Deep()
    x = Tensor(np.zeros((64, 64), np.float32))
    entry = compiled_step(nn.GradAccumulationCell(network, 8), network, x)
    graphs = nodes_by_graph(entry.read.program.graph)
    scans = [n for nodes in graphs.values() for n in nodes if type(primitive_of(n)) is Scan]
    assert len(scans) == 1
    assert primitive_of(scans[0]).length == 8
