"""THOR: its factors against plain numpy, both modes, what it watches, and that it gets there."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, dataset, nn, ops
from mycelia.experimental.optim import KFAC
from mycelia.nn.layer.curvature import blocks, watched_layers
from mycelia.ops.optimizer import curvature
from mycelia.train import Model
from mycelia.train.train_thor import ConvertModelUtils, ConvertNetUtils

MODES = (ms.GRAPH_MODE, ms.PYNATIVE_MODE)
RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def seeded():
    ms.set_seed(5)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def values(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def step_of(network, optimizer, loss=None, **options):
    loss = nn.MSELoss() if loss is None else loss
    return nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer, **options).set_train()


def block_diagonal(matrix, size):
    count, each, _ = blocks(len(matrix), size)
    padded = np.zeros((count * each, count * each), np.float32)
    padded[: len(matrix), : len(matrix)] = matrix
    parts = [padded[i * each : (i + 1) * each, i * each : (i + 1) * each] for i in range(count)]
    return np.stack(parts)


# ---- factors --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1024, 3])
def test_factors_of_a_dense_layer(mode, size):
    ms.set_context(mode=mode)
    layer = nn.Dense(4, 2)
    optimizer = nn.thor(layer, 0.0, 0.1, 0.9, block_size=size)
    x, y = values(6, 4), values(6, 2)
    out = layer(Tensor(x)).asnumpy()
    step_of(layer, optimizer)(Tensor(x), Tensor(y))
    extended = np.concatenate([x, np.ones((6, 1), np.float32)], 1)
    each = 6 * (2 / 12) * (out - y)  # the gradient of one row's own loss
    watched = optimizer.watched[0]
    inputs = block_diagonal(extended.T @ extended / 6, size)
    np.testing.assert_allclose(watched.matrix_a.asnumpy(), inputs, rtol=1e-5)
    outputs = block_diagonal(each.T @ each / 6, size)
    np.testing.assert_allclose(watched.matrix_g.asnumpy(), outputs, rtol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "fields",
    [
        {"pad_mode": "valid"},
        {"pad_mode": "same", "stride": 2},
        {"pad_mode": "pad", "padding": 1, "dilation": 2},
    ],
    ids=str,
)
def test_factors_of_a_convolution(mode, fields):
    ms.set_context(mode=mode)
    layer = nn.Conv2d(3, 4, 3, has_bias=True, **fields)
    optimizer = nn.thor(layer, 0.0, 0.1, 0.9)
    x = values(5, 3, 7, 6)
    out = layer(Tensor(x)).asnumpy()
    y = values(*out.shape)
    step_of(layer, optimizer)(Tensor(x), Tensor(y))
    # a convolution with the unit matrix as its weight gives the patches
    unit = ops.Conv2D(
        27, 3, pad_mode=fields["pad_mode"], pad=fields.get("padding", 0),
        stride=fields.get("stride", 1), dilation=fields.get("dilation", 1),
    )  # fmt: skip
    weight = Tensor(np.eye(27, dtype=np.float32).reshape(27, 3, 3, 3))
    patches = unit(Tensor(x), weight).asnumpy().transpose(0, 2, 3, 1).reshape(-1, 27)
    rows = np.concatenate([patches, np.ones((len(patches), 1), np.float32)], 1)
    watched = optimizer.watched[0]
    np.testing.assert_allclose(
        watched.matrix_a.asnumpy()[0], rows.T @ rows / 5, rtol=1e-4, atol=1e-5
    )
    gradient = (5 * 2 * (out - y) / out.size).transpose(0, 2, 3, 1).reshape(-1, 4)
    expected = gradient.T @ gradient / len(gradient)
    np.testing.assert_allclose(watched.matrix_g.asnumpy()[0], expected, rtol=1e-4, atol=1e-7)


def test_large_images_give_a_part_of_their_patches():
    window = nn.Conv2d(1, 1, 3).conv2d.window
    rows, places = curvature._patches(values(64, 1, 32, 32), window)
    assert places == 1024
    assert len(rows) <= 4096
    assert rows.shape[1] == 9


@pytest.mark.parametrize("mode", MODES)
def test_factors_of_an_embedding_and_a_normalization(mode):
    ms.set_context(mode=mode)
    network = nn.SequentialCell(nn.Embedding(5, 3), nn.LayerNorm((3,)))
    optimizer = nn.thor(network, 0.0, 0.1, 0.9)
    ids = np.array([[0, 1], [1, 4], [1, 0]], np.int32)
    network[1].gamma.set_data(Tensor(np.array([0.5, 1.0, 2.0], np.float32)))
    out = network(Tensor(ids)).asnumpy().reshape(6, 3)
    y = values(3, 2, 3)
    step_of(network, optimizer)(Tensor(ids), Tensor(y))
    table, norm = optimizer.watched
    np.testing.assert_allclose(table.matrix_a.asnumpy(), np.array([2, 3, 0, 0, 1]) / 6, rtol=1e-5)
    gradient = 6 * 2 * (out - y.reshape(6, 3)) / 18
    normal = out / np.array([0.5, 1.0, 2.0])
    squares = np.stack([((gradient * normal) ** 2).mean(0), (gradient**2).mean(0)])
    np.testing.assert_allclose(norm.matrix_g.asnumpy(), squares, rtol=1e-3)


# ---- steps ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_first_step_is_the_natural_gradient(mode):
    ms.set_context(mode=mode)
    layer = nn.Dense(4, 2)
    optimizer = nn.thor(layer, 0.1, 0.05, 0.9, radius=1e9)
    x, y = values(8, 4), values(8, 2)
    weight, bias = layer.weight.asnumpy(), layer.bias.asnumpy()
    out = x @ weight.T + bias
    step_of(layer, optimizer)(Tensor(x), Tensor(y))
    extended = np.concatenate([x, np.ones((8, 1))], 1)
    each = (out - y) * 8 * 2 / 16
    inputs, outputs = extended.T @ extended / 8, each.T @ each / 8
    balance = np.sqrt((np.trace(inputs) / 5) / (np.trace(outputs) / 2))
    root = np.sqrt(0.05)
    gradient = each.T @ extended / 8
    natural = np.linalg.inv(outputs + root / balance * np.eye(2)) @ gradient
    natural = natural @ np.linalg.inv(inputs + root * balance * np.eye(5))
    np.testing.assert_allclose(layer.weight.asnumpy(), weight - 0.1 * natural[:, :4], atol=1e-4)
    np.testing.assert_allclose(layer.bias.asnumpy(), bias - 0.1 * natural[:, 4], atol=1e-4)


def test_a_step_changes_the_outputs_by_no_more_than_asked():
    layer = nn.Dense(4, 2)
    optimizer = nn.thor(layer, 10.0, 1e-4, 0.0, radius=1e-3)
    x, y = values(8, 4), values(8, 2)
    before = layer(Tensor(x)).asnumpy()
    step_of(layer, optimizer)(Tensor(x), Tensor(y))
    free = nn.Dense(4, 2)
    unbound = nn.thor(free, 10.0, 1e-4, 0.0, radius=1e9)
    first = free(Tensor(x)).asnumpy()
    step_of(free, unbound)(Tensor(x), Tensor(y))
    moved = np.abs(layer(Tensor(x)).asnumpy() - before).max()
    assert 0 < moved < 0.2
    assert np.abs(free(Tensor(x)).asnumpy() - first).max() > 10 * moved


def network_of():
    return nn.SequentialCell(
        nn.Conv2d(1, 3, 3, has_bias=True), nn.ReLU(), nn.Flatten(), nn.Dense(3 * 36, 12), nn.Tanh(),
        nn.LayerNorm((12,)), nn.Dense(12, 4),
    )  # fmt: skip


def losses_of(mode, steps=6, scale=1.0, make=nn.thor, **options):
    ms.set_context(mode=mode)
    ms.set_seed(5)
    network = network_of()
    optimizer = make(network, 0.05, 0.03, 0.9, loss_scale=scale, **options)
    sens = {} if scale == 1.0 else {"sens": scale}
    step = step_of(network, optimizer, **sens)
    random = np.random.default_rng(0)
    found = []
    for _ in range(steps):
        x = random.standard_normal((16, 1, 6, 6)).astype(np.float32)
        found.append(float(step(Tensor(x), Tensor(x.reshape(16, -1)[:, :4]))))
    return found


OTHERS = {"frequency": 3, "block_size": 8, "weight_decay": 0.01}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, OTHERS])
def test_both_modes_agree(options):
    compiled = losses_of(ms.GRAPH_MODE, **options)
    np.testing.assert_allclose(losses_of(ms.PYNATIVE_MODE, **options), compiled, rtol=1e-3)
    assert compiled[-1] < compiled[0]


@pytest.mark.slow
def test_a_loss_scale_changes_nothing():
    plain = losses_of(ms.GRAPH_MODE)
    np.testing.assert_allclose(losses_of(ms.GRAPH_MODE, scale=1024.0), plain, rtol=1e-3)


@pytest.mark.slow
def test_a_loss_scale_changes_nothing_of_clipped_gradients():
    clipped = losses_of(ms.GRAPH_MODE, enable_clip_grad=True)
    scaled = losses_of(ms.GRAPH_MODE, scale=1024.0, enable_clip_grad=True)
    np.testing.assert_allclose(scaled, clipped, rtol=1e-3)


def steps_until(optimizer_of, target):
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(5)
    random = np.random.default_rng(0)
    stretch = np.logspace(-1, 1, 10).astype(np.float32)
    x = random.standard_normal((256, 10)).astype(np.float32) * stretch
    y = (x / stretch @ random.standard_normal((10, 3))).argmax(1).astype(np.int32)
    network = nn.Dense(10, 3)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = step_of(network, optimizer_of(network), loss)
    for count in range(1, 400):
        rows = random.integers(0, 256, 64)
        if float(step(Tensor(x[rows]), Tensor(y[rows]))) < target:
            return count
    return 400


@pytest.mark.slow
def test_it_needs_fewer_steps_on_a_stretched_problem():
    rates = (0.01, 0.03, 0.1, 0.3)
    plain = min(
        steps_until(lambda net, r=r: nn.Momentum(net.trainable_params(), r, 0.9), 0.3)
        for r in rates
    )
    assert steps_until(lambda net: nn.thor(net, 0.3, 1e-3, 0.9), 0.3) < plain / 2
    assert steps_until(lambda net: KFAC(net, 0.3, 1e-3), 0.3) < plain / 2


# ---- when the curvature is refreshed --------------------------------------------------------


def states_of(steps, **options):
    ms.set_context(mode=ms.GRAPH_MODE)
    network = nn.Dense(4, 2)
    optimizer = nn.thor(network, 0.0, 0.03, 0.9, **options)
    step = step_of(network, optimizer)
    x, y = Tensor(values(8, 4)), Tensor(values(8, 2))
    found = []
    for _ in range(steps):
        step(x, y)
        found.append(optimizer.watched[0].curvature.asnumpy().copy())
    return np.array(found), optimizer


def test_turns_come_seldom_in_the_end():
    states, _ = states_of(60, frequency=10, sampling=5, trace_rule=(-1.0, -1.0))
    turns = np.unique(states[:, curvature.TURN])
    assert turns[0] == 0
    assert turns[1] == 1
    assert np.diff(turns).max() == 10
    assert np.all(np.diff(turns)[-2:] == 10)
    samples = np.diff(states[:, curvature.SAMPLES])
    assert samples[:10].all()
    assert samples[-20:].mean() < 0.5


def test_a_trace_that_stays_ends_the_refreshing():
    states, optimizer = states_of(60, frequency=8)  # the same batch without learning
    assert states[-1, curvature.DUE] == -1
    kept = optimizer.input_inverses[0].asnumpy()
    assert np.abs(kept).max() > 0
    assert states[-1, curvature.SAMPLES] < 60


def test_a_trace_that_changes_little_keeps_the_inverses():
    states, _ = states_of(20, frequency=8, trace_rule=(0.5, 0.0))
    assert len(np.unique(states[:, curvature.TRACE])) == 1
    assert states[-1, curvature.DUE] >= 0


# ---- what is watched ------------------------------------------------------------------------


class Tied(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(4, 4)
        self.second = nn.Dense(4, 4)
        self.second.weight = self.first.weight
        self.last = nn.Dense(4, 2)

    def construct(self, x):
        return self.last(self.second(ops.relu(self.first(x))))


def test_shared_and_frozen_weights_are_left_alone():
    network = Tied()
    assert [one.weights[0].name for one in watched_layers(network)] == ["last.weight"]
    frozen = network_of()
    for parameter in frozen[0].get_parameters():
        parameter.requires_grad = False
    assert len(watched_layers(frozen)) == 3
    optimizer = nn.thor(network, 0.01, 0.03, 0.9)
    step = step_of(network, optimizer)
    before = network.first.weight.asnumpy().copy()
    step(Tensor(values(8, 4)), Tensor(values(8, 2)))
    assert np.abs(network.first.weight.asnumpy() - before).max() > 0


def test_thor_layers_are_watched_and_compute_the_same():
    x = Tensor(values(2, 3, 5, 5))
    convolution = nn.Conv2dThor(3, 2, 3)
    plain = nn.Conv2d(3, 2, 3)
    plain.weight.set_data(convolution.weight)
    np.testing.assert_allclose(convolution(x).asnumpy(), plain(x).asnumpy(), rtol=1e-6)
    dense = nn.DenseThor(3, 2, activation="relu")
    assert dense(Tensor(values(4, 3))).shape == (4, 2)
    ids = Tensor(np.array([1, 2], np.int32))
    assert nn.EmbeddingThor(4, 3)(ids).shape == (2, 3)
    assert nn.EmbeddingLookupThor(4, 3)(ids).shape == (2, 3)
    network = nn.SequentialCell(convolution, nn.Flatten(), nn.DenseThor(50, 2))
    assert len(watched_layers(network)) == 2
    assert [p.name for p in network.trainable_params()] == ["0.weight", "2.weight", "2.bias"]


def test_converting_a_network_and_a_model():
    network = network_of()
    ConvertNetUtils().convert_to_thor_net(network)
    optimizer = nn.thor(network, Tensor(0.01), Tensor(0.03), 0.9)
    plain = Model(network, nn.MSELoss(), nn.Momentum(network.trainable_params(), 0.1, 0.9))
    model = ConvertModelUtils.convert_to_thor_model(plain, network, nn.MSELoss(), optimizer)
    assert model.train_network.optimizer is optimizer
    with pytest.raises(TypeError, match="nn.thor"):
        ConvertModelUtils.convert_to_thor_model(plain, network, nn.MSELoss(), plain)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["O2", pytest.param("O3", marks=pytest.mark.slow)])
def test_half_precision_with_a_dynamic_loss_scale(level):
    ms.set_context(mode=ms.GRAPH_MODE)
    network = network_of()
    optimizer = nn.thor(network, 0.05, 0.03, 0.9)
    manager = ms.amp.DynamicLossScaleManager(2.0**10, 2, 5)
    model = Model(network, nn.MSELoss(), optimizer, amp_level=level, loss_scale_manager=manager)
    step = model.train_network
    x = values(16, 1, 6, 6)
    labels = Tensor(x.reshape(16, -1)[:, :4])
    found = [float(step(Tensor(x), labels)[0]) for _ in range(8)]
    assert np.isfinite(found).all()
    assert found[-1] < found[0]
    assert optimizer.watched[0].matrix_a.dtype == ms.float32
    assert np.isfinite(optimizer.watched[0].matrix_g.asnumpy()).all()


def test_a_checkpoint_goes_on_as_if_nothing_happened(tmp_path):
    ms.set_context(mode=ms.GRAPH_MODE)
    batches = [(Tensor(values(8, 4)), Tensor(values(8, 2))) for _ in range(10)]

    def made():
        network = nn.Dense(4, 2)
        return step_of(network, nn.thor(network, 0.05, 0.03, 0.9, frequency=4))

    whole = made()
    for batch in batches[:5]:
        whole(*batch)
    ms.save_checkpoint(whole, str(tmp_path / "half.ckpt"))
    other = made()
    missing, unused = ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "half.ckpt")))
    assert not missing
    assert not unused
    for batch in batches[5:]:
        assert float(whole(*batch)) == float(other(*batch))


def test_bad_arguments():
    with pytest.raises(TypeError, match="net"):
        nn.thor([], 0.1, 0.1, 0.9)
    with pytest.raises(ValueError, match="frequency"):
        nn.thor(nn.Dense(2, 2), 0.1, 0.1, 0.9, frequency=0)
    with pytest.raises(ValueError, match="no trainable parameters"):
        nn.thor(nn.ReLU(), 0.1, 0.1, 0.9)
    with pytest.raises(ValueError, match="radius"):
        KFAC(nn.Dense(2, 2), 0.1, radius=-1.0)


@pytest.mark.slow
def test_sunk_steps_are_the_same_steps():
    ms.set_context(mode=ms.GRAPH_MODE)
    random = np.random.default_rng(0)
    x = random.standard_normal((64, 4)).astype(np.float32)
    y = random.standard_normal((64, 2)).astype(np.float32)
    found = []
    for sinks in (False, True):
        ms.set_seed(5)
        network = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 2))
        model = Model(network, nn.MSELoss(), nn.thor(network, 0.05, 0.03, 0.9, frequency=3))
        data = dataset.NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(8)
        model.train(2, data, dataset_sink_mode=sinks)
        found.append(network[0].weight.asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)
