"""Calls of transforms without chance in them, for MindSpore's goldens and for our tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

IMAGE = (np.arange(5 * 7 * 3) * 37 % 251).astype(np.uint8).reshape(5, 7, 3)
LARGE = (np.arange(24 * 18 * 3) * 53 % 253).astype(np.uint8).reshape(24, 18, 3)
GRAY = np.ascontiguousarray(IMAGE[..., 0])
FLOATS = IMAGE.astype(np.float32) / 7


def cases(vision: Any, transforms: Any, ms: Any) -> dict[str, Callable[[], Any]]:
    """Name -> call."""
    inter, border, relational = vision.Inter, vision.Border, transforms.Relational
    return {
        "resize": lambda: vision.Resize((3, 4))(IMAGE),
        "resize_larger": lambda: vision.Resize((11, 9))(IMAGE),
        "resize_side": lambda: vision.Resize(3)(IMAGE),
        "resize_tall": lambda: vision.Resize(10)(LARGE),
        "resize_gray": lambda: vision.Resize((3, 4))(GRAY),
        "resize_float": lambda: vision.Resize((3, 4))(FLOATS),
        "resize_nearest": lambda: vision.Resize((3, 4), inter.NEAREST)(IMAGE),
        "resize_cubic": lambda: vision.Resize((8, 9), inter.BICUBIC)(IMAGE),
        "resize_area": lambda: vision.Resize((3, 4), inter.AREA)(IMAGE),
        "rescale": lambda: vision.Rescale(1.0 / 255.0, 0.5)(IMAGE),
        "normalize": lambda: vision.Normalize([120.0, 110.0, 100.0], [50.0, 60.0, 70.0])(IMAGE),
        "normalize_chw": lambda: vision.Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], is_hwc=False)(
            np.ascontiguousarray(IMAGE.transpose(2, 0, 1))
        ),
        "hwc2chw": lambda: vision.HWC2CHW()(IMAGE),
        "center_crop": lambda: vision.CenterCrop((3, 4))(IMAGE),
        "center_crop_larger": lambda: vision.CenterCrop(9)(IMAGE),
        "crop": lambda: vision.Crop((1, 2), (3, 4))(IMAGE),
        "to_tensor": lambda: vision.ToTensor()(IMAGE),
        "to_tensor_gray": lambda: vision.ToTensor()(GRAY),
        "pad": lambda: vision.Pad([1, 2], 7)(IMAGE),
        "pad_sides": lambda: vision.Pad([1, 2, 3, 0], (1, 2, 3))(IMAGE),
        "pad_edge": lambda: vision.Pad(2, padding_mode=border.EDGE)(IMAGE),
        "pad_reflect": lambda: vision.Pad(2, padding_mode=border.REFLECT)(IMAGE),
        "pad_symmetric": lambda: vision.Pad(2, padding_mode=border.SYMMETRIC)(IMAGE),
        "horizontal_flip": lambda: vision.HorizontalFlip()(IMAGE),
        "vertical_flip": lambda: vision.VerticalFlip()(IMAGE),
        "random_horizontal_flip": lambda: vision.RandomHorizontalFlip(1.0)(IMAGE),
        "random_vertical_flip": lambda: vision.RandomVerticalFlip(1.0)(IMAGE),
        "random_rotation": lambda: vision.RandomRotation((90, 90), expand=True)(IMAGE),
        "brightness": lambda: vision.RandomColorAdjust(brightness=(0.5, 0.5))(IMAGE),
        "contrast": lambda: vision.RandomColorAdjust(contrast=(0.5, 0.5))(IMAGE),
        "saturation": lambda: vision.RandomColorAdjust(saturation=(0.5, 0.5))(IMAGE),
        "hue": lambda: vision.RandomColorAdjust(hue=(0.2, 0.2))(IMAGE),
        "invert": lambda: vision.Invert()(IMAGE),
        "equalize": lambda: vision.Equalize()(LARGE),
        "one_hot": lambda: transforms.OneHot(4)(np.array(2, np.uint32)),
        "one_hot_rows": lambda: transforms.OneHot(4)(np.array([2, 1], np.int32)),
        "one_hot_smooth": lambda: transforms.OneHot(4, 0.1)(np.array(2, np.int32)),
        "type_cast": lambda: transforms.TypeCast(ms.float16)(np.array([1, 2])),
        "type_cast_down": lambda: transforms.TypeCast(np.int32)(np.array([1.7, -2.2])),
        "fill": lambda: transforms.Fill(3)(np.array([1.5, 2], np.float32)),
        "mask": lambda: transforms.Mask(relational.EQ, 3)(np.array([1, 3])),
        "mask_type": lambda: transforms.Mask(relational.GE, 3, ms.float32)(np.array([1, 3, 5])),
        "mask_less": lambda: transforms.Mask(relational.LT, 3)(np.array([1, 3, 5])),
        "pad_end": lambda: transforms.PadEnd([3], 5)(np.array([1, 3])),
        "pad_end_shorter": lambda: transforms.PadEnd([1])(np.array([1, 3])),
        "pad_end_matrix": lambda: transforms.PadEnd([2, 3])(np.array([[1.5, 3]])),
        "concatenate": lambda: transforms.Concatenate(0, np.array([1]), np.array([5]))(
            np.array([1, 3])
        ),
        "slice": lambda: transforms.Slice(slice(1, 3))(np.arange(5)),
        "slice_list": lambda: transforms.Slice([0, 2])(np.arange(5)),
        "slice_int": lambda: transforms.Slice(1)(np.arange(5)),
        "slice_none": lambda: transforms.Slice(None)(np.arange(5)),
        "slice_last": lambda: transforms.Slice(..., slice(0, 1))(np.arange(6).reshape(2, 3)),
        "duplicate": lambda: np.stack(transforms.Duplicate()(np.array([1, 3]))),
        "compose": lambda: transforms.Compose(
            [vision.Resize((4, 4), inter.NEAREST), vision.Rescale(0.5, 1.0), vision.HWC2CHW()]
        )(IMAGE),
    }
