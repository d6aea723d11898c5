"""Training in mixed precision: which layers compute in what, steps that overflow, scaled losses."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, amp, nn, ops, train
from tests.train.model_doubles import X, Y, cross_entropy, rows

FULL, HALF, BRAIN = ms.float32, ms.float16, ms.bfloat16
HUGE = 2.0**30  # as the scale of a loss: gradients in half precision overflow at once


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    return request.param


# ---- levels -----------------------------------------------------------------------------------


class Layers(nn.Cell):
    """One layer of each kind; gives the dtypes of their results, and the last result."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, has_bias=True)
        self.norm = nn.BatchNorm2d(2)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.dense = nn.Dense(32, 4)
        self.layer_norm = nn.LayerNorm((4,))
        self.product = ops.MatMul()
        self.weight = ms.Parameter(Tensor(np.eye(4, dtype=np.float32)), name="weight")

    def construct(self, x):
        a = self.conv(x)
        b = self.norm(a)
        c = self.relu(b)
        d = self.dense(self.flatten(c))
        e = self.layer_norm(d)
        f = self.product(e, self.weight)
        g = ops.softmax(f)
        dtypes = (a.dtype, b.dtype, c.dtype, d.dtype, e.dtype, f.dtype, g.dtype)
        return dtypes, g


IMAGES = np.random.RandomState(1).standard_normal((2, 1, 4, 4)).astype(np.float32)
# Of the real MindSpore 2.10, in both modes: the bias of a layer is float32, and so is its result.
DTYPES = {
    "O0": lambda half: [FULL] * 7,
    "O1": lambda half: [FULL] * 7,
    "O2": lambda half: [half] * 7,
    "O3": lambda half: [half] * 7,
    "auto": lambda half: [FULL] * 5 + [half, FULL],
}


@pytest.mark.parametrize(
    ("level", "half"), [*((level, HALF) for level in DTYPES), ("O2", BRAIN), ("auto", BRAIN)]
)
def test_the_dtype_of_every_layer(level, half, mode):
    dtypes, result = amp.auto_mixed_precision(Layers(), level, half)(Tensor(IMAGES))
    assert list(dtypes) == DTYPES[level](half)
    assert result.dtype is FULL


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"white_list": [nn.Dense]}, [FULL] * 7),
        ({"white_list": [ops.MatMul]}, [FULL] * 7),
        ({"black_list": [nn.Dense]}, [HALF] * 7),
        ({"black_list": [nn.Conv2d, nn.LayerNorm]}, [HALF] * 7),
    ],
)
def test_the_dtype_of_every_layer_with_lists(lists, expected, mode):
    network = Layers()
    dtypes, result = amp.custom_mixed_precision(network, **lists)(Tensor(IMAGES))
    assert list(dtypes) == expected and result.dtype is FULL


class Sum(nn.Cell):
    """2048 + 0.5 - 2048: only the sum needs more digits than float16 has."""

    def construct(self, x):
        return ops.matmul(x, ops.ones((2, 1), x.dtype)) - 2048


