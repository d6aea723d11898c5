"""Recurrent cells and layers: numbers as the real MindSpore 2.10, names, states, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from tests.goldens.layer_runs import compare, draw
from tests.goldens.recurrent_cases import cases

CASES = cases(draw)
GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "recurrent.npz")
LAYERS = (nn.RNN, nn.GRU, nn.LSTM)
CELLS = (nn.RNNCell, nn.GRUCell, nn.LSTMCell)


@pytest.mark.parametrize("name", CASES)
def test_numbers_and_gradients(name: str):
    compare(ms, CASES, GOLDENS, name)


@pytest.mark.parametrize("layer", LAYERS)
def test_parameters_come_kind_by_kind(layer: type[nn.Cell]):
    names = [p.name for p in layer(3, 4, num_layers=2, bidirectional=True).get_parameters()]
    places = ["l0", "l0_reverse", "l1", "l1_reverse"]
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    assert names == [f"{kind}_{place}" for kind in kinds for place in places]


@pytest.mark.parametrize("layer", LAYERS)
def test_the_second_layer_reads_both_directions(layer: type[nn.Cell]):
    made = layer(3, 4, num_layers=2, bidirectional=True)
    gates = {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}[layer]
    assert made.weight_ih_l0.shape == (gates * 4, 3)
    assert made.weight_ih_l1_reverse.shape == (gates * 4, 8)
    assert made.weight_hh_l1.shape == (gates * 4, 4)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("dtype", [ms.float16, ms.float64])
def test_weights_follow_the_dtype_of_the_input(layer: type[nn.Cell], dtype: ms.dtype):
    output, state = layer(3, 4)(Tensor(draw((5, 2, 3), 1), dtype))
    assert output.dtype is dtype
    assert (state[0] if layer is nn.LSTM else state).dtype is dtype


@pytest.mark.parametrize("layer", LAYERS)
def test_initial_weights_are_bounded_by_the_hidden_size(layer: type[nn.Cell]):
    weights = layer(50, 25).weight_ih_l0.asnumpy()
    assert 0.19 < np.abs(weights).max() <= 0.2


@pytest.mark.parametrize("layer", LAYERS)
def test_dropout_works_between_layers_when_training(layer: type[nn.Cell]):
    net = layer(3, 4, num_layers=2, dropout=0.5)
    x = Tensor(draw((5, 2, 3), 1))
    still = net(x)[0].asnumpy()
    np.testing.assert_array_equal(still, net(x)[0].asnumpy())
    net.set_train()
    assert not np.array_equal(net(x)[0].asnumpy(), net(x)[0].asnumpy())


def test_one_sequence_is_its_steps():
    cell, layer = nn.LSTMCell(3, 4), nn.LSTM(3, 4)
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, kind).set_data(getattr(layer, f"{kind}_l0"))
    x = draw((5, 2, 3), 1)
    state = Tensor(np.zeros((2, 4), np.float32)), Tensor(np.zeros((2, 4), np.float32))
    output, (hidden, memory) = layer(Tensor(x))
    for step in range(5):
        state = cell(Tensor(x[step]), state)
        np.testing.assert_allclose(output.asnumpy()[step], state[0].asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(hidden.asnumpy()[0], state[0].asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(memory.asnumpy()[0], state[1].asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"input_size": -3, "hidden_size": 4}, ValueError),
        ({"input_size": 3, "hidden_size": 0}, ValueError),
        ({"input_size": 3, "hidden_size": 4.0}, TypeError),
        ({"input_size": 3, "hidden_size": 4, "num_layers": 0}, ValueError),
        ({"input_size": 3, "hidden_size": 4, "dropout": 1.0}, ValueError),
        ({"input_size": 3, "hidden_size": 4, "dropout": 0}, TypeError),
        ({"input_size": 3, "hidden_size": 4, "has_bias": 1}, TypeError),
        ({"input_size": 3, "hidden_size": 4, "batch_first": 1}, TypeError),
        ({"input_size": 3, "hidden_size": 4, "bidirectional": 1}, TypeError),
        ({"input_size": 3}, TypeError),
        ({"input_size": 3, "hidden_size": 4, "unknown": 1}, TypeError),
    ],
)
def test_wrong_options_of_layers(layer: type[nn.Cell], options: dict, error: type[Exception]):
    with pytest.raises(error):
        layer(**options)


@pytest.mark.parametrize("layer", LAYERS)
def test_wrong_inputs_of_layers(layer: type[nn.Cell]):
    net, x = layer(3, 4), Tensor(draw((5, 2, 3), 1))
    state = Tensor(draw((2, 2, 4), 2))
    with pytest.raises(ValueError):
        net(Tensor(draw((5, 3), 1)))
    with pytest.raises(ValueError):
        net(Tensor(draw((5, 2, 4), 1)))
    with pytest.raises(ValueError):
        net(x, (state, state) if layer is nn.LSTM else state)
    with pytest.raises(TypeError):
        net(x, state if layer is nn.LSTM else (state, state))
    with pytest.raises(TypeError):
        net(draw((5, 2, 3), 1))
    with pytest.raises(TypeError):
        net(Tensor(np.ones((5, 2, 3), np.int32)))
    with pytest.raises(ValueError):
        net(x, None, Tensor(np.array([1, 2, 3], np.int32)))


def test_a_nonlinearity_is_tanh_or_relu():
    with pytest.raises(ValueError):
        nn.RNN(3, 4, nonlinearity="sigmoid")
    with pytest.raises(ValueError):
        nn.RNNCell(3, 4, nonlinearity="sigmoid")
    with pytest.raises(TypeError):
        nn.RNNCell(3, 4, nonlinearity=3)
    with pytest.raises(TypeError):
        nn.LSTM(3, 4, nonlinearity="relu")


@pytest.mark.parametrize("cell", CELLS)
def test_wrong_arguments_of_cells(cell: type[nn.Cell]):
    x, state = Tensor(draw((2, 3), 1)), Tensor(draw((2, 4), 2))
    given = (state, state) if cell is nn.LSTMCell else state
    for size in (0, -1):
        with pytest.raises(ValueError):
            cell(size, 4)
    with pytest.raises(TypeError):
        cell(3, 4.0)
    with pytest.raises(TypeError):
        cell(3, 4, has_bias=1)
    with pytest.raises(ValueError):
        cell(5, 4)(x, given)
    with pytest.raises(ValueError):
        cell(3, 5)(x, given)
    with pytest.raises(TypeError):
        cell(3, 4)(x, [state, state])
    with pytest.raises(TypeError):
        cell(3, 4)(Tensor(np.ones((2, 3), np.int32)), given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "lengths"),
    [
        (kind, lengths)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for lengths in (None, (4, 1, 3, 4, 2, 4, 4, 0))
    ],
)
def test_large_products_are_the_same_in_any_form(kind, lengths):
    """Weights of this size take another library on CPU; gradients of both orders agree."""
    x = Tensor(np.random.default_rng(0).normal(size=(4, 8, 20)).astype(np.float32))
    lengths = None if lengths is None else Tensor(np.array(lengths, np.int32))
    found = []
    for selected in (True, False):
        ms.set_context(kernel_selection=selected)
        ms.set_seed(1)
        net = kind(20, 200)

        def loss(x, net=net):
            return (net(x, seq_length=lengths)[0] ** 2).sum()

        def slope(x, loss=loss):
            return (ms.grad(loss)(x) ** 2).sum()

        weights = net.trainable_params()
        for of in (loss, slope):
            dx, dws = ms.jit(ms.grad(of, 0, weights))(x)
            found.append([dx, *dws])
    for one, other in ((0, 2), (1, 3)):
        for a, b in zip(found[one], found[other], strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("lengths", [pytest.param(None, marks=pytest.mark.slow), (3, 2)])
def test_second_gradients_are_those_of_finite_differences(kind, lengths):
    """What a layer keeps for its gradient has gradients, too."""
    random = np.random.default_rng(0)
    net = kind(4, 5, dtype=ms.float64)
    lengths = None if lengths is None else Tensor(np.array(lengths, np.int32))
    point, direction = random.normal(size=(2, 3, 2, 4))

    def loss(x):
        outputs, state = net(x, seq_length=lengths)
        last = state[-1] if isinstance(state, tuple) else state
        return (outputs**2).sum() + ops.sin(last).sum()

    @ms.jit
    def slope(x):
        return (ms.grad(loss)(x) ** 2).sum()

    def moved(by):
        return slope(Tensor(point + by * direction)).asnumpy()

    found = (ms.jit(ms.grad(slope))(Tensor(point)).asnumpy() * direction).sum()
    np.testing.assert_allclose(found, (moved(1e-6) - moved(-1e-6)) / 2e-6, rtol=1e-6)
