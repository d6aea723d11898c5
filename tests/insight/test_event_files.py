"""Event files: what is written is what TensorBoard reads."""

from __future__ import annotations

import io
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from PIL import Image

from mycelia.insight.event import graph_event, summary_event
from mycelia.insight.event_file import EventFile
from mycelia.insight.graph import EventGraphNode, graph_def
from mycelia.insight.histogram import bins_for, histogram_of
from mycelia.insight.hyper_parameters import RunEnd, RunOutcome, RunStart, run_values
from mycelia.insight.image import as_pixels, is_picture
from mycelia.insight.png import encode_png
from mycelia.insight.summary import (
    histogram_value,
    image_value,
    scalar_value,
    summary,
    tensor_value,
    text_value,
)
from tests.insight.reading import hyper_parameters, read

GOLDENS = json.loads(Path(__file__).with_name("goldens_summary.json").read_text())


def written(folder, *values, step=3):
    file = EventFile(folder / "a.tfevents.b")
    file.write(summary_event(12.5, step, summary(list(values))))
    file.close()
    return read(folder)


def test_scalars_are_read_back(tmp_path):
    (event,) = written(tmp_path, scalar_value("loss", np.float32(1.5))).Scalars("loss")
    assert (event.wall_time, event.step, event.value) == (12.5, 3, 1.5)


def test_a_file_begins_with_the_version_of_tensorboard(tmp_path):
    written(tmp_path, scalar_value("loss", 1.0))
    assert b"brain.Event:2" in (tmp_path / "a.tfevents.b").read_bytes()[:64]
    assert written(tmp_path, scalar_value("x", 1.0)).file_version == 2.0


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.complex64, np.float16])
def test_tensors_are_read_back(tmp_path, dtype):
    from tensorboard.util.tensor_util import make_ndarray

    array = np.arange(6).reshape(2, 3).astype(dtype)
    (event,) = written(tmp_path, tensor_value("t", array)).Tensors("t")
    found = make_ndarray(event.tensor_proto)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)


def test_a_bfloat16_tensor_keeps_its_type(tmp_path):
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    (event,) = written(tmp_path, tensor_value("t", array)).Tensors("t")
    assert event.tensor_proto.dtype == 14 and event.tensor_proto.tensor_content == array.tobytes()


def test_a_dtype_that_event_files_lack_is_an_error():
    with pytest.raises(ValueError, match="do not support tensors of this dtype"):
        tensor_value("t", np.array(["text"]))


def test_a_histogram_of_nothing_is_read_back(tmp_path):
    (event,) = written(tmp_path, histogram_value("h", np.array([np.nan]))).Histograms("h")
    assert event.histogram_value.num == 1 and list(event.histogram_value.bucket) == []


def test_texts_are_read_back(tmp_path):
    accumulator = written(tmp_path, text_value("note", "größer"))
    (event,) = accumulator.Tensors("note")
    assert event.tensor_proto.string_val[0].decode() == "größer"
    assert accumulator.SummaryMetadata("note").plugin_data.plugin_name == "text"


def test_a_png_holds_the_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(encode_png(pixels)))), pixels)


@pytest.mark.parametrize("name", GOLDENS["images"])
def test_images_look_as_in_mindspore(tmp_path, name):
    golden = GOLDENS["images"][name]
    images = np.array(golden["values"], np.float32)
    (event,) = written(tmp_path, image_value("i", images)).Images("i")
    found = np.asarray(Image.open(io.BytesIO(event.encoded_image_string)))
    np.testing.assert_array_equal(found, golden["pixels"])
    assert (event.height, event.width) == found.shape[:2]


def test_only_gray_and_coloured_images_are_pictures():
    shapes = {(2, 3, 4, 4): True, (2, 1, 4, 4): True, (2, 2, 4, 4): False, (3, 4, 4): False}
    assert {shape: is_picture(np.zeros(shape)) for shape in shapes} == shapes
    assert not is_picture(np.zeros((0, 3, 4, 4)))
    assert as_pixels(np.zeros((2, 1, 4, 5))).shape == (4, 10, 3)


@pytest.mark.parametrize("size", GOLDENS["bins"])
def test_histograms_have_the_bins_of_mindspore(tmp_path, size):
    golden, count = GOLDENS["bins"][size], int(size)
    numbers = np.array(GOLDENS["numbers"], np.float32)[:count]
    assert bins_for(count) == len(golden["counts"])
    (event,) = written(tmp_path, histogram_value("h", numbers)).Histograms("h")
    found = event.histogram_value
    assert found.bucket == [0, *golden["counts"]]
    np.testing.assert_allclose(found.bucket_limit[:-1], golden["lefts"], rtol=1e-5, atol=1e-6)
    exact = numbers.astype(np.float64)
    np.testing.assert_allclose(
        [found.min, found.max, found.num, found.sum, found.sum_squares],
        [exact.min(), exact.max(), count, exact.sum(), (exact**2).sum()],
    )


def test_histograms_leave_out_what_is_no_number():
    found = histogram_of(np.array([1.0, 2.0, np.nan, np.inf], np.float32))
    assert found.counts.tolist() == [1, 1] and found.edges.tolist() == [1.0, 1.5, 2.0]
    assert (found.size, found.total, found.low, found.high) == (4, 3.0, 1.0, 2.0)
    assert histogram_of(np.array([np.nan])).counts.size == 0
    assert histogram_of(np.array([1, 2, 2, 9])).counts.tolist() == [3, 1]


def test_hyper_parameters_are_read_back(tmp_path):
    values = {"rate": 0.1, "epochs": 3, "name": "adam", "nesterov": True}
    run = [
        *run_values(RunStart(values), 1.0),
        *run_values(RunEnd(RunOutcome.FAILURE, values, ("eval/acc",)), 2.0),
    ]
    found = hyper_parameters(written(tmp_path, *run))
    assert found.values == values
    assert found.kinds == {"rate": 3, "epochs": 3, "name": 1, "nesterov": 2}
    assert found.metrics == ["eval/acc"]
    assert found.status == 2 and (found.start, found.end) == (1.0, 2.0)


def test_graphs_are_read_back(tmp_path):
    nodes = [
        EventGraphNode("inputs/x", "Placeholder", shape=(2, 3)),
        EventGraphNode("fc/MatMul", "MatMul", ("inputs/x",), (2, 4), (("line", "net.py:3"),)),
    ]
    file = EventFile(tmp_path / "a.tfevents")
    file.write(graph_event(1.0, graph_def(nodes)))
    file.close()
    first, second = read(tmp_path).Graph().node
    assert (first.name, first.op, list(first.input)) == ("inputs/x", "Placeholder", [])
    assert (second.name, second.op, list(second.input)) == ("fc/MatMul", "MatMul", ["inputs/x"])
    sizes = second.attr["_output_shapes"].list.shape[0].dim
    assert [dim.size for dim in sizes] == [2, 4] and second.attr["line"].s == b"net.py:3"


def test_a_full_file_takes_no_more(tmp_path):
    file = EventFile(tmp_path / "a.tfevents", max_size=160)
    for step in range(10):
        file.write(summary_event(1.0, step, summary([scalar_value("loss", step)])))
    file.close()
    assert file.path.stat().st_size <= 160
    steps = [event.step for event in read(tmp_path).Scalars("loss")]
    assert steps == list(range(len(steps))) and 1 <= len(steps) <= 4


def test_a_file_is_made_with_its_first_event(tmp_path):
    file = EventFile(tmp_path / "below" / "a.tfevents")
    file.flush()
    file.close()
    assert not file.path.exists()
