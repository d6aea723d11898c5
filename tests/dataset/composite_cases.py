"""Calls of composite image transforms, for MindSpore's goldens and for our tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PHOTO = (np.arange(20 * 30 * 3) * 53 % 253).astype(np.uint8).reshape(20, 30, 3)
BOXES = np.array([[2, 3, 10, 8, 1], [15, 10, 10, 8, 2]], np.float32)
FRACTIONS = np.array([[2.7, 3.6, 10.5, 8.5]], np.float32)
BATCH = np.stack([np.full((6, 8, 3), place * 50 + 10, np.uint8) for place in range(4)])
ONE_HOT = np.eye(4, dtype=np.float32)
SMALL = (np.random.RandomState(0).randint(0, 200, (12, 16, 3)) + 21).astype(np.uint8)


def cases(vision: Any) -> dict[str, Callable[[], Any]]:
    """Name -> call without chance in it."""
    inter = vision.Inter

    def on(step: Any, boxes: np.ndarray = BOXES) -> Callable[[], Any]:
        return lambda: step(PHOTO.copy(), boxes.copy())  # MindSpore writes into the boxes

    return {
        "flip_boxes": on(vision.RandomHorizontalFlipWithBBox(1.0)),
        "flip_never": on(vision.RandomHorizontalFlipWithBBox(0.0)),
        "flip_four": on(vision.RandomHorizontalFlipWithBBox(1.0), FRACTIONS),
        "flip_down": on(vision.RandomVerticalFlipWithBBox(1.0)),
        "resize": on(vision.ResizeWithBBox((10, 10))),
        "resize_side": on(vision.ResizeWithBBox(10)),
        "resize_nearest": on(vision.ResizeWithBBox((33, 77), inter.NEAREST)),
        "crop_whole": on(vision.RandomCropWithBBox((20, 30))),
        "crop_border": on(vision.RandomCropWithBBox((24, 36), [2, 1, 4, 3], fill_value=7)),
        "crop_needed": on(vision.RandomCropWithBBox((20, 30), pad_if_needed=True)),
        "resized_crop": on(vision.RandomResizedCropWithBBox((8, 9), (1.0, 1.0), (1.5, 1.5))),
        "augment_rescale": on(vision.BoundingBoxAugment(vision.Rescale(2.5, 1.3), 1.0)),
        "augment_resize": on(vision.BoundingBoxAugment(vision.Resize((3, 4)), 1.0)),
        "augment_fractions": on(vision.BoundingBoxAugment(vision.Invert(), 1.0), FRACTIONS),
        "augment_never": on(vision.BoundingBoxAugment(vision.Invert(), 0.0)),
        "subpolicy": lambda: vision.RandomSelectSubpolicy(
            [[(vision.HorizontalFlip(), 1.0), (vision.Invert(), 0.0), (vision.Rescale(2.0, 0), 1)]]
        )(PHOTO),
        "mix_one": lambda: vision.MixUpBatch(2.0)(BATCH[:1], ONE_HOT[:1].astype(np.int32)),
        "cut_never": lambda: vision.CutMixBatch(vision.ImageBatchFormat.NHWC, 1.0, 0.0)(
            BATCH, ONE_HOT.astype(np.int64)
        ),
        "jpeg": lambda: vision.encode_jpeg(PHOTO),
        "jpeg_gray": lambda: vision.encode_jpeg(PHOTO[..., :1].copy(), 30),
    }


def augments(vision: Any) -> dict[str, Any]:
    """Name -> a transform of few possible results."""
    policy = vision.AutoAugmentPolicy
    return {
        "rand_9": vision.RandAugment(1, 9),
        "rand_most": vision.RandAugment(1, 4, 5),
        "rand_filled": vision.RandAugment(1, 2, 4, vision.Inter.BILINEAR, 60),
        "trivial": vision.TrivialAugmentWide(2),
        "trivial_three": vision.TrivialAugmentWide(3, fill_value=9),
        "imagenet": vision.AutoAugment(),
        "cifar10": vision.AutoAugment(policy.CIFAR10),
        "svhn": vision.AutoAugment(policy.SVHN, fill_value=50),
    }


def drawings() -> dict[str, dict[str, Any]]:
    """Name -> arguments of imshow_det_bbox; without names, as fonts differ between versions."""
    image = np.full((60, 80, 3), 40, np.uint8)
    boxes = np.array([[5, 20, 40, 30], [30.6, 10.6, 30.9, 40.6]], np.float32)
    scored = np.concatenate([boxes, np.array([[0.9], [0.3]], np.float32)], axis=1)
    masks = np.zeros((2, 60, 80), bool)
    masks[0, 25:40, 10:35] = True
    masks[1, 15:30, 25:60] = True
    plain = {"image": image, "labels": np.array([[0], [1]]), "class_names": ["", ""], "show": False}
    return {
        "boxes": {**plain, "bboxes": boxes},
        "masks": {**plain, "bboxes": boxes, "segm": masks, "mask_color": (10, 250, 90)},
        "thin": {**plain, "bboxes": boxes, "thickness": 1, "bbox_color": (1, 2, 3)},
        "first": {
            **plain,
            "bboxes": scored,
            "score_threshold": 0.5,
            "font_size": 0,
            "text_color": (0, 255, 0),  # dots of a score on the green box
        },
        "channels_first": {**plain, "bboxes": boxes, "image": image.transpose(2, 0, 1).copy()},
    }
