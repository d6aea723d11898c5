"""Mixed precision: what computes in which dtype, scaled losses, training at each level."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, amp, nn, ops, train
from tests.train.model_doubles import X, cross_entropy, dense_model, losses_by_hand, rows


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    return request.param


class Net(nn.Cell):
    """Keeps the dtypes of what it computes."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 4, weight_init="ones", bias_init="zeros")
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Dense(4, 2, weight_init="ones", bias_init="zeros")
        self.product = ops.MatMul()
        self.weight = ms.Parameter(np.eye(2, dtype=np.float32), name="weight")
        self.seen = []

    def construct(self, x):
        a = self.dense(x)
        b = self.norm(a)
        c = self.last(b)
        d = self.product(c, self.weight)
        e = ops.matmul(d, self.weight)
        f = ops.exp(e / 100)
        self.seen[:] = [t.dtype for t in (a, b, c, d, e, f)]
        return f


FLOAT = ms.float32
LEVELS = {
    "O0": lambda half: [FLOAT] * 6,
    "O1": lambda half: [FLOAT] * 6,
    "O2": lambda half: [half] * 6,
    "O3": lambda half: [half] * 6,
    "auto": lambda half: [FLOAT, FLOAT, FLOAT, half, half, FLOAT],
}


@pytest.mark.parametrize(
    ("level", "half"),
    [*((level, ms.float16) for level in LEVELS), ("O2", ms.bfloat16), ("auto", ms.bfloat16)],
)
def test_what_computes_in_half_precision(level, half):
    network = Net()
    exact = Net()(Tensor(X[:4])).asnumpy()
    changed = amp.auto_mixed_precision(network, level, half)
    result = changed(Tensor(X[:4]))
    assert result.dtype is FLOAT
    seen = list(network.seen)
    if level == "auto":  # the bias of a layer stays float32
        assert seen[3:] == LEVELS[level](half)[3:]
    else:
        assert seen == LEVELS[level](half)
    tolerance = 0 if level == "O0" else 2e-2
    np.testing.assert_allclose(result.asnumpy(), exact, rtol=tolerance)
    assert (level == "O0") == np.array_equal(result.asnumpy(), exact)
    assert [p.name for p in changed.get_parameters()] == [p.name for p in Net().get_parameters()]
    assert all(p.dtype is FLOAT for p in changed.get_parameters())


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_graphs_compute_as_eager_mode_does(level):
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        network = nn.SequentialCell(nn.BatchNorm1d(3), dense, nn.Softmax())
        found.append(amp.auto_mixed_precision(network, level)(Tensor(X)).asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=2e-3)


def inner_dtype(cell):
    """The dtype a cell computes in, without what is put around it."""
    return getattr(cell, "_backbone", cell).compute_dtype


def test_black_cells_stay_exact_at_o2():
    network = Net()
    amp.auto_mixed_precision(network, "O2")
    assert inner_dtype(network.norm) is FLOAT and inner_dtype(network.dense) is ms.float16
    assert network.norm.num_features == 4  # what is put around it shows what it is


def test_a_function_at_level_auto():
    def run(x, y):
        return ops.matmul(x, y), ops.exp(x)

    changed = amp.auto_mixed_precision(run, "auto")
    x = Tensor(X[:3])
    for fn in (changed, ms.jit(changed)):
        product, exponential = fn(x, x)
        assert product.dtype is ms.float16 and exponential.dtype is FLOAT
        np.testing.assert_allclose(product.asnumpy(), X[:3] @ X[:3], rtol=1e-2, atol=1e-2)
    assert run(x, x)[0].dtype is FLOAT


def test_gradients_come_in_the_dtype_of_the_parameters(mode):
    for level in ("O1", "O2") if mode == ms.PYNATIVE_MODE else ("O3", "auto"):
        network = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
        weights = network.trainable_params()
        changed = amp.auto_mixed_precision(network, level)
        gradient = ms.grad(lambda x, net=changed: net(x).sum(), None, weights)(Tensor(X))
        assert [g.dtype for g in gradient] == [FLOAT, FLOAT]
        np.testing.assert_allclose(gradient[0].asnumpy()[0], X.sum(0), rtol=1e-2, atol=1e-2)


def test_lists_of_ones_own():
    network = Net()
    amp.custom_mixed_precision(network, white_list=[nn.Dense])(Tensor(X[:4]))
    assert inner_dtype(network.dense) is ms.float16 and inner_dtype(network.norm) is None
    network = Net()
    result = amp.custom_mixed_precision(network, white_list=[ops.MatMul], dtype=ms.bfloat16)(
        Tensor(X[:4])
    )
    assert result.dtype is FLOAT and inner_dtype(network.dense) is None
    assert not np.array_equal(result.asnumpy(), Net()(Tensor(X[:4])).asnumpy())
    network = Net()
    result = amp.custom_mixed_precision(network, black_list=[nn.Dense])(Tensor(X[:4]))
    assert inner_dtype(network.dense) is FLOAT and inner_dtype(network.norm) is ms.float16
    assert result.dtype is FLOAT


