"""Calls of transforms of single images, for MindSpore's goldens and for our tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

_DOWN, _ACROSS = np.mgrid[0:12, 0:15]
_SMOOTH = np.stack(
    [128 + 100 * np.sin(_DOWN / 3 + _ACROSS / 4), _ACROSS * 17.0, _DOWN * 19.0 + _ACROSS], axis=-1
)
_GRAIN = np.arange(12 * 15 * 3).reshape(12, 15, 3) * 37 % 23 - 11
IMAGE = np.clip(_SMOOTH + _GRAIN, 0, 255).astype(np.uint8)
GRAY = np.ascontiguousarray(IMAGE[..., 0])
FLOATS = IMAGE.astype(np.float32) / 255
WIDE = IMAGE.astype(np.uint16)
FOUR = np.concatenate([IMAGE, 255 - IMAGE[..., :1]], axis=-1)
PICTURE = Image.fromarray(IMAGE)
GRAY_PICTURE = Image.fromarray(GRAY)
STACK = np.stack([IMAGE, IMAGE[::-1]])
_START = [[0, 0], [14, 0], [14, 11], [0, 11]]
_END = [[2, 1], [12, 2], [13, 10], [1, 9]]

Cases = dict[str, Callable[[], Any]]


def sizes(v: Any) -> Cases:
    """Resize, in all interpolations, of arrays and Pillow's images."""
    made: Cases = {}
    for inter in v.Inter:
        for size in ((5, 7), (6, 15), (17, 19), 9):
            if inter != v.Inter.ANTIALIAS:
                name = f"resize {inter.name} {size}"
                made[name] = lambda i=inter, s=size: v.Resize(s, i)(IMAGE)
            if inter not in (v.Inter.AREA, v.Inter.PILCUBIC):
                name = f"resize Pillow {inter.name} {size}"
                made[name] = lambda i=inter, s=size: v.Resize(s, i)(PICTURE)
    for inter in (v.Inter.BILINEAR, v.Inter.BICUBIC, v.Inter.AREA):
        made[f"resize floats {inter.name}"] = lambda i=inter: v.Resize((8, 9), i)(FLOATS)
        made[f"resize gray {inter.name}"] = lambda i=inter: v.Resize((8, 9), i)(GRAY)
    made |= {
        "resize stack": lambda: v.Resize((8, 9))(STACK),
        "resize one channel": lambda: v.Resize((8, 9))(GRAY[..., None]),
        "resize uint16": lambda: v.Resize((8, 9))(WIDE),
        "center crop stack": lambda: v.CenterCrop((8, 9))(STACK),
        "center crop odd": lambda: v.CenterCrop((8, 10))(IMAGE),
        "center crop odd Pillow": lambda: v.CenterCrop((7, 12))(PICTURE),
        "center crop larger Pillow": lambda: v.CenterCrop((15, 12))(PICTURE),
        "horizontal flip stack": lambda: v.HorizontalFlip()(STACK),
        "resized crop": lambda: v.ResizedCrop(2, 3, 9, 10, (5, 7))(IMAGE),
        "resized crop area": lambda: v.ResizedCrop(2, 3, 9, 10, 6, v.Inter.AREA)(PICTURE),
        "pad to size": lambda: v.PadToSize((17, 20), None, 7)(IMAGE),
        "pad to size at": lambda: v.PadToSize((17, 20), (3, 4), (1, 2, 3))(PICTURE),
        "pad to size gray": lambda: v.PadToSize(21, 2, (1, 2, 3))(GRAY),
        "pad to size mirrored": lambda: v.PadToSize(21, [], 0, v.Border.REFLECT)(IMAGE),
    }
    return made


