"""jit: copies of compiled cells, guards, modes."""

import copy
import pickle

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops


def in_graph_mode(run):
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return run()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_copies_of_a_compiled_cell_have_programs_of_their_own():
    net, x = nn.Dense(3, 2), Tensor(np.ones((2, 3), np.float32))
    wanted = in_graph_mode(lambda: net(x)).asnumpy()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(in_graph_mode(lambda other=other: other(x)).asnumpy(), wanted)
        other.bias.set_data(other.bias + 1)
        found = in_graph_mode(lambda other=other: other(x)).asnumpy()
        np.testing.assert_allclose(found, wanted + 1, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(in_graph_mode(lambda: net(x)).asnumpy(), wanted)


def test_gradients_are_compiled_in_graph_mode():
    seen = []

    def f(x):
        seen.append(type(x._data).__name__)
        return (x * x).sum()

    gradient = ms.grad(ops.Partial()(lambda x: (x * x).sum()))
    x = Tensor([1.0, 2.0])
    found = in_graph_mode(lambda: gradient(x))
    np.testing.assert_array_equal(found.asnumpy(), [2.0, 4.0])
    assert np.array_equal(ms.grad(f)(x).asnumpy(), [2.0, 4.0]) and seen == ["ndarray"]


def test_switching_training_on_and_off_compiles_again():
    net, x = nn.Dropout(p=0.5), Tensor(np.ones((4, 4), np.float32))
    compiled = ms.jit(net)
    np.testing.assert_array_equal(compiled(x).asnumpy(), x.asnumpy())
    net.set_train()
    assert not np.array_equal(compiled(x).asnumpy(), x.asnumpy())
    net.set_train(False)
    np.testing.assert_array_equal(compiled(x).asnumpy(), x.asnumpy())


def test_a_parameter_given_away_stays_readable_elsewhere():
    net = nn.Dense(2, 2)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    step = nn.TrainOneStepCell(net, optimizer)
    x = Tensor(np.ones((3, 2), np.float32))
    in_graph_mode(lambda: step(x))
    kept = ms.Parameter(net.weight, name="twin")  # shares the array
    before = kept.asnumpy().copy()
    in_graph_mode(lambda: step(x))
    np.testing.assert_array_equal(kept.asnumpy(), before)
    assert not np.array_equal(net.weight.asnumpy(), before)


def test_explain_says_what_was_chosen():
    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.SequentialCell(
        nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3)
    )
    net(Tensor(np.ones((4, 16, 20, 20), np.float32)))
    found = ms.jit.explain(net)
    assert found.choices[0]["operators with channels last"] >= 4
    assert "chosen: " in str(found) and "channels last" in str(found)
