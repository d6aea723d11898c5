"""Record files and the datasets over them, made alike with the real MindSpore and with ours."""

from __future__ import annotations

import gzip
import json
import struct
import zlib

import numpy as np

SCHEMA = {
    "label": {"type": "int32"},
    "name": {"type": "string"},
    "score": {"type": "float64"},
    "part": {"type": "float32"},
    "big": {"type": "int64"},
    "image": {"type": "bytes"},
    "ids": {"type": "int64", "shape": [-1]},
    "box": {"type": "float32", "shape": [2, 2]},
    "three": {"type": "int32", "shape": [3]},
}
PADDED = {"label": -1, "name": "pad", "image": b"zz"}


def record_rows(count, base=0):
    """Rows for SCHEMA."""
    return [
        {
            "label": i % 3,
            "name": f"n{base + i}",
            "score": i / 7,
            "part": i / 4,
            "big": 2**40 + i,
            "image": bytes([i + 1]) * (i + 1),
            "ids": np.arange(i + 1) * 1000 - 300,
            "box": np.full((2, 2), i, np.float32),
            "three": np.array([1, i, -i * 70000], np.int32),
        }
        for i in range(count)
    ]


def example_rows(count, prefix="n"):
    """Features of examples."""
    return [
        {
            "label": [i],
            "name": [f"{prefix}{i}".encode()],
            "vec": np.array([i, i + 0.5], np.float32),
            "ids": [i, -i, 2**40, 300 * i],
            "words": [b"a", b"bc" * i],
        }
        for i in range(count)
    ]


def write_files(mindrecord, folder):
    """All files that the cases read."""
    for name, count, base in (("a.mr", 10, 0), ("b.mr", 4, 100)):
        writer = mindrecord.FileWriter(str(folder / name))
        writer.add_schema(SCHEMA)
        writer.write_raw_data(record_rows(count, base))
        writer.commit()
    write_examples(folder / "a.tfrecord", example_rows(5))
    write_examples(folder / "b.tfrecord", example_rows(3, "b"))
    write_examples(folder / "unpacked.tfrecord", example_rows(3), packed=False)
    write_examples(folder / "a.gz", example_rows(4), wrap=gzip.compress)
    write_examples(folder / "a.zlib", example_rows(4), wrap=zlib.compress)
    columns = {
        "label": {"type": "int32", "rank": 1},
        "vec": {"type": "float32", "rank": 1, "shape": [2]},
        "name": {"type": "uint8", "rank": 1},
    }
    told = {"datasetType": "TF", "numRows": 3, "columns": columns}
    (folder / "schema.json").write_text(json.dumps(told))


def _schema(ds, *columns):
    made = ds.Schema()
    for column in columns:
        made.add_column(*column)
    return made


def _mind(name="a.mr", columns=("name",), **more):
    return lambda ds, f: ds.MindDataset(str(f / name), list(columns) or None, **more)


def _minds(names, **more):
    return lambda ds, f: ds.MindDataset([str(f / n) for n in names], ["name"], **more)


def _sampled(make):
    return lambda ds, f: ds.MindDataset(str(f / "a.mr"), ["name"], sampler=make(ds))


def _tf(*names, schema=None, one_worker=True, **more):
    def make(ds, folder):
        given = {} if schema is None else {"schema": _schema(ds, *schema)}
        if one_worker:
            given["num_parallel_workers"] = 1
        return ds.TFRecordDataset([str(folder / n) for n in names], shuffle=False, **given, **more)

    return make


def _chained(ds):
    sampler = ds.SequentialSampler(1, 2)
    sampler.add_child(ds.DistributedSampler(2, 0, False))
    return sampler