def turns(v: Any) -> Cases:
    """Turned, sheared and tilted images."""
    inter = v.Inter
    made: Cases = {}
    images = {"": IMAGE, "gray ": GRAY, "floats ": FLOATS, "four ": FOUR, "Pillow ": PICTURE}
    for kind, image in images.items():
        for name, call in {
            "affine": v.Affine(15, [0.1, -0.1], 1.1, [5, 5], fill_value=(9, 8, 7)),
            "affine linear": v.Affine(-20.0, (0.2, 0.1), 0.8, 7, inter.BILINEAR, (9, 8, 7)),
            "rotate": v.Rotate(30, fill_value=(9, 8, 7)),
            "rotate linear": v.Rotate(-200, inter.BILINEAR, True, None, 6),
            "rotate cubic": v.Rotate(20.5, inter.BICUBIC, False, (5, 7.5), (9, 8, 7)),
            "rotate centre": v.Rotate(65, inter.AREA, True, (5, 7)),
            "perspective": v.Perspective(_START, _END),
            "perspective nearest": v.Perspective(_START, _END, inter.NEAREST),
            "perspective cubic": v.Perspective(_START, _END, inter.BICUBIC),
            "random affine turned": v.RandomAffine((25, 25), scale=(1.2, 1.2)),
            "random affine sheared": v.RandomAffine((10, 10), shear=(9, 9, -4, -4)),
            "random affine leaning": v.RandomAffine((-10, -10), shear=(12, 12), fill_value=4),
            "random affine linear": v.RandomAffine((5, 5), resample=inter.BILINEAR),
            "random affine cubic": v.RandomAffine((45, 45), resample=inter.BICUBIC),
        }.items():
            made[f"{kind}{name}"] = lambda c=call, i=image: c(i)
        if kind != "Pillow ":
            shifted = v.RandomAffine((3, 3), (0.1, 0.1, -0.2, -0.2), fill_value=(1, 2, 3))
            made[f"{kind}random affine shifted"] = lambda c=shifted, i=image: c(i)
        for name, call in {
            "random rotation": v.RandomRotation((40, 40), fill_value=(9, 8, 7)),
            "random rotation linear": v.RandomRotation((-40, -40), inter.BILINEAR, True),
            "random rotation cubic": v.RandomRotation(
                (33, 33), inter.BICUBIC, center=(3, 4), fill_value=5
            ),
        }.items():
            made[f"{kind}{name}"] = lambda c=call, i=image: c(i)
    made["rotate stack"] = lambda: v.Rotate(30)(STACK)
    made["perspective of nothing"] = lambda: v.RandomPerspective(0.0, 1.0)(PICTURE)
    return made


def colours(v: Any) -> Cases:
    """Images with other shades and colours."""
    made: Cases = {}
    everything = {"": IMAGE, "Pillow ": PICTURE, "gray Pillow ": GRAY_PICTURE}
    grays = {"gray ": GRAY, "one channel ": GRAY[..., None]}
    for kind, image in {**everything, **grays, "floats ": FLOATS, "uint16 ": WIDE}.items():
        for name, call in {
            "brighter": v.AdjustBrightness(1.5),
            "darker": v.AdjustBrightness(0.3),
            "gamma": v.AdjustGamma(1.5, 1.2),
            "gamma below 1": v.AdjustGamma(0.4),
            "sharper": v.AdjustSharpness(2.5),
            "smoother": v.AdjustSharpness(0.3),
            "random sharpness": v.RandomSharpness((1.7, 1.7)),
            "random adjust sharpness": v.RandomAdjustSharpness(0.5, 1.0),
            "solarize": v.Solarize(100),
            "solarize between": v.Solarize((60.5, 120)),
            "random solarize": v.RandomSolarize((100, 100)),
            "blur": v.GaussianBlur(3),
            "blur sides": v.GaussianBlur((3, 7)),
            "blur sigmas": v.GaussianBlur([5, 7], (1.5, 0.8)),
        }.items():
            if kind != "uint16 " or "gamma" not in name:
                made[f"{kind}{name}"] = lambda c=call, i=image: c(i)
    for kind, image in {**everything, **grays}.items():
        for name, call in {
            "auto contrast": v.AutoContrast(),
            "auto contrast cut": v.AutoContrast(5.0, 0),
            "auto contrast far": v.AutoContrast(30, [100, 120]),
            "equalize": v.Equalize(),
            "random equalize": v.RandomEqualize(1.0),
            "posterize": v.Posterize(3),
            "random posterize": v.RandomPosterize((5, 5)),
        }.items():
            made[f"{kind}{name}"] = lambda c=call, i=image: c(i)
    for kind, image in {**everything, "floats ": FLOATS}.items():
        if kind == "gray Pillow ":
            continue
        for name, call in {
            "more contrast": v.AdjustContrast(1.6),
            "less contrast": v.AdjustContrast(0.3),
            "more colour": v.AdjustSaturation(1.5),
            "less colour": v.AdjustSaturation(0.3),
            "random colour": v.RandomColor((0.5, 0.5)),
            "random invert": v.RandomInvert(1.0),
        }.items():
            made[f"{kind}{name}"] = lambda c=call, i=image: c(i)
        for turn in () if kind == "floats " else (0.2, -0.3, 0.5):
            made[f"{kind}hue {turn}"] = lambda t=turn, i=image: v.AdjustHue(t)(i)
    made |= {
        "no auto contrast": lambda: v.AutoContrast()(np.full((3, 4, 3), 9, np.uint8)),
        "random auto contrast": lambda: v.RandomAutoContrast(5.0, None, 1.0)(IMAGE),
        "random hue adjust": lambda: v.RandomColorAdjust(hue=(0.2, 0.2))(IMAGE),
        "random hue adjust Pillow": lambda: v.RandomColorAdjust(hue=(-0.2, -0.2))(PICTURE),
        "random grayscale": lambda: v.RandomGrayscale(1.0)(PICTURE),
        "random grayscale of gray": lambda: v.RandomGrayscale(1.0)(GRAY_PICTURE),
        "no lighting": lambda: v.RandomLighting(0.0)(IMAGE),
        "no lighting gray Pillow": lambda: v.RandomLighting(0.0)(GRAY_PICTURE),
    }
    return made


