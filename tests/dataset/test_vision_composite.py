"""Image transforms made of others, on batches and with boxes, give what MindSpore gives."""

from __future__ import annotations

import pickle
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import vision
from tests.dataset.composite_cases import (
    BATCH,
    BOXES,
    ONE_HOT,
    PHOTO,
    SMALL,
    augments,
    cases,
)

pytest.importorskip("PIL", reason="Pillow is not installed")
pytest.importorskip("cv2", reason="OpenCV is not installed")
GOLDENS = np.load(Path(__file__).with_name("goldens_composite.npz"))
CASES = cases(vision)
AUGMENTS = augments(vision)
ROUNDING = {"resize", "resize_side", "resized_crop", "augment_resize"}  # bilinear, in bytes


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", CASES)
def test_a_transform_gives_what_mindspore_gives(name: str):
    result = CASES[name]()
    parts = result if isinstance(result, tuple) else (result,)
    for place, made in enumerate(parts):
        golden = GOLDENS[f"case/{name}/{place}"]
        assert (made.dtype, made.shape) == (golden.dtype, golden.shape)
        slack = 1 if name in ROUNDING and place == 0 else 1e-5 if made.dtype.kind == "f" else 0
        np.testing.assert_allclose(made.astype(np.float64), golden, rtol=0, atol=slack)


# Choosing among transforms.


def steps_of(transform: Any, draws: int = 600) -> Counter:
    """How often each sum of steps came; the steps add 1, 16 or 64 to a zero."""
    zero, source = np.zeros((1, 1, 1), np.float32), random()
    return Counter(float(transform.run((zero,), source)[0].item()) for _ in range(draws))


def adding(*shifts: int) -> list[Any]:
    return [vision.Rescale(1.0, float(shift)) for shift in shifts]


def test_random_select_subpolicy_takes_one_list_and_its_chances():
    one, two, three = adding(1, 16, 64)
    made = steps_of(vision.RandomSelectSubpolicy([[(one, 0.25), (two, 1)], [(three, 0.5)]]))
    assert set(made) == {16, 17, 64, 0}
    for result, chance in {16: 3 / 8, 17: 1 / 8, 64: 1 / 4, 0: 1 / 4}.items():
        assert abs(made[result] / 600 - chance) < 0.07


def test_uniform_augment_takes_different_steps_in_their_order():
    made = steps_of(vision.UniformAugment(adding(1, 16, 64), num_ops=2))
    assert set(made) == {0, 1, 16, 64, 17, 65, 80}
    assert abs(made[0] / 600 - 1 / 4) < 0.07
    assert abs((made[17] + made[65] + made[80]) / 600 - 1 / 4) < 0.07
    ordered = vision.UniformAugment([vision.Rescale(1.0, 1.0), vision.Rescale(2.0, 0.0)], 2)
    assert set(steps_of(ordered)) == {0, 1, 2}
    plus_one = vision.UniformAugment((lambda image: image + 1,), 1)
    assert {int(plus_one(np.zeros((1, 1), np.uint8)).item()) for _ in range(40)} == {0, 1}


def test_chosen_steps_turn_pillow_images_into_arrays():
    flip = vision.RandomSelectSubpolicy([[(vision.HorizontalFlip(), 1.0)]])
    np.testing.assert_array_equal(flip(vision.ToPIL()(PHOTO)), PHOTO[:, ::-1])


# Mixing batches.


