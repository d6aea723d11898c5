"""Small folders of images with annotations, in the layouts of the known sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.dataset.image_set_writing import grey_png, lines, png, put


def _voc_object(name: str, box: tuple[int, ...], marks: dict[str, int]) -> str:
    told = "".join(f"<{key}>{value}</{key}>" for key, value in marks.items())
    sides = "".join(f"<{k}>{v}</{k}>" for k, v in zip(("xmin", "ymin", "xmax", "ymax"), box))
    return f"<object><name>{name}</name><pose>Left</pose>{told}<bndbox>{sides}</bndbox></object>"


def write_voc(folder: Path) -> None:
    for number, name in enumerate(("000", "001", "002")):
        put(folder / "JPEGImages" / f"{name}.jpg", png(number))
        put(folder / "SegmentationClass" / f"{name}.png", grey_png(number))
    marks = {"truncated": 1, "difficult": 0, "occluded": 1}
    objects = {
        "000": [
            _voc_object("dog", (1, 2, 5, 8), marks),
            _voc_object("cat", (2, 2, 4, 4), {"difficult": 1}),
        ],
        "001": [_voc_object("cat", (10, 20, 50, 80), {"truncated": 0, "difficult": 0})],
        "002": [_voc_object("bird", (1, 1, 2, 3), {"difficult": 0})],
    }
    for name, told in objects.items():
        text = f"<annotation><filename>{name}.jpg</filename>{''.join(told)}</annotation>"
        put(folder / "Annotations" / f"{name}.xml", text)
    for task in ("Segmentation", "Main"):
        put(folder / "ImageSets" / task / "train.txt", lines(("001", "000")))
        put(folder / "ImageSets" / task / "val.txt", "002\n")


def write_coco(folder: Path) -> None:
    for number in range(4):
        put(folder / "images" / f"{number:06d}.jpg", png(number, 4 + number))
    images = [
        {"id": 10 + n, "file_name": f"{n:06d}.jpg", "height": 4 + n, "width": 4} for n in range(4)
    ]
    categories = [{"id": 7, "name": "cat"}, {"id": 1, "name": "person"}, {"id": 3, "name": "dog"}]
    boxes = [
        {
            "id": 1,
            "image_id": 11,
            "category_id": 1,
            "bbox": [1, 2, 3.5, 4],
            "area": 5.5,
            "iscrowd": 0,
            "segmentation": [[1, 2, 3, 4, 5, 6.5], [9, 8, 7, 6, 5, 4]],
        },
        {
            "id": 2,
            "image_id": 10,
            "category_id": 7,
            "bbox": [0, 0, 2, 2],
            "area": 4,
            "iscrowd": 1,
            "segmentation": {"counts": [3, 2, 5, 1], "size": [4, 4]},
        },
        {
            "id": 3,
            "image_id": 11,
            "category_id": 3,
            "bbox": [5, 6, 7, 8.25],
            "area": 2,
            "iscrowd": 0,
            "segmentation": [[1, 1, 2, 2, 3, 3]],
        },
        {
            "id": 4,
            "image_id": 13,
            "category_id": 3,
            "bbox": [5, 6, 7, 8],
            "area": 2,
            "iscrowd": 0,
            "segmentation": [[1, 1, 2, 2, 3, 3, 4, 4]],
        },
    ]
    put(
        folder / "instances.json",
        json.dumps({"images": images, "annotations": boxes, "categories": categories}),
    )
    points = [
        {
            "id": 1,
            "image_id": 11,
            "category_id": 1,
            "bbox": [1, 2, 3, 4],
            "iscrowd": 0,
            "keypoints": [1, 2, 2, 3, 4, 1],
            "num_keypoints": 2,
        },
        {
            "id": 2,
            "image_id": 11,
            "category_id": 1,
            "bbox": [1, 2, 3, 4],
            "iscrowd": 0,
            "keypoints": [0, 0, 0, 3, 4.5, 1],
            "num_keypoints": 1,
        },
        {
            "id": 3,
            "image_id": 12,
            "category_id": 1,
            "bbox": [1, 2, 3, 4],
            "iscrowd": 0,
            "keypoints": [5, 5, 2, 6, 6, 2],
            "num_keypoints": 2,
        },
    ]
    put(
        folder / "keypoints.json",
        json.dumps(
            {
                "images": images,
                "annotations": points,
                "categories": [
                    {"id": 1, "name": "person", "keypoints": ["a", "b"], "skeleton": [[1, 2]]}
                ],
            }
        ),
    )
    segments = [
        {
            "image_id": 12,
            "file_name": "000002.png",
            "segments_info": [
                {"id": 5, "category_id": 7, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0},
                {"id": 6, "category_id": 1, "bbox": [2, 2, 2, 2], "area": 4, "iscrowd": 1},
            ],
        },
        {
            "image_id": 10,
            "file_name": "000000.png",
            "segments_info": [
                {"id": 7, "category_id": 3, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0}
            ],
        },
    ]
    marked = [
        {**category, "isthing": number % 2, "supercategory": "x"}
        for number, category in enumerate(categories)
    ]
    put(
        folder / "panoptic.json",
        json.dumps({"images": images, "annotations": segments, "categories": marked}),
    )
    captions = [
        {"id": 1, "image_id": 12, "caption": "a cat sits"},
        {"id": 2, "image_id": 10, "caption": "two dogs ä"},
        {"id": 3, "image_id": 12, "caption": "the cat"},
    ]
    put(folder / "captions.json", json.dumps({"images": images, "annotations": captions}))


def write_celeba(folder: Path) -> None:
    names = [f"{n:06d}.jpg" for n in range(1, 5)]
    for number, name in enumerate(names):
        put(folder / name, png(number))
    attributes = [f"A{n}" for n in range(40)]
    draw = np.random.default_rng(1)
    told = [f"{name}  " + " ".join(f"{s:>2}" for s in draw.choice((-1, 1), 40)) for name in names]
    put(folder / "list_attr_celeba.txt", lines(["4", " ".join(attributes) + " ", *told]))
    put(
        folder / "list_eval_partition.txt",
        lines(f"{name} {part}" for name, part in zip(names, (0, 1, 0, 2))),
    )


def write_manifest(folder: Path) -> None:
    told = []
    for number, (usage, label) in enumerate(
        (
            ("TRAIN", "dog"),
            ("train", "cat"),
            ("EVAL", "dog"),
            ("INFERENCE", None),
            ("TRAIN", "bird"),
        )
    ):
        put(folder / f"{number}.jpg", png(number))
        entry: dict[str, Any] = {"source": str(folder / f"{number}.jpg"), "usage": usage}
        if label is not None:
            entry["annotation"] = [{"type": "modelarts/image_classification", "name": label}]
        told.append(json.dumps(entry))
    put(folder / "all.manifest", lines(told))


def write_cityscapes(folder: Path) -> None:
    places = (
        ("train", "aachen", 2),
        ("train", "bonn", 1),
        ("val", "ulm", 1),
        ("test", "kiel", 1),
        ("train_extra", "mainz", 1),
    )
    seed = 0
    for part, city, count in places:
        for number in range(count):
            seed += 1
            stem = f"{city}_{number:06d}_000019"
            put(folder / "leftImg8bit" / part / city / f"{stem}_leftImg8bit.png", png(seed))
            for quality in ("gtFine", "gtCoarse"):
                if part == {"gtFine": "train_extra", "gtCoarse": "test"}[quality]:
                    continue
                start = folder / quality / part / city
                for kind in ("instanceIds", "labelIds"):
                    put(start / f"{stem}_{quality}_{kind}.png", grey_png(seed))
                put(start / f"{stem}_{quality}_color.png", png(seed + 50))
                put(start / f"{stem}_{quality}_polygons.json", json.dumps({"imgHeight": seed}))


def write_flickr(folder: Path) -> None:
    for number in range(3):
        put(folder / "images" / f"{number}.jpg", png(number))
    told = [f"{n}.jpg#{c}\tcaption {c} of {n} , ä ." for n in (2, 0, 1) for c in range(5)]
    put(folder / "captions.token", lines(told))