def test_the_lists_are_copies():
    assert nn.Dense in amp.get_white_list() and ops.MatMul in amp.get_white_list()
    assert amp.get_black_list() == [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]
    amp.get_white_list().clear()
    amp.get_black_list().clear()
    assert len(amp.get_white_list()) == 20 and len(amp.get_black_list()) == 4


@pytest.mark.parametrize(
    ("mode", "level"),
    [(ms.PYNATIVE_MODE, level) for level in ("O1", "O2", "O3", "auto")]
    + [(ms.GRAPH_MODE, level) for level in ("O2", "auto")],
)
def test_models_train_at_every_level(mode, level):
    ms.set_context(mode=mode)
    options = {} if level != "O2" else {"loss_scale_manager": amp.FixedLossScaleManager(64.0)}
    model = dense_model({"acc", "loss"}, amp_level=level, **options)
    history = train.History()
    model.fit(2, rows(), rows(), callbacks=history)
    np.testing.assert_allclose(history.history["net_output"], losses_by_hand(12)[5::6], rtol=5e-3)
    assert history.history["acc"][-1] == 1.0
    assert [p.dtype for p in model.predict_network.get_parameters()] == [FLOAT, FLOAT]


def test_normalization_trains_in_half_precision(mode):
    level = "O2" if mode == ms.PYNATIVE_MODE else "O3"
    network = nn.SequentialCell(nn.BatchNorm1d(3), nn.Dense(3, 2))
    before = network[0].moving_mean.asnumpy()
    optimizer = nn.SGD(network.trainable_params(), 0.05)
    manager = amp.FixedLossScaleManager(8.0, False)
    model = train.Model(
        network, cross_entropy(), optimizer, amp_level=level, loss_scale_manager=manager
    )
    model.train(1, rows(8))
    (mean,) = [p for p in network.get_parameters() if p.name.endswith("moving_mean")]
    assert mean.dtype is FLOAT
    expected = 0.1 * (0.9 * X[:4].mean(0) + X[4:8].mean(0)) + 0.81 * before
    np.testing.assert_allclose(mean.asnumpy(), expected, rtol=1e-2, atol=1e-3)


def test_a_dynamic_scale_finds_its_size(mode):
    manager = amp.DynamicLossScaleManager(2**24, 2, 1000)
    model = dense_model(amp_level="O2", loss_scale_manager=manager)
    history = train.History()
    model.train(4, rows(), history)
    assert isinstance(model.train_network, nn.TrainOneStepWithLossScaleCell)
    assert 1 <= float(model.train_network.scale_sense) < 2**24
    losses = history.history["net_output"]
    assert losses[-1] < losses[0]


def test_a_fixed_scale_changes_nothing_in_float32(mode):
    for drops in (True, False):
        manager = amp.FixedLossScaleManager(128.0, drops)
        history = train.History()
        scaled = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        optimizer = nn.SGD(scaled.trainable_params(), 0.1, loss_scale=1.0 if drops else 128.0)
        model = train.Model(scaled, cross_entropy(), optimizer, loss_scale_manager=manager)
        model.train(1, rows(), history)
        np.testing.assert_allclose(history.history["net_output"], losses_by_hand(6)[5:], rtol=1e-5)


def test_build_train_network_makes_steps(mode):
    network = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    step = amp.build_train_network(network, optimizer, cross_entropy())
    losses = [float(step(*batch)) for batch in rows().create_tuple_iterator()]
    np.testing.assert_allclose(losses, losses_by_hand(6), rtol=1e-5)
    network = nn.Dense(3, 2)
    amp.build_train_network(network, optimizer, cast_model_type=ms.float16)
    assert network.compute_dtype is ms.float16


def test_scalers_scale_and_unscale(mode):
    scaler = amp.StaticLossScaler(8)
    half = Tensor([2.0], ms.float16)
    scaled = scaler.scale([Tensor([1.0, 2.0]), half])
    assert isinstance(scaled, list) and scaled[1].dtype is ms.float16
    np.testing.assert_array_equal(scaled[0].asnumpy(), [8, 16])
    np.testing.assert_array_equal(scaler.unscale((half,))[0].asnumpy(), [0.25])
    assert float(scaler.scale(Tensor(2.0))) == 16 and scaler.adjust(Tensor(True)) is False
    assert float(scaler.scale_value) == 8


def test_a_dynamic_scaler_adjusts():
    for wrap in (lambda fn: fn, ms.jit):
        scaler = amp.DynamicLossScaler(1024, 2, 3)
        assert isinstance(scaler, amp.LossScaler)

        @wrap
        def adjust(finite, scaler=scaler):
            scaler.adjust(finite)
            return finite

        seen = []
        for finite in (True, True, True, False, True, True, True):
            adjust(Tensor(finite))
            seen.append((float(scaler.scale_value), int(scaler.counter)))
        assert seen == [
            (1024, 1), (1024, 2), (2048, 0), (1024, 0), (1024, 1), (1024, 2), (2048, 0),
        ]  # fmt: skip
    low = amp.DynamicLossScaler(1, 2, 3)
    assert low.adjust(Tensor(False)) is True and float(low.scale_value) == 1


