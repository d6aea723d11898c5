"""Transforms of single images refuse what they cannot use, with MindSpore's exception types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mycelia.dataset import vision

pytest.importorskip("PIL", reason="Pillow is not installed")
pytest.importorskip("cv2", reason="OpenCV is not installed")

from tests.dataset.vision_cases import FLOATS, FOUR, GRAY, IMAGE, PICTURE, STACK

BAD = [
    (lambda: vision.RandomAffine(-5), ValueError, "degrees: out of range"),
    (lambda: vision.RandomAffine((5, 1)), ValueError, "minimum exceeds the maximum"),
    (lambda: vision.RandomAffine(5, 0.1), TypeError, "translate: wrong type"),
    (lambda: vision.RandomAffine(5, (-2, 1)), ValueError, r"translate\[0\]: out of range"),
    (lambda: vision.RandomAffine(5, scale=(0, 0)), ValueError, r"scale\[1\]"),
    (lambda: vision.RandomAffine(5, shear=(1, 2, 3)), TypeError, "shear"),
    (lambda: vision.RandomAffine(5, shear=(1, 2, 4, 3)), ValueError, "shear: the range ends"),
    (lambda: vision.RandomAffine(5, fill_value=(1, 2)), TypeError, "fill_value"),
    (lambda: vision.RandomAffine(5, resample=1), TypeError, "resample"),
    (lambda: vision.RandomAffine(5)(STACK), RuntimeError, "no image"),
    (
        lambda: vision.RandomAffine(5, resample=vision.Inter.PILCUBIC)(IMAGE),
        RuntimeError,
        "this interpolation is not supported",
    ),
    (
        lambda: vision.RandomAffine(5, resample=vision.Inter.ANTIALIAS)(PICTURE),
        ValueError,
        "only supports resizing",
    ),
    (lambda: vision.CutOut(0), ValueError, "length: out of range"),
    (lambda: vision.CutOut(13)(IMAGE), RuntimeError, "larger than the image"),
    (lambda: vision.CutOut(3)(GRAY), RuntimeError, "requires a channel axis"),
    (lambda: vision.RandomSharpness(1), TypeError, "degrees"),
    (lambda: vision.RandomColor((2, 1)), ValueError, "degrees"),
    (lambda: vision.RandomColor()(GRAY), RuntimeError, "unsupported number of channels"),
    (lambda: vision.RandomColor()(IMAGE.astype(float)), RuntimeError, "type or shape"),
    (lambda: vision.AutoContrast(50), ValueError, "cutoff"),
    (lambda: vision.AutoContrast(0, 256), ValueError, "ignore"),
    (lambda: vision.AutoContrast(0, "a"), TypeError, "ignore"),
    (lambda: vision.AutoContrast()(FLOATS), RuntimeError, "requires a uint8 image"),
    (lambda: vision.RandomSolarize([1, 2]), TypeError, "threshold"),
    (lambda: vision.RandomSolarize((1, 2, 3)), ValueError, "threshold: must be a pair"),
    (lambda: vision.RandomSolarize((5, 1)), ValueError, "minimum exceeds the maximum"),
    (lambda: vision.Solarize(256), ValueError, "threshold"),
    (lambda: vision.Solarize((1, 2, 3)), TypeError, "threshold"),
    (lambda: vision.Solarize(9)(FOUR), RuntimeError, "unsupported number of channels"),
    (lambda: vision.RandomPosterize(9), ValueError, "bits"),
    (lambda: vision.RandomPosterize((3,)), TypeError, "bits"),
    (lambda: vision.Posterize(3)(FLOATS), RuntimeError, "requires a uint8 image"),
    (lambda: vision.RandomGrayscale(1.5), ValueError, "prob"),
    (lambda: vision.RandomErasing(value="no"), ValueError, "value: not a color"),
    (lambda: vision.RandomErasing(value=1.5), TypeError, "value"),
    (lambda: vision.RandomErasing(1.0)(GRAY), ValueError, "C, H, W"),
    (lambda: vision.RandomErasing(1.0)(PICTURE), TypeError, "requires an array"),
    (lambda: vision.RandomResize(2.0), TypeError, "size"),
    (lambda: vision.SlicePatches(1, 1, 0), TypeError, "slice_mode"),
    (lambda: vision.SlicePatches(13)(IMAGE), RuntimeError, "more patches than pixels"),
    (lambda: vision.RandomPerspective(1), TypeError, "distortion_scale"),
    (lambda: vision.RandomPerspective()(IMAGE), ValueError, "requires a Pillow image"),
    (lambda: vision.NormalizePad([1.0], [1.0], "int"), ValueError, "dtype"),
    (lambda: vision.NormalizePad([1.0, 2.0], [1.0, 2.0])(IMAGE), RuntimeError, "number of means"),
    (lambda: vision.GaussianBlur(2), ValueError, "must be odd"),
    (lambda: vision.GaussianBlur(3, (1,)), TypeError, "sigma"),
    (lambda: vision.GaussianBlur(3)(IMAGE.astype(np.int8)), RuntimeError, "type or shape"),
    (lambda: vision.Affine(200, [0, 0], 1, 0), ValueError, "degrees"),
    (lambda: vision.Affine(1, [0], 1, 0), TypeError, "translate"),
    (lambda: vision.Affine(1, [0, 0], 0, 0), ValueError, "scale"),
    (lambda: vision.Perspective([[0, 0]], [[0, 0]]), TypeError, "start_points"),
    (lambda: vision.Perspective([[0, 0.5]] * 4, [[0, 0]] * 4), TypeError, r"start_points\[0\]"),
    (lambda: vision.Rotate((1, 2)), TypeError, "degrees"),
    (lambda: vision.Rotate(3, center=[1, 2]), ValueError, "center: must be a pair"),
    (lambda: vision.Rotate(3, expand=True)(STACK), RuntimeError, "keep their size"),
    (lambda: vision.PadToSize(50, (1,)), ValueError, "offset: must be a pair"),
    (lambda: vision.PadToSize(5)(IMAGE), RuntimeError, "does not fit"),
    (lambda: vision.ResizedCrop(0, 0, 0, 1, 1), ValueError, "height"),
    (lambda: vision.ResizedCrop(0, 0, 99, 1, 1)(IMAGE), RuntimeError, "larger than the image"),
    (lambda: vision.RgbToHsv()(IMAGE), TypeError, "no axis of three colors"),
    (lambda: vision.HsvToRgb()(PICTURE), TypeError, "requires an array"),
    (lambda: vision.ConvertColor(1), TypeError, "convert_mode"),
    (
        lambda: vision.ConvertColor(vision.ConvertMode.COLOR_GRAY2RGB)(IMAGE),
        RuntimeError,
        "type or shape",
    ),
    (lambda: vision.AdjustBrightness(-1), ValueError, "brightness_factor"),
    (lambda: vision.AdjustContrast("a"), TypeError, "contrast_factor"),
    (lambda: vision.AdjustSaturation(-1), ValueError, "saturation_factor"),
    (lambda: vision.AdjustHue(0.6), ValueError, "hue_factor"),
    (lambda: vision.AdjustGamma(1, "a"), TypeError, "gain"),
    (lambda: vision.AdjustSharpness(-1), ValueError, "sharpness_factor"),
    (lambda: vision.RandomAdjustSharpness(1, 2), ValueError, "prob"),
    (lambda: vision.RandomAutoContrast(0, None, 2), ValueError, "prob"),
    (lambda: vision.RandomEqualize("a"), TypeError, "prob"),
    (lambda: vision.RandomInvert(2), ValueError, "prob"),
    (lambda: vision.RandomLighting(-1), ValueError, "alpha"),
    (lambda: vision.LinearTransformation([[1]], [1]), TypeError, "transformation_matrix"),
    (lambda: vision.LinearTransformation(np.ones((3, 2)), np.ones(3)), ValueError, "not square"),
    (lambda: vision.LinearTransformation(np.eye(3), np.ones(3))(IMAGE), ValueError, "another"),
    (lambda: vision.Erase(0, 0, 1, 1, (1, 2)), TypeError, "value"),
    (lambda: vision.Erase(0, 0, 13, 1)(IMAGE), RuntimeError, "larger than the image"),
    (lambda: vision.FiveCrop(50)(PICTURE), ValueError, "larger than the image"),
    (lambda: vision.TenCrop(5)(IMAGE), TypeError, "requires a Pillow image"),
    (lambda: vision.ToType("bad"), TypeError, "data_type"),
    (
        lambda: vision.Resize(5, vision.Inter.ANTIALIAS)(IMAGE),
        TypeError,
        "only supports Pillow images",
    ),
    (lambda: vision.Resize(5, vision.Inter.AREA)(PICTURE), TypeError, "not supported for Pillow"),
    (lambda: vision.Resize(5)(IMAGE.astype(np.int32)), RuntimeError, "type or shape"),
    (
        lambda: vision.RandomRotation(5, vision.Inter.ANTIALIAS)(IMAGE),
        TypeError,
        "only supports Pillow images",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_arguments_are_named(call: Any, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message):
        call()