def test_mix_up_batch_blends_images_and_labels_alike():
    images = BATCH.astype(np.float32)
    mixed, labels = vision.MixUpBatch(1.0).run((images, ONE_HOT), random())
    np.testing.assert_allclose(labels.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(mixed[:, 0, 0, 0], labels @ images[:, 0, 0, 0], rtol=1e-5)
    own = np.diag(labels)
    assert len({round(float(part), 5) for part in own if part < 1}) == 1
    whole, _ = vision.MixUpBatch(1.0).run((BATCH, ONE_HOT), random())
    np.testing.assert_array_equal(whole, np.rint(mixed).astype(np.uint8))
    rows = np.stack([ONE_HOT, ONE_HOT], axis=1)
    assert vision.MixUpBatch()(BATCH, rows)[1].shape == (4, 2, 4)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_cut_mix_batch_weighs_labels_by_area(layout: str):
    images = BATCH if layout == "NHWC" else np.ascontiguousarray(BATCH.transpose(0, 3, 1, 2))
    step = vision.CutMixBatch(vision.ImageBatchFormat[layout])
    source = random(3)
    for _ in range(20):
        mixed, labels = step.run((images, ONE_HOT), source)
        plane = mixed[..., 0] if layout == "NHWC" else mixed[:, 0]
        for place in range(4):
            areas = [(plane[place] == BATCH[other, 0, 0, 0]).mean() for other in range(4)]
            np.testing.assert_allclose(labels[place], areas, atol=1e-6)


def test_cut_mix_batch_cuts_as_large_boxes_as_mindspore():
    """Of 3000 batches of MindSpore, the parts taken had these quantiles."""
    images = np.stack([np.full((40, 60, 1), place, np.uint8) for place in range(4)])
    step, source = vision.CutMixBatch(vision.ImageBatchFormat.NHWC), random()
    own = [np.diag(step.run((images, ONE_HOT), source)[1]) for _ in range(600)]
    taken = 1 - np.concatenate(own)
    made = np.quantile(taken[taken > 0], [0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_allclose(made, [0.060, 0.149, 0.280, 0.413, 0.544], atol=0.03)
    half = vision.CutMixBatch(vision.ImageBatchFormat.NHWC, prob=0.5)
    kept = [np.diag(half.run((images, ONE_HOT), source)[1]) == 1 for _ in range(600)]
    assert abs(np.mean(kept) - (0.5 + 0.5 / 4)) < 0.04


def test_mix_up_blends_each_image_with_the_next():
    mixed, labels = vision.MixUp(4, 1.0)(BATCH, ONE_HOT)
    assert (mixed.dtype, labels.dtype) == (np.float64, np.float64)
    own = np.diag(labels)
    np.testing.assert_allclose(
        labels, own[:, None] * ONE_HOT + (1 - own)[:, None] * ONE_HOT[[1, 2, 3, 0]]
    )
    np.testing.assert_allclose(mixed[:, 0, 0, 0], labels @ BATCH[:, 0, 0, 0])
    assert len(set(own)) == 4


def test_mix_up_of_several_batches_remembers_what_it_gave():
    step = vision.MixUp(batch_size=4, alpha=1.0, is_single=False)
    first, labels = step(BATCH, ONE_HOT)
    np.testing.assert_allclose(first, BATCH)
    np.testing.assert_allclose(labels, ONE_HOT)
    second, labels = step(BATCH + 60, ONE_HOT[::-1])
    part = labels[np.arange(4), [3, 2, 1, 0]]
    np.testing.assert_allclose(second[:, 0, 0, 0], first[:, 0, 0, 0] + 60 * part)
    third, _ = step(BATCH, ONE_HOT)
    assert (third[:, 0, 0, 0] > BATCH[:, 0, 0, 0]).all()
    assert (third[:, 0, 0, 0] < second[:, 0, 0, 0]).all()
    np.testing.assert_allclose(pickle.loads(pickle.dumps(step))(BATCH, ONE_HOT)[0], BATCH)


def test_a_crop_keeps_the_boxes_that_touch_it():
    step, source = vision.RandomCropWithBBox((10, 12)), random()
    places = np.indices((20, 30)).transpose(1, 2, 0).astype(np.uint8)  # each pixel its (y, x)
    for _ in range(40):
        part, boxes = step.run((places, BOXES), source)
        top, left = part[0, 0].astype(np.float32)
        expected = []
        for x, y, width, height, label in BOXES:
            start = np.array([x - left, y - top])
            end = start + np.array([width, height])
            if (end >= 0).all() and (start <= (12, 10)).all():
                start, end = np.clip(start, 0, (12, 10)), np.clip(end, 0, (12, 10))
                expected.append([*start, *(end - start), label])
        np.testing.assert_array_equal(boxes, np.reshape(expected, (-1, 5)))


def test_boxes_move_with_the_border_that_a_crop_needs():
    marked = np.zeros((20, 30, 3), np.uint8)
    marked[3, 2] = 255
    step = vision.RandomCropWithBBox((40, 50), pad_if_needed=True)
    made, boxes = step.run((marked, BOXES), random())
    np.testing.assert_array_equal(np.argwhere(made[..., 0])[0, ::-1], boxes[0, :2])


def test_random_resized_crops_scale_their_boxes():
    part, boxes = vision.RandomResizedCropWithBBox(8).run((PHOTO, BOXES), random())
    assert part.shape == (8, 8, 3)
    assert (boxes[:, :2] >= 0).all() and (boxes[:, :2] + boxes[:, 2:4] <= 8 + 1e-4).all()
    whole = np.array([[0, 0, 30, 20, 5]], np.float32)
    _, cover = vision.RandomResizedCropWithBBox(8).run((PHOTO, whole), random())
    np.testing.assert_allclose(cover, [[0, 0, 8, 8, 5]], rtol=1e-6)


def test_random_resize_chooses_the_interpolation():
    step, source = vision.RandomResizeWithBBox((7, 9)), random()
    inters = [vision.Inter[name] for name in ("NEAREST", "BILINEAR", "BICUBIC", "AREA")]
    known = {vision.Resize((7, 9), inter)(PHOTO).tobytes() for inter in inters}
    made = [step.run((PHOTO, BOXES), source) for _ in range(60)]
    assert {image.tobytes() for image, _ in made} == known
    np.testing.assert_allclose(made[0][1][0], [0.6, 1.05, 3.0, 2.8, 1.0], rtol=1e-6)


def test_bounding_box_augment_chooses_boxes_by_its_ratio():
    five = np.array([[place * 5, 2, 4, 4, 1] for place in range(5)], np.float32)
    step, source = vision.BoundingBoxAugment(vision.Invert(), 0.3), random()
    changed = [
        (step.run((PHOTO, five), source)[0] != PHOTO).any(axis=2).sum() // 16 for _ in range(300)
    ]
    assert abs(np.mean(changed) - 1.5) < 0.2
    assert set(changed) >= {0, 1, 2, 3}


def test_the_boxes_of_the_caller_stay():
    before = BOXES.copy()
    vision.RandomHorizontalFlipWithBBox(1.0)(PHOTO, BOXES)
    np.testing.assert_array_equal(BOXES, before)


# Published augmentation.


@pytest.mark.parametrize("name", AUGMENTS)
def test_augmentation_has_the_same_outcomes_as_mindspore(name: str):
    """All but shifts, whose pixels MindSpore takes for parts of a side: it leaves no picture."""
    step, source = AUGMENTS[name], random()
    golden, counts = GOLDENS[f"outcomes/{name}"].astype(np.int64), GOLDENS[f"counts/{name}"]
    seen, known = set(), {}
    for _ in range(1500):
        names = [name for name, _ in step.chosen(SMALL, deepcopy(source))]
        made = step.run((SMALL,), source)[0]
        if "TranslateX" in names or "TranslateY" in names:
            continue
        if made.tobytes() not in known:
            known[made.tobytes()] = nearest(made, golden)
        place, distance = known[made.tobytes()]
        assert distance < 0.1, f"{names}: {distance}"
        seen.add(place)
    empty = (golden == golden[:, :1, :1]).all(axis=(1, 2, 3))
    assert set(np.flatnonzero((counts >= 20) & ~empty)) <= seen


def nearest(image: np.ndarray, golden: np.ndarray) -> tuple[int, float]:
    distances = np.abs(golden - image.astype(np.int64)).mean(axis=(1, 2, 3))
    return int(distances.argmin()), float(distances.min())


def named(step: Any, image: np.ndarray, *names: str) -> list[np.ndarray]:
    """Some results of the operations of these names."""
    source, made = random(), []
    for _ in range(400):
        chosen = [name for name, _ in step.chosen(image, deepcopy(source))]
        result = step.run((image,), source)[0]
        if chosen[0] in names:
            made.append(result)
    return made


def test_shifts_are_pixels():
    image = random().integers(1, 255, (40, 331, 3)).astype(np.uint8)
    right, left = np.zeros_like(image), np.zeros_like(image)
    right[:, 150:], left[:, :-150] = image[:, :-150], image[:, 150:]
    made = {part.tobytes() for part in named(vision.RandAugment(1, 30), image, "TranslateX")}
    assert made == {right.tobytes(), left.tobytes()}
    down = np.zeros_like(image)
    down[32:] = image[:-32]
    wide = named(vision.TrivialAugmentWide(2), image, "TranslateY")
    assert {part.tobytes() for part in wide} >= {down.tobytes(), image.tobytes()}


def test_uncovered_corners_have_the_given_colour():
    image = np.full((30, 30, 3), 128, np.uint8)
    step = vision.RandAugment(1, 30, fill_value=(10, 200, 30))
    for name in ("Rotate", "ShearX", "ShearY", "TranslateX"):
        for made in named(step, image, name):
            colours = {tuple(pixel) for pixel in made.reshape(-1, 3).tolist()}
            assert colours == {(128, 128, 128), (10, 200, 30)}


def test_operations_and_signs_are_equally_likely():
    source, names, signs = random(), Counter(), Counter()
    for _ in range(2800):
        ((name, strength),) = vision.RandAugment(1).chosen(SMALL, source)
        names[name] += 1
        signs[strength > 0] += name == "Rotate"
    assert len(names) == 14
    assert max(abs(count - 200) for count in names.values()) < 60
    assert abs(signs[True] - signs[False]) < 60
    assert len(vision.RandAugment(num_ops=3).chosen(SMALL, source)) == 3
    np.testing.assert_array_equal(vision.RandAugment(0)(SMALL), SMALL)


def batches(steps: Any, columns: list[str], workers: int = 1) -> list[list[np.ndarray]]:
    ds.config.set_seed(3)
    rows = ds.NumpySlicesDataset(
        (np.tile(BATCH, (3, 1, 1, 1)), np.tile(ONE_HOT, (3, 1))), ["x", "y"], shuffle=False
    )
    rows = rows.batch(4) if len(columns) == 2 else rows
    rows = rows.map(steps, columns, num_parallel_workers=workers)
    return list(rows.create_tuple_iterator(num_epochs=1, output_numpy=True))


PIPELINES = {
    "mix": (lambda: vision.MixUpBatch(1.0), ["x", "y"]),
    "cut": (lambda: vision.CutMixBatch(vision.ImageBatchFormat.NHWC), ["x", "y"]),
    "mix_next": (lambda: vision.MixUp(4, 1.0), ["x", "y"]),
    "auto": (lambda: vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10), ["x"]),
    "rand": (lambda: vision.RandAugment(), ["x"]),
    "trivial": (lambda: vision.TrivialAugmentWide(), ["x"]),
    "uniform": (lambda: vision.UniformAugment([vision.Invert(), vision.Equalize()]), ["x"]),
    "policy": (lambda: vision.RandomSelectSubpolicy([[(vision.Invert(), 0.5)]]), ["x"]),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_gives_the_same_for_any_number_of_workers(name: str):
    make, columns = PIPELINES[name]
    one, two = batches(make(), columns), batches(make(), columns, workers=2)
    assert len(one) == len(two) == (3 if len(columns) == 2 else 12)
    for first, second in zip(one, two):
        for left, right in zip(first, second):
            np.testing.assert_array_equal(left, right)


def test_boxes_flow_through_a_pipeline():
    rows = ds.NumpySlicesDataset((PHOTO[None], BOXES[None]), ["image", "boxes"], shuffle=False)
    steps = [vision.RandomHorizontalFlipWithBBox(1.0), vision.ResizeWithBBox((40, 60))]
    ((image, boxes),) = rows.map(steps, ["image", "boxes"]).create_tuple_iterator(output_numpy=True)
    assert image.shape == (40, 60, 3)
    np.testing.assert_allclose(boxes[0], [36, 6, 20, 16, 1])


FLIP = vision.HorizontalFlip()
NHWC = vision.ImageBatchFormat.NHWC
BAD = [
    (lambda: vision.RandomSelectSubpolicy([]), ValueError, "policy: the list is empty"),
    (lambda: vision.RandomSelectSubpolicy([[]]), ValueError, r"policy\[0\]: the list is empty"),
    (lambda: vision.RandomSelectSubpolicy(3), TypeError, "policy: wrong type"),
    (lambda: vision.RandomSelectSubpolicy([[(FLIP,)]]), ValueError, "no pair"),
    (lambda: vision.RandomSelectSubpolicy([[("x", 1)]]), TypeError, "or a function"),
    (lambda: vision.RandomSelectSubpolicy([[(FLIP, 2)]]), ValueError, "out of range"),
    (lambda: vision.RandomSelectSubpolicy([[(FLIP, "a")]]), TypeError, "wrong type"),
    (lambda: vision.RandomSelectSubpolicy([[(FLIP, 1)]])(PHOTO, PHOTO), RuntimeError, "one column"),
    (lambda: vision.UniformAugment([FLIP]), ValueError, "num_ops is larger"),
    (lambda: vision.UniformAugment([FLIP], 0), ValueError, "num_ops: out of range"),
    (lambda: vision.UniformAugment([FLIP], 1.0), TypeError, "num_ops"),
    (lambda: vision.UniformAugment(FLIP), TypeError, "transforms"),
    (lambda: vision.MixUpBatch(0), ValueError, "alpha"),
    (lambda: vision.MixUpBatch("a"), TypeError, "alpha"),
    (lambda: vision.MixUpBatch()(BATCH), RuntimeError, "two columns"),
    (lambda: vision.MixUpBatch()(BATCH[0], ONE_HOT), RuntimeError, "no batch"),
    (lambda: vision.MixUpBatch()(BATCH, np.arange(4)), RuntimeError, "one-hot"),
    (lambda: vision.MixUpBatch()(BATCH[:3], ONE_HOT), RuntimeError, "differ in number"),
    (lambda: vision.MixUpBatch()(BATCH[..., :2], ONE_HOT), RuntimeError, "neither 1 nor 3"),
    (lambda: vision.CutMixBatch(0), TypeError, "image_batch_format"),
    (lambda: vision.CutMixBatch(NHWC, 0), ValueError, "alpha"),
    (lambda: vision.CutMixBatch(NHWC, 1, 2), ValueError, "prob"),
    (
        lambda: vision.CutMixBatch(vision.ImageBatchFormat.NCHW)(BATCH, ONE_HOT),
        RuntimeError,
        "neither",
    ),
    (lambda: vision.MixUp(0, 1.0), ValueError, "batch_size"),
    (lambda: vision.MixUp(4, -1.0), ValueError, "alpha"),
    (lambda: vision.MixUp(4, 1.0, 3), TypeError, "is_single"),
    (
        lambda: vision.MixUp(4, 1.0)(BATCH[:3], ONE_HOT[:3]),
        ValueError,
        "requires a batch of images",
    ),
    (lambda: vision.RandomHorizontalFlipWithBBox(2), ValueError, "prob"),
    (lambda: vision.RandomVerticalFlipWithBBox(1)(PHOTO), RuntimeError, "two columns"),
    (lambda: vision.ResizeWithBBox(3, 2), TypeError, "interpolation"),
    (lambda: vision.ResizeWithBBox(3)(PHOTO, BOXES.astype(int)), RuntimeError, "must hold boxes"),
    (lambda: vision.ResizeWithBBox(3)(PHOTO[:9], BOXES), RuntimeError, "exceeds the image"),
    (lambda: vision.ResizeWithBBox(3)(PHOTO, BOXES - 3), RuntimeError, "exceeds the image"),
    (lambda: vision.RandomCropWithBBox(50)(PHOTO, BOXES), RuntimeError, "larger than the image"),
    (lambda: vision.RandomCropWithBBox(0), ValueError, "size"),
    (lambda: vision.RandomResizedCropWithBBox(3, (2, 1)), ValueError, "scale"),
    (lambda: vision.BoundingBoxAugment(FLIP, 2), ValueError, "ratio"),
    (lambda: vision.BoundingBoxAugment(3), TypeError, "transform"),
    (
        lambda: vision.BoundingBoxAugment(vision.HWC2CHW(), 1.0)(PHOTO, BOXES),
        RuntimeError,
        "channels",
    ),
    (lambda: vision.AutoAugment("imagenet"), TypeError, "policy"),
    (
        lambda: vision.AutoAugment(interpolation=vision.Inter.PILCUBIC),
        RuntimeError,
        "interpolation",
    ),
    (lambda: vision.AutoAugment(fill_value=256), ValueError, "fill_value"),
    (lambda: vision.AutoAugment(fill_value=[1, 2, 3]), TypeError, "fill_value"),
    (lambda: vision.AutoAugment()(PHOTO[..., 0]), RuntimeError, "three channels"),
    (lambda: vision.RandAugment(-1), ValueError, "num_ops"),
    (lambda: vision.RandAugment(2, 31), ValueError, "magnitude"),
    (lambda: vision.RandAugment(2, 0, 1), ValueError, "num_magnitude_bins"),
    (lambda: vision.RandAugment()(PHOTO.astype(np.float32)), RuntimeError, "three channels"),
    (lambda: vision.TrivialAugmentWide(1), ValueError, "num_magnitude_bins"),
    (lambda: vision.TrivialAugmentWide(31, "a"), TypeError, "interpolation"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_input_is_named(call: Any, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message):
        call()
