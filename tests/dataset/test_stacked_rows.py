"""Transforms that take stacked rows, or fill arrays, give what they give row by row, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import transforms, vision
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.ir.operations import RowBoundary
from mycelia.dataset.vision.options import Inter

_ = ds.audio, ds.text  # their transforms are looked at, too

ROWS = 5
SHAPES = {
    "number": (),
    "vector": (7,),
    "gray": (6, 9),
    "one channel": (6, 9, 1),
    "colour": (8, 5, 3),
    "channels first": (3, 8, 5),
    "many channels": (4, 4, 6),
    "film": (2, 6, 5, 3),
}
KINDS = (np.uint8, np.int32, np.float32, np.float64, np.bool_)

CASES: dict[type, list[Operation]] = {
    transforms.TypeCast: [
        transforms.TypeCast(kind) for kind in (np.float16, np.int8, np.bool_, np.float64)
    ],
    vision.ToType: [vision.ToType(np.int16)],
    transforms.OneHot: [transforms.OneHot(256), transforms.OneHot(300, 0.1)],
    transforms.Fill: [transforms.Fill(3), transforms.Fill(True), transforms.Fill("text")],
    transforms.Mask: [
        transforms.Mask(transforms.Relational.GT, 2),
        transforms.Mask(transforms.Relational.EQ, 1, np.float32),
    ],
    vision.Rescale: [vision.Rescale(1 / 255, 0.0), vision.Rescale(0.3, -1.7)],
    vision.Normalize: [
        vision.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4]),
        vision.Normalize([121.0, 110.0, 99.0], [70.0, 68.0, 71.0]),
        vision.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4], is_hwc=False),
        vision.Normalize([0.5], [0.25]),
        vision.Normalize([0.5], [0.25], is_hwc=False),
    ],
    vision.HWC2CHW: [vision.HWC2CHW()],
    vision.ToTensor: [vision.ToTensor(), vision.ToTensor(np.float64), vision.ToTensor(np.uint8)],
    vision.Resize: [
        vision.Resize((3, 4)),
        vision.Resize(4),
        vision.Resize((9, 9), Inter.NEAREST),
        vision.Resize((3, 3), Inter.BICUBIC),
    ],
    RowBoundary: [RowBoundary(("a",))],
}


def kinds_of(root: type) -> set[type]:
    """A class and all that derive from it."""
    return {root}.union(*(kinds_of(kind) for kind in root.__subclasses__()))


def found() -> set[type]:
    """The transforms of the package with a way of their own to handle stacked rows."""
    return {
        kind
        for kind in kinds_of(Operation)
        if kind.__module__.startswith("mycelia.")
        and (kind.takes_many or kind.run_into is not Operation.run_into)
    }


def test_every_transform_that_takes_stacked_rows_has_a_case():
    assert {kind.__name__ for kind in found()} == {kind.__name__ for kind in CASES}


def rows_of(shape: tuple[int, ...], kind: type) -> np.ndarray:
    random = np.random.default_rng(len(shape))
    high = 2 if kind is np.bool_ else 256
    whole = random.integers(0, high, (ROWS, *shape))
    return whole.astype(kind) if kind not in (np.float32, np.float64) else (whole / 7).astype(kind)


def one_by_one(operation: Operation, rows: np.ndarray) -> list[np.ndarray] | None:
    """What `run` gives for each row, None if it refuses them."""
    try:
        return [operation.run((row,), None)[0] for row in rows]
    except (RuntimeError, ValueError, TypeError):
        return None


def assert_equal_bits(made: np.ndarray, expected: np.ndarray) -> None:
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    assert made.tobytes() == expected.tobytes()


ALL = [(kind, number) for kind, cases in CASES.items() for number in range(len(cases))]


@pytest.mark.parametrize(("kind", "number"), ALL, ids=lambda v: getattr(v, "__name__", str(v)))
def test_stacked_rows_give_the_same_bits(kind: type, number: int):
    operation = CASES[kind][number]
    stacked = 0
    for shape in SHAPES.values():
        for value in KINDS:
            rows = rows_of(shape, value)
            expected = one_by_one(operation, rows)
            if expected is None:
                continue
            before = rows.copy()
            many = operation.run_many((rows,))
            if many is not None:
                assert_equal_bits(many[0], np.stack(expected))
                stacked += 1
            np.testing.assert_array_equal(rows, before)  # what is given stays
    assert stacked >= 2


@pytest.mark.parametrize(("kind", "number"), ALL, ids=lambda v: getattr(v, "__name__", str(v)))
def test_arrays_are_filled_with_the_same_bits(kind: type, number: int):
    operation = CASES[kind][number]
    filled = 0
    for shape in SHAPES.values():
        for value in KINDS:
            rows = rows_of(shape, value)
            expected = one_by_one(operation, rows)
            if expected is None:
                continue
            out = np.full_like(np.stack(expected), 0)
            if not all(isinstance(value, np.ndarray) for value in expected):
                continue  # numpy gives numbers without axes as scalars, which fit no array
            for place, row in enumerate(rows):
                assert operation.run_into((row,), None, [out[place, ...]]) is None
            assert_equal_bits(out, np.stack(expected))
            filled += 1
            self_given = operation.run_into((rows[0],), None, [np.zeros((1, 2, 3), np.complex64)])
            assert self_given is not None  # does not fit: given back
            assert_equal_bits(np.asarray(self_given[0]), np.asarray(expected[0]))
    assert filled >= 2


@pytest.mark.parametrize("two", [(6, 9, 3), (4, 5, 3)])
def test_several_columns_are_stacked_one_by_one(two: tuple[int, ...]):
    operation = vision.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])
    columns = rows_of((8, 5, 3), np.uint8), rows_of(two, np.float32)
    made = operation.run_many(columns)
    outs = [np.zeros_like(column) for column in made]
    for place, rows in enumerate(zip(*columns)):
        expected = operation.run(rows, None)
        assert operation.run_into(rows, None, [out[place] for out in outs]) is None
        for column, out, value in zip(made, outs, expected, strict=True):
            assert_equal_bits(column[place], value)
            assert_equal_bits(out[place], value)


def test_small_and_large_rows_of_a_pipeline_have_the_same_bits(monkeypatch):
    """Small rows go through stacked, large ones one by one: the border is moved."""
    images = rows_of((8, 5, 3), np.uint8)
    steps = [vision.Resize((6, 6)), vision.Rescale(1 / 255, 0.5), lambda x: x * 2]
    after = [
        vision.Normalize([0.4] * 3, [0.2] * 3),
        vision.HWC2CHW(),
        transforms.TypeCast(np.float16),
    ]

    def made() -> list[np.ndarray]:
        data = ds.NumpySlicesDataset({"x": images}, shuffle=False).map([*steps, *after], "x")
        rows = data.batch(4).create_tuple_iterator(num_epochs=1, output_numpy=True)
        return [x for (x,) in rows]

    small = made()
    monkeypatch.setattr("mycelia.dataset.runtime.block_steps._SMALL", 0)
    for one, other in zip(small, made(), strict=True):
        assert_equal_bits(one, other)