CASES = {
    "all columns": _mind(columns=(), shuffle=False),
    "some columns": _mind(columns=("three", "name", "label"), shuffle=False),
    "a batch": lambda ds, f: _mind(columns=("image", "box", "name", "label"), shuffle=False)(
        ds, f
    ).batch(4),
    "a list": _minds(["b.mr", "a.mr"], shuffle=False),
    "twice the same": _minds(["b.mr", "b.mr"], shuffle=False),
    "num_samples": _mind(shuffle=False, num_samples=3),
    "num_samples of 0": _mind(shuffle=False, num_samples=0),
    "shard 0 of 3": _mind(shuffle=False, num_shards=3, shard_id=0),
    "shard 2 of 3": _mind(shuffle=False, num_shards=3, shard_id=2),
    "shard with num_samples": _mind(shuffle=False, num_shards=3, shard_id=1, num_samples=2),
    "more shards than rows": _mind(shuffle=False, num_shards=12, shard_id=3),
    "padded": _mind(columns=tuple(PADDED), shuffle=False, padded_sample=PADDED, num_padded=2),
    "padded and dealt": _mind(
        columns=tuple(PADDED),
        shuffle=False,
        padded_sample=PADDED,
        num_padded=2,
        num_shards=4,
        shard_id=2,
    ),
    "padded with num_samples": _mind(
        columns=tuple(PADDED), shuffle=False, padded_sample=PADDED, num_padded=2, num_samples=11
    ),
    "sequential": _sampled(lambda ds: ds.SequentialSampler(2, 4)),
    "distributed": _sampled(lambda ds: ds.DistributedSampler(3, 1, False)),
    "subset": _sampled(lambda ds: ds.SubsetSampler([3, 1, 1, 7])),
    "chained": _sampled(_chained),
    "examples": _tf("a.tfrecord"),
    "unpacked examples": _tf("unpacked.tfrecord"),
    "example columns": _tf("a.tfrecord", columns_list=["vec", "label"]),
    "two example files": _tf("b.tfrecord", "a.tfrecord", columns_list=["name"]),
    "gzip": _tf("a.gz", columns_list=["name"], compression_type="GZIP"),
    "zlib": _tf("a.zlib", columns_list=["name"], compression_type="ZLIB"),
    "plain as gzip": _tf("a.tfrecord", columns_list=["name"], compression_type="GZIP"),
    "a schema": _tf("a.tfrecord", schema=[("vec", "float64", [2, 1]), ("label", "int32", [])]),
    "narrow types": _tf("a.tfrecord", schema=[("ids", "int16"), ("label", "uint8")]),
    "unsigned": _tf("a.tfrecord", schema=[("ids", "uint64"), ("label", "bool")]),
    "integers as floats": _tf("a.tfrecord", schema=[("ids", "float32"), ("vec", "float16")]),
    "floats as integers": _tf("a.tfrecord", schema=[("vec", "int32", [-1])]),
    "texts": _tf("a.tfrecord", schema=[("words", "string"), ("name", "string", [])]),
    "open shape": _tf("a.tfrecord", schema=[("ids", "int64", [-1, 2])]),
    "schema and columns": _tf(
        "a.tfrecord", schema=[("label", "int64"), ("vec", "float32")], columns_list=["vec"]
    ),
    "a schema file": lambda ds, f: ds.TFRecordDataset(
        str(f / "a.tfrecord"), str(f / "schema.json"), shuffle=False
    ),
    "example shard of files": _tf(
        "a.tfrecord", "b.tfrecord", columns_list=["name"], num_shards=2, shard_id=1
    ),
    "example shard of rows": _tf(
        "a.tfrecord",
        columns_list=["name"],
        num_shards=2,
        shard_id=1,
        shard_equal_rows=True,
    ),
    "example num_samples": _tf("a.tfrecord", columns_list=["name"], num_samples=2),
}
ERRORS = {
    "no such file": _mind("none.mr"),
    "files as a tuple": lambda ds, f: ds.MindDataset((str(f / "a.mr"),)),
    "no files": lambda ds, f: ds.MindDataset([]),
    "no such column": _mind(columns=("none",)),
    "columns as a text": lambda ds, f: ds.MindDataset(str(f / "a.mr"), "name"),
    "a column twice": _mind(columns=("name", "name")),
    "shuffle as a text": _mind(shuffle="global"),
    "num_shards alone": _mind(num_shards=2),
    "shard_id alone": _mind(shard_id=2),
    "shard_id too large": _mind(num_shards=2, shard_id=2),
    "num_shards of 0": _mind(num_shards=0, shard_id=0),
    "negative num_samples": _mind(num_samples=-1),
    "files mixed and num_samples": lambda ds, f: ds.MindDataset(
        str(f / "a.mr"), shuffle=ds.Shuffle.FILES, num_samples=2
    ),
    "sampler and shuffle": lambda ds, f: ds.MindDataset(
        str(f / "a.mr"), sampler=ds.SequentialSampler(), shuffle=False
    ),
    "sampler and shards": lambda ds, f: ds.MindDataset(
        str(f / "a.mr"), sampler=ds.SequentialSampler(), num_shards=2, shard_id=0
    ),
    "sampler and num_samples": lambda ds, f: ds.MindDataset(
        str(f / "a.mr"), sampler=ds.SequentialSampler(), num_samples=2
    ),
    "padding without columns": _mind(columns=(), padded_sample=PADDED, num_padded=2),
    "padding without number": _mind(columns=tuple(PADDED), padded_sample=PADDED),
    "padding without sample": _mind(num_padded=2),
    "padding of other columns": _mind(columns=("ids",), padded_sample=PADDED, num_padded=2),
    "negative padding": _mind(columns=tuple(PADDED), padded_sample=PADDED, num_padded=-2),
    "padding as a list": _mind(padded_sample=[1], num_padded=2),
    "uneven padding": _mind(
        columns=tuple(PADDED), padded_sample=PADDED, num_padded=1, num_shards=4, shard_id=0
    ),
    "class column without index": _sampled(lambda ds: ds.PKSampler(2, class_column="three")),
    "no such pattern": lambda ds, f: ds.TFRecordDataset(str(f / "none*")),
    "no such feature": _tf("a.tfrecord", columns_list=["none"]),
    "example columns as a tuple": _tf("a.tfrecord", columns_list=("name",)),
    "example column twice": _tf("a.tfrecord", columns_list=["name", "name"]),
    "no such schema": lambda ds, f: ds.TFRecordDataset(str(f / "a.tfrecord"), str(f / "no.json")),
    "a number as schema": lambda ds, f: ds.TFRecordDataset(str(f / "a.tfrecord"), 5),
    "feature missing": _tf("a.tfrecord", schema=[("none", "int32")]),
    "other shape": _tf("a.tfrecord", schema=[("vec", "float32", [3])]),
    "bytes as integers": _tf("a.tfrecord", schema=[("name", "int32")]),
    "integers as text": _tf("a.tfrecord", schema=[("label", "string")]),
    "texts of different lengths": _tf("a.tfrecord", schema=[("words", "uint8")]),
    "column not in the schema": _tf(
        "a.tfrecord", schema=[("label", "int32")], columns_list=["vec"]
    ),
    "more shards than files": _tf("a.tfrecord", num_shards=2, shard_id=0),
    "packed shards": _tf(
        "a.gz", num_shards=2, shard_id=0, shard_equal_rows=True, compression_type="GZIP"
    ),
    "packed shards with num_samples": _tf(
        "a.gz", num_shards=2, shard_id=0, num_samples=2, compression_type="GZIP"
    ),
    "unknown compression": _tf("a.tfrecord", compression_type="gzip"),
    "packed without saying so": _tf("a.gz"),
    "example num_shards alone": _tf("a.tfrecord", num_shards=2),
    "example shuffle as a text": lambda ds, f: ds.TFRecordDataset(
        str(f / "a.tfrecord"), shuffle="x"
    ),
}


