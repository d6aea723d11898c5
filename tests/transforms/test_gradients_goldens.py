"""Gradients of many functions in all dtypes, compared with MindSpore's numbers and dtypes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from tests.goldens.gradient_cases import (
    BINARY,
    LINE,
    NOT_FOLLOWED,
    ON_TABLES,
    OTHER,
    TABLE,
    UNARY,
)

_FILE = Path(__file__).parent.parent / "goldens" / "gradients.json"
_FUNCTIONS: dict[tuple[str, str], dict[str, list]] = defaultdict(dict)
for _key, _value in json.loads(_FILE.read_text(encoding="utf-8")).items():
    _kind, _name, _dtypes = _key.split("|")
    _FUNCTIONS[_kind, _name][_dtypes] = _value

_USUAL = ("int32", "uint8", "float32", "bool_", "int32,float32", "int8,int64", "int32,int32")


@pytest.mark.parametrize(("kind", "name"), _FUNCTIONS)
def test_gradients_are_those_of_mindspore(modes, kind, name):
    for dtypes, wanted in _FUNCTIONS[kind, name].items():
        if dtypes in _USUAL:
            check(kind, name, dtypes, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), _FUNCTIONS)
def test_gradients_of_all_dtypes_are_those_of_mindspore(modes, kind, name):
    for dtypes, wanted in _FUNCTIONS[kind, name].items():
        if dtypes not in _USUAL:
            check(kind, name, dtypes, wanted)


def check(kind, name, dtypes, wanted):
    if (kind, name, dtypes) in NOT_FOLLOWED:
        return
    found = gradients(kind, name, dtypes)
    assert [str(g.dtype) for g in found] == [dtype for dtype, _ in wanted], dtypes
    for gradient, (dtype, numbers) in zip(found, wanted, strict=True):
        tolerance = 1e-2 if "float16" in dtypes or dtype == "Float16" else 2e-4
        given = gradient.asnumpy().astype(np.float64)
        np.testing.assert_allclose(given, numbers, tolerance, 1e-5, err_msg=dtypes)


def gradients(kind, name, dtypes):
    """The gradients of one function, for each input that it has."""
    first, *second = [getattr(ms, dtype) for dtype in dtypes.split(",")]
    if kind == "pair":
        fn = BINARY[name]
        inputs = tensor(LINE, first), tensor(OTHER, second[0])
        return ms.grad(lambda x, y: fn(ms, x, y), (0, 1))(*inputs)
    fn = ON_TABLES[name] if kind == "table" else UNARY[name]
    gradient = ms.grad(lambda x: fn(ms, x))
    if kind == "twice":
        gradient = ms.grad(gradient)
    return (gradient(tensor(TABLE if kind == "table" else LINE, first)),)


def tensor(numbers, dtype):
    return ms.Tensor(np.array(numbers), dtype)
