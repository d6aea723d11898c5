"""Only what is read is computed: fewer rows in the graph, the same numbers and gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.compiler.slice_pushdown import pushdown
from mycelia._engine.compiler.slice_pushdown.window import AxisWindow
from mycelia._engine.ir.printer import show

pytestmark = pytest.mark.usefixtures("graph_mode")

BATCH, LENGTH, WIDTH, HEADS = 3, 16, 8, 2


@pytest.fixture(autouse=True)
def small_programs_too(monkeypatch):
    monkeypatch.setattr(pushdown, "MIN_SAVINGS", 1)


@pytest.fixture
def without(monkeypatch):
    """Calls a function as if the pass were not there."""

    def call(fn):
        with monkeypatch.context() as changed:
            changed.setattr(pushdown, "MIN_SAVINGS", float("inf"))
            return fn()

    return call


class Layer(nn.Cell):
    """A layer of a transformer."""

    def __init__(self, drop=0.0):
        super().__init__()
        self.q, self.kv = nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, 2 * WIDTH)
        self.out, self.norm1 = nn.Dense(WIDTH, WIDTH), nn.LayerNorm((WIDTH,))
        self.up, self.down = nn.Dense(WIDTH, 2 * WIDTH), nn.Dense(2 * WIDTH, WIDTH)
        self.norm2, self.drop = nn.LayerNorm((WIDTH,)), nn.Dropout(p=drop)

    def construct(self, x):
        k, v = ops.split(self.kv(x), WIDTH, -1)
        scores = ops.matmul(self.heads(self.q(x)), self.heads(k).swapaxes(-1, -2))
        mixed = ops.matmul(ops.softmax(scores, -1), self.heads(v))
        mixed = mixed.transpose((0, 2, 1, 3)).reshape((BATCH, LENGTH, WIDTH))
        x = self.norm1(x + self.drop(self.out(mixed)))
        return self.norm2(x + self.drop(self.down(ops.gelu(self.up(x)))))

    def heads(self, x):
        return x.reshape((BATCH, LENGTH, HEADS, WIDTH // HEADS)).transpose((0, 2, 1, 3))


class Classifier(nn.Cell):
    """Two layers, of which a head reads a part."""

    def __init__(self, read, drop=0.0):
        super().__init__()
        self.first, self.second = Layer(drop), Layer(drop)
        self.head, self.read = nn.Dense(WIDTH, 2), read

    def construct(self, x):
        return self.head(self.read(self.second(self.first(x))))


READS = {
    "first": lambda x: x[:, 0],
    "last": lambda x: x[:, -1],
    "some": lambda x: x[:, 3:7],
    "part of some": lambda x: x[1:, 3:7:2],
    "strided slice": lambda x: ops.strided_slice(
        x, (0, 2, 0), (BATCH, 3, WIDTH), (1, 1, 1)
    ).squeeze(1),
    "slice": lambda x: ops.slice(x, (0, 5, 0), (BATCH, 1, WIDTH)),
    "row": lambda x: x[2],
}


def made(read, drop=0.0):
    ms.set_seed(3)
    return Classifier(read, drop)


def x():
    numbers = np.random.default_rng(0).normal(size=(BATCH, LENGTH, WIDTH))
    return Tensor(numbers.astype(np.float32))


def step_of(net):
    """A loss and its gradients, for the input and all weights."""
    return ms.jit(
        ms.value_and_grad(lambda x: (net(x) ** 2).sum(), 0, net.trainable_params(), False)
    )


def flat(result):
    loss, (by_input, by_weights) = result
    return [value.asnumpy() for value in (loss, by_input, *by_weights)]


def text_of(step):
    return show(next(iter(step.compiled.entries.values())).read.program.graph)


def check_close(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in ("last", "some", "row") else n for n in READS],
)
def test_losses_and_gradients_are_the_same(name, without):
    net = made(READS[name])
    step = step_of(net)
    plain = without(lambda: flat(step_of(net)(x())))
    check_close(flat(step(x())), plain)
    run = ms.jit(lambda x: net(x))
    found = run(x()).asnumpy()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    check_close([found], [net(x()).asnumpy()])


def test_the_last_layer_is_computed_for_the_word_that_is_read():
    step = step_of(made(READS["first"]))
    step(x())
    text = text_of(step)
    rows = BATCH * LENGTH
    assert text.count(f"f32[{rows},{2 * WIDTH}] = MatMul") == 4  # both kv, up of layer 1 and back
    assert text.count(f"f32[{BATCH},{2 * WIDTH}] = MatMul") == 2  # up of layer 2, and its gradient
    assert f"f32[{BATCH},{HEADS},1,{LENGTH}] = Softmax" in text


def test_so_it_is_without_gradients():
    run = ms.jit(made(READS["last"]).construct)
    run(x())
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" in text_of(run)
    assert "operators narrowed to used elements" in str(ms.jit.explain(run))


def test_the_plain_form_computes_all_of_it():
    run = ms.jit(made(READS["last"]).construct)
    narrowed = run(x()).asnumpy()
    ms.set_context(kernel_selection=False)
    plain = run(x()).asnumpy()
    texts = [show(entry.read.program.graph) for entry in run.compiled.entries.values()]
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" not in texts[-1]
    check_close([narrowed], [plain])


def test_coins_are_those_of_the_whole(without):
    net = made(READS["first"], drop=0.3).set_train()

    def run():
        ms.set_seed(11)
        step = step_of(net)
        return flat(step(x())), text_of(step)

    (found, text), (plain, _) = run(), without(run)
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" in text
    check_close(found, plain)


def test_what_is_read_otherwise_too_stays_whole():
    net = made(lambda x: x[:, 0] + x.mean(1))
    step = step_of(net)
    step(x())
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" not in text_of(step)


def test_what_is_returned_besides_stays_whole():
    net = made(READS["first"])

    def forward(x):
        hidden = net.second(net.first(x))
        return net.head(hidden[:, 0]).sum(), hidden

    step = ms.jit(ms.value_and_grad(forward, 0, net.trainable_params(), has_aux=True))
    step(x())
    text = text_of(step)
    assert text.count(f"f32[{BATCH * LENGTH},{2 * WIDTH}] = MatMul") == 4 + 2
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" not in text


def test_two_windows_are_the_whole(without):
    net = made(lambda x: x[:, 0] - x[:, 1])
    step = step_of(net)
    check_close(flat(step(x())), without(lambda: flat(step_of(net)(x()))))
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" not in text_of(step)


def test_most_of_an_axis_is_not_worth_it():
    step = step_of(made(lambda x: x[:, 1:]))
    step(x())
    assert f"{BATCH * (LENGTH - 1)},{2 * WIDTH}]" not in text_of(step)


def test_gradients_for_a_value_on_the_way_are_all_there():
    """The window goes through many operators, but not through what gradients are taken for."""
    weight = Tensor(np.random.default_rng(1).normal(size=(WIDTH, WIDTH)).astype(np.float32))

    def outer(x):
        def inner(y):
            return (ops.matmul(ops.tanh(y * x), weight)[:, 0] ** 2).sum()

        return (ops.grad(inner)(x * 2) ** 2).sum()

    found = ms.jit(ops.grad(outer))(x()).asnumpy()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    check_close([found], [ops.grad(outer)(x()).asnumpy()])


def test_means_over_rows_are_not_taken_apart(without):
    """A gradient that is divided by the number of rows is not that of fewer rows."""
    labels = Tensor(np.arange(LENGTH, dtype=np.int32) % WIDTH)
    weight = Tensor(np.random.default_rng(1).normal(size=(WIDTH, WIDTH)).astype(np.float32))
    op = ops.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)

    def run(x):
        return op(ops.matmul(x[0], weight), labels)[2]

    found = ms.jit(lambda x: run(x))(x()).asnumpy()
    check_close([found], [without(lambda: ms.jit(lambda x: run(x))(x()).asnumpy())])


def test_effects_see_the_whole(capsys):
    net = made(READS["first"])

    @ms.jit
    def run(x):
        hidden = net.second(net.first(x))
        ops.Print()(hidden.shape, hidden.sum())
        return net.head(hidden[:, 0])

    run(x())
    assert f"f32[{BATCH},{2 * WIDTH}] = MatMul" not in text_of(run)


CHAIN = (
    lambda x: ops.tanh(x),
    lambda x: x + ops.arange(WIDTH),
    lambda x: x * Tensor(np.linspace(-1, 1, LENGTH * WIDTH, dtype=np.float32).reshape(-1, WIDTH)),
    lambda x: ops.matmul(x, Tensor(np.eye(WIDTH, dtype=np.float32)[::-1].copy())),
    lambda x: ops.softmax(x, -1),
    lambda x: ops.softmax(x, 1),
    lambda x: ops.cumsum(x, 1),
    lambda x: ops.flip(x, (1,)),
    lambda x: x.reshape((BATCH * LENGTH, WIDTH)).reshape((BATCH, LENGTH, WIDTH)),
    lambda x: x.reshape((BATCH, LENGTH // 4, 4, WIDTH)).sum(2, keepdims=True) + x[:, :1, None],
    lambda x: x.transpose((1, 0, 2)).reshape((LENGTH, -1)).reshape((LENGTH, BATCH, -1)),
    lambda x: ops.tril(x),
    lambda x: ops.broadcast_to(x.mean(1, keep_dims=True), (BATCH, LENGTH, WIDTH)),
    lambda x: ops.layer_norm(x, (WIDTH,), ops.ones(WIDTH), ops.zeros(WIDTH)),
    lambda x: ops.where(x > 0, x, x * 0.5),
    lambda x: ops.concat((x, x), 2)[:, :, :WIDTH],
)


def normal(x):
    """Any of the shapes that the chain gives, in the one that it takes."""
    if len(x.shape) == 4:
        x = x.mean(2)
        return ops.concat((x, x, x, x), 1)
    return x.transpose((1, 0, 2)) if x.shape[0] == LENGTH else x


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.sampled_from(range(len(CHAIN))), min_size=1, max_size=5),
    st.integers(0, LENGTH - 1),
    st.integers(1, LENGTH // 2),
)
def test_any_chain_gives_the_same(chain, start, count):
    def run(x):
        for number in chain:
            x = normal(CHAIN[number](x))
        return ops.matmul(x, ops.ones((WIDTH, 2)))[:, start : start + count]

    def loss(x):
        return (run(x) * run(x)).sum()

    found = ms.jit(ms.value_and_grad(loss))(x())
    ms.set_context(mode=ms.PYNATIVE_MODE)
    plain = ms.value_and_grad(loss)(x())
    ms.set_context(mode=ms.GRAPH_MODE)
    check_close([v.asnumpy() for v in found], [v.asnumpy() for v in plain])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_windows_are_followed_through_reshapes(sizes, data):
    made = tuple(sizes)
    factors = [n for size in made for n in ((2, 2) if size == 4 else (size,))]
    given = []
    while factors:
        count = data.draw(st.integers(1, len(factors)))
        given.append(int(np.prod(factors[:count])))
        factors = factors[count:]
    axis = data.draw(st.sampled_from(range(len(made))))
    start = data.draw(st.integers(0, made[axis] - 1))
    window = AxisWindow(axis, made[axis], start, data.draw(st.integers(start + 1, made[axis])))
    found = window.before_reshape(tuple(given), made)
    if found is None:
        return
    whole = np.arange(np.prod(made)).reshape(given)
    shape = (*given[: found.axis], found.before, found.size, found.after, *given[found.axis + 1 :])
    part = whole.reshape(shape).take(range(found.start, found.stop), found.axis + 1)
    wanted = whole.reshape(made).take(range(window.start, window.stop), axis)
    np.testing.assert_array_equal(part.reshape(wanted.shape), wanted)
