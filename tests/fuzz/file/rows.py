"""Record files, and the files of every dataset: images, text, and sound."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mycelia.dataset as ds
from mycelia import mindrecord
from mycelia._engine.core.files.crc32c import masked_crc32c
from mycelia.mindrecord.tfrecord import read_examples
from tests.dataset import image_source_cases, record_cases, text_source_cases
from tests.dataset.written_files import write_files, write_idx
from tests.dataset.written_image_sets import WRITERS
from tests.dataset.written_speech_sets import write_speech_sets
from tests.dataset.written_text_sets import write_text_sets
from tests.fuzz.file.format import Format, plain

_KEY = "0123456789abcdef"
_LISTING = ("manifest", "coco", "voc", "sbu")  # files that name images
_LARGE = ("qmnist", "photo_tour")


def formats() -> list[Format]:
    """All of them."""
    return [*_records(), *_pixels(), *_image_sets(), *_text_sets()]


def _rows(dataset: Any) -> Any:
    found = [dataset.get_dataset_size(), dataset.get_col_names()]
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return plain([found, list(rows)])


# ---- record files -------------------------------------------------------------------------------


def _records() -> list[Format]:
    return [
        Format("MindRecord", "records", _write_mindrecord, _read_mindrecord),
        Format("MindRecord dataset", "records", _write_mindrecord, _read_mind_dataset),
        Format("MindRecord encrypted", "records", _write_sealed, _read_sealed, sealed=True),
        Format(
            "TFRecord", "records", _write_examples, _read_examples, sealed=True, by_rows=True
        ),
        Format(
            "TFRecord with right checksums", "records", _write_examples, _read_examples,
            reseal=_reframed,
        ),
        Format(
            "TFRecord dataset", "records", _write_examples, _read_tf_dataset, reseal=_reframed
        ),
        Format("TFRecord schema", "records", _write_schema, _read_with_schema),
    ]  # fmt: skip


def _write_mindrecord(folder: Path) -> None:
    writer = mindrecord.FileWriter(str(folder / "a.mindrecord"))
    writer.set_dense_pages()
    writer.add_schema(record_cases.SCHEMA)
    writer.add_index(["label", "name"])
    writer.write_raw_data(record_cases.record_rows(5))
    writer.commit()


def _read_mindrecord(folder: Path) -> Any:
    reader = mindrecord.FileReader(str(folder / "a.mindrecord"))
    try:
        return plain([reader.len(), reader.schema(), list(reader.get_next())])
    finally:
        reader.close()


def _read_mind_dataset(folder: Path) -> Any:
    return _rows(ds.MindDataset(str(folder / "a.mindrecord"), shuffle=False))


def _write_sealed(folder: Path) -> None:
    mindrecord.set_enc_key(_KEY)
    try:
        _write_mindrecord(folder)
    finally:
        mindrecord.set_enc_key(None)


def _read_sealed(folder: Path) -> Any:
    mindrecord.set_enc_key(_KEY)
    try:
        return _read_mindrecord(folder)
    finally:
        mindrecord.set_enc_key(None)


def _write_examples(folder: Path) -> None:
    record_cases.write_examples(folder / "a.tfrecord", record_cases.example_rows(5))


def _read_examples(folder: Path) -> Any:
    return plain(list(read_examples(folder / "a.tfrecord")))


def _read_tf_dataset(folder: Path) -> Any:
    return _rows(ds.TFRecordDataset(str(folder / "a.tfrecord"), shuffle=False))


def _write_schema(folder: Path) -> None:
    record_cases.write_files(mindrecord, folder)
    for file in folder.iterdir():
        if file.name not in ("a.tfrecord", "schema.json"):
            file.unlink()


def _read_with_schema(folder: Path) -> Any:
    schema = str(folder / "schema.json")
    return _rows(ds.TFRecordDataset(str(folder / "a.tfrecord"), schema, shuffle=False))


def _reframed(data: bytes) -> bytes:
    """The checksums of the lengths and the data of all records that are whole."""
    found, place = bytearray(), 0
    while place + 16 <= len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        length = min(length, len(data) - place - 16)
        head, content = struct.pack("<Q", length), data[place + 12 : place + 12 + length]
        found += head + struct.pack("<I", masked_crc32c(head))
        found += content + struct.pack("<I", masked_crc32c(content))
        place += 16 + length
    return bytes(found)


# ---- plain files --------------------------------------------------------------------------------


def _pixels() -> list[Format]:
    def format_(name: str, write: Callable[[Path], None], read: Callable[[Path], Any]) -> Format:
        return Format(name, "image sets", write, read)

    return [
        format_("MNIST", write_files, lambda f: _rows(ds.MnistDataset(str(f), shuffle=False))),
        format_(
            "CIFAR-10", _write_cifar, lambda f: _rows(ds.Cifar10Dataset(str(f), shuffle=False))
        ),
        format_(
            "CIFAR-100", _write_cifar, lambda f: _rows(ds.Cifar100Dataset(str(f), shuffle=False))
        ),
        Format("CSV", "text sets", _write_csv, _read_csv),
        Format("CSV without types", "text sets", _write_csv, _read_plain_csv),
        Format(
            "lines",
            "text sets",
            _write_csv,
            lambda f: _rows(ds.TextFileDataset(str(f / "a.csv"), shuffle=False)),
        ),
        Format(
            "NumPy arrays in IDX", "image sets", _write_fashion,
            lambda f: _rows(ds.FashionMnistDataset(str(f), "train", shuffle=False)),
        ),
    ]  # fmt: skip


def _write_fashion(folder: Path) -> None:
    write_idx(folder / "train-images-idx3-ubyte", np.ones((2, 28, 28), np.uint8))
    write_idx(folder / "train-labels-idx1-ubyte", np.arange(2, dtype=np.uint8))


def _write_cifar(folder: Path) -> None:
    rng = np.random.default_rng(2)
    for number in range(1, 6):
        rng.integers(0, 10, (2, 3073), np.uint8).tofile(folder / f"data_batch_{number}.bin")
    rng.integers(0, 10, (2, 3073), np.uint8).tofile(folder / "test_batch.bin")
    for name in ("train", "test"):
        rng.integers(0, 10, (2, 3074), np.uint8).tofile(folder / f"{name}.bin")


def _write_csv(folder: Path) -> None:
    (folder / "a.csv").write_text('a,b,c\n1,2.5,"x, y"\n-3,1e3,é\n4,0,"line\nbreak"\n')


def _read_csv(folder: Path) -> Any:
    defaults = [0, 0.0, ""]
    return _rows(ds.CSVDataset(str(folder / "a.csv"), column_defaults=defaults, shuffle=False))


def _read_plain_csv(folder: Path) -> Any:
    return _rows(ds.CSVDataset(str(folder / "a.csv"), shuffle=False))


# ---- known sets ---------------------------------------------------------------------------------


def _image_sets() -> list[Format]:
    found = []
    for case in image_source_cases.cases(ds, Path("nowhere")):
        name = case.partition("/")[0]
        is_left_out = name in _LARGE or "decrypted" in case
        if name in WRITERS and not is_left_out:
            read, write = partial(_read_images, case), partial(_write_images, name)
            listing = name in _LISTING
            found.append(Format(case, "image sets", write, read, lists_files=listing))
    return found


def _write_images(name: str, folder: Path) -> None:
    WRITERS[name](folder / name)


def _read_images(case: str, folder: Path) -> Any:
    return _rows(image_source_cases.cases(ds, folder)[case]())


def _text_sets() -> list[Format]:
    return [
        Format(name, "text sets", partial(_write_texts, name), partial(_read_texts, name))
        for name in text_source_cases.cases()
    ]


def _write_texts(name: str, folder: Path) -> None:
    """All sets, of which only the files that the case can read are left."""
    write_text_sets(folder)
    write_speech_sets(folder)
    wanted = _FOLDERS.get(name.split()[0], name.split()[0].lower())
    for other in folder.iterdir():
        if not other.name.startswith(wanted):
            for file in other.rglob("*"):
                if file.is_file():
                    file.unlink()


_FOLDERS = {
    "PennTreebank": "penn", "YelpReview": "yelp", "AmazonReview": "amazon", "CoNLL2000": "conll",
    "YahooAnswers": "yahoo", "SogouNews": "sogou", "SpeechCommands": "commands",
    "LibriTTS": "libri", "CMUArctic": "arctic", "Tedlium": "ted", "LJSpeech": "lj",
}  # fmt: skip


def _read_texts(name: str, folder: Path) -> Any:
    return _rows(text_source_cases.cases()[name](ds, str(folder)))
