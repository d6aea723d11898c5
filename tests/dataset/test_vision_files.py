"""Image files, videos, drawn boxes and lines of text are those of MindSpore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia.dataset import utils as utils
from mycelia.dataset import vision
from mycelia.dataset.vision.backends import pyav
from tests.dataset.composite_cases import BOXES, ONE_HOT, PHOTO, drawings

pytest.importorskip("PIL", reason="Pillow is not installed")
pytest.importorskip("cv2", reason="OpenCV is not installed")
GOLDENS = np.load(Path(__file__).with_name("goldens_composite.npz"))
VIDEO = str(Path(__file__).with_name("goldens_video.mkv"))
FILES = [name.split("/")[1] for name in GOLDENS.files if name.startswith("file/")]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mode", vision.ImageReadMode)
def test_read_image_gives_what_mindspore_gives(name: str, mode: Any, tmp_path: Path):
    path = str(tmp_path / name)
    vision.write_file(path, GOLDENS[f"file/{name}"])
    made, golden = vision.read_image(path, mode), GOLDENS[f"read/{name}/{mode.name}"]
    assert (made.dtype, made.shape) == (golden.dtype, golden.shape)
    np.testing.assert_array_equal(made, golden)


def test_written_files_are_read_again(tmp_path: Path):
    path = str(tmp_path / "x")
    vision.write_file(path, ms.Tensor(np.arange(5, dtype=np.uint8)))
    np.testing.assert_array_equal(vision.read_file(path), np.arange(5))
    vision.write_png(path, PHOTO)
    np.testing.assert_array_equal(vision.read_image(path), PHOTO)
    np.testing.assert_array_equal(vision.Decode()(vision.encode_png(ms.Tensor(PHOTO), 9)), PHOTO)
    vision.write_png(path, PHOTO[..., 0], compression_level=0)
    np.testing.assert_array_equal(vision.read_image(path), PHOTO[..., :1])
    vision.write_jpeg(path, PHOTO, quality=90)
    np.testing.assert_array_equal(vision.read_file(path), vision.encode_jpeg(PHOTO, 90))
    assert len(vision.encode_jpeg(PHOTO, 1)) < len(vision.encode_jpeg(PHOTO, 100))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x"]


def test_the_size_of_images():
    gray = vision.ToPIL()(PHOTO).convert("L")
    assert vision.get_image_size(PHOTO) == [20, 30]
    assert vision.get_image_size(PHOTO[..., 0]) == vision.get_image_size(gray) == [20, 30]
    assert vision.get_image_size(np.zeros((2, 3, 4, 5))) == [3, 4]
    assert vision.get_image_num_channels(PHOTO) == 3
    assert vision.get_image_num_channels(PHOTO[..., 0]) == vision.get_image_num_channels(gray) == 1


# Drawings and lines.


@pytest.mark.parametrize("name", drawings())
def test_drawn_boxes_are_those_of_mindspore(name: str, tmp_path: Path):
    path = str(tmp_path / "drawn.png")
    made = utils.imshow_det_bbox(**drawings()[name], out_file=path)
    np.testing.assert_array_equal(made, GOLDENS[f"drawing/{name}"])
    np.testing.assert_array_equal(vision.read_image(path), made[..., ::-1])


def test_drawn_boxes_have_names_and_scores(tmp_path: Path):
    arguments = {**drawings()["boxes"], "out_file": str(tmp_path / "drawn.png")}
    plain = utils.imshow_det_bbox(**arguments)
    named = utils.imshow_det_bbox(**{**arguments, "class_names": {1: "cat"}})
    pink = (named == (203, 192, 255)).all(axis=2)
    assert pink.any() and not (plain == (203, 192, 255)).all(axis=2).any()
    np.testing.assert_array_equal(arguments["image"], np.full((60, 80, 3), 40))


def test_line_reader_counts_lines_from_one(tmp_path: Path):
    path = tmp_path / "lines.txt"
    path.write_bytes("one\ntwo \r\n\nläst".encode())
    reader = utils.LineReader(str(path))
    assert (len(reader), reader.len) == (4, 4)
    assert [reader.readline(line) for line in (4, 1, 2, 3)] == ["läst", "one", "two ", ""]
    reader.close()
    assert reader[2] == "two "
    reader.close()
    with pytest.raises(ValueError, match="line number out of range"):
        reader[0]
    with pytest.raises(ValueError, match="line number out of range"):
        reader.readline(5)
    with pytest.raises(TypeError, match="line: wrong type"):
        reader.readline("1")
    with pytest.raises(RuntimeError, match="file does not exist"):
        utils.LineReader(str(tmp_path / "absent"))


# Videos.


@pytest.fixture
def _pyav():
    pytest.importorskip("av", reason="PyAV is not installed")


STRETCHES = {"whole": (), "ticks": (200, 500), "seconds": (0.3, 0.7, "sec"), "late": (9000,)}


@pytest.mark.usefixtures("_pyav")
@pytest.mark.parametrize("name", STRETCHES)
def test_read_video_gives_what_mindspore_gives(name: str):
    frames, sound, rates = vision.read_video(VIDEO, *STRETCHES[name])
    golden = GOLDENS[f"video/{name}"]
    assert (frames.dtype, frames.shape) == (golden.dtype, golden.shape)
    np.testing.assert_allclose(frames.astype(int), golden, atol=2)  # colours, by another FFmpeg
    assert sound.dtype == np.int16
    np.testing.assert_array_equal(sound, GOLDENS[f"sound/{name}"])
    assert [rates["video_fps"], rates["audio_fps"]] == GOLDENS[f"rates/{name}"].tolist()


@pytest.mark.usefixtures("_pyav")
@pytest.mark.parametrize("unit", ["pts", "sec"])
def test_the_times_of_frames(unit: str):
    times, rate = vision.read_video_timestamps(VIDEO, unit)
    assert [*times, rate] == GOLDENS[f"times/{unit}"].tolist()


@pytest.mark.usefixtures("_pyav")
def test_bytes_of_a_video_are_decoded_in_a_pipeline():
    rows = ds.NumpySlicesDataset([vision.read_file(VIDEO)], ["file"])
    rows = rows.map(vision.DecodeVideo(), ["file"], ["video", "sound"])
    ((frames, sound),) = rows.create_tuple_iterator(num_epochs=1, output_numpy=True)
    np.testing.assert_allclose(frames.astype(int), GOLDENS["video/whole"], atol=2)
    np.testing.assert_array_equal(sound, GOLDENS["sound/whole"])
    with pytest.raises(RuntimeError, match="the video cannot be opened"):
        vision.DecodeVideo()(np.arange(100, dtype=np.uint8))
    with pytest.raises(RuntimeError, match="one column of the bytes"):
        vision.DecodeVideo()(np.zeros((2, 2), np.uint8))
    with pytest.raises(TypeError, match="numpy.ndarray"):
        vision.DecodeVideo()("x")


@pytest.mark.usefixtures("_pyav")
def test_a_video_decoder_gives_frames_and_facts():
    reader = vision.VideoDecoder(VIDEO)
    frames, _, _ = vision.read_video(VIDEO)
    np.testing.assert_array_equal(reader.get_frames_at([5, 0, 5]), frames[[5, 0, 5]])
    assert reader.metadata == {
        "width": 16,
        "height": 12,
        "duration_seconds": 1.6,
        "num_frames": 8,
        "average_fps": 5.0,
    }
    assert reader.get_frames_at([]).shape == (0, 12, 16, 3)
    with pytest.raises(ValueError, match="frame index out of range"):
        reader.get_frames_at([8])
    with pytest.raises(TypeError, match="indices"):
        reader.get_frames_at((0,))


def test_without_pyav_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pyav, "av", None)
    with pytest.raises(ImportError, match=r"mycelia\[video\]"):
        vision.read_video(VIDEO)


# Bad input.

BAD = [
    (lambda: vision.read_file("absent"), RuntimeError, "no such file"),
    (lambda: vision.read_file(3), TypeError, "filename"),
    (lambda: vision.read_image("absent"), RuntimeError, "no such file"),
    (lambda: vision.read_image(__file__), RuntimeError, "no image"),
    (lambda: vision.read_image(__file__, 0), TypeError, "mode"),
    (lambda: vision.write_file("x", b"abc"), TypeError, "data"),
    (
        lambda: vision.write_file("x", np.zeros((2, 2), np.uint8)),
        RuntimeError,
        "must be a vector of bytes",
    ),
    (lambda: vision.write_file("absent/x", np.zeros(2, np.uint8)), RuntimeError, "can be written"),
    (lambda: vision.write_png("absent/x", PHOTO), RuntimeError, "can be written"),
    (lambda: vision.write_jpeg(3, PHOTO), TypeError, "filename"),
    (lambda: vision.encode_jpeg(PHOTO, 0), RuntimeError, "quality"),
    (lambda: vision.encode_jpeg(PHOTO, 75.0), TypeError, "quality"),
    (lambda: vision.encode_jpeg(PHOTO.astype(np.float32)), RuntimeError, "encoded"),
    (lambda: vision.encode_jpeg([1]), TypeError, "image"),
    (lambda: vision.encode_png(PHOTO, 10), RuntimeError, "compression_level"),
    (lambda: vision.encode_png(PHOTO[..., :2]), RuntimeError, "encoded"),
    (lambda: vision.get_image_size(np.zeros(3)), RuntimeError, "two axes"),
    (lambda: vision.get_image_num_channels([1]), TypeError, "image"),
    (lambda: utils.imshow_det_bbox("a", BOXES, ONE_HOT), AssertionError, "image"),
    (lambda: utils.imshow_det_bbox(PHOTO, 3, ONE_HOT), AssertionError, "bboxes"),
    (lambda: utils.imshow_det_bbox(PHOTO, BOXES, ONE_HOT), AssertionError, "labels"),
    (lambda: vision.read_video("absent"), ValueError, "video file does not exist"),
    (lambda: vision.read_video(VIDEO, pts_unit="ms"), ValueError, "unit"),
    (lambda: vision.read_video(VIDEO, "a"), TypeError, "start_pts"),
    (lambda: vision.read_video(VIDEO, 5, 1), ValueError, "invalid time range"),
    (lambda: vision.read_video_timestamps("absent"), RuntimeError, "video file does not exist"),
    (lambda: vision.read_video_timestamps(VIDEO, "ms"), RuntimeError, "unit"),
    (lambda: vision.VideoDecoder("absent"), ValueError, "video file does not exist"),
    (lambda: vision.VideoDecoder(3), TypeError, "str"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_input_is_named(call: Any, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message):
        call()
