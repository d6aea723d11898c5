"""The small encodings: MessagePack, compressed integers, joined blobs, CRC-32C."""

from __future__ import annotations

import contextlib
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mycelia._engine.core.files.crc32c import _bytewise, crc32c, masked_crc32c
from mycelia.mindrecord.blob_encoding import (
    compress_integers,
    expand_integers,
    expand_many,
    join_blobs,
    split_many,
)
from mycelia.mindrecord.messagepack import pack, unpack

SCALARS = st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False) | st.text()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "cc80"),
        (256, "cd0100"),
        (65536, "ce00010000"),
        (1 << 32, "cf0000000100000000"),
        (-1, "ff"),
        (-32, "e0"),
        (-33, "d0df"),
        (-129, "d1ff7f"),
        (-32769, "d2ffff7fff"),
        (-(1 << 63), "d38000000000000000"),
        (0.5, "ca3f000000"),
        (0.1, "cb3fb999999999999a"),
        (1e300, "cb7e37e43c8800759c"),
        (math.inf, "cb7ff0000000000000"),
        ("", "a0"),
        ("é", "a2c3a9"),
        ("x" * 32, "d920" + "78" * 32),
        ("x" * 256, "da0100" + "78" * 256),
    ],
)
def test_messagepack_uses_the_shortest_form(value, code):
    packed = bytes.fromhex("81a161" + code)
    assert pack({"a": value}) == packed
    assert unpack(packed) == {"a": value}


def test_messagepack_sorts_names_and_counts_many():
    fields = {f"f{i:02}": i for i in reversed(range(20))}
    assert pack(fields)[:3] == b"\xde\x00\x14"
    assert list(unpack(pack(fields))) == sorted(fields)


@given(st.dictionaries(st.text(), SCALARS))
def test_messagepack_gives_back_what_was_packed(fields):
    assert unpack(pack(fields)) == fields


@given(st.binary(max_size=40))
def test_other_bytes_are_no_messagepack(data):
    with contextlib.suppress(ValueError):
        assert all(type(name) is str for name in unpack(data))


def test_long_integers_are_refused():
    with pytest.raises(ValueError, match="64 bits"):
        pack({"a": 1 << 64})


def test_compressed_integers_have_their_widths_in_front():
    values = np.array([1, -129, 70000, 1 << 40, -1], np.int64)
    expected = "00000005" + "1b00" + "01" + "7fff" + "70110100" + "0000000000010000" + "ff"
    assert compress_integers(values).hex() == expected
    assert expand_integers(bytes.fromhex(expected), "int64").tolist() == values.tolist()


@pytest.mark.parametrize("kind", ["int32", "int64"])
@given(data=st.data())
def test_compressed_integers_come_back(kind, data):
    values = data.draw(arrays.arrays(kind, st.integers(0, 40)))
    back = expand_integers(compress_integers(values), kind)
    assert back.dtype == values.dtype
    assert np.array_equal(back, values)


@given(st.binary(max_size=40))
def test_other_bytes_are_no_compressed_integers(data):
    with contextlib.suppress(ValueError):
        assert len(expand_integers(data, "int32")) == int.from_bytes(data[:4], "big")


def test_one_blob_is_itself_and_several_have_lengths():
    assert join_blobs([b"abc"]) == b"abc"
    joined = join_blobs([b"abc", b"", b"d"])
    assert joined == struct.pack(">Q3sQQ1s", 3, b"abc", 0, 1, b"d")
    assert split(joined) == [b"abc", b"", b"d"]
    with pytest.raises(ValueError, match="left after"):
        split(joined + b"x")
    with pytest.raises(ValueError, match="exceeds"):
        split(joined[:-1])


def split(joined):
    spans = split_many(np.frombuffer(joined, np.uint8), np.array([0]), np.array([len(joined)]), 3)
    return [joined[start[0] : end[0]] for start, end in spans]


def test_integers_of_many_rows_are_expanded_together():
    rows = [np.array(row, np.int64) for row in ([5, -300, 2**40], [], [1] * 9, [70000, 3])]
    parts = [compress_integers(row) for row in rows]
    ends = np.cumsum([len(part) for part in parts])
    starts = ends - [len(part) for part in parts]
    data = np.frombuffer(b"".join(parts), np.uint8)
    flat, counts = expand_many(data, starts, ends, "int64")
    assert counts.tolist() == [3, 0, 9, 2]
    assert flat.tolist() == [number for row in rows for number in row.tolist()]
    with pytest.raises(ValueError, match="instead of"):
        expand_many(data, starts, ends - [0, 0, 0, 1], "int64")


def test_crc32c_is_that_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of the Castagnoli polynomial
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert masked_crc32c(b"") == 0xA282EAD8


@pytest.mark.parametrize("size", [511, 512, 513, 1000, 4096, 70001])
def test_crc32c_of_long_data_is_that_of_its_bytes(size):
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == _bytewise(data) ^ 0xFFFFFFFF
