"""Many small matrices are multiplied on all cores, with the same results."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.runtime.xla.compile import joined_options, options, small_products

SHARED = "operators with small products on all cores"
KIND = "xla_cpu_experimental_ynn_fusion_type"


def numbers(*shape, dtype=np.float32):
    return Tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(dtype))


def graph_of(run):
    return next(iter(run.compiled.entries.values())).read.program.graph


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("turns", list(product([False, True], repeat=2)))
def test_products_and_gradients_as_in_the_plain_form(turns, dtype):
    left, right = (64, 48), (48, 80)
    x = numbers(4, 64, *(left[::-1] if turns[0] else left), dtype=dtype)
    y = numbers(4, 64, *(right[::-1] if turns[1] else right), dtype=dtype)
    product_of = ops.BatchMatMul(*turns)

    def run() -> Any:
        def loss_of(a: Any, b: Any) -> Any:
            return (product_of(a, b).astype(ms.float64) ** 2).mean()

        step = ms.jit(ms.value_and_grad(loss_of, (0, 1)))
        loss, gradients = step(x, y)
        return [loss.asnumpy(), *[g.asnumpy() for g in gradients]], ms.jit.explain(step).choices[0]

    special, choices = run()
    ms.set_context(kernel_selection=False)
    plain, others = run()
    ms.set_context(kernel_selection=True)
    assert (SHARED in choices) is (dtype is np.float32) and SHARED not in others
    tolerance = {np.float64: 1e-12, np.float32: 2e-5, np.float16: 2e-3}[dtype]
    for found, wanted in zip(special, plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_zeros_infinities_and_what_is_not_a_number_stay():
    x = np.zeros((4, 64, 64, 64), np.float32)
    x[0, 0, 0], x[0, 0, 1], x[0, 0, 2, 0] = np.inf, np.nan, -0.0
    y = Tensor(np.ones((4, 64, 64, 64), np.float32))
    run = ms.jit(lambda a, b: ops.matmul(a, b))
    found = run(Tensor(x), y).asnumpy()
    assert small_products(graph_of(run)) == 1
    np.testing.assert_array_equal(found, x @ y.asnumpy())
    assert not np.signbit(found[0, 0, 2:]).any()


@pytest.mark.parametrize(
    ("shape", "count"),
    [((4, 64, 64, 64), 1), ((2, 3, 64, 64), 0), ((4, 512, 512), 0), ((64, 64), 0)],
    ids=["many and small", "few", "large", "one"],
)
def test_only_programs_with_many_small_products_are_compiled_for_them(shape, count):
    run = ms.jit(lambda a: ops.matmul(a, a) + 1)
    run(numbers(*shape))
    graph = graph_of(run)
    assert small_products(graph) == count
    assert (joined_options(graph, count)[KIND] != options(graph)[KIND]) is bool(count)


def test_half_precision_beside_small_products():
    x, half = numbers(4, 64, 64, 64), numbers(4, 64, 64, 64, dtype=np.float16)
    run = ms.jit(lambda a, b: (ops.matmul(a, a), ops.matmul(b, b)))
    found = run(x, half)
    assert small_products(graph_of(run)) == 1
    assert [f.dtype for f in found] == [ms.float32, ms.float16]
    wide = half.asnumpy().astype(np.float32)
    np.testing.assert_allclose(found[1].asnumpy(), wide @ wide, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize("shapes", [((8, 4), (8, 4)), ((8, 4), (8, 1))], ids=["alike", "spread"])
def test_attention_and_its_gradients_of_first_and_second_order(shapes):
    query, key, value = (numbers(*batch, 128, 16) for batch in (shapes[0], *[shapes[1]] * 2))

    def loss(q: Any, k: Any, v: Any) -> Any:
        found = ops.flash_attention_score(q, k, v, 4, input_layout="BNSD", scalar_value=0.3)
        return (found * found).mean()

    def run() -> tuple[list[np.ndarray], Any]:
        def twice(q: Any, k: Any, v: Any) -> Any:
            return sum((g * g).sum() for g in ms.grad(loss, (0, 1, 2))(q, k, v))

        step = ms.jit(lambda *a: (ms.grad(loss, (0, 1, 2))(*a), ms.grad(twice, (0, 1, 2))(*a)))
        found = [g.asnumpy() for gradients in step(query, key, value) for g in gradients]
        return found, ms.jit.explain(step).choices[0]

    special, choices = run()
    ms.set_context(kernel_selection=False)
    plain, _ = run()
    ms.set_context(kernel_selection=True)
    assert (SHARED in choices) is (shapes[0] == shapes[1])
    for found, wanted in zip(special, plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * abs(wanted).max())


class _Attention(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Dense(64, 192), nn.Dense(64, 64)

    def construct(self, x: Any) -> Any:
        q, k, v = ops.split(self.qkv(x), 64, -1)
        heads = [part.reshape((8, 128, 4, 16)).transpose((0, 2, 1, 3)) for part in (q, k, v)]
        shares = ops.softmax(ops.matmul(heads[0], heads[1].swapaxes(-1, -2)) * 0.25, -1)
        mixed = ops.matmul(shares, heads[2]).transpose((0, 2, 1, 3)).reshape((8, 128, 64))
        return x + self.out(mixed)


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("sinks", [False, True])
def test_attention_trains_to_the_same_numbers(sinks):
    x = numbers(8, 128, 64)

    def trained(selects: bool) -> list[float]:
        ms.set_seed(1)
        ms.set_context(kernel_selection=selects)
        net = nn.WithLossCell(nn.SequentialCell(_Attention(), _Attention()), nn.MSELoss())
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
        if sinks:
            data = ms.dataset.NumpySlicesDataset([x.asnumpy()] * 6, ["x"], shuffle=False)
            data = data.map(lambda a: (a, a * 0.5), ["x"], ["x", "y"])
            run = ms.data_sink(step, data, sink_size=6)
            return [float(run().asnumpy().mean())]
        return [float(step(x, x * 0.5)) for _ in range(6)]

    np.testing.assert_allclose(trained(selects=True), trained(selects=False), rtol=1e-5)
