"""Pixels from encoded images: the fastest decoder that is installed and can read the bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.core.errors import problem
from mycelia.dataset.vision import pillow as P

try:
    import simplejpeg
except ImportError:  # the extra is not installed
    simplejpeg = None

_JPEG = (0xFF, 0xD8)


def pixels(owner: str, data: Any) -> np.ndarray:
    """The RGB pixels, [H, W, 3], of an image in any format that Pillow knows."""
    encoded = encoded_bytes(owner, data)
    if simplejpeg is not None and tuple(encoded[:2]) == _JPEG:
        try:
            return simplejpeg.decode_jpeg(encoded, "RGB")
        except ValueError:
            pass  # other colours than RGB or gray, or damage: Pillow decides
    return np.array(P.decoded(owner, encoded))


def encoded_bytes(owner: str, value: Any) -> np.ndarray:
    """A row of bytes, as files hold them."""
    data = np.asarray(value)
    if data.dtype.kind == "S" and data.size == 1:  # as record files give bytes
        data = data.reshape(1).view(np.uint8)
    if data.ndim != 1 or data.dtype.itemsize != 1:
        raise problem(
            TypeError,
            f"{owner}: an encoded image is a row of bytes",
            got=f"{data.dtype}{list(data.shape)}",
            fix=f"leave {owner} out if the image is decoded already",
        )
    return np.ascontiguousarray(data).view(np.uint8)
