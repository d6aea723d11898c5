"""Image decoding with the fastest installed decoder that supports the format."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import optional_module
from mycelia.dataset.vision.backends import pillow as P

simplejpeg = optional_module("simplejpeg")

_JPEG, _END = b"\xff\xd8", b"\xff\xd9"
_SEQUENTIAL = (0xC0, 0xC1)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SCAN = 0xDA
_COLOR_SPACES = ("YCbCr", "RGB", "Gray")  # for four components, Pillow's RGB matches MindSpore's


def pixels(owner: str, data: Any) -> np.ndarray:
    """The RGB pixels, [H, W, 3], of an image in any format that Pillow supports."""
    encoded = encoded_bytes(owner, data)
    if simplejpeg is not None and encoded[:2].tobytes() == _JPEG:
        try:
            if simplejpeg.decode_jpeg_header(encoded)[2] in _COLOR_SPACES:
                return simplejpeg.decode_jpeg(encoded, "RGB")
        except ValueError:
            pass  # damaged: let Pillow decide
    return np.array(P.decoded(owner, encoded))


class EncodedImage:
    """An encoded image that is decoded partially."""

    def __init__(self, owner: str, data: Any) -> None:
        self._owner = owner
        self._data = encoded_bytes(owner, data)
        self._frame = _frame(self._data)

    def size(self) -> tuple[int, int]:
        """The height and width, from the header."""
        if self._frame is not None:
            return self._frame.height, self._frame.width
        image = P.opened(self._owner, self._data)
        return image.height, image.width

    def upper(self, rows: int) -> np.ndarray:
        """At least the first `rows` rows of RGB pixels, decoding no more of a JPEG than needed."""
        frame = self._frame
        if frame is None or not frame.can_be_cut or simplejpeg is None:
            return pixels(self._owner, self._data)
        needed = (
            -(-rows // frame.block) + 1
        ) * frame.block  # chroma upsampling reads another block
        if needed >= frame.height or self._data[-2:].tobytes() != _END:  # or the file is truncated
            return pixels(self._owner, self._data)
        shorter = self._data.copy()
        shorter[frame.place : frame.place + 2] = divmod(needed, 256)
        try:
            return simplejpeg.decode_jpeg(shorter, "RGB", strict=False)
        except ValueError:
            return pixels(self._owner, self._data)


class _JpegHeader(NamedTuple):
    """The header fields of a JPEG file."""

    place: int  # byte offset of the height
    height: int
    width: int
    block: int  # rows per MCU
    can_be_cut: bool  # baseline order with up to three components


def _frame(encoded: np.ndarray) -> _JpegHeader | None:
    """The frame header of a JPEG file; None for other files."""
    data = encoded.data
    if data[:2] != _JPEG:
        return None
    at = 2
    try:
        while data[at] == 0xFF and data[at + 1] not in _FRAMES:
            at += 2 + (data[at + 2] << 8 | data[at + 3])
        if data[at] != 0xFF:
            return None
        code, parts = data[at + 1], data[at + 9]
        tallest = max([data[at + 11 + 3 * part] & 15 for part in range(parts)])
        place = at + 5
        height, width = (data[k] << 8 | data[k + 1] for k in (place, place + 2))
        while data[at + 1] != _SCAN:
            at += 2 + (data[at + 2] << 8 | data[at + 3])
        in_one_scan = data[at + 4] == parts <= 3
    except (IndexError, ValueError):
        return None
    return _JpegHeader(place, height, width, 8 * tallest, code in _SEQUENTIAL and in_one_scan)


def encoded_bytes(owner: str, value: Any) -> np.ndarray:
    """Check for a uint8 vector that holds an encoded image."""
    data = np.asarray(value)
    if data.dtype.kind == "S" and data.size == 1:  # from record files
        data = data.reshape(1).view(np.uint8)
    if data.ndim != 1 or data.dtype.itemsize != 1:
        raise problem(
            TypeError,
            f"{owner}: an encoded image must be a vector of bytes",
            got=f"{data.dtype}{list(data.shape)}",
            fix=f"leave {owner} out if the image is decoded already",
        )
    return np.ascontiguousarray(data).view(np.uint8)
