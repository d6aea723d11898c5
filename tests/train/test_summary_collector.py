"""SummaryCollector: its checks, and what TensorBoard finds after a training."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import dataset as ds
from mycelia import nn, ops, train
from tests.insight.reading import hyper_parameters, read
from tests.train.model_doubles import dense_model, rows

DATA = "collect_specified_data"


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.flat, self.fc = nn.Flatten(), nn.Dense(2 * 4 * 4, 4)
        self.scalar, self.tensor = ops.ScalarSummary(), ops.TensorSummary()

    def construct(self, x):
        y = self.fc(self.flat(self.conv(x)))
        self.scalar("mine", y.sum())
        self.tensor("y", y)
        return y


def images(count=50):
    chance = np.random.default_rng(0)
    pixels = chance.random((count, 1, 4, 4)).astype(np.float32)
    labels = chance.integers(0, 4, count).astype(np.int32)
    return ds.NumpySlicesDataset((pixels, labels), ["x", "y"], shuffle=False).batch(2)


def model(rate=0.125):
    net = Net()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
    return train.Model(net, loss, optimizer, metrics={"acc"})


def steps(events):
    return [event.step for event in events]


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"summary_dir": 1}, TypeError),
        ({"summary_dir": ""}, ValueError),
        ({"summary_dir": __file__}, NotADirectoryError),
        ({"collect_freq": 0}, ValueError),
        ({"collect_freq": "a"}, TypeError),
        ({"collect_freq": True}, TypeError),
        ({"keep_default_action": 1}, TypeError),
        ({"custom_lineage_data": 1}, TypeError),
        ({"custom_lineage_data": {1: 1}}, TypeError),
        ({"custom_lineage_data": {"a": [1]}}, TypeError),
        ({"custom_lineage_data": {"a": True}}, TypeError),
        ({"collect_tensor_freq": 0}, ValueError),
        ({"collect_tensor_freq": 1.5}, TypeError),
        ({"max_file_size": 0}, ValueError),
        ({"max_file_size": True}, TypeError),
        ({"export_options": 1}, TypeError),
        ({"export_options": {"tensor_format": "x"}}, ValueError),
        ({"export_options": {1: "npy"}}, TypeError),
        ({DATA: 1}, TypeError),
        ({DATA: {1: True}}, TypeError),
        ({DATA: {"collect_loss": True}}, ValueError),
        ({DATA: {"collect_metric": 1}}, TypeError),
        ({DATA: {"collect_graph": None}}, TypeError),
        ({DATA: {"histogram_regular": True}}, TypeError),
        ({DATA: {"histogram_regular": "("}}, ValueError),
        ({DATA: {"collect_landscape": True}}, TypeError),
    ],
)
def test_wrong_options_are_errors(tmp_path, options, kind):
    with pytest.raises(kind):
        train.SummaryCollector(**{"summary_dir": str(tmp_path), **options})


def test_a_training_is_collected(tmp_path, mode):
    trained = model()
    collector = train.SummaryCollector(str(tmp_path), custom_lineage_data={"seed": 7, "by": "me"})
    losses = train.History()
    trained.fit(1, images(), images(10), callbacks=[collector, losses])
    found = read(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1 and train.SummaryRecord.count == 0
    for tag in ("loss/auto", "learning_rate/auto", "mine"):
        assert steps(found.Scalars(tag)) == [1, 10, 20]
    assert {e.value for e in found.Scalars("learning_rate/auto")} == {0.125}
    names = ["conv.weight/auto", "fc.weight/auto", "fc.bias/auto"]
    assert found.Tags()["histograms"] == names and steps(found.Histograms(names[0])) == [1, 10, 20]
    assert steps(found.Images("input_data/auto")) == [1, 10, 20]
    assert found.Images("input_data/auto")[0].width == 8  # a batch of two
    (accuracy,) = found.Scalars("eval/acc")
    assert accuracy.step == 25 and 0 <= accuracy.value <= 1
    told = hyper_parameters(found)
    assert told.values == {
        "network": "Net",
        "optimizer": "Momentum",
        "learning_rate": 0.125,
        "loss_function": "SoftmaxCrossEntropyWithLogits",
        "batch_size": 2,
        "epoch": 1,
        "device_num": 1,
        "seed": 7,
        "by": "me",
    }
    assert told.metrics == ["loss/auto", "eval/acc"] and told.status == 1
    pipeline = found.Tensors("train_dataset")[0].tensor_proto.string_val[0].decode()
    assert '"Batch"' in pipeline
    boxes = {node.name: node for node in found.Graph().node}
    assert "conv/weight" in boxes["conv/Conv2D"].input and "fc/weight" in boxes["fc/MatMul"].input


def test_the_loss_is_that_of_the_step(tmp_path, mode):
    class Kept(train.Callback):
        seen = {}

        def on_train_step_end(self, run_context):
            facts = run_context.original_args()
            self.seen[facts.cur_step_num] = float(facts.net_outputs.asnumpy())

    model().train(1, images(), [train.SummaryCollector(str(tmp_path), collect_freq=7), Kept()])
    found = {e.step: e.value for e in read(tmp_path).Scalars("loss/auto")}
    assert found == {step: pytest.approx(Kept.seen[step]) for step in (1, 7, 14, 21)}


def test_only_what_is_wanted_is_collected(tmp_path):
    wanted = {"collect_metric": True, "histogram_regular": "fc|weight"}
    collector = train.SummaryCollector(str(tmp_path), 10, 1, wanted, keep_default_action=False)
    model().train(1, images(), collector)
    tags = read(tmp_path).Tags()
    assert tags["histograms"] == ["fc.weight/auto", "fc.bias/auto"]
    assert sorted(tags["scalars"]) == ["learning_rate/auto", "loss/auto", "mine"]
    assert tags["tensors"] == ["y"] and tags["images"] == [] and not tags["graph"]


def test_nothing_but_operators_is_recorded_if_nothing_is_wanted(tmp_path):
    model().train(1, images(), train.SummaryCollector(str(tmp_path), 7, keep_default_action=False))
    tags = read(tmp_path).Tags()
    assert tags["scalars"] == ["mine"] and tags["histograms"] == []
    assert steps(read(tmp_path).Tensors("y")) == [1, 7, 14, 21]


def test_tensors_have_a_frequency_of_their_own(tmp_path):
    collector = train.SummaryCollector(str(tmp_path / "a"), 10, collect_tensor_freq=4)
    model().train(1, images(), collector)
    found = read(tmp_path / "a")
    assert steps(found.Tensors("y")) == [1, 4, 8, 12, 16, 20, 24]
    assert steps(found.Scalars("mine")) == [1, 10, 20]
    model().train(1, images(), train.SummaryCollector(str(tmp_path / "b"), 1))
    assert steps(read(tmp_path / "b").Tensors("y")) == list(range(1, 21))


def test_an_evaluation_alone_is_collected(tmp_path):
    metrics = model().eval(images(10), callbacks=train.SummaryCollector(str(tmp_path)))
    (event,) = read(tmp_path).Scalars("eval/acc")
    assert event.value == pytest.approx(metrics["acc"])
    text = read(tmp_path).Tensors("eval_metrics")[0].tensor_proto.string_val[0].decode()
    assert '"acc"' in text


def test_a_training_that_fails_says_so(tmp_path):
    class Failing(train.Callback):
        def on_train_step_end(self, run_context):
            raise KeyError("stop")

    with pytest.raises(KeyError):
        model().train(1, images(), [train.SummaryCollector(str(tmp_path)), Failing()])
    assert hyper_parameters(read(tmp_path)).status == 2 and train.SummaryRecord.count == 0


def test_learning_rates_that_change_are_followed(tmp_path, mode):
    rates = [0.5] * 10 + [0.25] * 15
    model(rates).train(1, images(), train.SummaryCollector(str(tmp_path), 5))
    found = read(tmp_path).Scalars("learning_rate/auto")
    assert [e.value for e in found] == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_rates_of_groups_are_told_apart(tmp_path):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
    first, second = net[0].trainable_params(), net[1].trainable_params()
    groups = [{"params": first, "lr": 0.5}, {"params": second, "lr": 0.25}]
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.SGD(groups, 0.125)
    train.Model(net, loss, optimizer).train(1, rows(8), train.SummaryCollector(str(tmp_path)))
    found = read(tmp_path)
    values = [found.Scalars(f"learning_rate_{i}/auto")[0].value for i in (0, 1)]
    assert values == [0.5, 0.25]


def test_a_network_that_gives_its_loss_is_collected(tmp_path):
    class Loss(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(3, 2)

        def construct(self, x, y):
            return (self.fc(x).sum(axis=1) - y).mean()

    net = Loss()
    step = train.Model(net, optimizer=nn.SGD(net.trainable_params(), 0.125))
    step.train(1, rows(8), train.SummaryCollector(str(tmp_path)))
    found = read(tmp_path)
    assert steps(found.Scalars("loss/auto")) == [1]
    assert "fc/weight" in {node.name for node in found.Graph().node}


def test_a_collector_that_was_not_opened_says_how(tmp_path):
    context = train.RunContext({"cur_step_num": 1})
    with pytest.raises(RuntimeError, match="not open"):
        train.SummaryCollector(str(tmp_path)).on_eval_begin(context)


def test_a_watched_training_can_be_looked_at_while_it_runs(tmp_path):
    class Looking(train.Callback):
        found = []

        def on_train_step_end(self, run_context):
            self.found.append(len(read(tmp_path).Scalars("loss/auto")))

    callbacks = [train.SummaryCollector(str(tmp_path), 2), Looking()]
    dense_model().train(1, rows(16), callbacks)
    assert Looking.found == [1, 2, 2, 3]