def test_a_training_loop_with_a_scaler():
    network = nn.Dense(3, 2, weight_init="ones", bias_init="zeros").to_float(ms.float16)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    loss_fn, scaler = cross_entropy(), amp.DynamicLossScaler(1024, 2, 3)

    def forward(x, y):
        return scaler.scale(loss_fn(network(x).astype(ms.float32), y))

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        loss, gradients = gradient(x, y)
        loss, gradients = scaler.unscale(loss), scaler.unscale(gradients)
        finite = amp.all_finite(gradients)
        if finite:
            optimizer(gradients)
        scaler.adjust(finite)
        return loss

    losses = [float(step(*batch)) for batch in rows().create_tuple_iterator()]
    np.testing.assert_allclose(losses, losses_by_hand(6), rtol=5e-3)


def test_all_finite(mode):
    good, bad = Tensor([1.0, 2.0]), Tensor([1.0, np.inf])
    for inputs, expected in (
        ((good, good.astype(ms.float16)), True),
        ([good, bad], False),
        ((Tensor([np.nan]),), False),
        (good, True),
    ):
        found = amp.all_finite(inputs)
        assert found.shape == () and found.dtype is ms.bool_ and bool(found) is expected
    with pytest.raises(TypeError, match="all_finite"):
        amp.all_finite(3)


def test_managers():
    fixed = amp.FixedLossScaleManager()
    assert fixed.get_loss_scale() == 128.0 and fixed.get_drop_overflow_update() is True
    assert isinstance(fixed.get_update_cell(), nn.FixedLossScaleUpdateCell)
    assert amp.FixedLossScaleManager(2, False).get_update_cell() is None
    manager = amp.DynamicLossScaleManager(16, 2, 3)
    seen = []
    for overflow in (False, False, False, True, False, False, False, False):
        manager.update_loss_scale(overflow)
        seen.append(manager.get_loss_scale())
    assert seen == [16, 16, 32, 16, 16, 16, 32, 32] and manager.get_drop_overflow_update()
    assert isinstance(manager.get_update_cell(), nn.DynamicLossScaleUpdateCell)
    assert isinstance(manager, amp.LossScaleManager)
    assert amp.LossScaleManager().get_loss_scale() is None


def test_gradients_that_only_overflow_end_the_training():
    manager = amp.DynamicLossScaleManager(8, 2, 3)
    for _ in range(1000):
        manager.update_loss_scale(True)
    assert manager.get_loss_scale() == 1
    with pytest.raises(RuntimeError, match="1001 steps with overflow in a row"):
        manager.update_loss_scale(True)


NET = nn.Dense(3, 2)
SGD = nn.SGD(NET.trainable_params(), 0.1)


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (TypeError, lambda: amp.auto_mixed_precision(3, "O2")),
        (TypeError, lambda: amp.auto_mixed_precision(3, "auto")),
        (ValueError, lambda: amp.auto_mixed_precision(NET, "O9")),
        (ValueError, lambda: amp.auto_mixed_precision(NET, "O2", ms.float32)),
        (ValueError, lambda: amp.custom_mixed_precision(NET)),
        (ValueError, lambda: amp.custom_mixed_precision(NET, white_list=[], black_list=[])),
        (TypeError, lambda: amp.custom_mixed_precision(NET, white_list=3)),
        (TypeError, lambda: amp.custom_mixed_precision(NET, white_list=[3])),
        (TypeError, lambda: amp.custom_mixed_precision(NET, white_list=[int])),
        (TypeError, lambda: amp.custom_mixed_precision(NET, black_list=[ops.MatMul])),
        (TypeError, lambda: amp.custom_mixed_precision(3, white_list=[])),
        (TypeError, lambda: amp.build_train_network(NET, 3)),
        (TypeError, lambda: amp.build_train_network(NET, SGD, 3)),
        (ValueError, lambda: amp.build_train_network(NET, SGD, level="O9")),
        (ValueError, lambda: amp.build_train_network(NET, SGD, boost_level="O3")),
        (ValueError, lambda: amp.build_train_network(NET, SGD, foo=3)),
        (TypeError, lambda: amp.build_train_network(NET, SGD, cast_model_type=ms.int32)),
        (TypeError, lambda: amp.build_train_network(NET, SGD, keep_batchnorm_fp32=3)),
        (TypeError, lambda: amp.build_train_network(NET, SGD, loss_scale_manager=3)),
        (ValueError, lambda: amp.FixedLossScaleManager(0)),
        (ValueError, lambda: amp.DynamicLossScaleManager(0)),
        (ValueError, lambda: amp.DynamicLossScaleManager(2, 0)),
        (ValueError, lambda: amp.DynamicLossScaleManager(2, 2, 0)),
        (ValueError, lambda: amp.StaticLossScaler(0)),
        (TypeError, lambda: amp.StaticLossScaler("a")),
        (ValueError, lambda: amp.DynamicLossScaler(2, 0, 1)),
        (TypeError, lambda: amp.DynamicLossScaler(2, 1.5, 1)),
        (TypeError, lambda: amp.LossScaler()),
    ],
)
def test_bad_arguments_are_refused(kind, make):
    with pytest.raises(kind):
        make()
