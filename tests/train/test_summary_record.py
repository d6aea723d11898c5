"""SummaryRecord: checks, what it writes, and the summary operators in both modes."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mycelia as ms
from mycelia import Tensor, nn, ops, train
from tests.insight.reading import read

ONE, ROW = Tensor(1.5), Tensor([1.0, 2.0])
IMAGES = Tensor(np.linspace(0, 1, 2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4))


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Summing(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 3, weight_init="ones", bias_init="zeros")
        self.scalar, self.tensor = ops.ScalarSummary(), ops.TensorSummary()
        self.histogram, self.image = ops.HistogramSummary(), ops.ImageSummary()

    def construct(self, x):
        y = self.fc(x)
        self.scalar("total", y.sum())
        self.tensor("y", y)
        self.histogram("x", x)
        self.image("picture", x.reshape((1, 1, 2, 2)))
        return y


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"log_dir": 1}, TypeError),
        ({"log_dir": ""}, ValueError),
        ({"log_dir": None}, TypeError),
        ({"log_dir": __file__}, NotADirectoryError),
        ({"file_prefix": 1}, TypeError),
        ({"file_prefix": ""}, ValueError),
        ({"file_prefix": "a/b"}, ValueError),
        ({"file_suffix": 1}, TypeError),
        ({"file_suffix": "/x"}, ValueError),
        ({"num_process": "a"}, TypeError),
        ({"network": 1}, TypeError),
        ({"max_file_size": "a"}, TypeError),
        ({"max_file_size": 1.5}, TypeError),
        ({"raise_exception": 1}, TypeError),
        ({"export_options": 1}, TypeError),
        ({"export_options": {"tensor_format": "x"}}, ValueError),
        ({"export_options": {"x": "npy"}}, ValueError),
        ({"export_options": {"x": 1}}, TypeError),
    ],
)
def test_wrong_options_are_errors_and_leave_nothing_open(tmp_path, options, kind):
    with pytest.raises(kind):
        train.SummaryRecord(**{"log_dir": str(tmp_path), **options})
    assert train.SummaryRecord.count == 0


@pytest.mark.parametrize(
    ("plugin", "name", "value", "kind"),
    [
        ("scalar", "a", ROW, ValueError),
        ("scalar", "a", 1.0, TypeError),
        ("scalar", 1, ONE, ValueError),
        ("scalar", "", ONE, ValueError),
        ("other", "a", ONE, ValueError),
        ("tensor", "a", ONE, ValueError),
        ("tensor", "a", np.ones(2), TypeError),
        ("histogram", "a", ONE, ValueError),
        ("image", "a", Tensor(np.ones((3, 4, 4))), ValueError),
        ("graph", "a", 1, TypeError),
        ("dataset_graph", "a", 1, TypeError),
        ("train_lineage", "a", 1, TypeError),
        ("eval_lineage", "a", 1, TypeError),
        ("custom_lineage_data", "a", 1, TypeError),
    ],
)
def test_wrong_values_are_errors(tmp_path, plugin, name, value, kind):
    with train.SummaryRecord(str(tmp_path)) as record, pytest.raises(kind):
        record.add_value(plugin, name, value)


def test_record_and_set_mode_check_their_arguments(tmp_path):
    with train.SummaryRecord(str(tmp_path)) as record:
        for step in ("a", 1.5, True):
            with pytest.raises(TypeError):
                record.record(step)
        with pytest.raises(TypeError):
            record.record(1, train_network=1)
        for mode in ("other", 1, None):
            with pytest.raises(ValueError):
                record.set_mode(mode)


def test_values_are_written_as_they_were_when_added(tmp_path):
    weight = ms.Parameter(Tensor([1.0, 2.0]), name="weight")
    with train.SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "loss", ONE)
        record.add_value("tensor", "weight", weight)
        record.add_value("histogram", "h", weight)
        record.add_value("image", "i", IMAGES)
        weight.set_data(Tensor([7.0, 8.0]))
        assert record.record(4) is True
    found = read(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("loss")] == [(4, 1.5)]
    content = found.Tensors("weight")[0].tensor_proto.tensor_content
    assert np.frombuffer(content, np.float32).tolist() == [1.0, 2.0]
    assert found.Histograms("h")[0].histogram_value.max == 2.0
    picture = Image.open(io.BytesIO(found.Images("i")[0].encoded_image_string))
    assert picture.size == (8, 4)


def test_the_newest_value_of_a_name_counts(tmp_path, caplog):
    with train.SummaryRecord(str(tmp_path)) as record, caplog.at_level(logging.WARNING):
        record.add_value("scalar", "a", Tensor(1.0))
        record.add_value("scalar", "a", Tensor([2.0]))
        record.record(1)
        record.record(2)
    assert [(e.step, e.value) for e in read(tmp_path).Scalars("a")] == [(1, 2.0)]
    assert "was added twice" in caplog.text


def test_filtered_values_are_dropped(tmp_path):
    with train.SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "a", ONE)
        record.add_value("histogram", "h", ROW)
        record.record(1, plugin_filter=lambda plugin: plugin != "scalar")
        record.record(2)
    assert read(tmp_path).Tags()["scalars"] == []
    assert [e.step for e in read(tmp_path).Histograms("h")] == [1]


def test_the_file_is_named_as_mindspore_and_tensorboard_want(tmp_path):
    with train.SummaryRecord(str(tmp_path), "pre", "_suf") as record:
        record.add_value("scalar", "a", ONE)
        record.record(1)
        path = Path(record.log_dir)
    assert path.parent == tmp_path and [path] == list(tmp_path.iterdir())
    parts = path.name.split(".")
    assert parts[:4] == ["pre", "out", "tfevents", "summary"] and parts[4].isdigit()
    assert parts[5] == "0" and path.name.endswith("_suf")


def test_flush_lets_others_see_it(tmp_path):
    with train.SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "a", ONE)
        record.record(1)
        record.flush()
        assert read(tmp_path).Scalars("a")[0].value == 1.5


def test_a_closed_record_writes_no_more(tmp_path, caplog):
    record = train.SummaryRecord(str(tmp_path))
    record.close()
    record.close()
    assert record.record(1) is False
    record.flush()
    assert caplog.text.count("is closed") == 2
    assert list(tmp_path.iterdir()) == []


def test_one_record_is_open_at_a_time(tmp_path):
    with train.SummaryRecord(str(tmp_path)), pytest.raises(RuntimeError):
        train.SummaryRecord(str(tmp_path))
    train.SummaryRecord(str(tmp_path)).close()


@pytest.mark.parametrize(("size", "steps"), [(None, 8), (-1, 8), (100, 1), (0, 0)])
def test_a_file_keeps_to_its_size(tmp_path, size, steps):
    with train.SummaryRecord(str(tmp_path), max_file_size=size) as record:
        for step in range(8):
            record.add_value("scalar", "loss", ONE)
            record.record(step)
    tags = read(tmp_path).Tags()["scalars"]
    assert len(read(tmp_path).Scalars("loss") if tags else []) == steps


def test_tensors_are_exported(tmp_path):
    options = {"tensor_format": "npy"}
    with train.SummaryRecord(str(tmp_path), export_options=options) as record:
        record.add_value("tensor", "t/x", ROW)
        record.record(7)
    (path,) = tmp_path.glob("export_*/tensor/*")
    assert path.name == "t%2Fx_7.npy" and np.load(path).tolist() == [1.0, 2.0]
    assert len(read(tmp_path).Tensors("t/x")) == 1


def test_what_is_no_image_is_logged_or_raised(tmp_path, caplog):
    wrong = Tensor(np.ones((1, 2, 3, 3), np.float32))
    with train.SummaryRecord(str(tmp_path)) as record:
        record.add_value("image", "i", wrong)
        assert record.record(1) is True
    assert "is not a batch of images" in caplog.text
    with (
        train.SummaryRecord(str(tmp_path), raise_exception=True) as record,
        pytest.raises(ValueError, match="is not a batch of images"),
    ):
        record.add_value("image", "i", wrong)
        record.record(1)


def test_facts_become_texts(tmp_path):
    with train.SummaryRecord(str(tmp_path)) as record:
        for plugin in ("eval_lineage", "custom_lineage_data", "dataset_graph"):
            record.add_value(plugin, plugin, {"acc": 0.5})
        record.record(1)
    text = read(tmp_path).Tensors("eval_lineage")[0].tensor_proto.string_val[0].decode()
    assert '"acc": 0.5' in text and len(read(tmp_path).Tags()["tensors"]) == 3


def test_operators_reach_an_open_record(tmp_path, mode):
    net = Summing()
    with train.SummaryRecord(str(tmp_path)) as record:
        for step, factor in enumerate((1.0, 2.0), start=1):
            net(Tensor(np.full((2, 2), factor, np.float32)))
            record.record(step)
    found = read(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("total")] == [(1, 12.0), (2, 24.0)]
    contents = [e.tensor_proto.tensor_content for e in found.Tensors("y")]
    assert [np.frombuffer(c, np.float32).tolist() for c in contents] == [[2.0] * 6, [4.0] * 6]
    assert [e.histogram_value.sum for e in found.Histograms("x")] == [4.0, 8.0]
    assert [(e.step, e.width) for e in found.Images("picture")] == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("operator", "name", "value"),
    [
        (ops.ScalarSummary(), "a", [1.0, 2.0]),
        (ops.ScalarSummary(), "", 1.0),
        (ops.TensorSummary(), "a", 1.0),
        (ops.HistogramSummary(), "a", 1.0),
        (ops.ImageSummary(), "a", [1.0]),
    ],
)
def test_operators_check_names_and_shapes(mode, operator, name, value):
    class Wrong(nn.Cell):
        def construct(self, x):
            operator(name, x)
            return x

    with pytest.raises(ValueError):
        Wrong()(Tensor(value))


def test_operators_work_in_a_training_step(tmp_path, mode):
    net = Summing()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    )
    x = Tensor(np.ones((2, 2), np.float32))
    step(x, Tensor(np.zeros((2, 3), np.float32)))  # nobody listens
    with train.SummaryRecord(str(tmp_path)) as record:
        before = float(net.fc(x).sum())
        step(x, Tensor(np.zeros((2, 3), np.float32)))
        record.record(1)
    step(x, Tensor(np.zeros((2, 3), np.float32)))
    assert [e.value for e in read(tmp_path).Scalars("total")] == [pytest.approx(before)]


def test_the_graph_of_a_network_is_recorded_once(tmp_path, mode):
    net = Summing()
    with train.SummaryRecord(str(tmp_path), network=net) as record:
        for step in (1, 2):
            net(Tensor(np.ones((2, 2), np.float32)))
            record.record(step)
    boxes = {node.name: node for node in read(tmp_path).Graph().node}
    assert boxes["fc/weight"].op == "Parameter"
    product = boxes["fc/MatMul" if mode == ms.GRAPH_MODE else "fc/Dense"]
    assert "fc/weight" in product.input
    assert all(name.lstrip("^") in boxes for node in boxes.values() for name in node.input)


def test_evaluation_draws_no_graph_but_a_given_network_is_drawn(tmp_path):
    with train.SummaryRecord(str(tmp_path)) as record:
        record.set_mode("eval")
        record.record(1, train_network=Summing())
        record.add_value("scalar", "a", ONE)
        record.record(2)
        record.flush()
        assert not read(tmp_path).Tags()["graph"]
        record.set_mode("train")
        record.record(3, train_network=Summing())
    assert read(tmp_path).Tags()["graph"]


def test_a_program_tells_nothing_while_nobody_listens(tmp_path):
    net = Summing()
    compiled = ms.jit(net)
    x = Tensor(np.ones((2, 2), np.float32))
    assert "effect" not in ms.ir.show(net, x)
    compiled(x)
    with train.SummaryRecord(str(tmp_path)) as record:
        assert "effect" in ms.ir.show(net, x)
        compiled(x)
        record.record(1)
    assert [e.value for e in read(tmp_path).Scalars("total")] == [12.0]
    assert "effect" not in ms.ir.show(net, x)
