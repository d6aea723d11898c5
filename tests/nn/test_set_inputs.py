"""Cell.set_inputs: descriptions with None, checks of calls, programs that sizes share."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops

ROWS = Tensor(shape=[None, 3], dtype=ms.float32)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def either_mode(request):
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def array(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def tensor(*shape, dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


class Double(nn.Cell):
    def construct(self, x, y=None):
        return x * 2


class Perceptron(nn.Cell):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Dense(3, 4)
        self.out = nn.Dense(4, 2)

    def construct(self, x):
        return self.out(ops.relu(self.hidden(x)))


class Images(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2, 2)
        self.flat = nn.Flatten()
        self.out = nn.Dense(4 * 4 * 4, 2)

    def construct(self, x):
        return self.out(self.flat(self.pool(ops.relu(self.norm(self.conv(x))))))


class Sentences(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.norm = nn.LayerNorm((8,))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.recurrent = nn.LSTM(8, 6, batch_first=True)
        self.out = nn.Dense(6, 2)

    def construct(self, words):
        x = self.norm(self.embedding(words))
        x = x + self.attention(x, x, x)[0]
        return self.out(self.recurrent(x)[0][:, -1])


# ---- descriptions -------------------------------------------------------------------------------


def test_a_tensor_with_none_only_describes_others():
    assert ROWS.shape == (-1, 3) and ROWS.dtype == ms.float32 and ROWS.ndim == 2 and ROWS.size == 0
    assert repr(ROWS) == "Tensor(shape=[-1, 3], dtype=Float32, value=\n)"
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        ROWS.asnumpy()
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        print(ROWS)


def test_copies_of_a_description_describe_the_same():
    for other in (copy.deepcopy(ROWS), pickle.loads(pickle.dumps(ROWS))):
        assert (other.shape, other.dtype) == (ROWS.shape, ROWS.dtype)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": [None, 3]},
        {"shape": [None], "dtype": ms.float32, "init": lambda array: None},
        {"shape": [None, -3], "dtype": ms.float32},
    ],
)
def test_descriptions_need_a_dtype_and_no_numbers(arguments):
    with pytest.raises(ValueError):
        Tensor(**arguments)


def test_get_inputs_gives_what_was_set():
    net = Double()
    assert net.get_inputs() is None
    net.set_inputs(ROWS)
    assert net.get_inputs() == (ROWS,)
    net.set_inputs(y=ROWS)
    assert net.get_inputs() == {"arg_specified_infos": [[1, ROWS]], "total_arg_length": 2}


def test_descriptions_must_fit_construct():
    with pytest.raises(ValueError, match="valid key is"):
        Double().set_inputs(z=ROWS)
    with pytest.raises(ValueError, match="only set inputs or kwargs"):
        Double().set_inputs(ROWS, x=ROWS)
    with pytest.raises(TypeError, match="requires 1 positional argument"):
        Double().set_inputs()
    with pytest.raises(TypeError, match="requires 1 positional argument"):
        Double().set_inputs(ROWS, ROWS, ROWS)


# ---- checks -------------------------------------------------------------------------------------


def test_arguments_of_any_size_pass(either_mode):
    net = Double()
    net.set_inputs(ROWS)
    for size in (0, 1, 2, 3, 5):
        assert net(tensor(size, 3)).shape == (size, 3)
    net.set_inputs(x=ROWS)
    assert net(tensor(2, 3)).shape == net(x=tensor(2, 3), y=tensor(1)).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ((tensor(2, 4),), ValueError, "the shape must be the same"),
        ((tensor(2, 3, 1),), ValueError, "the dims must be the same"),
        ((tensor(2, 3, dtype=np.int32),), TypeError, "another type"),
        ((tensor(2, 3), tensor(2, 3)), ValueError, "the length of input"),
        ((3.0,), TypeError, "should be mutable one"),
    ],
)
def test_other_arguments_are_refused(either_mode, arguments, error, what):
    net = Double()
    net.set_inputs(ROWS)
    with pytest.raises(error, match=what):
        net(*arguments)


def test_values_that_are_no_tensors_are_expected_as_they_are(either_mode):
    net = Double()
    net.set_inputs(ROWS, 3)
    assert net(tensor(2, 3), 3).shape == (2, 3)
    with pytest.raises(ValueError, match="wrong value"):
        net(tensor(2, 3), 4)
    with pytest.raises(TypeError, match="should be static one"):
        net(tensor(2, 3), tensor(1))


def test_tuples_are_looked_into(either_mode):
    class First(nn.Cell):
        def construct(self, pair):
            return pair[0] + pair[1]

    net = First()
    net.set_inputs((ROWS, ROWS))
    assert net((tensor(5, 3), tensor(5, 3))).shape == (5, 3)
    with pytest.raises(ValueError, match="wrong structure"):
        net((tensor(5, 3),))


def test_inputs_can_be_set_again(graph_mode):
    net = Double()
    net.set_inputs(ROWS)
    net(tensor(5, 3))
    net.set_inputs(Tensor(shape=[3, None], dtype=ms.float32))
    assert net(tensor(3, 9)).shape == (3, 9)
    with pytest.raises(ValueError):
        net(tensor(9, 3))


def test_copies_keep_the_description(graph_mode):
    net = Double()
    net.set_inputs(ROWS)
    net(tensor(5, 3))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other(tensor(6, 3)).shape == (6, 3)
        assert ms.jit.explain(other).labels == ("xla, padded to 8 for sizes 6",)
        with pytest.raises(ValueError):
            other(tensor(5, 4))


# ---- programs -----------------------------------------------------------------------------------


def steps(loss, optimizer, labels, sizes):
    """Train a network for one step with each size; gives the losses and the parameters."""
    ms.set_seed(1)
    net = Perceptron()
    train = nn.TrainOneStepCell(
        nn.WithLossCell(net, loss), optimizer(net.trainable_params(), 0.1)
    ).set_train()
    train.set_inputs(ROWS, labels)
    random = np.random.default_rng(2)
    found = []
    for size in sizes:
        shape = (size, *labels.shape[1:])
        wanted = random.integers(0, 2, shape).astype(labels.dtype.numpy)
        found.append(train(Tensor(array(size, 3, seed=size)), Tensor(wanted)).asnumpy())
    return train, found + [p.asnumpy() for p in net.get_parameters()]


CLASSES = Tensor(shape=[None], dtype=ms.int32)
VALUES = Tensor(shape=[None, 2], dtype=ms.float32)


@pytest.mark.parametrize(
    ("loss", "labels"),
    [
        (nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), CLASSES),
        (nn.CrossEntropyLoss(), CLASSES),
        (nn.MSELoss(), VALUES),
        (nn.BCEWithLogitsLoss(), VALUES),
        (nn.SmoothL1Loss(reduction="mean"), VALUES),
        (nn.L1Loss(reduction="sum"), VALUES),
    ],
    ids=lambda value: type(value).__name__,
)
def test_training_steps_of_different_sizes_share_a_program(loss, labels):
    def momentum(parameters, rate):
        return nn.Momentum(parameters, rate, 0.9)

    _, wanted = steps(loss, momentum, labels, (5, 7, 6))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        train, found = steps(loss, momentum, labels, (5, 7, 6))
        explained = ms.jit.explain(train)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert explained.labels == ("xla, padded to 8 for sizes 5, 7, 6",)
    assert explained.compilations == ("first call",)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.slow
def test_sentences_are_trained_with_one_program():
    def trained():
        ms.set_seed(1)
        net = Sentences()
        loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
        train = nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params(), 0.1)).set_train()
        train.set_inputs(Tensor(shape=[None, 4], dtype=ms.int32), CLASSES)
        random = np.random.default_rng(2)
        for size in (5, 7, 6):
            words, classes = random.integers(0, 10, (size, 4)), random.integers(0, 2, size)
            train(Tensor(words.astype(np.int32)), Tensor(classes.astype(np.int32)))
        return train, [p.asnumpy() for p in net.get_parameters()]

    _, wanted = trained()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        train, found = trained()
        labels = ms.jit.explain(train).labels
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert labels == ("xla, padded to 8 for sizes 5, 7, 6",)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_inference_has_one_program_for_each_bucket(graph_mode):
    net = Images().set_train(False)
    net.set_inputs(Tensor(shape=[None, 3, 8, 8], dtype=ms.float32))
    for size in (3, 4, 5, 8, 3):
        x = Tensor(array(size, 3, 8, 8, seed=size))
        found = net(x)
        ms.set_context(mode=ms.PYNATIVE_MODE)
        wanted = net(x)
        ms.set_context(mode=ms.GRAPH_MODE)
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)
    assert ms.jit.explain(net).labels == (
        "xla, padded to 4 for sizes 3, 4",
        "xla, padded to 8 for sizes 5, 8",
    )


def test_batch_statistics_need_the_exact_size(graph_mode):
    net = Images().set_train()
    eager = copy.deepcopy(net)
    net.set_inputs(Tensor(shape=[None, 3, 8, 8], dtype=ms.float32))
    for size in (5, 6):
        x = Tensor(array(size, 3, 8, 8, seed=size))
        found = net(x)
        ms.set_context(mode=ms.PYNATIVE_MODE)
        wanted = eager(x)
        ms.set_context(mode=ms.GRAPH_MODE)
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)
    for one, other in zip(net.get_parameters(), eager.get_parameters(), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)
    labels = ms.jit.explain(net).labels
    assert [label[: label.index(":")] for label in labels] == [
        "xla, of exact size 5",
        "xla, of exact size 6",
    ]
    assert "BatchNorm" in labels[0] and "test_set_inputs.py:" in labels[0]
    net.set_train(False)  # with known statistics it is provable
    net(Tensor(array(5, 3, 8, 8)))
    assert "xla, padded to 8 for sizes 5" in ms.jit.explain(net).labels


def test_jit_and_ms_function_take_signatures():
    for mark in (ms.jit, ms.ms_function):

        @mark(input_signature=(ROWS,))
        def double(x):
            return x * 2

        for size in (5, 6):
            np.testing.assert_array_equal(double(tensor(size, 3)).asnumpy(), np.full((size, 3), 2))
        assert len(ms.jit.explain(double).labels) == 1
        with pytest.raises(ValueError):
            double(tensor(5, 4))


def test_explain_prints_the_programs(graph_mode):
    net = Double()
    net.set_inputs(ROWS)
    net(tensor(5, 3))
    net(tensor(6, 3))
    text = str(ms.jit.explain(net))
    assert "Double: compiled 1 times" in text
    assert "program 1: xla, padded to 8 for sizes 5, 6, 1 graphs" in text


def test_a_description_without_a_shape_fits_tensors_of_any_rank(either_mode):
    net = Double()
    anything = Tensor(dtype=ms.float32)
    assert anything.shape == Tensor(shape=None, dtype=ms.float32).shape == (-2,)
    net.set_inputs(anything)
    assert net(tensor(2, 3)).shape == (2, 3)
    assert net(tensor(4)).shape == (4,)
    with pytest.raises(TypeError, match="another type"):
        net(tensor(2, dtype=np.int32))
    with pytest.raises(ValueError, match="negative dimensions"):
        anything.asnumpy()


def test_a_mutable_number_stands_for_any_number_of_its_type(either_mode):
    net = Double()
    net.set_inputs(ROWS, ms.mutable(3))
    assert net(tensor(2, 3), ms.mutable(3)).shape == net(tensor(2, 3), 4).shape == (2, 3)
    with pytest.raises(TypeError, match="another type"):
        net(tensor(2, 3), 4.5)