class Sums(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = Sum(), nn.SequentialCell(Sum())

    def construct(self, x):
        return self.inner(x), self.outer(x)


@pytest.mark.parametrize(
    ("change", "exact"),
    [
        (lambda net: net, [True, True]),
        (lambda net: amp.custom_mixed_precision(net, white_list=[Sum]), [False, False]),
        (lambda net: amp.custom_mixed_precision(net, black_list=[Sum]), [True, True]),
        (lambda net: amp.custom_mixed_precision(net, white_list=[nn.SequentialCell]), [True, False]),
        (lambda net: amp.custom_mixed_precision(net, black_list=[nn.SequentialCell]), [False, True]),
        (lambda net: amp.custom_mixed_precision(net, white_list=[ops.MatMul]), [False, False]),
        (lambda net: amp.auto_mixed_precision(net, "auto"), [False, False]),
        (lambda net: amp.auto_mixed_precision(net, "O3"), [False, False]),
    ],
)  # fmt: skip
def test_what_is_really_computed_in_half_precision(change, exact, mode):
    x = Tensor(np.array([[2048.0, 0.5]], np.float32))
    assert [float(part[0, 0]) for part in change(Sums())(x)] == [0.5 if e else 0.0 for e in exact]


# ---- overflow ---------------------------------------------------------------------------------

OPTIMIZERS = {
    "momentum": lambda weights: nn.Momentum(weights, 0.1, 0.9, weight_decay=1e-2),
    "adam": lambda weights: nn.Adam(weights, 0.05),
    "schedule": lambda weights: nn.AdamWeightDecay(weights, nn.ExponentialDecayLR(0.1, 0.9, 1)),
}


def network():
    first = nn.Dense(3, 4, weight_init="ones", bias_init="zeros", activation="tanh")
    return nn.SequentialCell(first, nn.Dense(4, 2, weight_init="ones", bias_init="zeros"))


def state(cell):
    return {p.name: p.asnumpy().copy() for p in cell.get_parameters()}


def batch(number=0):
    place = slice(4 * number, 4 * number + 4)
    return Tensor(X[place]), Tensor(Y[place])


COUNTERS = ("scale_sense", "current_iterator_step", "last_overflow_iterator_step")


@pytest.mark.parametrize(
    ("level", "optimizer"),
    [("O2", "momentum"), ("O3", "adam"), pytest.param("O3", "schedule", marks=pytest.mark.slow)],
)
def test_a_step_that_overflows_changes_the_scale_only(level, optimizer, mode):
    net = network()
    step = amp.build_train_network(
        net,
        OPTIMIZERS[optimizer](net.trainable_params()),
        cross_entropy(),
        level,
        loss_scale_manager=amp.DynamicLossScaleManager(HUGE, 2, 100),
    )
    before = state(step)
    loss, overflow, scale = step(*batch())
    after = state(step)
    assert np.isfinite(float(loss)) and bool(overflow) and float(scale) == HUGE
    assert after["scale_sense"] == HUGE / 2
    for name, value in before.items():
        if name.rsplit(".", 1)[-1] not in COUNTERS:
            np.testing.assert_array_equal(after[name], value, err_msg=name)
    step.scale_sense.set_data(Tensor(64.0, FULL))
    _, overflow, _ = step(*batch())
    trained = state(step)
    assert not bool(overflow)
    assert int(trained["global_step"][0]) == int(before["global_step"][0]) + 1
    assert not np.array_equal(trained["1.weight"], before["1.weight"])


def test_the_scale_falls_until_training_begins_and_grows_again(mode):
    net = network()
    step = amp.build_train_network(
        net,
        nn.SGD(net.trainable_params(), 1e-3),
        cross_entropy(),
        "O3",
        loss_scale_manager=amp.DynamicLossScaleManager(2.0**20, 4, 3),
    )
    seen = [(bool(o), float(s)) for _, o, s in (step(*batch()) for _ in range(14))]
    first_good = [overflow for overflow, _ in seen].index(False)
    assert 0 < first_good < 5
    assert [scale for _, scale in seen[: first_good + 1]] == [
        2.0**20 / 4**n for n in range(first_good + 1)
    ]
    good = seen[first_good][1]
    assert [scale for _, scale in seen[first_good : first_good + 4]] == [good] * 3 + [good * 4]


def test_the_window_counts_from_the_last_change(mode):
    manager = amp.DynamicLossScaleManager(16, 2, 3)
    cell, scale = manager.get_update_cell(), ms.Parameter(Tensor(16.0, FULL), name="scale")
    seen = []
    for overflow in (False, False, False, True, False, False, False, False, True, True):
        cell(scale, Tensor(overflow))
        seen.append(float(scale))
    assert seen == [16, 16, 32, 16, 16, 16, 32, 32, 16, 8]


def test_a_scale_does_not_fall_below_one(mode):
    cell = nn.DynamicLossScaleUpdateCell(2.0, 4, 3)
    scale = ms.Parameter(Tensor(2.0, FULL), name="scale")
    assert bool(cell(scale, Tensor(True))) and float(scale) == 1


@pytest.mark.parametrize("optimizer", ["momentum", pytest.param("adam", marks=pytest.mark.slow)])
def test_a_scale_that_stays_changes_no_number(optimizer, mode):
    """A power of two leaves every digit as it is: equal to training without a scale."""
    found = []
    for manager in (None, amp.FixedLossScaleManager(2.0**10)):
        net = network()
        weights = OPTIMIZERS[optimizer](net.trainable_params())
        step = amp.build_train_network(net, weights, cross_entropy(), loss_scale_manager=manager)
        for number in range(3):
            step(*batch(number))
        found.append(state(net))
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, 1e-6, 1e-7, err_msg=name)