def values(v: Any) -> Cases:
    """Normalised, converted and erased images, and their parts."""
    mode, slices = v.ConvertMode, v.SliceMode
    moments = [120.0, 110.0, 100.0], [50.0, 60.0, 70.0]
    first = np.ascontiguousarray(FLOATS.transpose(2, 0, 1))
    square = np.sin(np.arange(144.0)).reshape(12, 12)
    made: Cases = {
        "normalize pad first": lambda: v.NormalizePad(*moments, is_hwc=False)(first),
        "hsv": lambda: v.RgbToHsv()(first),
        "hsv of bytes": lambda: v.RgbToHsv(True)(IMAGE),
        "hsv of gray": lambda: v.RgbToHsv(True)(np.array([[[0, 0, 0], [7, 7, 7]]], np.uint8)),
        "hsv of a stack": lambda: v.RgbToHsv(True)(STACK),
        "rgb": lambda: v.HsvToRgb()(first),
        "rgb of a stack": lambda: v.HsvToRgb(True)(STACK / 255.0),
        "linear": lambda: v.LinearTransformation(square, np.arange(12.0))(IMAGE[:2, :2]),
        "to type": lambda: v.ToType(np.float32)(IMAGE),
        "to type Pillow": lambda: v.ToType("int32")(PICTURE),
        "erase": lambda: v.Erase(3, 4, 5, 6, (1, 2, 3.5))(IMAGE),
        "erase Pillow": lambda: v.Erase(9, 4, 6, 15)(PICTURE),
        "erase floats": lambda: v.Erase(0, 0, 12, 6, 0.5)(FLOATS),
        "five crops": lambda: np.stack(v.FiveCrop((7, 10))(PICTURE)),
        "ten crops": lambda: np.stack(v.TenCrop(6)(PICTURE)),
        "ten crops vertical": lambda: np.stack(v.TenCrop((6, 9), True)(GRAY_PICTURE)),
        "patches": lambda: np.stack(v.SlicePatches(5, 4, fill_value=9)(IMAGE)),
        "patches dropped": lambda: np.stack(v.SlicePatches(5, 4, slices.DROP)(IMAGE)),
        "patches Pillow": lambda: np.stack(v.SlicePatches(2, 2)(PICTURE)),
        "one patch": lambda: v.SlicePatches()(GRAY),
    }
    for name, choice in mode.__members__.items():
        image = GRAY if "_GRAY2" in name else FOUR if "A2" in name else IMAGE
        made[name] = lambda c=choice, i=image: v.ConvertColor(c)(i)
    made["convert floats"] = lambda: v.ConvertColor(mode.COLOR_RGB2GRAY)(FLOATS)
    made["convert Pillow"] = lambda: v.ConvertColor(mode.COLOR_RGB2BGR)(PICTURE)
    return made


def cases(v: Any) -> Cases:
    """Name -> call."""
    return {**sizes(v), **turns(v), **colours(v), **values(v)}