def result(dataset):
    """What comes out of a dataset, as JSON can hold it."""
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return {
        "columns": dataset.get_col_names(),
        "rows": [[_told(value) for value in row] for row in rows],
    }


def _told(value):
    values = value.tolist() if value.dtype.kind != "S" else [v.hex() for v in value.ravel()]
    return [value.dtype.str, list(value.shape), values]


def write_examples(path, rows, *, packed=True, wrap=bytes):
    """A TFRecord file of examples, or of records given as bytes."""
    records = [row if isinstance(row, bytes) else example(row, packed=packed) for row in rows]
    path.write_bytes(wrap(b"".join(map(_framed, records))))


def _framed(data):
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def example(features, *, packed=True):
    """A serialised `tf.train.Example`."""
    entries = [
        _field(1, _field(1, name.encode()) + _field(2, _feature(values, packed)))
        for name, values in features.items()
    ]
    return _field(1, b"".join(entries))


def _feature(values, packed):
    if isinstance(values[0], bytes):
        return _field(1, b"".join(_field(1, value) for value in values))
    if isinstance(values, np.ndarray):
        parts = [value.astype("<f4").tobytes() for value in values]
        return _field(2, _field(1, b"".join(parts)) if packed else _tagged(parts, 5))
    parts = [_varint(value & (1 << 64) - 1) for value in values]
    return _field(3, _field(1, b"".join(parts)) if packed else _tagged(parts, 0))


def _field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tagged(parts, kind):
    return b"".join(_varint(1 << 3 | kind) + part for part in parts)


def _varint(value):
    low = [value >> shift & 127 for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(byte | 128 for byte in low[:-1]), low[-1]])


def _masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)
