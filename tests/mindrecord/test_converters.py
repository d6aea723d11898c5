"""The converters, from files made here."""

from __future__ import annotations

import gzip
import io
import math
import os
import pickle
import struct

import numpy as np
import pytest

from mycelia import mindrecord
from mycelia._engine.core.files.crc32c import masked_crc32c
from mycelia.mindrecord import Records
from mycelia.mindrecord.example import parse_example
from mycelia.mindrecord.tfrecord import FixedLenFeature, read_records

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def decoded(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


def smooth(count: int, channels: int) -> np.ndarray:
    """Pictures that JPEG keeps nearly as they are: (N, C, 32, 32)."""
    ramp = np.add.outer(np.arange(32), np.arange(32)) * 2
    return np.stack([[ramp + 20 * c + n for c in range(channels)] for n in range(count)]).astype(
        np.uint8
    )


def write_cifar(path, images, **labels):
    content = {b"data": images.reshape(len(images), -1)}
    path.write_bytes(pickle.dumps(content | {k.encode(): v for k, v in labels.items()}, protocol=3))


def test_cifar10(tmp_path):
    images = smooth(5, 3)
    write_cifar(tmp_path / "data_batch_1", images[:2], labels=[3, 4])
    write_cifar(tmp_path / "data_batch_2", images[2:4], labels=[5, 6])
    write_cifar(tmp_path / "test_batch", images[4:], labels=[9])
    mindrecord.Cifar10ToMR(str(tmp_path), str(tmp_path / "out")).transform(["label"])
    rows = list(Records(tmp_path / "out"))
    assert [(row["id"], row["label"]) for row in rows] == [(0, 3), (1, 4), (2, 5), (3, 6)]
    picture = decoded(rows[2]["data"]).astype(int)
    assert np.abs(picture - images[2].transpose(1, 2, 0)).max() <= 6
    assert Records(tmp_path / "out").index_fields == ["label"]
    assert Records(tmp_path / "out_test")[0]["label"] == 9


def test_cifar100(tmp_path):
    write_cifar(tmp_path / "train", smooth(2, 3), fine_labels=[10, 11], coarse_labels=[1, 2])
    write_cifar(tmp_path / "test", smooth(1, 3), fine_labels=[12], coarse_labels=[3])
    assert mindrecord.Cifar100ToMR(str(tmp_path), str(tmp_path / "out")).run() == mindrecord.SUCCESS
    found = [(row["fine_label"], row["coarse_label"]) for row in Records(tmp_path / "out")]
    assert found == [(10, 1), (11, 2)]
    assert Records(tmp_path / "out").index_fields == ["coarse_label", "fine_label", "id"]
    assert Records(tmp_path / "out_test").schema.description == "img_test"


def test_bad_cifar_files_are_refused(tmp_path):
    with pytest.raises(mindrecord.PathNotExistsError, match="data_batch_"):
        mindrecord.Cifar10ToMR(str(tmp_path), str(tmp_path / "out"))
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps({b"data": os.system}))
    (tmp_path / "test_batch").write_bytes(b"")
    converter = mindrecord.Cifar10ToMR(str(tmp_path), str(tmp_path / "out"))
    with pytest.raises(RuntimeError, match="system is not allowed"):
        converter.transform()
    with pytest.raises(ValueError, match="fields"):
        converter.transform("label")
    with pytest.raises(mindrecord.PathNotExistsError, match="train"):
        mindrecord.Cifar100ToMR(str(tmp_path), str(tmp_path / "out"))


def write_idx(path, magic, array):
    head = struct.pack(f">{1 + array.ndim}I", magic, *array.shape)
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))


def test_mnist(tmp_path):
    images = smooth(3, 1)[:, 0, :28, :28]
    for part, count in (("train", 3), ("t10k", 2)):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", 0x803, images[:count])
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", 0x801, np.arange(count) + 7)
    mindrecord.MnistToMR(str(tmp_path), str(tmp_path / "out"), 2).transform()
    records = Records(tmp_path / "out_train.mindrecord0")
    assert [row["label"] for row in records] == [7, 8, 9]
    assert np.abs(decoded(records[2]["data"]).astype(int) - images[2]).max() <= 4
    assert len(Records(tmp_path / "out_test.mindrecord1")) == 2
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="not a valid MNIST file"):
        mindrecord.MnistToMR(str(tmp_path), str(tmp_path / "again")).transform()
    with pytest.raises(ValueError, match="partition_number"):
        mindrecord.MnistToMR(str(tmp_path), str(tmp_path / "more"), None)


