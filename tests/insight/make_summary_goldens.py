"""Writes goldens_summary.json with a real MindSpore: what its SummaryRecord makes of tensors.

Run it with a Python that has MindSpore: python tests/insight/make_summary_goldens.py
"""

from __future__ import annotations

import io
import json
import struct
import tempfile
from pathlib import Path

import mindspore
import numpy as np
from mindspore.train import SummaryRecord
from PIL import Image

IMAGES = {
    "from_0_to_1": np.linspace(0, 1, 12).reshape(1, 3, 2, 2),
    "gray": np.linspace(-1, 1, 4).reshape(1, 1, 2, 2),
    "bytes": np.arange(12).reshape(1, 3, 2, 2) * 20,
    "wide": np.array([-300, 0, 100, 500.0]).reshape(1, 1, 2, 2),
    "constant": np.full((1, 1, 2, 2), 3.0),
    "several": np.stack([np.full((3, 2, 2), v) for v in (0.125, 0.5, 1.0)]),
}
NUMBERS = np.random.default_rng(3).normal(size=1000).astype(np.float32)
SIZES = (1, 2, 5, 6, 9, 10, 11, 20, 50, 100, 880, 889, 890, 1000)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with SummaryRecord(folder) as record:
            for name, image in IMAGES.items():
                record.add_value("image", name, mindspore.Tensor(image.astype(np.float32)))
            for size in SIZES:
                values = mindspore.Tensor(NUMBERS[:size])
                record.add_value("histogram", str(size), values)
            record.record(1)
        path = next(Path(folder).glob("*_MS"))
        values = [
            v for event in records(path) for f, s in fields(event) if f == 5 for v in parts(s)
        ]
    golden = {"images": {}, "bins": {}, "numbers": NUMBERS.tolist()}
    for value in values:
        content = dict(value)
        name = content[1].decode()
        if 4 in content:
            png = next(v for f, v in fields(content[4]) if isinstance(v, bytes))
            pixels = np.asarray(Image.open(io.BytesIO(png))).tolist()
            golden["images"][name] = {"values": IMAGES[name].tolist(), "pixels": pixels}
        else:
            buckets = [dict(fields(v)) for f, v in fields(content[9]) if f == 1]
            counts = [bucket.get(3, 0) for bucket in buckets]
            lefts = [struct.unpack("<d", bucket[1])[0] for bucket in buckets]
            golden["bins"][name] = {"counts": counts, "lefts": lefts}
    Path(__file__).with_name("goldens_summary.json").write_text(json.dumps(golden))


def records(path: Path) -> list[bytes]:
    data, place, found = path.read_bytes(), 0, []
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        found.append(data[place + 12 : place + 12 + length])
        place += length + 16
    return found


def parts(message: bytes) -> list[list[tuple[int, object]]]:
    return [fields(value) for _, value in fields(message)]


def fields(message: bytes) -> list[tuple[int, object]]:
    place, found = 0, []
    while place < len(message):
        key, place = varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = varint(message, place)
        else:
            length, place = varint(message, place) if kind == 2 else ({1: 8, 5: 4}[kind], place)
            value, place = message[place : place + length], place + length
        found.append((key >> 3, value))
    return found


def varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        place, value, shift = place + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, place


if __name__ == "__main__":
    main()
