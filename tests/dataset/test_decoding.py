"""The upper rows of an encoded image are those of the whole image."""

from __future__ import annotations

import io

import numpy as np
import pytest

from mycelia.dataset import vision
from mycelia.dataset.vision import decode
from mycelia.dataset.vision.decode import EncodedImage, pixels

simplejpeg = pytest.importorskip("simplejpeg")
Image = pytest.importorskip("PIL.Image")
cv2 = pytest.importorskip("cv2")


def picture(height: int, width: int, channels: int = 3) -> np.ndarray:
    """Colours that change slowly, with noise: every block differs."""
    random = np.random.default_rng(height * 1000 + width)
    rows, columns = np.mgrid[0:height, 0:width]
    waves = [np.sin(rows / (5 + k)) + np.cos(columns / (7 - k)) for k in range(channels)]
    smooth = 60 * np.stack(waves, -1) + 128
    return np.clip(smooth + random.normal(0, 12, smooth.shape), 0, 255).astype(np.uint8)


def as_array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def jpeg(image: np.ndarray, subsampling: str) -> bytes:
    if subsampling == "gray":
        return simplejpeg.encode_jpeg(np.ascontiguousarray(image[..., :1]), colorspace="GRAY")
    return simplejpeg.encode_jpeg(image, colorsubsampling=subsampling)


def saved(image: np.ndarray, kind: str = "JPEG", **options) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return file.getvalue()


def assert_upper_rows(data: bytes, wanted: tuple[int, ...] | None = None) -> list[int]:
    """Check the rows from the top, and tell how many were decoded each time."""
    whole = pixels("test", as_array(data))
    height = len(whole)
    image = EncodedImage("test", as_array(data))
    assert image.size() == whole.shape[:2]
    decoded = []
    for rows in wanted or range(1, height + 1):
        upper = image.upper(rows)
        assert len(upper) >= rows
        np.testing.assert_array_equal(upper[:rows], whole[:rows])
        decoded.append(len(upper))
    return decoded


SAMPLINGS = ("444", "422", "420", "440", "gray")


@pytest.mark.parametrize("subsampling", SAMPLINGS)
@pytest.mark.parametrize("size", [(70, 50), (67, 33), (49, 17), (16, 16), (9, 5), (1, 1)])
def test_upper_rows_are_those_of_the_whole(subsampling: str, size: tuple[int, int]):
    decoded = assert_upper_rows(jpeg(picture(*size), subsampling))
    if size[0] > 48:
        assert decoded[0] < size[0]  # not everything was decoded
        assert decoded[-1] == size[0]


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_progressive_files_are_decoded_as_a_whole(subsampling: str):
    data = saved(picture(60, 44), progressive=True, subsampling=subsampling)
    assert set(assert_upper_rows(data, (1, 20, 60))) == {60}


@pytest.mark.parametrize("optimize", [False, True])
def test_sequential_files_of_pillow(optimize: bool):
    decoded = assert_upper_rows(saved(picture(90, 31), optimize=optimize, quality=95), (1, 30, 89))
    assert decoded[0] < 90


def test_a_thumbnail_inside_is_not_taken_for_the_image():
    thumbnail = saved(picture(24, 16))
    exif = Image.Exif()
    exif[0x010E] = "with a picture inside"
    block = b"Exif\x00\x00" + exif.tobytes()[6:] + thumbnail
    data = saved(picture(80, 60), exif=block)
    assert data.find(thumbnail) > 0
    assert data.find(b"\xff\xc0") < data.rfind(b"\xff\xc0")  # two frames in one file
    decoded = assert_upper_rows(data, (1, 25, 79))
    assert decoded[0] < 80


@pytest.mark.parametrize("interval", [1, 3, 7])
@pytest.mark.parametrize("sampling", [0x411111, 0x221111, 0x211111])
def test_files_with_restart_markers(interval: int, sampling: int):
    flags = [cv2.IMWRITE_JPEG_RST_INTERVAL, interval, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling]
    done, data = cv2.imencode(".jpg", picture(75, 43), flags)
    assert done
    assert b"\xff\xdd" in data.tobytes()  # the interval is written down
    assert b"\xff\xd0" in data.tobytes()
    decoded = assert_upper_rows(data.tobytes(), (1, 17, 40, 74))
    assert decoded[0] <= 75


def test_bytes_after_the_image_change_nothing():
    data = jpeg(picture(70, 50), "420")
    assert_upper_rows(data + b"after", (1, 30))


@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("subsampling", ["444", "420"])
def test_files_that_are_cut_off_are_an_error(part: float, subsampling: str):
    data = jpeg(picture(70, 50), subsampling)
    cut = as_array(data[: int(len(data) * part)])
    with pytest.raises(RuntimeError, match="RandomCropDecodeResize"):
        EncodedImage("RandomCropDecodeResize", cut).upper(10)
    with pytest.raises(RuntimeError, match="Decode"):
        vision.Decode()(cut)


@pytest.mark.parametrize("length", [2, 3, 10, 30])
def test_files_that_end_in_the_header_are_an_error(length: int):
    cut = as_array(jpeg(picture(20, 20), "420")[:length])
    with pytest.raises(RuntimeError, match="Owner"):
        EncodedImage("Owner", cut).size()
    with pytest.raises(RuntimeError, match="Owner"):
        EncodedImage("Owner", cut).upper(1)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP"])
def test_other_formats_are_decoded_as_a_whole(kind: str):
    assert set(assert_upper_rows(saved(picture(30, 21), kind), (1, 15, 30))) == {30}


def test_pixels_of_a_png_are_exact():
    image = picture(13, 9)
    np.testing.assert_array_equal(pixels("test", as_array(saved(image, "PNG"))), image)


def test_four_colours_are_decoded_by_pillow():
    cmyk = Image.fromarray(picture(40, 30)).convert("CMYK")
    file = io.BytesIO()
    cmyk.save(file, "JPEG")
    whole = np.array(Image.open(io.BytesIO(file.getvalue())).convert("RGB"))
    np.testing.assert_array_equal(pixels("test", as_array(file.getvalue())), whole)
    upper = EncodedImage("test", as_array(file.getvalue())).upper(3)
    np.testing.assert_array_equal(upper[:3], whole[:3])


def test_without_the_fast_decoder_the_whole_is_decoded(monkeypatch):
    data = as_array(jpeg(picture(70, 50), "420"))
    monkeypatch.setattr(decode, "simplejpeg", None)
    upper = EncodedImage("test", data).upper(3)
    np.testing.assert_array_equal(upper, np.array(Image.open(io.BytesIO(data.tobytes()))))


@pytest.mark.parametrize("value", [np.zeros((3, 3), np.uint8), np.zeros(3, np.int32), "text"])
def test_what_is_no_row_of_bytes_is_named(value):
    with pytest.raises(TypeError, match="Owner: an encoded image must be a vector of bytes"):
        EncodedImage("Owner", value)


def test_bytes_of_record_files_are_taken():
    data = jpeg(picture(20, 20), "444")
    upper = EncodedImage("test", np.array(data)).upper(20)
    np.testing.assert_array_equal(upper, pixels("test", as_array(data)))
