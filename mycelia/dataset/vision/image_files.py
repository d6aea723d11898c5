"""Reading, writing, encoding, and measuring image files outside of pipelines."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia.dataset.transforms.checks import wrong_type
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.backends.opencv import opencv
from mycelia.tensor.tensor import Tensor


class ImageReadMode(IntEnum):
    """The channels that `read_image` returns: those of the file, one, or three."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


def read_file(filename: str) -> np.ndarray:
    """The bytes of a file."""
    return np.fromfile(_existing("read_file", filename), np.uint8)


def write_file(filename: str, data: Any) -> None:
    """Write a byte vector to a file."""
    array = _array("data", data)
    if array.ndim != 1 or array.dtype != np.uint8:
        raise problem(
            RuntimeError,
            "write_file: data must be a vector of bytes",
            got=f"{array.dtype}{list(array.shape)}",
            expected="uint8[N]",
        )
    _write("write_file", filename, array)


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """Read the pixels of an image file as [H, W, C], with channels in RGB order.

    Unless UNCHANGED, the image is rotated according to its EXIF orientation.
    """
    if not isinstance(mode, ImageReadMode):
        raise wrong_type("mode", mode, "ImageReadMode")
    data, cv = read_file(filename), opencv("read_image")
    flag = {
        ImageReadMode.UNCHANGED: cv.IMREAD_UNCHANGED,
        ImageReadMode.GRAYSCALE: cv.IMREAD_GRAYSCALE,
        ImageReadMode.COLOR: cv.IMREAD_COLOR,
    }[mode]
    image = cv.imdecode(data, flag) if data.size else None
    if image is None:
        raise problem(
            RuntimeError, "read_image: the file cannot be decoded as an image", got=filename
        )
    if image.ndim == 2:
        return image[..., None]
    return cv.cvtColor(image, cv.COLOR_BGRA2RGB if image.shape[2] == 4 else cv.COLOR_BGR2RGB)


def encode_jpeg(image: Any, quality: int = 75) -> np.ndarray:
    """Encode an image as JPEG bytes."""
    return _jpeg("encode_jpeg", image, quality)


def encode_png(image: Any, compression_level: int = 6) -> np.ndarray:
    """Encode an image as PNG bytes."""
    return _png("encode_png", image, compression_level)


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write an image to a JPEG file."""
    _write("write_jpeg", filename, _jpeg("write_jpeg", image, quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write an image to a PNG file."""
    _write("write_png", filename, _png("write_png", image, compression_level))


def get_image_size(image: Any) -> list[int]:
    """The [height, width] of an image."""
    shape = _shape("get_image_size", image)
    return list(shape if len(shape) == 2 else shape[-3:-1])


def get_image_num_channels(image: Any) -> int:
    """The number of channels of an image."""
    shape = _shape("get_image_num_channels", image)
    return 1 if len(shape) == 2 else shape[-1]


def _jpeg(owner: str, image: Any, quality: int) -> np.ndarray:
    pixels = _pixels(owner, image)
    _check_level(owner, "quality", quality, 1, 100)
    return _encoded(owner, pixels, ".jpg", [opencv(owner).IMWRITE_JPEG_QUALITY, int(quality)])


def _png(owner: str, image: Any, level: int) -> np.ndarray:
    pixels = _pixels(owner, image)
    _check_level(owner, "compression_level", level, 0, 9)
    return _encoded(owner, pixels, ".png", [opencv(owner).IMWRITE_PNG_COMPRESSION, int(level)])


def _encoded(owner: str, pixels: np.ndarray, ending: str, options: list[int]) -> np.ndarray:
    cv = opencv(owner)
    in_color = pixels.ndim == 3 and pixels.shape[2] == 3
    return cv.imencode(ending, pixels[..., ::-1] if in_color else pixels, options)[1].ravel()


def _pixels(owner: str, image: Any) -> np.ndarray:
    array = _array("image", image)
    has_channels = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3))
    if array.dtype != np.uint8 or not has_channels or not array.size:
        raise problem(
            RuntimeError,
            f"{owner}: the array cannot be encoded as an image",
            got=f"{array.dtype}{list(array.shape)}",
            expected="uint8[H, W] or uint8[H, W, 1 or 3]",
        )
    return array


def _array(argument: str, value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.asnumpy()
    if not isinstance(value, np.ndarray):
        raise wrong_type(argument, value, "numpy.ndarray or Tensor")
    return value


def _check_level(owner: str, argument: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int):
        raise wrong_type(argument, value, "int")
    if not low <= value <= high:
        raise problem(
            RuntimeError,
            f"{owner}: {argument} is out of range",
            got=str(value),
            expected=f"{low} to {high}",
        )


def _shape(owner: str, image: Any) -> tuple[int, ...]:
    if P.is_pillow(image):
        bands = len(image.getbands())
        return (image.height, image.width, bands)
    if not isinstance(image, np.ndarray):
        raise wrong_type("image", image, "numpy.ndarray or PIL.Image.Image")
    if image.ndim < 2:
        raise problem(
            RuntimeError,
            f"{owner}: an image must have at least two axes",
            got=f"shape {image.shape}",
        )
    return image.shape


def _existing(owner: str, filename: Any) -> Path:
    path = _path(filename)
    if not path.is_file():
        raise problem(RuntimeError, f"{owner}: the file does not exist", got=filename)
    return path


def _write(owner: str, filename: Any, data: np.ndarray) -> None:
    path = _path(filename)
    if path.is_dir() or not path.parent.is_dir():
        raise problem(
            RuntimeError,
            f"{owner}: the file cannot be written",
            got=filename,
            expected="a file in an existing folder",
        )
    write_atomically(path, [data.tobytes()])


def _path(filename: Any) -> Path:
    if not isinstance(filename, str):
        raise wrong_type("filename", filename, "str")
    return Path(filename)