def test_imagenet(tmp_path, caplog):
    (tmp_path / "map.txt").write_text("n01 0\nn02 5\nn03 7\n")
    for folder, names in (("n01", ["b.JPEG", "a.jpg", "c.txt"]), ("n02", ["d.JPEG", "e.JPEG"])):
        (tmp_path / "train" / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / "train" / folder / name).write_bytes(name.encode())
    (tmp_path / "train" / "n02" / "e.JPEG").write_bytes(b"")
    out = tmp_path / "out"
    arguments = (str(tmp_path / "map.txt"), str(tmp_path / "train"), str(out))
    mindrecord.ImageNetToMR(*arguments).transform()
    rows = list(Records(out))
    assert [(r["label"], r["image"]) for r in rows] == [
        (0, b"a.jpg"),
        (0, b"b.JPEG"),
        (5, b"d.JPEG"),
    ]
    assert rows[2]["file_name"] == str(tmp_path / "train" / "n02" / "d.JPEG")
    assert Records(out).find("label", "5") == [2]
    left = [record.getMessage() for record in caplog.records]
    assert [name for name in ("n03", "c.txt", "e.JPEG") if not any(name in m for m in left)] == []
    (tmp_path / "map.txt").write_text("n09 1\n")
    with pytest.raises(mindrecord.PathNotExistsError):
        mindrecord.ImageNetToMR(*arguments[:2], str(tmp_path / "other")).transform()
    (tmp_path / "map.txt").write_text("n01\n")
    with pytest.raises(ValueError, match="line 1"):
        mindrecord.ImageNetToMR(*arguments[:2], str(tmp_path / "third")).transform()


def test_csv(tmp_path, caplog):
    (tmp_path / "a.csv").write_text(
        'name,count,ratio,flag,score\n"x, y",1,0.5,True,\nz,-2,3,False,2\n,3,1e3,True,1\n'
    )
    mindrecord.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "all")).transform()
    records = Records(tmp_path / "all")
    kinds = {name: field.type for name, field in records.schema.fields.items()}
    assert kinds == {
        "count": "int64",
        "flag": "int32",
        "name": "string",
        "ratio": "float64",
        "score": "float64",
    }
    assert len(records) == 2  # the row without a text is left out, as in MindSpore
    assert "name" in caplog.text
    assert records[1] == {"name": "z", "count": -2, "ratio": 3.0, "flag": 0, "score": 2.0}
    assert math.isnan(records[0]["score"])
    arguments = (str(tmp_path / "a.csv"), str(tmp_path / "some"), ["count", "flag"], 2)
    mindrecord.CsvToMR(*arguments).transform()
    assert [row["count"] for row in Records(tmp_path / "some0")] == [1, -2, 3]


def test_bad_csv_is_refused(tmp_path):
    source, out = str(tmp_path / "a.csv"), str(tmp_path / "out")
    with pytest.raises(OSError):
        mindrecord.CsvToMR(source, out).transform()
    for content, kind, message in (
        ("", RuntimeError, "is empty"),
        ("a,b\n1\n", ValueError, "row 2"),
        ("a,7\n1,2\n", ValueError, "'7' is a number"),
    ):
        (tmp_path / "a.csv").write_text(content)
        with pytest.raises(kind, match=message):
            mindrecord.CsvToMR(source, out).transform()
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RuntimeError, match="unknown column 'c'"):
        mindrecord.CsvToMR(source, out, ["c"]).transform()
    for wrong in ((3, out), (source, 3), (source, out, "a"), (source, out, None, "1")):
        with pytest.raises(ValueError):
            mindrecord.CsvToMR(*wrong)