def test_a_scale_keeps_gradients_that_are_too_small_for_half_precision(mode):
    found = {}
    for scale in (None, 2.0**14):
        net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros").to_float(HALF)
        loss = nn.WithLossCell(net, TinyLoss())
        options = {} if scale is None else {"sens": scale}
        optimizer = nn.SGD(net.trainable_params(), 1e6, loss_scale=scale or 1.0)
        nn.TrainOneStepCell(loss, optimizer, **options)(Tensor([[1.0, 1.0]]), Tensor([[0.0]]))
        found[scale] = net.weight.asnumpy()[0, 0]
    assert found[None] == 1  # 2**-26 is nothing in float16
    np.testing.assert_allclose(found[2.0**14], 1 - 1e6 * 2.0**-26, rtol=1e-3)


class TinyLoss(nn.Cell):
    """A loss whose gradient is below the smallest number of float16."""

    def construct(self, output, label):
        return ((output.astype(FULL) - label) * 2.0**-26).sum()


# ---- Model and loops --------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["O2", pytest.param("O3", marks=pytest.mark.slow), "auto"])
def test_a_model_trains_as_in_full_precision(level, mode):
    losses = []
    manager = amp.DynamicLossScaleManager(2**10)  # small enough: no step is left out
    for options in ({}, {"amp_level": level, "loss_scale_manager": manager}):
        net = network()
        optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)
        history = train.History()
        train.Model(net, cross_entropy(), optimizer, **options).train(8, rows(), history)
        losses.append(history.history["net_output"])
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-2)
    assert losses[1][-1] < 0.1 * losses[1][0]


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "jit"])
@pytest.mark.parametrize(
    "make", [lambda: amp.StaticLossScaler(HUGE), lambda: amp.DynamicLossScaler(HUGE, 2, 2)]
)
def test_a_loop_of_ones_own(make, compiled):
    """Overflow is left out; only a dynamic scaler finds a scale that trains."""
    scaler, net = make(), network()
    half = amp.auto_mixed_precision(net, "O3")
    optimizer, loss_fn = nn.Adam(net.trainable_params(), 0.01), cross_entropy()
    gradient = ms.value_and_grad(
        lambda x, y: scaler.scale(loss_fn(half(x), y)), None, optimizer.parameters
    )

    def step(x, y):
        loss, gradients = gradient(x, y)
        gradients = scaler.unscale(gradients)
        finite = amp.all_finite(gradients)
        if finite:
            optimizer(gradients)
        scaler.adjust(finite)
        return scaler.unscale(loss), finite

    run = ms.jit(step) if compiled else step
    before = state(net)
    loss, finite = run(*batch())
    assert np.isfinite(float(loss)) and not bool(finite)
    assert int(optimizer.global_step[0]) == 0
    for name, value in state(net).items():
        np.testing.assert_array_equal(value, before[name])
    finites = [bool(run(*batch(number % 6))[1]) for number in range(30)]
    if isinstance(scaler, amp.DynamicLossScaler):
        assert sum(finites) == int(optimizer.global_step[0]) > 2
        assert 1 <= float(scaler.scale_value) < HUGE
    else:
        assert not any(finites) and float(scaler.scale_value) == HUGE
