"""Transforms give what MindSpore gives, and refuse what they cannot change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia.dataset import transforms, vision
from tests.dataset.transform_cases import IMAGE, cases

pytest.importorskip("PIL", reason="Pillow is not installed")
GOLDENS = np.load(Path(__file__).with_name("goldens.npz"))
CASES = cases(vision, transforms, ms)
ROUNDING = {"hue": 3, "resize": 1, "contrast": 1, "saturation": 1, "brightness": 1}


@pytest.mark.parametrize("name", CASES)
def test_a_transform_gives_what_mindspore_gives(name: str):
    made, golden = np.asarray(CASES[name]()), GOLDENS[name]
    assert made.dtype == golden.dtype
    assert made.shape == golden.shape
    if made.dtype.kind == "f":
        np.testing.assert_allclose(made, golden, rtol=2e-3, atol=1e-5)
    else:
        slack = next((v for k, v in ROUNDING.items() if name.startswith(k)), 0)
        assert np.abs(made.astype(np.int64) - golden.astype(np.int64)).max() <= slack


def test_unique_gives_values_places_and_counts():
    values, places, counts = transforms.Unique()(np.array([3, 1, 3, 2]))
    for name, made in zip("abc", (values, places, counts)):
        np.testing.assert_array_equal(made, GOLDENS[f"unique_{name}"])


def test_decode_and_its_random_crop(tmp_path: Path):
    path = tmp_path / "x.png"
    vision.ToPIL()(IMAGE).save(path)
    data = np.fromfile(path, np.uint8)
    np.testing.assert_array_equal(vision.Decode()(data), IMAGE)
    assert vision.Decode(to_pil=True)(data).size == (7, 5)
    whole = vision.RandomCropDecodeResize((5, 7), scale=(1.0, 1.0), ratio=(1.4, 1.4))(data)
    np.testing.assert_array_equal(whole, IMAGE)
    assert vision.RandomCropDecodeResize(4)(data).shape == (4, 4, 3)


def test_random_crops_are_parts_of_the_image():
    part = vision.RandomCrop((2, 3))(IMAGE)
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (2, 3, 3)).reshape(-1, 2, 3, 3)
    assert (windows == part).all(axis=(1, 2, 3)).any()
    assert vision.RandomCrop(9, pad_if_needed=True)(IMAGE).shape == (9, 9, 3)
    assert vision.RandomCrop(5, [1, 2, 1, 2], fill_value=9)(IMAGE).shape == (5, 5, 3)
    whole = vision.RandomResizedCrop((5, 7), scale=(1.0, 1.0), ratio=(1.4, 1.4))(IMAGE)
    np.testing.assert_array_equal(whole, IMAGE)
    with pytest.raises(RuntimeError, match="RandomCrop: the crop exceeds the image"):
        vision.RandomCrop(9)(IMAGE)


def test_pillow_images_stay_pillow_images():
    image = vision.ToPIL()(IMAGE)
    assert vision.Resize((4, 6))(image).size == (6, 4)
    np.testing.assert_array_equal(vision.ToNumpy()(vision.CenterCrop(3)(image)), IMAGE[1:4, 2:5])
    gray = vision.Grayscale()(image)
    np.testing.assert_array_equal(np.array(gray), np.array(image.convert("L")))
    assert np.array(vision.Grayscale(3)(image)).shape == IMAGE.shape
    with pytest.raises(TypeError, match="requires a Pillow image"):
        vision.Grayscale()(IMAGE)


def test_transforms_made_of_others():
    add, double = (lambda x: x + 1), (lambda x: x * 2)
    value = np.array([3])
    assert transforms.RandomApply([add, double], prob=1.0)(value) == [8]
    assert transforms.RandomApply([add, double], prob=0.0)(value) == [3]
    assert {int(transforms.RandomChoice([add, double])(value)[0]) for _ in range(40)} == {4, 6}
    assert {int(transforms.RandomOrder([add, double])(value)[0]) for _ in range(40)} == {8, 7}


def test_the_seed_repeats_random_transforms_called_by_hand():
    ms.dataset.config.set_seed(5)
    first = [vision.RandomCrop(2)(IMAGE) for _ in range(4)]
    ms.dataset.config.set_seed(5)
    again = [vision.RandomCrop(2)(IMAGE) for _ in range(4)]
    np.testing.assert_array_equal(first, again)
    assert any((first[0] != other).any() for other in first[1:])


BAD = [
    (lambda: vision.Resize("3"), TypeError, "must be an int or a pair"),
    (lambda: vision.Resize(0), ValueError, "size: out of range"),
    (lambda: vision.RandomHorizontalFlip(2), ValueError, "prob: out of range"),
    (lambda: vision.Normalize([1], [1, 2]), ValueError, "different lengths"),
    (lambda: vision.Normalize([1.0], [0.0]), ValueError, r"std\[0\]: out of range"),
    (lambda: vision.Normalize([1.0, 2.0], [1.0, 2.0])(IMAGE), RuntimeError, "number of means"),
    (lambda: vision.Decode()(IMAGE), TypeError, "a vector of bytes"),
    (lambda: vision.Decode()(np.zeros(3, np.uint8)), RuntimeError, "cannot be decoded as an image"),
    (lambda: vision.Resize(3)("x"), TypeError, "requires an array or a Pillow image"),
    (lambda: vision.Pad([1, 2, 3]), ValueError, "wrong number of sides"),
    (
        lambda: vision.RandomResizedCrop(3, scale=(1.0, 0.5)),
        ValueError,
        "minimum exceeds the maximum",
    ),
    (lambda: transforms.OneHot(4)(np.array(7)), RuntimeError, "a label is out of range"),
    (lambda: transforms.OneHot(4)(np.array(1.5)), RuntimeError, "must be ints"),
    (lambda: transforms.Compose([]), ValueError, "the list is empty"),
    (lambda: transforms.Compose([3]), TypeError, "or a function"),
    (lambda: transforms.TypeCast("bad type"), TypeError, "data_type"),
    (lambda: transforms.PadEnd([3])(np.ones((2, 2))), RuntimeError, "different rank"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