def message(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def example(**features) -> bytes:
    """A serialised tf.train.Example."""
    entries = b""
    for name, value in features.items():
        if isinstance(value, (bytes, str)):
            raw = value.encode() if isinstance(value, str) else value
            feature = message(1, message(1, raw))
        elif np.asarray(value).dtype.kind == "f":
            feature = message(2, message(1, np.asarray(value, "<f4").tobytes()))
        else:
            numbers = b"".join(varint(int(n)) for n in np.atleast_1d(value))
            feature = message(3, message(1, numbers))
        entries += message(1, message(1, name.encode()) + message(2, feature))
    return message(1, entries)


def framed(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return (
        head
        + struct.pack("<I", masked_crc32c(head))
        + data
        + struct.pack("<I", masked_crc32c(data))
    )


FEATURES = {
    "image/name": FixedLenFeature([], "string"),
    "image": FixedLenFeature([], "string"),
    "label": FixedLenFeature([], np.int64),
    "score": FixedLenFeature([], np.dtype("float32")),
    "ids": FixedLenFeature([3], "int64"),
    "box": FixedLenFeature([2], "float64"),
}


def tfrecords(path, count=3):
    examples = [
        {
            "image/name": f"{i}é",
            "image": bytes([i, 255]) * 400,
            "label": -i,
            "score": [i / 2],
            "ids": np.array([i, -1, 1 << 40]),
            "box": [0.5, float(i)],
        }
        for i in range(count)
    ]
    path.write_bytes(b"".join(framed(example(**e)) for e in examples))
    return examples


def test_tfrecord(tmp_path):
    given = tfrecords(tmp_path / "a.tfrecord")
    out = tmp_path / "out"
    arguments = (str(tmp_path / "a.tfrecord"), str(out), FEATURES, ["image"])
    mindrecord.TFRecordToMR(*arguments).transform()
    records = Records(out)
    assert records.schema.as_json()["ids"] == {"shape": [3], "type": "int64"}
    for row, expected in zip(records, given, strict=True):
        assert row["image_name"] == expected["image/name"]
        assert row["image"] == expected["image"]
        assert row["label"] == expected["label"]
        assert row["score"] == expected["score"][0]
        assert row["ids"].tolist() == expected["ids"].tolist()
        assert (row["box"].dtype, row["box"].tolist()) == ("float64", expected["box"])


def test_unpacked_numbers_of_an_example_are_read():
    numbers = varint(1 << 3) + varint(5) + varint(1 << 3) + varint(-6)
    entry = message(1, b"n") + message(2, message(3, numbers))
    assert parse_example(message(1, message(1, entry)))["n"].tolist() == [5, -6]


@pytest.mark.parametrize("place", [0, 8, 12, 40, -1])
def test_damaged_tfrecords_are_noticed(tmp_path, place):
    tfrecords(tmp_path / "a", 1)
    data = bytearray((tmp_path / "a").read_bytes())
    data[place] ^= 1
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match="record 0: the checksum"):
        list(read_records(tmp_path / "a"))
    (tmp_path / "a").write_bytes(data[:11])
    with pytest.raises(ValueError, match="truncated"):
        list(read_records(tmp_path / "a"))


def test_records_that_are_no_examples_are_named(tmp_path):
    (tmp_path / "a").write_bytes(framed(b"\x0a\xff"))
    converter = mindrecord.TFRecordToMR(str(tmp_path / "a"), str(tmp_path / "out"), FEATURES)
    with pytest.raises(ValueError, match=r"record 0 is not a valid tf\.train\.Example"):
        converter.transform()


def test_bad_features_are_refused(tmp_path):
    source, out = str(tmp_path / "a"), str(tmp_path / "out")
    tfrecords(tmp_path / "a", 1)
    for features, message_ in (
        ({"none": FixedLenFeature([], "int64")}, "does not match feature_dict at 'none'"),
        ({"label": FixedLenFeature([2], "int64")}, "1 values"),
        ({"label": FixedLenFeature([], "string")}, "at 'label'"),
    ):
        with pytest.raises(ValueError, match=message_):
            mindrecord.TFRecordToMR(source, out, features).transform()
    filled = {"none": FixedLenFeature([2], "int64", 4)}
    mindrecord.TFRecordToMR(source, out, filled).transform()
    assert Records(out)[0]["none"].tolist() == [4, 4]
    for wrong in (None, {"a": 1}, {"a": FixedLenFeature([2, 2], "int64")}):
        with pytest.raises(ValueError):
            mindrecord.TFRecordToMR(source, out, wrong)
    with pytest.raises(ValueError, match="complex64"):
        mindrecord.TFRecordToMR(source, out, {"a": FixedLenFeature([], "complex64")})
    with pytest.raises(ValueError, match="is not a string feature"):
        mindrecord.TFRecordToMR(source, out, FEATURES, ["label"])
    with pytest.raises(ValueError, match="source"):
        mindrecord.TFRecordToMR(3, out, FEATURES)
