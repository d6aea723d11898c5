"""What is looked at before a training begins: labels, shapes, metrics."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import nn, train
from mycelia._engine.core import seed
from tests.train.model_doubles import Rows, Seen, X, Y, cross_entropy, dense_model, rows


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    ms.set_context(mode=request.param)


def model(loss, width=2):
    net = nn.Dense(3, width)
    return train.Model(net, loss, nn.SGD(net.trainable_params(), 0.1))


@pytest.mark.parametrize(
    "loss", [cross_entropy(), nn.CrossEntropyLoss(), nn.NLLLoss()], ids=lambda v: type(v).__name__
)
def test_labels_must_be_classes(mode, loss):
    for wrong, said in ((Y + 1, "from 2 to 2"), (-Y, "from -1 to -1")):
        trained = model(loss)
        before = trained.predict_network.weight.asnumpy()
        with pytest.raises(ValueError, match="outside of the network's classes") as caught:
            trained.train(1, Rows(X, wrong))
        assert "expected: labels from 0 to 1" in str(caught.value) and said in str(caught.value)
        np.testing.assert_array_equal(trained.predict_network.weight.asnumpy(), before)


def test_labels_that_are_left_out_may_be_anything():
    labels = Y.copy()
    labels[0] = -100
    model(nn.CrossEntropyLoss()).train(1, Rows(X, labels))
    model(nn.CrossEntropyLoss(ignore_index=-100)).train(1, Rows(X, labels))


def test_rows_without_a_class_are_a_warning(caplog):
    model(nn.SoftmaxCrossEntropyWithLogits(sparse=True)).train(1, Rows(X, -Y))
    assert "outside of the network's classes" in caplog.text


def test_distributions_are_no_classes():
    labels = np.eye(2, dtype=np.float32)[Y] * 5
    model(nn.CrossEntropyLoss()).train(1, Rows(X, labels))


@pytest.mark.parametrize(
    "chosen", [ms.PYNATIVE_MODE, pytest.param(ms.GRAPH_MODE, marks=pytest.mark.slow)]
)
def test_looking_at_labels_changes_nothing(chosen):
    ms.set_context(mode=chosen)

    def losses(loss):
        ms.set_seed(4)
        net = nn.SequentialCell(nn.Dense(3, 8), nn.Dropout(p=0.5), nn.Dense(8, 2))
        seen = Seen()
        made = train.Model(net, loss, nn.SGD(net.trainable_params(), 0.1))
        made.train(1, rows(), seen)
        return [float(output) for output in seen.outputs]

    class Unknown(nn.Cell):
        def __init__(self):
            super().__init__()
            self.loss = cross_entropy()

        def construct(self, logits, labels):
            return self.loss(logits, labels)

    assert losses(cross_entropy()) == losses(Unknown())


def test_an_error_in_a_step_names_the_batch(mode):
    labels = Y.reshape(-1, 1).repeat(3, 1)
    with pytest.raises((ValueError, RuntimeError, TypeError)) as caught:
        model(cross_entropy()).train(1, Rows(X, labels))
    assert "in step 1, on a batch of Float32[4,3], Int32[4,3]" in "".join(caught.value.__notes__)


def test_metrics_are_tried_before_training():
    seen = Seen()
    wrong = dense_model({"mae": train.MAE()})
    before = wrong.predict_network.weight.asnumpy()
    with pytest.raises(ValueError) as caught:
        wrong.fit(1, rows(), rows(), callbacks=seen)
    assert "metric 'mae', updated with Float32[], Float32[4,2], Int32[4]" in "".join(
        caught.value.__notes__
    )
    assert seen.events == []
    np.testing.assert_array_equal(wrong.predict_network.weight.asnumpy(), before)


def test_trying_metrics_changes_nothing():
    ms.set_seed(5)
    model = dense_model({"acc"})
    state = seed.state()
    train.preflight_checks.check_metrics(model._evaluation(), rows())
    after = seed.state()
    assert after["drawn"] == state["drawn"]
    np.testing.assert_array_equal(after["numpy"]["state"]["key"], state["numpy"]["state"]["key"])
    model.fit(2, rows(), rows(4), valid_frequency=5)
    assert model._metrics["acc"]._total_num == 0


def test_an_evaluation_network_is_tried_too():
    class Picky(nn.Cell):
        def construct(self, x, y):
            raise ValueError("not this")

    net = nn.Dense(3, 2)
    made = train.Model(net, cross_entropy(), nn.SGD(net.trainable_params(), 0.1), {"acc"}, Picky())
    with pytest.raises(ValueError, match="not this") as caught:
        made.fit(1, rows(), rows())
    assert "before training: the eval_network" in "".join(caught.value.__notes__)


def test_the_random_state_comes_back():
    ms.set_seed(11)
    state = seed.state()
    first = seed.next_key().tolist(), np.random.rand(), seed.next_generator().random()
    seed.restore(state)
    assert (seed.next_key().tolist(), np.random.rand(), seed.next_generator().random()) == first
    assert seed.get_seed() == 11
