"""Values of a training run as protobuf messages, TensorBoard's `Summary.Value`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files import protobuf
from mycelia.insight.histogram import histogram_of
from mycelia.insight.image import as_pixels
from mycelia.insight.png import encode_png

_TENSOR_CLASS = 2  # the data class of tensors, including strings
_COLOURS = 3
_STRING = 7
_TENSOR_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}


def summary(values: list[bytes]) -> bytes:
    """Combine the values of one step."""
    return b"".join(protobuf.bytes_field(1, value) for value in values)


def scalar_value(tag: str, value: Any) -> bytes:
    """Encode a scalar."""
    number = np.asarray(value).reshape(-1)[0]
    return protobuf.text_field(1, tag) + protobuf.float_field(2, float(np.real(number)))


def image_value(tag: str, images: np.ndarray) -> bytes:
    """Encode images of shape (N, C, H, W), side by side."""
    pixels = as_pixels(images)
    height, width, _ = pixels.shape
    image = protobuf.number_field(1, height) + protobuf.number_field(2, width)
    image += protobuf.number_field(3, _COLOURS) + protobuf.bytes_field(4, encode_png(pixels))
    return protobuf.text_field(1, tag) + protobuf.bytes_field(4, image)


def histogram_value(tag: str, values: np.ndarray) -> bytes:
    """Encode the histogram of an array."""
    histogram = histogram_of(values)
    facts = (histogram.low, histogram.high, histogram.size, histogram.total, histogram.squares)
    message = b"".join(protobuf.double_field(i, fact) for i, fact in enumerate(facts, start=1))
    # TensorBoard names a bin by its right edge; an empty first bin provides the left edge.
    message += protobuf.doubles_field(6, histogram.edges)
    message += protobuf.doubles_field(7, [0, *histogram.counts] if histogram.edges.size else [])
    return protobuf.text_field(1, tag) + protobuf.bytes_field(5, message)


def tensor_value(tag: str, array: np.ndarray) -> bytes:
    """Encode an array."""
    kind = _TENSOR_TYPES.get(array.dtype.name)
    if kind is None:
        raise problem(
            ValueError,
            f"{tag!r}: event files do not support tensors of this dtype",
            got=array.dtype.name,
            expected=f"one of {', '.join(_TENSOR_TYPES)}",
        )
    metadata = plugin_metadata("tensor", b"", _TENSOR_CLASS)
    message = protobuf.number_field(1, kind)
    message += protobuf.bytes_field(2, shape(array.shape))
    message += protobuf.bytes_field(4, np.ascontiguousarray(array).tobytes())
    return _with_metadata(tag, metadata) + protobuf.bytes_field(8, message)


def text_value(tag: str, text: str) -> bytes:
    """Encode text, which TensorBoard renders as Markdown."""
    message = protobuf.number_field(1, _STRING) + protobuf.bytes_field(2, shape((1,)))
    message += protobuf.text_field(8, text)
    metadata = plugin_metadata("text", b"", _TENSOR_CLASS)
    return _with_metadata(tag, metadata) + protobuf.bytes_field(8, message)


def plugin_value(tag: str, plugin: str, content: bytes) -> bytes:
    """Encode a value for a single plugin of TensorBoard."""
    return _with_metadata(tag, plugin_metadata(plugin, content, 0))


def plugin_metadata(plugin: str, content: bytes, data_class: int) -> bytes:
    """Encode the plugin of a value, and its content."""
    plugin_data = protobuf.text_field(1, plugin) + protobuf.bytes_field(2, content)
    return protobuf.bytes_field(1, plugin_data) + protobuf.number_field(4, data_class)


def shape(sizes: tuple[int, ...]) -> bytes:
    """Encode the shape of a tensor."""
    return b"".join(protobuf.bytes_field(2, protobuf.number_field(1, size)) for size in sizes)


def _with_metadata(tag: str, metadata: bytes) -> bytes:
    return protobuf.text_field(1, tag) + protobuf.bytes_field(9, metadata)
