"""Model: training, fitting, evaluation, prediction, in both modes; what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, train
from tests.train.model_doubles import (
    Rows,
    Seen,
    X,
    Y,
    cross_entropy,
    dense_model,
    losses_by_hand,
    rows,
)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    return request.param


@pytest.mark.parametrize("sinks", [False, True])
def test_training_makes_the_steps_of_the_formula(mode, sinks):
    history, model = train.History(), dense_model()
    seen = [] if sinks else [Seen()]
    model.train(2, rows(), [history, *seen], dataset_sink_mode=sinks)
    expected = losses_by_hand(12)
    np.testing.assert_allclose(history.history["net_output"], expected[5::6], rtol=1e-5)
    if seen:
        np.testing.assert_allclose([float(o) for o in seen[0].outputs], expected, rtol=1e-5)


def test_joined_steps_give_each_loss(capsys):
    ms.set_context(mode=ms.GRAPH_MODE)
    dense_model().train(2, rows(), train.LossMonitor(), dataset_sink_mode=True)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[:7]] == [
        *[f"epoch: 1 step: {n}" for n in range(1, 7)],
        "epoch: 2 step: 1",
    ]
    losses = [float(line.split()[-1]) for line in lines]
    np.testing.assert_allclose(losses, losses_by_hand(12), rtol=1e-5)


def test_a_callback_that_looks_between_steps_sees_each_of_them():
    ms.set_context(mode=ms.GRAPH_MODE)
    weights = []
    look = train.LambdaCallback(
        on_train_step_end=lambda c: weights.append(float(c.original_args().network.weight[0, 0]))
    )
    model = dense_model()
    model.train(1, rows(), [look], dataset_sink_mode=True)
    assert len(set(weights)) == 6
    assert weights[-1] == float(model.predict_network.weight[0, 0])


def test_the_events_of_fit(mode):
    seen = Seen()
    dense_model({"acc"}).fit(2, rows(8), rows(4), callbacks=seen)
    epoch = ["on_train_epoch_begin", *["on_train_step_begin", "on_train_step_end"] * 2]
    steps = ["on_eval_step_begin", "on_eval_step_end"]
    evaluation = ["on_eval_begin", "on_eval_epoch_begin", *steps]
    evaluation += ["on_eval_epoch_end", "on_eval_end"]
    names = [event for event, *_ in seen.events]
    once = [*epoch, *evaluation, "on_train_epoch_end"]
    assert names == ["on_train_begin", *once, *once, "on_train_end"]
    assert seen.events[0][1:] == (None, 0, "train")
    assert seen.events[-2][1:] == (2, 4, "train")
    assert ("on_eval_end", 2, 1, "eval") in seen.events


def test_plain_events_stand_for_training_and_evaluation():
    class Old(train.Callback):
        def __init__(self):
            self.modes = []

        def step_end(self, run_context):
            self.modes.append(run_context.original_args().mode)

    old, model = Old(), dense_model({"acc"})
    model.train(1, rows(8), old)
    model.eval(rows(8), old)
    assert old.modes == ["train", "train", "eval", "eval"]
    with pytest.raises(ValueError, match="on_train"):
        model.fit(1, rows(8), rows(8), callbacks=old)


def test_eval_gives_the_metrics(mode):
    model = dense_model({"acc", "loss"})
    model.train(5, rows())
    found = model.eval(rows())
    scores = model.predict(Tensor(X)).asnumpy()
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert found["acc"] == np.mean(scores.argmax(1) == Y)
    loss = -np.log(shares[np.arange(24), Y]).mean()
    assert found["loss"] == pytest.approx(loss, rel=1e-5)
    assert found == pytest.approx(model.eval(rows(), dataset_sink_mode=True))


def test_fit_evaluates_when_asked():
    seen = {}

    class Look(train.Callback):
        def on_train_epoch_end(self, run_context):
            facts = run_context.original_args()
            seen[facts.cur_epoch_num] = facts.get("eval_results")

    model = dense_model({"acc"})
    model.fit(4, rows(), rows(8), valid_frequency=2, callbacks=Look())
    assert [epoch for epoch, found in seen.items() if found] == [2, 4]
    assert set(seen[4]) == {"acc", "eval_loss"}
    last = model.eval_network(Tensor(X[4:8]), Tensor(Y[4:8]))[0]
    assert seen[4]["eval_loss"] == pytest.approx(float(last), rel=1e-6)
    seen.clear()
    model.fit(4, rows(), rows(8), valid_frequency=[1, 3], callbacks=Look())
    assert [epoch for epoch, found in seen.items() if found] == [1, 3]
    seen.clear()
    model.fit(1, rows())
    assert not seen


def test_training_goes_on_from_an_epoch(capsys):
    dense_model().train(3, rows(8), train.LossMonitor(), initial_epoch=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        f"epoch: {e} step: {s}" for e in (2, 3) for s in (1, 2)
    ]


def test_a_callback_ends_the_training():
    seen = Seen()
    stop = train.LambdaCallback(
        on_train_step_end=lambda c: c.request_stop() if c.original_args().cur_step_num == 2 else 0
    )
    dense_model().train(3, rows(), [stop, seen])
    assert [e for e, *_ in seen.events][-3:] == [
        "on_train_step_end",
        "on_train_epoch_end",
        "on_train_end",
    ]
    assert seen.events[-1][1:3] == (1, 2)


def test_networks_know_whether_they_train():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 2)
            self.modes = []

        def construct(self, x):
            self.modes.append(self.training)
            return self.dense(x)

    network = Net()
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = train.Model(network, cross_entropy(), optimizer, {"acc"})
    model.fit(2, rows(4), rows(4))
    model.predict(Tensor(X[:2]))
    before_training = network.modes[:2]  # metrics and labels are looked at once
    assert before_training == [False, False]
    assert network.modes[2:] == [True, False, True, False, False]


def test_a_network_may_give_its_loss_or_make_its_steps():
    class WithLoss(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense, self.loss = nn.Dense(3, 2), cross_entropy()

        def construct(self, x, y):
            return self.loss(self.dense(x), y)

    network = WithLoss()
    before = network.dense.weight.asnumpy()
    train.Model(network).train(1, rows(8))
    np.testing.assert_array_equal(network.dense.weight.asnumpy(), before)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    train.Model(network, optimizer=optimizer).train(1, rows(8))
    first = network.dense.weight.asnumpy()
    assert not np.array_equal(first, before)
    train.Model(nn.TrainOneStepCell(network, optimizer)).train(1, rows(8))
    assert not np.array_equal(network.dense.weight.asnumpy(), first)
    plain = train.Model(nn.Dense(3, 2), cross_entropy())
    assert isinstance(plain.train_network, nn.WithLossCell)


def test_an_evaluation_network_of_ones_own():
    class Judge(nn.Cell):
        def __init__(self, network):
            super().__init__(auto_prefix=False)
            self.network = network

        def construct(self, x, y):
            return y, self.network(x), x.mean()

    network = nn.Dense(3, 2)
    judge = Judge(network)
    model = train.Model(
        network, metrics={"acc", "loss"}, eval_network=judge, eval_indexes=[2, 1, 0]
    )
    found = model.eval(rows(8))
    assert model.eval_network is judge and model.predict_network is network
    assert found["loss"] == pytest.approx(X[:8].mean(), rel=1e-5)
    assert found["acc"] == np.mean(network(Tensor(X[:8])).asnumpy().argmax(1) == Y[:8])
    chosen = train.Accuracy().set_indexes([1, 0])
    alone = train.Model(network, metrics={"a": chosen}, eval_network=judge)
    assert alone.eval(rows(8)) == {"a": found["acc"]}


def test_build_compiles_ahead():
    ms.set_context(mode=ms.GRAPH_MODE)
    model = dense_model({"acc"})
    before = model.train_network.network._backbone.weight.asnumpy()
    model.build(rows(8), rows(8))
    np.testing.assert_array_equal(model.predict_network.weight.asnumpy(), before)
    assert model.train_network._compiled() is model.train_network._compiled()
    model.train(1, rows(8))
    assert not np.array_equal(model.predict_network.weight.asnumpy(), before)


def test_batches_of_a_helper():
    helper = train.DatasetHelper(rows(8), dataset_sink_mode=False, epoch_num=2)
    for _ in range(2):
        batches = list(helper)
        assert [len(batch) for batch in batches] == [2, 2]
        np.testing.assert_array_equal(batches[1][0].asnumpy(), X[4:8])
    with pytest.raises(AttributeError, match="sink"):
        helper.sink_size()


def test_a_network_that_takes_its_own_data():
    model = dense_model()
    helper = train.DatasetHelper(rows(), dataset_sink_mode=True, sink_size=3)
    assert helper.sink_size() == 3
    assert helper.types_shapes() == ([ms.float32, ms.int32], [[4, 3], [4]])
    assert helper.get_data_info() == helper.types_shapes()
    step = train.connect_network_with_dataset(model.train_network, helper)
    for _ in helper:
        third = step()
    expected = losses_by_hand(6)
    np.testing.assert_allclose([float(third), float(step())], expected[2::3], rtol=1e-5)
    with pytest.raises(RuntimeError, match="sink mode"):
        train.connect_network_with_dataset(step, train.DatasetHelper(rows(), False))


def test_an_iterator_that_ends_is_an_error():
    class Once(Rows):
        def create_tuple_iterator(self, num_epochs=-1, output_numpy=False):
            return iter(super().create_tuple_iterator(num_epochs))

    with pytest.raises(ValueError, match="yielded nothing in this epoch"):
        dense_model().train(2, Once(X, Y))


def test_a_dataset_that_is_its_own_iterator_is_reset_after_each_epoch():
    class Itself(Rows):
        place = 0

        def create_tuple_iterator(self, num_epochs=-1, output_numpy=False):
            return self

        def __iter__(self):
            return self

        def __next__(self):
            self.place += 1
            if self.place > 2:
                raise StopIteration
            return [ms.Tensor(X[:4]), ms.Tensor(Y[:4])]

        def reset(self):
            self.place = 0

    model = dense_model()
    steps = []
    model.train(3, Itself(X, Y), train.LambdaCallback(on_train_step_end=steps.append))
    assert len(steps) == 3 * 2


def test_facts_for_callbacks():
    facts = {}
    keep = train.LambdaCallback(on_train_step_end=lambda c: facts.update(c.original_args()))
    model = dense_model()
    model.train(1, rows(8), keep)
    assert facts["batch_num"] == 2 and facts["epoch_num"] == 1 and facts["mode"] == "train"
    assert facts["train_network"] is model.train_network and facts["parallel_mode"] == "stand_alone"
    names = "device_number initial_step last_save_ckpt_step latest_ckpt_file list_callback loss_fn "
    names += "loss_scale_mananger network optimizer train_dataset train_dataset_element net_outputs"
    assert set(names.split()) <= set(facts)


NET, LOSS = nn.Dense(3, 2), cross_entropy()
OPTIMIZER = nn.SGD(NET.trainable_params(), 0.1)
EVAL = nn.WithEvalCell(NET, LOSS)


@pytest.mark.parametrize(
    ("kind", "message", "make"),
    [
        (TypeError, "'network'", lambda: train.Model(3)),
        (TypeError, "'loss_fn'", lambda: train.Model(NET, 3)),
        (TypeError, "'optimizer'", lambda: train.Model(NET, LOSS, 3)),
        (KeyError, "foo", lambda: train.Model(NET, LOSS, OPTIMIZER, {"foo"})),
        (TypeError, "metrics", lambda: train.Model(NET, LOSS, OPTIMIZER, ["acc"])),
        (TypeError, "metrics", lambda: train.Model(NET, LOSS, OPTIMIZER, {"a": 3})),
        (ValueError, "eval_network", lambda: train.Model(NET, metrics={"acc"})),
        (ValueError, "level", lambda: train.Model(NET, LOSS, OPTIMIZER, amp_level="O9")),
        (TypeError, "level", lambda: train.Model(NET, LOSS, OPTIMIZER, amp_level=2)),
        (ValueError, "optimizer", lambda: train.Model(NET, LOSS, amp_level="O2")),
        (ValueError, "boost", lambda: train.Model(NET, LOSS, OPTIMIZER, boost_level="O9")),
        (ValueError, "option", lambda: train.Model(NET, LOSS, OPTIMIZER, foo=1)),
        (TypeError, "loss_scale", lambda: train.Model(NET, LOSS, OPTIMIZER, loss_scale_manager=3)),
        (TypeError, "keep", lambda: train.Model(NET, LOSS, OPTIMIZER, keep_batchnorm_fp32=3)),
        (
            ValueError,
            "eval_indexes",
            lambda: train.Model(NET, metrics={"acc"}, eval_network=EVAL, eval_indexes=[0, 1]),
        ),
    ],
)
def test_bad_models_are_refused(kind, message, make):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize(
    ("kind", "message", "run"),
    [
        (ValueError, "epoch", lambda m: m.train(0, rows())),
        (TypeError, "epoch", lambda m: m.train(1.5, rows())),
        (TypeError, "callbacks", lambda m: m.train(1, rows(), [3])),
        (TypeError, "callbacks", lambda m: m.train(1, rows(), 3)),
        (TypeError, "sink", lambda m: m.train(1, rows(), dataset_sink_mode=3)),
        (ValueError, "sink_size", lambda m: m.train(1, rows(), sink_size=0)),
        (AttributeError, "get_dataset_size", lambda m: m.train(1, 3)),
        (ValueError, "is empty", lambda m: m.train(1, Rows(X[:2], Y[:2]))),
        (ValueError, "initial_epoch", lambda m: m.train(2, rows(), initial_epoch=2)),
        (ValueError, "initial_epoch", lambda m: m.train(2, rows(), initial_epoch=-1)),
        (ValueError, "data and labels", lambda m: m.train(1, Rows(X))),
        (ValueError, "data and labels", lambda m: m.train(1, Rows(X, Y, Y))),
        (ValueError, "metrics", lambda m: m.eval(rows())),
        (ValueError, "metrics", lambda m: m.fit(1, rows(), rows())),
        (TypeError, "valid_frequency", lambda m: m.fit(1, rows(), valid_frequency="a")),
        (ZeroDivisionError, "valid_frequency", lambda m: m.fit(1, rows(), valid_frequency=0)),
        (TypeError, "type of input", lambda m: m.predict(X)),
        (ValueError, "backend", lambda m: m.predict(Tensor(X), backend="foo")),
        (ValueError, "epoch", lambda m: m.build(rows(), epoch=0)),
    ],
)
def test_bad_calls_are_refused(kind, message, run):
    with pytest.raises(kind, match=message):
        run(dense_model())


def test_datasets_of_the_framework(mode):
    dataset = pytest.importorskip("mycelia.dataset")

    def batches():
        rows = dataset.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=False)
        return rows.batch(4)

    history, model = train.History(), dense_model({"acc"})
    model.fit(2, batches(), batches(), callbacks=history)
    np.testing.assert_allclose(history.history["net_output"], losses_by_hand(12)[5::6], rtol=1e-5)
    helper = train.DatasetHelper(batches(), dataset_sink_mode=True)
    assert helper.sink_size() == 6
    assert helper.types_shapes() == ([ms.float32, ms.int32], [[4, 3], [4]])
    step = train.connect_network_with_dataset(dense_model().train_network, helper)
    assert float(step()) == pytest.approx(losses_by_hand(6)[5], rel=1e-5)
