"""Stores what MindSpore's transforms give and the JSON of its pipelines.

Run with a Python that has mindspore 2.10: `python tests/dataset/make_goldens.py`.
It writes goldens.npz and mindspore_trees.json.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from transform_cases import cases
from written_files import write_files

FILE = Path(__file__).with_name("goldens.npz")


def trees(folder: Path) -> dict[str, Any]:
    """Name -> the tree of a pipeline over the files in `folder`."""
    vision, transforms = ds.vision, ds.transforms
    lines = ds.TextFileDataset(str(folder / "lines.txt"), shuffle=False)
    digits = ds.MnistDataset(str(folder), "train", shuffle=False)
    steps = [vision.Resize((8, 8)), vision.Rescale(1 / 255.0, 0.0), vision.HWC2CHW()]
    mapped = digits.map(steps, ["image"]).map(transforms.TypeCast(ms.int32), ["label"])
    shard = ds.MnistDataset(str(folder), "train", sampler=ds.DistributedSampler(2, 1, False))
    cut = shard.map(
        [vision.RandomCrop(4, padding=[1, 1, 1, 1]), vision.RandomHorizontalFlip()], ["image"]
    )
    made = {
        "lines": lines.skip(1).batch(2),
        "digits": mapped.shuffle(4).batch(2, drop_remainder=True).repeat(2),
        "both": ds.zip(
            (
                ds.TextFileDataset(str(folder / "lines.txt"), shuffle=False),
                cut.project(["image", "label"]).rename("image", "x").take(2),
            )
        ),
    }
    return {name: ds.serialize(dataset) for name, dataset in made.items()}


def main() -> None:
    made = {name: np.asarray(call()) for name, call in cases(ds.vision, ds.transforms, ms).items()}
    rows = ds.NumpySlicesDataset([[[3, 1, 3, 2]]], ["x"]).map(
        ds.transforms.Unique(), ["x"], list("abc")
    )
    for name, part in next(rows.create_dict_iterator(num_epochs=1, output_numpy=True)).items():
        made[f"unique_{name}"] = part
    np.savez_compressed(FILE, **made)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        text = json.dumps(trees(Path(folder)), indent=1).replace(folder, "@")
    FILE.with_name("mindspore_trees.json").write_text(text)
    print(f"{len(made)} arrays in {FILE}")


if __name__ == "__main__":
    main()
