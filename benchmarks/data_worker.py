"""One framework's side of data.py: a workload a line in, its rows a second as JSON out.

Each workload: 2 workers, batches of 32, one epoch, every batch as the framework hands it over.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
IMAGES, ROWS, WIDE = 3072, 60_000, 20_000
Epochs = dict[str, Callable[[], Iterable[Any]]]


def write(folder: Path) -> None:
    """The files all frameworks read."""
    import simplejpeg
    from sklearn.datasets import load_sample_images

    from mycelia.mindrecord import FileWriter

    random = np.random.default_rng(0)
    photos = load_sample_images().images  # two photographs of 427 x 640 pixels
    for number in range(IMAGES):
        photo = photos[number % 2]
        top, left = random.integers(427 - 375 + 1), random.integers(640 - 500 + 1)
        pixels = photo[top : top + 375, left : left + 500, :][:, :: random.choice((1, -1))]
        path = folder / "jpeg" / f"class{number % 10}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = simplejpeg.encode_jpeg(np.ascontiguousarray(pixels), 75, colorsubsampling="420")
        path.write_bytes(data)
    rows = [
        {
            "data": random.bytes(2000),
            "label": number % 10,
            "vector": random.random(16, dtype=np.float32),
        }
        for number in range(WIDE)
    ]
    writer = FileWriter(str(folder / "rows.mindrecord"), 1, overwrite=True)
    writer.add_schema(
        {
            "data": {"type": "bytes"},
            "label": {"type": "int64"},
            "vector": {"type": "float32", "shape": [16]},
        }
    )
    writer.write_raw_data(rows)
    writer.commit()
    (folder / "rows.tfrecord").write_bytes(b"".join(map(tf_record, rows)))


def tf_record(row: dict[str, Any]) -> bytes:
    """A row as TensorFlow's Example, in the frame of its record files."""
    features = {
        "data": field(1, field(1, row["data"])),
        "label": field(3, field(1, varint(row["label"]))),
        "vector": field(2, field(1, row["vector"].tobytes())),
    }
    entries = (field(1, field(1, k.encode()) + field(2, v)) for k, v in features.items())
    example = field(1, b"".join(entries))
    length = len(example).to_bytes(8, "little")
    return length + masked(length) + example + masked(example)


def field(number: int, data: bytes) -> bytes:
    """A field of bytes in a protocol buffer."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes((*made, value))


def masked(data: bytes) -> bytes:
    """The checksum as record files keep it."""
    from mycelia._engine.core.files.crc32c import crc32c

    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def arrays() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8).astype(np.float32)
    return images, random.integers(0, 10, ROWS).astype(np.int32)


def pipelines(ds: Any, vision: Any, folder: Path) -> Epochs:
    """The workloads in MindSpore's API."""
    images, labels = arrays()
    ds.config.set_num_parallel_workers(2)

    def jpeg() -> Any:
        rows = ds.ImageFolderDataset(str(folder / "jpeg"), num_parallel_workers=2, shuffle=True)
        steps = [
            vision.RandomCropDecodeResize(224),
            vision.RandomHorizontalFlip(),
            vision.Normalize(MEAN, STD),
            vision.HWC2CHW(),
        ]
        return rows.map(steps, ["image"], num_parallel_workers=2).batch(32)

    def sliced() -> Any:
        rows = ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False)
        return rows.shuffle(10_000).batch(32, num_parallel_workers=2)

    def records(shuffle: bool) -> Any:
        file = str(folder / "rows.mindrecord")
        return ds.MindDataset(file, num_parallel_workers=2, shuffle=shuffle).batch(32)

    def tfrecords() -> Any:
        file = str(folder / "rows.tfrecord")
        return ds.TFRecordDataset(file, num_parallel_workers=2, shuffle=False).batch(32)

    def epoch(make: Callable[[], Any]) -> Callable[[], Iterable[Any]]:
        return lambda: make().create_tuple_iterator(num_epochs=1)

    return {
        "jpeg": epoch(jpeg),
        "numpy": epoch(sliced),
        "mindrecord": epoch(lambda: records(False)),
        "mindrecord shuffled": epoch(lambda: records(True)),
        "tfrecord": epoch(tfrecords),
    }


def mindspore_epochs(folder: Path) -> Epochs:
    from mindspore import dataset

    return pipelines(dataset, dataset.vision, folder)


def mycelia_epochs(folder: Path) -> Epochs:
    from mycelia import dataset

    return pipelines(dataset, dataset.vision, folder)


def crop(height: int, width: int, random: np.random.Generator) -> tuple[slice, slice]:
    """A part of 8 to 100 % of the area, of a ratio from 3/4 to 4/3."""
    for _ in range(10):
        area = random.uniform(0.08, 1) * height * width
        ratio = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            top, left = random.integers(height - h + 1), random.integers(width - w + 1)
            return slice(top, top + h), slice(left, left + w)
    return slice(0, height), slice(0, width)


def augmented(path: Path, random: np.random.Generator) -> tuple[np.ndarray, int]:
    """What MindSpore's transforms do, by the fastest libraries there are for Python."""
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)
    image = simplejpeg.decode_jpeg(path.read_bytes())
    image = cv2.resize(image[crop(*image.shape[:2], random)], (224, 224))
    if random.random() < 0.5:
        image = cv2.flip(image, 1)
    planes = np.stack(cv2.split(image)).astype(np.float32)
    planes -= np.array(MEAN, np.float32)[:, None, None]
    planes /= np.array(STD, np.float32)[:, None, None]
    return planes, int(path.parent.name[5:])


def grain_epochs(folder: Path) -> Epochs:
    import grain.python as grain

    images, labels = arrays()
    files = sorted((folder / "jpeg").rglob("*.jpg"))

    class Augment(grain.RandomMapTransform):
        def random_map(self, path: Path, rng: np.random.Generator) -> Any:
            return augmented(path, rng)

    options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)

    def jpeg() -> Any:
        rows = grain.MapDataset.source(files).seed(0).shuffle().random_map(Augment())
        return iter(rows.to_iter_dataset(options).batch(32))

    def sliced() -> Any:
        rows = grain.MapDataset.range(len(images)).seed(0).shuffle()
        rows = rows.map(lambda i: (images[i], labels[i]))
        return iter(rows.to_iter_dataset(options).batch(32))

    return {"jpeg": jpeg, "numpy": sliced}


def torch_epochs(folder: Path) -> Epochs:
    import torch

    images, labels = arrays()
    files = sorted((folder / "jpeg").rglob("*.jpg"))

    class Files(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(files)

        def __getitem__(self, place: int) -> Any:
            return augmented(files[place], np.random.default_rng())

    def loader(rows: Any, workers: int) -> Any:
        return torch.utils.data.DataLoader(rows, 32, shuffle=True, num_workers=workers)

    sliced = torch.utils.data.TensorDataset(torch.tensor(images), torch.tensor(labels))
    return {"jpeg": lambda: loader(Files(), 2), "numpy": lambda: loader(sliced, 0)}


def rows_a_second(epoch: Callable[[], Iterable[Any]]) -> float:
    """One epoch; what starts it counts, too."""
    began = time.perf_counter()
    rows = sum(len(batch[0]) for batch in epoch())
    return rows / (time.perf_counter() - began)


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    if name == "write":
        write(folder)
        return
    epochs: Epochs = globals()[f"{name}_epochs"](folder)
    for line in sys.stdin:
        print(json.dumps({"rows": rows_a_second(epochs[line.strip()])}), flush=True)


if __name__ == "__main__":
    main()
